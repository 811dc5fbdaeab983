"""The longest time without delivery of each bulk transfer, where paths go down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ropewalk.facts import Facts, kind, quantity
from ropewalk.statistics import estimate

if TYPE_CHECKING:
    from ropewalk.results import Results
    from ropewalk.scenario import Scenario
    from ropewalk.statistics import Estimate


def has_outage(scenario: Scenario) -> bool:
    """Whether an event takes a link down, or an address away."""
    events = scenario.expanded().get("event", [])
    return any(one.get("set", {}).get("up") is False or "leave" in one.get("do", {}) for one in events)


def longest(results: Results) -> dict[str, Estimate]:
    """Flow to the longest time, in s, in which it delivered nothing after its first bytes, over replications.

    To the interval of the time series: a stall counts the whole intervals in which nothing arrived. Empty
    without time series or an outage.
    """
    scenario = results.origin.scenario
    if results.series.is_empty() or not has_outage(scenario):
        return {}
    interval = quantity(scenario.expanded()["record"]["interval"]) or 0.0
    bulk = [one for one in Facts.of(scenario).flows if kind(one.app) == "bulk"]
    rates = results.series.filter(pl.col("metric").cast(pl.String) == "goodput_bit_s")
    ends = {(row["run"], str(row["flow"])): row["end_s"] for row in results.flows.iter_rows(named=True)}
    found: dict[str, list[float]] = {}
    for group in rates.partition_by("flow", "run", maintain_order=True):
        name, run = str(group["flow"][0]), group["run"][0]
        if any(flow.members([name.partition("@")[0]]) for flow in bulk):
            alive = group.filter(pl.col("t_s") <= ends[run, name] + interval)
            found.setdefault(name, []).append(interval * _run_of_zeros(alive["value"].to_list()))
    return {name: of for name, values in found.items() if (of := estimate(values)) is not None}


def _run_of_zeros(values: list[float]) -> int:
    """Length of the longest, behind the first other value."""
    longest_run = now = 0
    begun = False
    for value in values:
        begun = begun or value > 0
        now = now + 1 if begun and value == 0 else 0
        longest_run = max(longest_run, now)
    return longest_run
