"""One line for each flow that is held up: where its time goes. Nothing is tried."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropewalk.limits import ALL, FAILED, PATH_DOWN, limits
from ropewalk.numbers import count, percent
from ropewalk.statistics import estimate

if TYPE_CHECKING:
    from ropewalk.limits import Limited
    from ropewalk.results import Results

WORSE = 0.95
"""A flow with less than this part of the goodput of its best path alone is worth a word."""
HELD = frozenset({"receive window", "send buffer", "pacing", "scheduler", "handshake", PATH_DOWN, FAILED})
"""Limits that are no matter of course: windows, recovery and applications always limit a flow."""
LONG = 0.2
"""Part of the time in such limits from which they are worth a word."""
MOST_FLOWS = 3
MOST_LIMITS = 3
NOTED = 0.05
"""Smaller shares are not named."""


def hints(results: Results) -> list[str]:
    """A sentence for each of the first flows that are held up; empty if none is."""
    found = []
    for row in limits(results):
        if "@" in row.flow or (row.path != ALL and _has_whole(results, row)):
            continue
        versus = _versus(results, row.flow)
        held = math.fsum(share for limit, share in row.shares.items() if limit in HELD)
        if (versus is not None and versus < WORSE) or held >= LONG:
            found.append(_hint(row, versus))
    more = len(found) - MOST_FLOWS
    return [*found[:MOST_FLOWS], *([f"{count(more, 'more flow')} held up"] if more > 0 else [])]


def _has_whole(results: Results, row: Limited) -> bool:
    """A flow over several paths has a row for all of them, which says it."""
    own = results.subflows.filter(results.subflows["flow"].cast(str) == row.flow)
    return own["path"].n_unique() > 1


def _versus(results: Results, flow: str) -> float | None:
    own = results.flows.filter(results.flows["flow"].cast(str) == flow)
    found = estimate(own["benefit_vs_best"].to_list())
    return None if found is None else found.mean


def _hint(row: Limited, versus: float | None) -> str:
    longest = sorted(row.shares.items(), key=lambda item: -item[1])[:MOST_LIMITS]
    told = ", ".join(f"{limit} {percent(share)}" for limit, share in longest if share >= NOTED)
    best = "" if versus is None else f"{versus:.2f} of its best path; "
    return f"{row.flow}: {best}limits by time: {told}"
