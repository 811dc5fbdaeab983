"""The queue of a link: bytes that were sent, less those that it has carried since."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

FEWEST = 10
"""Losses of a full queue from which its length is told by this."""
ALIKE = 0.15
"""Tolerance of its length."""
HALF = 0.5
"""Part of the losses that met it, at least; and a loss at less than this part of the longest one did not."""
ABOVE = 0.02
"""Part of the time in which the queue is longer, at most."""
SURE = 4.0
"""Standard deviations of what losses by chance have there."""


@dataclass(frozen=True, slots=True)
class Full:
    """A queue that was full, as the losses show it."""

    bytes_: float
    """It held so much, with the packet that did not fit."""
    met: list[bool]
    """Whether each loss met it."""


def waiting(
    samples: pl.DataFrame, times: list[float], sizes: tuple[int, float], rate: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bytes that wait: at each loss; at each instant, with the part of the packets that was sent before it.

    Lost packets do not wait, and what is sent between two samples is sent evenly.

    Args:
        samples: of the only subflow on the link.
        times: when the lost packets were sent, in order.
        sizes: bytes of a full segment, payload alone and on the wire.
        rate: of the link, in bytes a second.
    """
    size, wire = sizes
    rows = samples.select("t_s", "acked_bytes", "inflight_bytes", "retransmitted_segments").fill_null(0)
    at, acked, inflight, again = rows.to_numpy().T
    sent = (acked + inflight + again * size) * wire / size
    # At one time the sample comes first.
    instants = np.concatenate([at, times])
    is_loss = np.concatenate([np.zeros(len(at), bool), np.ones(len(times), bool)])
    order = np.argsort(instants, kind="stable")
    instants, is_loss = instants[order], is_loss[order]
    added = np.diff(np.interp(instants, at, sent), prepend=0.0)
    left = np.diff(instants, prepend=instants[:1]) * rate
    held = np.zeros(len(instants))
    length = 0.0
    for index in range(len(instants)):
        length = max(length + added[index] - left[index], 0.0)
        held[index] = length
        if is_loss[index]:
            length = max(length - wire, 0.0)
    return held[is_loss], held, added / max(added.sum(), 1.0)


def full(samples: pl.DataFrame, times: list[float], sizes: tuple[int, float], rate: float) -> Full | None:
    """The length that most packets met which were lost at `times`; None: they may be losses of the link.

    While a loss is repaired there are no round trips, and a full queue loses most then. With the lost packets
    left out what waits stays the same at each of its losses, however many packets more were sent; losses of
    the link meet any length.
    """
    if len(times) < FEWEST or samples.height < FEWEST:
        return None
    order = np.argsort(times, kind="stable")
    met, held, parts = waiting(samples, [times[index] for index in order], sizes, rate)
    middle = float(np.median(met[met >= HALF * met.max()]))
    alike = np.abs(met - middle) <= ALIKE * middle
    count = int(alike.sum())
    # Within two samples it is not known when packets were sent.
    unknown = 2.0 * rate * float(np.median(np.diff(samples["t_s"].to_numpy())))
    if middle < max(FEWEST * sizes[1], unknown) or count < max(FEWEST, HALF * len(times)):
        return None
    if (held > (1.0 + ALIKE) * middle).mean() > ABOVE:
        return None
    # By chance no more of the packets are lost that are sent at this length. A burst is short beside the
    # tolerance.
    often = float(parts[held >= (1.0 - ALIKE) * middle].sum())
    expected = often * len(times)
    if count < expected + SURE * math.sqrt(expected * (1.0 - min(often, 1.0))):
        return None
    if count * sizes[1] < 2.0 * ALIKE * middle:
        return None
    found = np.empty(len(times), bool)
    found[order] = alike
    return Full(middle, found.tolist())
