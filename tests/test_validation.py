"""The comparison with ns-3: its parts, and figures of ns-3 that are on record."""

import fnmatch
import re
import sys
import tomllib

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "validation"))

import cases
import page
import simulators
import verdicts
from ropewalk import statistics
from ropewalk.statistics import Estimate


def estimate(mean: float, ci95: float | None = None) -> Estimate:
    return Estimate(mean, ci95, mean, mean, 8)


def recorded() -> list[dict[str, object]]:
    figures = tomllib.loads(page.RECORD.read_text(encoding="utf-8"))["figure"]
    assert isinstance(figures, list)
    return figures


@pytest.mark.parametrize("name", sorted({str(figure["case"]) for figure in recorded()}))
def test_figures_agree_with_those_of_ns3_on_record(name: str) -> None:
    (case,) = (case for case in cases.load() if case.name == name)
    runs = [simulators.ropewalk(case, seed) for seed in range(1, case.seeds + 1)]
    for figure in recorded():
        if figure["case"] != name:
            continue
        metric, mean, ci95 = str(figure["metric"]), float(str(figure["mean"])), figure.get("ci95")
        ours = statistics.estimate(run.metric(metric) for run in runs)
        assert ours is not None
        theirs = estimate(mean, None if ci95 is None else float(str(ci95)))
        row = verdicts.Row(name, metric, theirs, ours)
        assert row.agreement, page.line(row, [])


def test_everything_that_is_to_be_recorded_is_on_record() -> None:
    wanted = {(case.name, metric) for case in cases.load() if case.recorded for metric in case.metrics}
    assert wanted == {(figure["case"], figure["metric"]) for figure in recorded()}


def test_verdicts() -> None:
    why = [verdicts.Explanation("wraps", ["chain/CUBIC/* goodput"], "")]
    for ns3, ours, case, verdict in (
        (estimate(1.0), estimate(1.04), "chain/Vegas/0", "within 5 %"),
        (estimate(1.0), estimate(1.06), "chain/Vegas/0", verdicts.UNEXPLAINED),
        (estimate(1.0), estimate(1.06), "chain/CUBIC/0", "differs: wraps"),
        (estimate(1.0, 0.2), estimate(1.29, 0.1), "chain/CUBIC/0", "intervals overlap"),
        (estimate(1.0, 0.2), estimate(1.31, 0.1), "chain/CUBIC/0", "differs: wraps"),
        (estimate(0.0), estimate(1.0), "chain/Vegas/0", verdicts.UNEXPLAINED),
    ):
        assert verdicts.Row(case, "goodput", ns3, ours).verdict(why) == verdict


def test_explanations_explain_something() -> None:
    rows = [f"{case.name} {metric}" for case in cases.load() for metric in case.metrics]
    for one in verdicts.explanations():
        for pattern in one.cases:
            assert any(fnmatch.fnmatchcase(row, pattern) for row in rows), f"{one.name}: {pattern}"


def test_the_page_has_every_figure_and_no_difference_without_explanation() -> None:
    text = (ROOT / page.PAGE).read_text(encoding="utf-8")
    assert verdicts.UNEXPLAINED not in text
    figures = sum(len(case.metrics) for case in cases.load())
    said = r"^\|.* \| [\d.]+ \| (?:within 5 %|intervals overlap|differs: )"
    assert len(re.findall(said, text, re.MULTILINE)) == figures


def test_both_simulators_start_flows_at_the_same_times() -> None:
    (case,) = (case for case in cases.load() if case.name == "parallel/5")
    shown = tomllib.loads(case.document(3).show())
    starts = case.starts(3, case.flow_count)
    assert len(set(starts)) == case.flow_count == len(shown["flow"])
    for flow, start in zip(shown["flow"], starts, strict=True):
        assert float(str(flow["start"]).removesuffix("ms").removesuffix("us").removesuffix("s")) > 0
        assert start < cases.FIRST_SECOND


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(ValueError, match="there is no metric delay; metrics: goodput"):
        simulators.Outcome([1], [None], 1.0).metric("delay")
