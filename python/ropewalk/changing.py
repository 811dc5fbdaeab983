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
FULL_BYTES = 0.8
"""A loss at a larger part of the most bytes that were outstanding is one of the full queue."""
ALIKE, MOSTLY = 0.15, 0.5
"""Tolerance of a queue length, and the share of losses within it from which all of them met a full queue."""
SHORT_S = 0.5
"""A queueing delay in which the rate stays the same."""
BESIDE_S = 0.03
"""Packets sent within this time of a lost one met the same queue."""
REPAIR_S = 1.0
"""The rate is not known while a loss is repaired."""


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
    busy = (rtt > base_s + least_s) & (inflight > 0) & ~within(at, repairs(samples))
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


def within(at: NDArray[np.float64], times: list[tuple[float, float]]) -> NDArray[np.bool_]:
    """Which instants are in one of these times."""
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


@dataclass(frozen=True, slots=True)
class Link:
    """A link whose rate changes."""

    wire: float
    """Bytes on the wire for each of payload."""
    steps: list[tuple[float, float]]
    """Times of the capture, and the rate in bit/s from then on; empty: it is constant."""

    def rates(self, at: float) -> list[float]:
        """In bit/s: that at this time, and the next one if it was first seen soon after, behind a repair."""
        known = next((rate for since, rate in reversed(self.steps) if since <= at), self.steps[0][1])
        return [known, *(rate for since, rate in self.steps if at < since <= at + REPAIR_S)][:2]


def waiting(samples: pl.DataFrame, times: list[float], link: Link, base_s: float) -> list[tuple[float, bool]]:
    """Bytes in the queue when lost packets were sent, and whether that filled it."""
    if not link.steps or not times:
        return [(0.0, False)] * len(times)
    sent = np.array([outstanding(samples, at) for at in times])
    found, fresh = [], measured(samples)
    for at, bytes_ in zip(times, sent, strict=True):
        rates = link.rates(at)
        ways = [link.wire * bytes_ - base_s * rate / 8.0 for rate in rates]
        trip = beside_s(fresh, at)
        if trip is not None and trip - base_s < SHORT_S:
            ways.append((trip - base_s) * rates[0] / 8.0)
        found.append([max(way, 0.0) for way in ways])
    middle = float(np.median([one[0] for one in found]))
    held = np.array([min(one, key=lambda value: abs(value - middle)) for one in found])
    if (np.abs(held - middle) <= ALIKE * middle).mean() >= MOSTLY:
        full = held >= (1.0 - 2.0 * ALIKE) * middle
    else:
        largest = samples["inflight_bytes"].max()
        full = sent > FULL_BYTES * (float(largest) if isinstance(largest, int | float) else 0.0)
    return list(zip(held.tolist(), full.tolist(), strict=True))


def outstanding(samples: pl.DataFrame, at: float) -> float:
    """Payload bytes that were outstanding when a packet was sent at `at`: the most of the samples around."""
    near = samples.filter(samples["t_s"].is_between(at - NEAR_S, at + NEAR_S))["inflight_bytes"].max()
    return float(near) if isinstance(near, int | float) else 0.0


def measured(samples: pl.DataFrame) -> pl.DataFrame:
    """The samples in which a round trip is new: while a loss is repaired the last one before it stays."""
    again = within(samples["t_s"].to_numpy(), repairs(samples))
    trip, acked = (
        np.diff(samples[name].fill_null(0).to_numpy(), prepend=-1) for name in ("rtt_s", "acked_bytes")
    )
    return samples.filter((trip != 0.0) | ((acked > 0) & ~again))


def beside_s(samples: pl.DataFrame, at: float) -> float | None:
    """The longest of these round trips, of packets that were sent at nearly the same time."""
    sent = samples["t_s"] - samples["rtt_s"]
    near = samples.filter((sent - at).abs() <= BESIDE_S)["rtt_s"].max()
    return float(near) if isinstance(near, int | float) else None


def usual(held: list[tuple[float, float]]) -> float:
    """The median of what the queue held at times, each tenth of a second once; 0 without any."""
    groups = [
        np.median([size for _, size in group])
        for _, group in itertools.groupby(held, lambda one: int(10.0 * one[0]))
    ]
    return float(np.median(groups)) if groups else 0.0
