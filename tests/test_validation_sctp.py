"""The comparison of the real SCTP stack with its recorded runs: the record and the page."""

import tomllib

import pytest

import sctp

with sctp.RECORD.open("rb") as file:
    RECORDED = tomllib.load(file)


def test_the_page_is_that_of_the_record() -> None:
    assert sctp.PAGE.read_text() == sctp.page(), "fix: python validation/sctp.py --page"


@pytest.mark.parametrize(("group", "case"), sctp.cases(), ids=lambda table: table["name"])
def test_goodput_and_delay_are_those_of_the_reference_or_the_page_says_why(
    group: sctp.Case, case: sctp.Case
) -> None:
    if "outside" in case:
        return
    figures = RECORDED[sctp.name(group, case)]
    for metric in ("goodput", "delay_mean_ms", "ratio"):
        if reference := sctp.reference_of(case, metric):
            assert sctp.verdict(figures[metric], reference), (metric, figures[metric], reference)


@pytest.mark.parametrize("seed", range(3))
def test_draws_lie_in_their_ranges_and_seed_0_has_the_middle(seed: int) -> None:
    group = next(group for group, _ in sctp.cases() if group["name"] == "unequal")
    text = sctp.scenario(group, seed)
    assert text == sctp.scenario(group, seed)
    assert ('delay = "20.0000ms"' in text) == (seed == 0)
    assert text.count("[[path]]") == 2
