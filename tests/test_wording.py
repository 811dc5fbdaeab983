"""Figures in the sentences of claims and roots are computed."""

from pathlib import Path

import pytest

from reproduction_files import CLAIMS, write_reproduction
from ropewalk import reproduce as rep
from ropewalk.reproduce import wording
from ropewalk.reproduce.expressions import Evaluator, Source
from ropewalk.reproduce.predicates import Outcome
from ropewalk.reproduce.values import NoValue, Sample
from ropewalk.study import StudyError

ROOT = """
[[root]]
name = "rate"
title = "what limits the rate"
value = "{3 * 2:.0f} Mbit/s"
kind = "fitted"
cause = "a rate of {rate['lia', '0.0'] / rate['lia', '0.0']:.2f}"
predicts = [{ what = "more than {1 / 3:.1f}", check = 'order(rate["lia", "0.0"], rate["lia", "0.3"])' }]

[[claim]]
id = "small.c1"
published = "1"
root = "rate"
check = 'at_most(rate["lia", "0.0"], 0)'
cause_check = 'at_least(rate["lia", "0.0"], 0)'
cause = "of {12345:,.0f}, {rate['lia', '0.0'] - rate['lia', '0.0'] + 1 / 7}"

[[claim]]
id = "small.c2"
published = "1"
check = 'at_least(rate["lia", "0.0"], 0)'
calibrated = "set to {0.5 * 3:.1f}"
"""


class One(Source):
    """Each quantity is 1 under two seeds, or nothing was measured."""

    def __init__(self, *, measured: bool = True) -> None:
        self._measured = measured

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        if not self._measured:
            raise NoValue(f"{quantity} {levels}")
        return Sample({1: 1.0, 2: 1.0}, "")

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        raise NotImplementedError


def test_they_are_written_when_claims_are_judged(tmp_path: Path) -> None:
    made = rep.reproduce(rep.load(write_reproduction(tmp_path, ROOT)), tmp_path / "out")
    (root,) = made.roots
    assert (root.value, root.cause, root.predicted[0].what) == (
        "6 Mbit/s",
        "a rate of 1.00",
        "more than 0.3",
    )
    assert made.rows[0].cause == "of 12,345, 0.143"
    assert made.rows[1].calibrated == "set to 1.5"
    page = (tmp_path / "out/verdicts.html").read_text(encoding="utf-8")
    assert "a rate of 1.00" in page
    assert "{" not in made.rows[0].cause


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{gone:.1f}", "small.c1: .*gone"),
        ("{1 +:.1f}", "small.c1: not an expression"),
    ],
)
def test_a_mistake_is_named_with_its_place(written: str, message: str, tmp_path: Path) -> None:
    text = ROOT.replace("{12345:,.0f}", written)
    with pytest.raises(StudyError, match=message) as refused:
        rep.load(write_reproduction(tmp_path, text))
    assert "claims.toml:" in str(refused.value)


def test_several_numbers_are_refused(tmp_path: Path) -> None:
    text = ROOT.replace("{12345:,.0f}", "{rate['lia', :]}")
    loaded = rep.load(write_reproduction(tmp_path, text))
    with pytest.raises(StudyError, match="is 2 numbers\n  fix: name one level of each factor"):
        rep.reproduce(loaded, tmp_path / "out")


def test_the_study_of_a_figure_is_run(tmp_path: Path) -> None:
    loaded = rep.load(
        write_reproduction(tmp_path, CLAIMS + ROOT.replace("{12345:,.0f}", "{rate['olia', '0.3']}"))
    )
    assert set(loaded.told) >= {"rate['olia', '0.3']", "1 / 3"}
    assert loaded.studies_of(loaded.claims[-2], ("",)) == ["loss"]


@pytest.mark.parametrize("name", rep.names())
def test_each_is_one_number_and_those_of_the_document_need_no_run(name: str) -> None:
    loaded = rep.load(name)
    sentences = [text for claim in loaded.claims for text in wording.of_claim(claim)]
    sentences += [text for root in loaded.roots for text in wording.of_root(root)]
    for profile in loaded.profiles or ("",):
        names = loaded.names(profile)
        measured, document = (
            Evaluator(One(measured=is_run), names, None, loaded.published) for is_run in (True, False)
        )
        for text in sentences:
            assert wording.NOTHING not in wording.filled(text, loaded, measured)
            ours = any(
                use.quantity in loaded.quantities
                for value in wording.values(text)
                for use in loaded.told[value].uses
            )
            assert (wording.NOTHING in wording.filled(text, loaded, document)) == ours, text
