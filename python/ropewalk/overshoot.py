"""Losses of a queue that was full for short times, as the round trips of packets beside them show it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ropewalk import changing

ALIKE, MOSTLY = 0.15, 0.5
"""Tolerance of a queueing delay, and the share of losses within it from which it is that of a full queue."""
ABOVE = 0.02
"""Share of the samples with a longer delay, at most: that of delayed ACKs."""
CHANCE = 0.05
"""Probability, at most, that losses of the link meet this delay alone."""
FEWEST = 50
"""Samples from which such shares are told."""
PACKETS = 10
"""A queue of fewer packets is no longer than a burst of the sender."""


@dataclass(frozen=True, slots=True)
class Top:
    """The delay of a full queue, which was seldom so long."""

    delay_s: float
    """The median beside the losses."""
    met: list[bool]
    """Whether each loss met it."""


def top(samples: pl.DataFrame, times: list[float], base_s: float, packet_s: float) -> Top | None:
    """The delay that most packets met which were lost at `times`; None: they may be losses of the link.

    Losses of the link meet a queue of any length, as often as it has this length. The longest round trip does
    not tell the delay of a full queue: with a delayed ACK it is longer.

    Args:
        samples: of the subflow.
        times: when the lost packets were sent.
        base_s: the round trip without a queue.
        packet_s: a full packet takes this time on the link.
    """
    fresh = changing.measured(samples)
    known = [(at, trip - base_s) for at in times if (trip := changing.beside_s(fresh, at)) is not None]
    if not known:
        return None
    at, beside = np.array(known).T
    middle = float(np.median(beside))
    alike = np.abs(beside - middle) <= ALIKE * middle
    busy = fresh.drop_nulls("rtt_s").filter(pl.col("inflight_bytes") > 0)
    delays = busy["rtt_s"].to_numpy() - base_s
    if middle < PACKETS * packet_s or alike.mean() < MOSTLY or len(delays) < FEWEST:
        return None
    if (delays > (1.0 + ALIKE) * middle).mean() > ABOVE:
        return None
    # The losses of one overflow are one event.
    events = 1 + int((np.diff(np.sort(at[alike])) > base_s + middle).sum())
    often = float((delays >= (1.0 - ALIKE) * middle).mean())
    if often**events > CHANCE:
        return None
    # While a loss is repaired packets have no round trips: the nearest lost one that has one tells.
    nearest = [int(np.argmin(np.abs(at - time))) for time in times]
    return Top(middle, [bool(alike[index]) for index in nearest])
