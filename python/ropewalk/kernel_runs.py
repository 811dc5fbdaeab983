"""Runs on the Linux kernel one by one, so that one that was late costs no other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from ropewalk._core import RunFailed
from ropewalk.results import Results, Totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from ropewalk.scenario import Scenario

ATTEMPTS = 3
"""Runs of a seed at most, each after one that was not exact enough."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A seed without an exact run."""

    seed: int
    message: str
    """The message of its last run."""


def on_kernel(
    scenario: Scenario, seeds: list[int], simulated: Callable[[float], object] | None = None
) -> tuple[Results, list[LeftOut]]:
    """Runs each of `seeds` in turn; one that was not exact enough runs again, and is left out in the end.

    Args:
        scenario: what runs.
        seeds: checked before.
        simulated: told how many seconds the kernel has run.

    Raises:
        RunFailed: the kernel is not permitted, a command failed, or no run before was exact enough either.
    """
    done: list[Results] = []
    left_out: list[LeftOut] = []
    for place, seed in enumerate(seeds):
        told = None if simulated is None else partial(_told, simulated, place * scenario.duration_s)
        found = _exact(scenario, seed, told)
        if isinstance(found, Results):
            done.append(found)
        elif done:
            left_out.append(LeftOut(seed, str(found)))
        else:
            raise found
    return _together(done), left_out


def _told(simulated: Callable[[float], object], before: float, seconds: float) -> None:
    simulated(before + seconds)


def _exact(scenario: Scenario, seed: int, simulated: Callable[[float], object] | None) -> Results | RunFailed:
    """A run, or what the last of several said that were not exact enough."""
    for _ in range(ATTEMPTS):
        try:
            return scenario.run([seed], backend="linux", simulated=simulated)
        except RunFailed as error:
            if "not exact enough" not in str(error):
                raise
            last = error
    return last


def _together(runs: list[Results]) -> Results:
    """One set of results out of those of single seeds."""
    first = runs[0].origin
    totals = Totals(
        None,
        sum(run.origin.totals.packet_hops for run in runs),
        sum(run.origin.totals.cpu_s for run in runs),
    )
    seeds = [seed for run in runs for seed in run.origin.seeds]
    tables = {name: pl.concat([run.tables[name] for run in runs]) for name in runs[0].tables}
    traces = {seed: trace for run in runs for seed, trace in run.traces.items()}
    found = Results(replace(first, seeds=seeds, totals=totals), tables, traces)
    found.accuracies = [one for run in runs for one in run.accuracies]
    return found
