"""The grounds of a difference decide its verdict."""

from pathlib import Path

import pytest

from reproduction_files import CAUSE, CLAIMS, SHOWN, write_reproduction
from ropewalk import reproduce as rep
from ropewalk.reproduce.predicates import at_most, between
from ropewalk.reproduce.values import Sample
from ropewalk.reproduce.verdicts import Verdict
from ropewalk.reproduce.words import number
from ropewalk.study import StudyError

ROOT = """
[[root]]
name = "rate"
title = "what limits the rate"
value = "twice the rate"
kind = "fitted"
cause = "nothing is that fast"
predicts = [{ what = "more without losses", check = 'order(rate["lia", "0.0"], rate["lia", "0.3"])' }]
"""


def of_root(tmp_path: Path, *checks: str) -> rep.Reproduced:
    """A claim that differs for each check of its cause."""
    claims = [
        f'[[claim]]\nid = "small.c{number}"\npublished = "1"\nroot = "rate"\n'
        f"check = 'at_most(rate[\"lia\", \"0.0\"], 0)'\ncause_check = '{check}'\n"
        for number, check in enumerate(checks)
    ]
    place = write_reproduction(tmp_path, ROOT + "\n".join(claims))
    return rep.reproduce(rep.load(place), tmp_path / "out")


GIVEN, MISSED = 'at_least(rate["lia", "0.0"], 0)', 'at_most(rate["lia", "0.0"], 1)'


def test_what_is_fitted_must_give_all_claims_of_its_root(tmp_path: Path) -> None:
    made = of_root(tmp_path, GIVEN, GIVEN)
    assert [row.verdict for row in made.rows] == [Verdict.FITTED] * 2
    assert [(root.given, [each.holds for each in root.predicted]) for root in made.roots] == [
        (["small.c0", "small.c1"], [True])
    ]
    page = (tmp_path / "out/verdicts.html").read_text(encoding="utf-8")
    assert page.count("nothing is that fast") == 1
    assert "One value for all of them: <strong>twice the rate</strong>" in page


def test_a_value_that_misses_one_claim_of_its_root_explains_none(tmp_path: Path) -> None:
    made = of_root(tmp_path, GIVEN, MISSED)
    assert [row.verdict for row in made.rows] == [Verdict.UNEXPLAINED] * 2
    assert made.rows[0].shown.startswith("given by the value of its root, which does not give c1: ")
    assert made.rows[1].shown.startswith("NOT borne out by: ")


def test_the_page_says_that_a_cause_is_not_borne_out_and_why_a_claim_cannot_be_checked(
    tmp_path: Path,
) -> None:
    claim = (
        '[[claim]]\nid = "small.c"\npublished = "1"\nconditions = "-"\nlocator = "Table 1"\n'
        f"check = 'at_most(rate[\"lia\", \"0.0\"], 0)'\ncause_check = '{MISSED}'\n"
        'kind = "documented"\ncause = "it is slow"\n'
        '[[claim]]\nid = "small.d"\npublished = "1"\ncannot = "no such link here"\n'
    )
    rep.reproduce(rep.load(write_reproduction(tmp_path, claim)), tmp_path / "out")
    page = (tmp_path / "out/verdicts.html").read_text(encoding="utf-8")
    assert "Tried, and not borne out: it is slow." in page
    assert "<span>no such link here.</span>" in page
    assert '<span class="more">Table 1</span>' in page
    assert page.count("<details") == 1


def test_what_repeats_a_number_that_was_put_in_agrees_by_calibration(tmp_path: Path) -> None:
    claims = CLAIMS.replace("quick = true", 'calibrated = "the rate was set to it"', 1)
    row = rep.reproduce(rep.load(write_reproduction(tmp_path, claims)), tmp_path / "out").rows[0]
    assert (row.verdict, row.calibrated) == (Verdict.CALIBRATED, "the rate was set to it")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "nothing says what the cause rests on"),
        ('kind = "proof"', 'kind: found "proof", which is not one of the allowed words'),
        ('kind = "fitted"', "what is fitted needs a root with a `value`"),
        ('kind = "chance"', "a cause of kind `chance` without `by_chance`"),
        ('kind = "arithmetic"\nroot = "gone"', 'there is no root "gone"'),
    ],
)
def test_a_cause_says_what_it_rests_on(lines: str, message: str, tmp_path: Path) -> None:
    claims = CLAIMS.replace(CAUSE, SHOWN.replace('kind = "documented"', lines))
    with pytest.raises(StudyError, match=message):
        rep.load(write_reproduction(tmp_path, claims))


def test_figures_in_words() -> None:
    texts = [number(value) for value in (0.0, 360.6, 52.0, 0.95104, 1e-4, 2.5e7, -12.345678)]
    assert texts == ["0", "360.6", "52", "0.951", "1.000e-04", "2.500e+07", "-12.35"]


def test_what_holds_by_a_hair_is_told() -> None:
    two = Sample({1: 2.0, 2: 2.0})
    assert "by a hair (2 for 2.005)" in between(two, 1.0, 2.005).words
    assert "hair" not in between(two, 1.0, 2.1).words
    assert "by a hair" in at_most(two, 2.005).words
