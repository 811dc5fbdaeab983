"""The rate of a link that changes, as packets behind its queue show it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

APART = 0.2
"""A rate that differs by more from that before is another one."""
VARIES = 0.15
"""Standard deviation over the mean, above which a rate is not constant."""
KNOWN = 0.5
"""Share of the time in which the rate is known, at least."""
MOST = 200
"""Changes that a scenario lists."""
SHORTEST_S = 0.2
"""A span long enough for a rate."""
NEAR_S = 0.02
"""Between two samples."""


@dataclass(frozen=True, slots=True)
class Span:
    """Payload was acknowledged at this rate, and the queue was not empty."""

    start_s: float
    end_s: float
    rate: float
    """bit/s."""


def repairs(samples: pl.DataFrame) -> list[tuple[float, float]]:
    """Times of repairs: from a retransmission until all is acknowledged that was outstanding then.

    Acknowledged bytes grow with the repair there, and not with the link.
    """
    at, acked, inflight, again = (
        samples[name].fill_null(0.0).to_numpy()
        for name in ("t_s", "acked_bytes", "inflight_bytes", "retransmitted_segments")
    )
    found: list[tuple[float, float]] = []
    for index in np.flatnonzero(np.diff(again) > 0):
        due = acked[index] + inflight[index]
        done = int(np.searchsorted(acked, due))
        end = float(at[done]) if done < len(at) else float("inf")
        if found and at[index] <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((float(at[index]), end))
    return found


def spans(samples: pl.DataFrame, base_s: float, least_s: float) -> list[Span]:
    """Rates while the round trip was longer than `base_s` by `least_s`, and nothing was repaired."""
    at, acked, rtt, inflight = (
        samples[name].fill_null(0.0).to_numpy() for name in ("t_s", "acked_bytes", "rtt_s", "inflight_bytes")
    )
    busy = (rtt > base_s + least_s) & (inflight > 0) & ~_within(at, repairs(samples))
    length = max(2.0 * base_s, SHORTEST_S)
    found: list[Span] = []
    first: int | None = None
    for index in range(len(at)):
        if not busy[index]:
            first = None
            continue
        first = index if first is None else first
        if at[index] - at[first] >= length:
            bits = 8.0 * float(acked[index] - acked[first])
            found.append(Span(float(at[first]), float(at[index]), bits / float(at[index] - at[first])))
            first = index
    return found


def _within(at: NDArray[np.float64], times: list[tuple[float, float]]) -> NDArray[np.bool_]:
    inside = np.zeros(len(at), dtype=bool)
    for start, end in times:
        inside |= (at >= start) & (at <= end)
    return inside


def steps(found: list[Span], length_s: float) -> list[tuple[float, float]]:
    """Times at which rates begin to hold, and these in bit/s.

    None if the rate is constant, or not known for most of `length_s`.
    """
    seconds = np.array([span.end_s - span.start_s for span in found])
    rates = np.array([span.rate for span in found])
    if length_s <= 0.0 or seconds.sum() < KNOWN * length_s:
        return []
    mean = float(np.average(rates, weights=seconds))
    deviation = float(np.sqrt(np.average((rates - mean) ** 2, weights=seconds)))
    if mean <= 0.0 or deviation < VARIES * mean:
        return []
    held: list[list[Span]] = [[found[0]]]
    for before, span in itertools.pairwise(found):
        apart = span.start_s > before.end_s or abs(span.rate / _mean(held[-1]) - 1.0) > APART
        if apart:
            held.append([])
        held[-1].append(span)
    changes = [(one[0].start_s, _mean(one)) for one in held]
    return changes if 1 < len(changes) <= MOST else []


def _mean(held: list[Span]) -> float:
    seconds = sum(span.end_s - span.start_s for span in held)
    return max(sum(span.rate * (span.end_s - span.start_s) for span in held) / seconds, 1.0)


def outstanding(samples: pl.DataFrame, at: float) -> float:
    """Payload bytes that were outstanding when a packet was sent at `at`: the most of the samples around."""
    near = samples.filter(samples["t_s"].is_between(at - NEAR_S, at + NEAR_S))["inflight_bytes"].max()
    return float(near) if isinstance(near, int | float) else 0.0
