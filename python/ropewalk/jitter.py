"""A little jitter for scenarios without chance.

Where nothing is random all seeds are one run, and its interval of ± 0 says nothing: over several paths slow
start ends in one of several ways, which a tenth of a millisecond decides. No network is more exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk.facts import Facts

if TYPE_CHECKING:
    from ropewalk.results import Results
    from ropewalk.scenario import Scenario

JITTER = "0.1ms"
KEY = "jitter"
SEVERAL = 2
"""Paths, or replications."""


def jittered(scenario: Scenario) -> Scenario:
    """`scenario` with jitter, if it has several paths with constant delays and no word about jitter."""
    return scenario.set(KEY, JITTER) if _is_exact(scenario) else scenario


def is_one_run(results: Results) -> bool:
    """True if jitter would make replications differ over several paths, which are all the same."""
    if len(results.origin.seeds) < SEVERAL:
        return False
    import polars as pl  # `bond` and `init` begin without it.

    values = results.flows.group_by("flow").agg(pl.col("goodput_bit_s", "retransmitted_segments").n_unique())
    return values.drop("flow").max().row(0) == (1, 1) and _is_exact(results.origin.scenario)


def _is_exact(scenario: Scenario) -> bool:
    if KEY in scenario.expanded():
        return False
    flows = Facts.of(scenario).flows
    several = any(len(flow.paths) >= SEVERAL for flow in flows)
    return several and all(way.delay is not None for flow in flows for way in (*flow.data, *flow.acks))
