"""The real SCTP stack beside its recorded runs, and the profile `freebsd` beside it: records and pages."""

import tomllib

import pytest

import sctp
import sctp_profile

with sctp.RECORD.open("rb") as file:
    RECORDED = tomllib.load(file)


def test_the_page_is_that_of_the_record() -> None:
    assert sctp.PAGE.read_text() == sctp.page(), "fix: python validation/sctp.py --page"


@pytest.mark.parametrize(("group", "case"), sctp.cases(), ids=lambda table: table["name"])
def test_a_figure_is_that_of_the_reference_or_has_a_cause_that_is_needed(
    group: sctp.Case, case: sctp.Case
) -> None:
    figures, causes = RECORDED[sctp.name(group, case)], case.get("outside", {})
    for metric in sctp.JUDGED:
        if reference := sctp.reference_of(case, metric):
            near = bool(sctp.verdict(figures[metric], reference))
            assert near != (metric in causes), (metric, figures[metric], reference, causes)


@pytest.mark.parametrize(
    ("causes", "whole", "wrong"), [({}, True, 1), ({"goodput": "known"}, True, 0), ({"ratio": "no"}, True, 2)]
)
def test_only_new_differences_fail(causes: dict[str, str], whole: bool, wrong: int) -> None:
    case = {"name": "c", "reference": {"goodput": 9.0, "ratio": 1.0}, "outside": causes}
    runs = [{"goodput": 5.0, "ratio": 1.0}]
    assert sctp.unexpected({"name": "g"}, case, runs, whole) == wrong


@pytest.mark.parametrize("seed", range(3))
def test_draws_lie_in_their_ranges_and_seed_0_has_the_middle(seed: int) -> None:
    group = next(group for group, _ in sctp.cases() if group["name"] == "unequal")
    text = sctp.scenario(group, seed)
    assert text == sctp.scenario(group, seed)
    assert ('delay = "20.0000ms"' in text) == (seed == 0)
    assert text.count("[[path]]") == 2


def test_the_tables_of_the_profile_are_those_of_the_record() -> None:
    cure = "fix: python validation/sctp_profile.py --page"
    assert sctp_profile.PAGE.read_text(encoding="utf-8") == sctp_profile.page(), cure


@pytest.mark.parametrize("row", sctp_profile.rows(), ids=sctp_profile.name)
def test_the_first_run_of_each_row_is_that_of_the_record(row: sctp_profile.Row) -> None:
    found = sctp_profile.recorded()[sctp_profile.name(row)]
    assert [len(found[figure]) for figure in row["figures"]] == [row["runs"]] * len(row["figures"])
    run = sctp_profile.ours(row, 0)
    told = {figure: found[figure][0] for figure in row["figures"]}
    assert told == {figure: round(run[figure], 4) for figure in row["figures"]}, "run `make validate-sctp`"


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        ([9.67, 9.67, 9.67], [9.67, 9.67, 9.67], "0 %"),
        ([9.0, 8.0, 9.5], [9.4, 9.3, 9.6], "-4 %, in the spread"),
        ([8.9, 8.4, 9.3], [9.42, 9.35, 9.59], "-6 %"),
        ([9.94, 9.92, 9.95], [9.96, 9.96, 9.96], "-0.2 %"),
    ],
)
def test_differences_from_the_library(here: list[float], there: list[float], said: str) -> None:
    assert sctp_profile.difference(here, there) == said
