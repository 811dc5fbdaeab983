"""The reproductions that come with Ropewalk: the quick part runs, and every verdict follows from a figure."""

import atexit
import csv
import functools
import tempfile
from pathlib import Path

import pytest

from conftest import ROOT
from reproduction_files import flips
from ropewalk import reproduce as rep
from ropewalk.reproduce import figures
from ropewalk.reproduce.expressions import CHANCE
from ropewalk.reproduce.sources import StudySource
from ropewalk.reproduce.verdicts import UNCLEAR, Verdict, share_agreeing

NAMES = rep.names()
CONFIGURATION = "exact (configuration)"
ENOUGH = 0.8
"""If so many claims agree, not each of the others needs a cause; one that is named must be shown."""


@functools.cache
def quick(name: str) -> rep.Reproduced:
    """Run once for all tests."""
    return rep.reproduce(rep.load(name), place_of(name), quick=True)


@functools.cache
def place_of(name: str) -> Path:
    """Where its results are; gone when the tests are over."""
    directory = tempfile.TemporaryDirectory(prefix=f"ropewalk-{name}-")
    atexit.register(directory.cleanup)
    return Path(directory.name)


@pytest.mark.parametrize("name", NAMES)
def test_the_quick_part_judges_its_claims(name: str) -> None:
    made = quick(name)
    assert made.failures == []
    assert len(made.rows) == sum(claim.quick for claim in made.reproduction.claims) > 0
    assert sum(row.verdict is Verdict.AGREES for row in made.rows) > len(made.rows) / 2
    assert not [row.id for row in made.rows if "nothing was measured" in row.reason]


def is_known(cause: str) -> bool:
    return bool(cause) and not cause.startswith("cause not found")


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_has_a_cause_that_is_shown_or_is_expected(name: str) -> None:
    rows = quick(name).rows
    most_agree = (share_agreeing(rows) or 0.0) >= ENOUGH
    for row in rows:
        if row.verdict is Verdict.DIFFERS:
            # A difference that more replications might settle needs no cause here, where there are few.
            assert row.cause or row.expected or row.unclear or most_agree, row.id
            settled = row.demonstrated == is_known(row.cause)
            assert settled or f"NOT borne out by: {UNCLEAR}" in row.cause, f"{row.id}: {row.cause}"


@pytest.mark.parametrize("name", NAMES)
def test_every_cause_has_a_check_or_is_said_not_to_be_known(name: str) -> None:
    for claim in rep.load(name).claims:
        # A chance that comes out too seldom is no cause, and its check says how often it does.
        asked = claim.cause_check is not None and claim.cause_check.text.startswith(f"{CHANCE}(")
        assert (claim.cause_check is not None) == is_known(claim.cause) or asked, claim.id


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_figure_flips_every_verdict(name: str) -> None:
    made = quick(name)
    by_id = {claim.id: claim for claim in made.reproduction.claims}
    for row in made.rows:
        claim = by_id[row.id]
        if claim.check is not None:
            assert any(
                flips(made.reproduction, claim, source, profile) for profile, source in made.sources.items()
            ), row.id


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_is_complete(name: str) -> None:
    loaded = rep.load(name)
    for claim in loaded.claims:
        assert claim.id.startswith(f"{loaded.name}."), claim.id
        assert claim.locator, claim.id
        assert claim.published, claim.id
        assert claim.check is not None or claim.cannot, claim.id


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_described_rightly(name: str) -> None:
    loaded = rep.load(name)
    drawings = figures.load(loaded)
    made = quick(name)
    drawn = [drawing for drawing in drawings if drawing.studies <= set(made.results)]
    for drawing in drawings:
        assert drawing.x.label or drawing.kind == figures.BARS, drawing.id
        assert drawing.y.label, drawing.id
    for drawing in drawn[:3]:
        made_figure = figures.draw(drawing, made.sources)
        assert made_figure.axes[0].get_ylabel() == drawing.y.label


@pytest.mark.parametrize("name", NAMES)
def test_configuration_claims_agree(name: str) -> None:
    loaded = rep.load(name)
    profiles = loaded.profiles or ("",)
    sources = {profile: StudySource(loaded, profile, {}) for profile in profiles}
    claims = [
        claim
        for claim in loaded.claims
        if claim.tolerance == CONFIGURATION and claim.check and not loaded.measured_in(claim.check)
    ]
    rows = rep.judge(loaded, claims, sources)
    assert rows
    assert {row.id: row.verdict for row in rows if row.verdict is not Verdict.AGREES} == {}
    # The set-up is as the document describes it.
    assert {row.profile for row in rows} <= {"", profiles[0]}
    measured = [row for row in quick(name).rows if row.tolerance == CONFIGURATION]
    assert {row.verdict for row in measured} <= {Verdict.AGREES}


def test_the_explanation_page_exists_and_is_listed() -> None:
    listed = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"explanation/reproductions/{name}.md" in listed


def test_results_are_written() -> None:
    made, out = quick("omueti2007"), place_of("omueti2007")
    files = {path.name for path in out.iterdir()}
    assert {"verdicts.csv", "verdicts.json", "verdicts.html", "figures", "studies", "store"} <= files
    page = (out / "verdicts.html").read_text(encoding="utf-8")
    assert "http://" not in page
    assert page.count('<tr class="') - page.count('<tr class="part"') == len(made.rows)
    rows = list(csv.DictReader((out / "verdicts.csv").open(encoding="utf-8")))
    assert [row["id"] for row in rows] == [row.id for row in made.rows]
    assert list((out / "figures").glob("*.png"))
