"""Connections that share the paths of the one to which a scenario is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

Row = dict[str, Any]

MOST = 100
"""Connections that a scenario lists: those with most data."""
LATE_S = 1.0
"""A connection that ends earlier than the fitted one by more is over."""


@dataclass(frozen=True, slots=True)
class Other:
    """A connection that sends in the same direction, over paths of the fitted one alone."""

    row: Row
    """The row in the table `flows`."""
    path: int
    """The path of its first subflow, from 0."""
    paths: int
    """Paths that it sent over."""

    @property
    def start_s(self) -> float:
        """When it began."""
        return float(self.row["start_s"])

    def is_over(self, end_s: float) -> bool:
        """True if it had sent all by the end of the fitted connection."""
        row = self.row
        whole = bool(row["completed"]) or row["delivered_bytes"] == row["bytes"]
        return whole or row["end_s"] < end_s - LATE_S


@dataclass(frozen=True, slots=True)
class Connections:
    """Connections beside the fitted one."""

    others: list[Other]
    left_out: list[Row]
    """Rows of `flows` of connections that share a path as well, and are too many or use other paths too."""
    subflows: list[Row]
    """Subflows with data of `others`."""

    def on(self, path: str) -> list[Row]:
        """Their subflows between these addresses."""
        return [row for row in self.subflows if row["path"] == path]


def beside(flow: Row, used: pl.DataFrame, flows: pl.DataFrame, subflows: pl.DataFrame) -> Connections:
    """The connections of `flows` that sent between the addresses of the subflows `used` while `flow` did.

    The same addresses are the same path; a link that is common to paths with other addresses is not known.
    """
    numbers: dict[str, int] = {}
    for number, path in enumerate(used["path"]):
        numbers.setdefault(str(path), number)
    at_once = (pl.col("start_s") < flow["end_s"]) & (pl.col("end_s") > flow["start_s"])
    names = pl.col("flow").cast(pl.String)
    rows = flows.filter(at_once & (names != flow["flow"])).sort("bytes", descending=True)
    carried = subflows.filter(pl.col("established_s").is_not_null() & (pl.col("bytes_sent") > 0))
    found: dict[str, list[Row]] = {}
    # Most connections of a large capture have other addresses.
    meets = carried.filter(pl.col("path").cast(pl.String).is_in(list(numbers)))["flow"].unique()
    for row in carried.filter(pl.col("flow").is_in(meets.implode())).sort("subflow").iter_rows(named=True):
        found.setdefault(str(row["flow"]), []).append(row)
    others: list[Other] = []
    left_out: list[Row] = []
    kept: list[Row] = []
    for row in rows.iter_rows(named=True):
        mine = found.get(str(row["flow"]), [])
        if not mine:
            continue
        if len(others) < MOST and all(one["path"] in numbers for one in mine):
            others.append(Other(row, numbers[mine[0]["path"]], len({one["path"] for one in mine})))
            kept += mine
        else:
            left_out.append(row)
    others.sort(key=lambda other: other.start_s)
    return Connections(others, left_out, kept)


def is_flow(row: Row) -> pl.Expr:
    """Rows of a connection and direction."""
    return pl.col("flow").cast(pl.String) == str(row["flow"])


def is_row(subflow: Row) -> pl.Expr:
    """Rows of a subflow, in tables of subflows."""
    return is_flow(subflow).and_(pl.col("subflow") == subflow["subflow"])


def sums(rows: list[Row]) -> Row:
    """Subflows over one path as one of them."""
    first, *others = rows
    if not others:
        return first
    trips = [row[name] for row in rows for name in ("srtt_min_s", "handshake_s") if row[name] is not None]
    added = ("bytes_sent", "wire_bytes", "packets")
    return {
        **first,
        **{name: sum(row[name] or 0 for row in rows) for name in added},
        "largest_bytes": max(row["largest_bytes"] or 0 for row in rows),
        "srtt_min_s": min(trips, default=None),
        "pace_share": max(row["pace_share"] or 0.0 for row in rows),
    }


def together(
    samples: list[pl.DataFrame], losses: pl.DataFrame, size: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Samples of subflows over one path as of one, and losses of the first of them.

    Round trips are medians, weighted by what is outstanding: those of a connection that waits for its
    application have a delayed ACK in them. A lost packet has the number that its
    place in the bytes of all, in packets of `size`, gives it.
    """
    at = np.unique(np.concatenate([part["t_s"].to_numpy() for part in samples]))
    names = ("acked_bytes", "inflight_bytes", "retransmitted_segments")
    total = {name: np.zeros(len(at)) for name in names}
    trips, waiting = (np.zeros((len(samples), len(at))) for _ in range(2))
    for index, part in enumerate(samples):
        if part.is_empty():
            continue
        place = np.searchsorted(part["t_s"].to_numpy(), at, side="right") - 1
        known, place = place >= 0, np.maximum(place, 0)
        own = {name: np.where(known, _numbers(part, name)[place], 0.0) for name in names}
        for name, values in own.items():
            total[name] += values
        trip = _numbers(part, "rtt_s")
        # While losses are repaired there are no new ones.
        fresh = np.diff(trip, prepend=0.0) != 0.0
        waiting[index] = np.where(fresh[place], own["inflight_bytes"], 0.0)
        trips[index] = trip[place]
    columns = {name: values.astype(np.int64) for name, values in total.items()}
    seen = pl.col("rtt_s").fill_nan(None).forward_fill()
    frame = pl.DataFrame({"t_s": at, **columns, "rtt_s": _medians(trips, waiting)}).with_columns(
        pl.when(pl.col("inflight_bytes") > 0).then(seen).alias("rtt_s")
    )
    lost = losses["t_s"].to_numpy()
    sent = total["acked_bytes"] + total["inflight_bytes"]
    numbers = np.interp(lost, at, sent) // size if len(at) else np.zeros(0)
    return frame, pl.DataFrame({"packet": numbers.astype(np.int64) + 1, "t_s": lost})


def _numbers(part: pl.DataFrame, name: str) -> NDArray[np.float64]:
    return part[name].fill_null(0).to_numpy().astype(np.float64)


def _medians(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted median of each column; NaN without weight."""
    order = np.argsort(values, axis=0)
    reached = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    middle = np.argmax(reached >= reached[-1] / 2.0, axis=0)
    columns = np.arange(values.shape[1])
    found = values[order[middle, columns], columns]
    return np.where(reached[-1] > 0.0, found, np.nan)
