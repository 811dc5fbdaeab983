"""The reproductions that come with Ropewalk: the quick part runs, and every verdict follows from a figure."""

import ast
import atexit
import csv
import functools
import tempfile
import tomllib
from pathlib import Path

import pytest

import counts
import page_numbers
from conftest import ROOT
from reproduction_files import flips
from ropewalk import reproduce as rep
from ropewalk.reproduce import figures
from ropewalk.reproduce.expressions import CHANCE, CONFIG, FUNCTIONS
from ropewalk.reproduce.predicates import PREDICATES
from ropewalk.reproduce.quantifiers import ALL
from ropewalk.reproduce.sources import StudySource
from ropewalk.reproduce.verdicts import AGREEING, DIFFERING, Verdict

NAMES = rep.names()
CONFIGURATION = "exact (configuration)"
WIDEST = 120
"""Columns of a line in a file of claims."""


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
    assert made.runs.failures == []
    assert len(made.rows) == sum(claim.quick for claim in made.reproduction.claims) > 0
    assert sum(row.verdict in (*AGREEING, Verdict.SET_UP) for row in made.rows) > len(made.rows) / 2
    assert not [row.id for row in made.rows if "nothing was measured" in row.reason]


def is_known(cause: str) -> bool:
    return bool(cause) and not cause.startswith("cause not found")


@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_borne_out_counts_as_accounted_for(name: str) -> None:
    for row in quick(name).rows:
        if row.verdict in DIFFERING and row.verdict is not Verdict.UNEXPLAINED:
            assert row.kind, row.id
            assert row.shown, row.id
            assert "NOT borne out" not in row.shown, row.id


@pytest.mark.parametrize("name", NAMES)
def test_every_cause_has_a_check_or_is_said_not_to_be_known(name: str) -> None:
    loaded = rep.load(name)
    for claim in loaded.claims:
        root = loaded.root_of(claim)
        cause = claim.cause or (root.cause if root else "")
        assert (claim.cause_check is not None) == is_known(cause), claim.id


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_the_claims_is_too_long_to_read(name: str) -> None:
    lines = (rep.load(name).directory / "claims.toml").read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > WIDEST] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_reading_is_explained_in_two_sentences(name: str) -> None:
    loaded = rep.load(name)
    assert set(loaded.readings) == set(loaded.profiles)
    for says in loaded.readings.values():
        assert len([part for part in says.split(". ") if part]) >= 2, says


def expressions() -> list[str]:
    """All that is written in the language of checks: checks, curves of figures, numbers of pages."""
    texts = []
    for loaded in map(rep.load, NAMES):
        checks = [check for claim in loaded.claims for check in (claim.check, claim.cause_check) if check]
        texts += [
            check.text
            for check in [*checks, *(each.check for root in loaded.roots for each in root.predicts)]
        ]
        drawn = tomllib.loads((loaded.directory / "figures.toml").read_text(encoding="utf-8"))
        texts += [curve["value"] for one in drawn["figure"] for curve in one["curve"] if "value" in curve]
        texts += [
            number.value
            for number in page_numbers.numbers(counts.page(loaded.name).read_text(encoding="utf-8"))
            if not page_numbers.is_of_verdicts(number)
        ]
    return texts


def test_every_function_and_every_option_of_checks_is_used() -> None:
    """An unused one is removed."""
    calls = [
        (node.func.id, node.keywords)
        for text in expressions()
        for node in ast.walk(ast.parse(f"({text}\n)", mode="eval"))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    assert {name for name, _ in calls} == {*FUNCTIONS, *PREDICATES, ALL, CONFIG, CHANCE}
    given = {(name, keyword.arg) for name, keywords in calls for keyword in keywords}
    options = {(name, option) for name, predicate in PREDICATES.items() for option in predicate.options}
    assert options <= given


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
        if loaded.is_set_up(claim) and claim.check and not loaded.measured_in(claim.check)
    ]
    rows = rep.judge(loaded, claims, sources)
    assert rows
    assert {row.id: row.verdict for row in rows if row.verdict is not Verdict.SET_UP} == {}
    # The set-up is as the document describes it.
    assert {row.profile for row in rows} <= {"", profiles[0]}
    measured = [row for row in quick(name).rows if row.tolerance == CONFIGURATION]
    assert {row.verdict for row in measured} <= {Verdict.AGREES, Verdict.SET_UP}


def test_the_explanation_page_exists_and_is_listed() -> None:
    listed = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"explanation/reproductions/{name}.md" in listed


def test_parts_that_are_no_figure_say_where_they_are() -> None:
    quick("cnes2019")
    page = (place_of("cnes2019") / "verdicts.html").read_text(encoding="utf-8")
    assert "W1: web page table 1" in page


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
