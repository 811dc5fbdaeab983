"""Writes of an application that pauses, as its packets show them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ropewalk import changing

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

PAUSES = 0.1
"""Share of the time with all data acknowledged, from which an application is one that pauses."""
SLACK = 0.2
"""Share of the time with little outstanding, from which it may be one; a trial decides."""
LITTLE = 0.75
"""Outstanding data over the most of the last two round trips: a full window falls below by losses alone."""
LIMITED = 0.1
"""Share of the time with losses under repair or a full window, up to which these are not the limit."""
PARTS = 1, 2, 4
"""Writes into which one may have to be divided."""
LEAST = 4
"""Writes from which their interval is told."""


@dataclass(frozen=True, slots=True)
class Writes:
    """Writes of one size at equal intervals."""

    size: float
    """Bytes."""
    every_s: float
    count: int
    why: str
    """How they were found."""

    def in_parts(self) -> list[Writes]:
        """These, and the same data in twice and four times as many, as long as samples have room for them."""
        counts = [count for count in PARTS if count == 1 or self.every_s / count >= changing.NEAR_S]
        return [
            replace(self, size=self.size / count, every_s=self.every_s / count, count=self.count * count)
            for count in counts
        ]

    @property
    def rate(self) -> float:
        """bit/s."""
        return 8.0 * self.size / self.every_s


@dataclass(frozen=True, slots=True)
class _Total:
    """All subflows together, at instants."""

    at: NDArray[np.float64]
    sent: NDArray[np.float64]
    """Payload bytes, each once."""
    waiting: NDArray[np.float64]
    """Payload bytes that are outstanding."""
    repairing: NDArray[np.bool_]
    """A loss is being repaired."""


def pausing(flow: dict[str, Any], samples: pl.DataFrame) -> Writes | None:
    """The writes of an application that left the connection without data for a good part of the time."""
    length, idle = flow["end_s"] - flow["start_s"], flow["nothing_to_send_s"] or 0.0
    if length <= 0.0 or idle <= PAUSES * length:
        return None
    total = _total(samples)
    begins = (total.waiting[1:] > 0.0) & (total.waiting[:-1] == 0.0)
    told = f"all data was acknowledged for {100 * idle / length:.0f} % of the time"
    return _writes(flow, total, begins, told)


def slack(flow: dict[str, Any], samples: pl.DataFrame, trip_s: float) -> Writes | None:
    """The writes of an application that often has nothing to send before all data is acknowledged."""
    total = _total(samples)
    first = np.searchsorted(total.at, total.at - 2.0 * trip_s)
    most = np.array([total.waiting[low : index + 1].max() for index, low in enumerate(first)])
    held = np.diff(total.at, append=total.at[-1:])
    clean = ~total.repairing & (most > 0.0)
    seconds = held[clean].sum()
    little = held[clean & (total.waiting < LITTLE * most)].sum()
    length = flow["end_s"] - flow["start_s"]
    if seconds <= 0.0 or length <= 0.0:
        return None
    if little <= SLACK * seconds:
        limited = held[total.repairing].sum() + (flow["window_full_s"] or 0.0)
        return _steadily(flow, length) if limited < LIMITED * length else None
    new = np.diff(total.sent, prepend=0.0)
    begins = (new[1:] > 0.0) & (new[:-1] <= 0.0)
    told = f"the window was not in full use for {100 * little / seconds:.0f} % of the time without losses"
    return _writes(flow, total, begins, told)


def _steadily(flow: dict[str, Any], length: float) -> Writes:
    """Writes too close together to be told apart."""
    told = "neither losses nor the receive window limit a bulk transfer that is faster"
    count = max(round(length / changing.NEAR_S), 1)
    return Writes(flow["bytes"] / count, length / count, count, told)


def _writes(flow: dict[str, Any], total: _Total, begins: NDArray[np.bool_], why: str) -> Writes | None:
    at = total.at[1:][begins]
    if len(at) < LEAST:
        return None
    return Writes(flow["bytes"] / len(at), float(at[-1] - at[0]) / (len(at) - 1), len(at), why)


def _total(samples: pl.DataFrame) -> _Total:
    parts = samples.partition_by("subflow")
    at = np.unique(samples["t_s"].to_numpy())
    sent, waiting = np.zeros(len(at)), np.zeros(len(at))
    repairing = np.zeros(len(at), dtype=bool)
    for part in parts:
        place = np.searchsorted(part["t_s"].to_numpy(), at, side="right") - 1
        known = place >= 0
        acked, open_ = (
            np.where(known, part[name].fill_null(0).to_numpy()[np.maximum(place, 0)], 0.0)
            for name in ("acked_bytes", "inflight_bytes")
        )
        sent += acked + open_
        waiting += open_
        for since, until in changing.repairs(part):
            repairing |= (at >= since) & (at <= until)
    return _Total(at, sent, waiting, repairing)
