"""Times in which a path lost many of its packets, as the numbers of the lost packets show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

LEAST = 0.1
"""Share of the packets that is lost in such a time, at least."""
FEWEST = 10
"""Losses that tell of one."""
LONG_S, LONG = 1.0, 5.0
"""Its length at least, in seconds and in round trips: a full queue loses as many, but for a shorter time."""
MOST = 0.5
"""Part of the connection from which the losses are those of the path at any time."""


@dataclass(frozen=True, slots=True)
class Lossy:
    """A time in which the path loses many packets."""

    start_s: float
    end_s: float
    lost: list[int]
    """Numbers of the lost packets."""

    @property
    def sent(self) -> int:
        """Packets that were sent in it."""
        return self.lost[-1] - self.lost[0] + 1

    @property
    def share(self) -> float:
        """Lost packets over those that were sent in it."""
        return len(self.lost) / self.sent

    def moved(self, seconds: float, packets: int) -> Lossy:
        """The same, with times and numbers that count from elsewhere."""
        return Lossy(self.start_s + seconds, self.end_s + seconds, [one + packets for one in self.lost])


def lossy(losses: pl.DataFrame, length_s: float, trip_s: float) -> list[Lossy]:
    """Such times of a connection of `length_s`, one after the other.

    The runs of packets in which the losses exceed the share `LEAST` by the most; those that are too short,
    as the losses of a full queue are, are none.
    """
    rows = losses.select("packet", "t_s").unique("packet").sort("packet")
    numbers, times = rows["packet"].to_numpy(), rows["t_s"].to_numpy()
    found: list[Lossy] = []
    ranges = [(0, len(numbers))]
    while ranges:
        first, end = ranges.pop()
        if end - first < FEWEST:
            continue
        start, last = _heaviest(numbers[first:end])
        start, last = start + first, last + first
        ranges += [(first, start), (last + 1, end)]
        seconds = float(times[last] - times[start])
        lasts = max(LONG_S, LONG * trip_s) <= seconds <= MOST * length_s
        if lasts and last - start + 1 >= FEWEST:
            lost = [int(one) for one in numbers[start : last + 1]]
            found.append(Lossy(float(times[start]), float(times[last]), lost))
    return sorted(found, key=lambda one: one.start_s)


def _heaviest(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[int, int]:
    """First and last of the lost packets between which most are lost above the share `LEAST`."""
    start = best_start = best_last = 0
    score = best = 1.0 - LEAST
    for index in range(1, len(numbers)):
        # Each packet costs the share, and a lost one counts 1.
        score -= LEAST * float(numbers[index] - numbers[index - 1])
        if score < 0.0:
            start, score = index, -LEAST
        score += 1.0
        if score > best:
            best, best_start, best_last = score, start, index
    return best_start, best_last
