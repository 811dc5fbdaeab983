"""The limits of each flow: the share of each in its time, over all replications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import catalogue

if TYPE_CHECKING:
    from ropewalk.results import Results

LEAST = 0.0005
"""Smaller shares are not shown."""
PATH_DOWN, FAILED = "path down", "connection failed"
"""The limit of a sender that may not send, and its name where the connection has failed."""
NAMES = (*catalogue.limits().values(), FAILED)
ALL = "all"
"""In the place of a path: the connection over all of its paths."""


_COLUMN = next(column for column, name in catalogue.limits().items() if name == PATH_DOWN)


@dataclass(frozen=True, slots=True)
class Limited:
    """Limits of a flow, or of its subflows on one path."""

    flow: str
    path: str
    """Empty where a subflow took several."""
    shares: dict[str, float]
    """Limit to its share in the time of all replications together."""


def limits(results: Results) -> list[Limited]:
    """A row for each flow with a connection; for one with several paths also a row for each of them."""
    of_paths = _sums(results.subflows, ["flow", "path"]).partition_by("flow", as_dict=True)
    found = []
    failed = _sums(results.flows.filter(pl.col("failure").is_not_null()), ["flow"])
    of_failed = dict(failed.select("flow", pl.col(_COLUMN)).iter_rows())
    for row in _sums(results.flows, ["flow"]).iter_rows(named=True):
        table = of_paths.get((row["flow"],))
        paths = [] if table is None else table.rows(named=True)
        several = len(paths) > 1
        rows = [(ALL if several or not paths else paths[0]["path"], row)]
        rows += [(path["path"], path) for path in paths] if several else []
        for path, sums in rows:
            total = sum(sums[column] for column in catalogue.limits())
            if total > 0:
                shares = {name: sums[column] / total for column, name in catalogue.limits().items()}
                shares[FAILED] = of_failed.get(row["flow"], 0.0) / total if sums is row else 0.0
                shares[PATH_DOWN] = max(0.0, shares[PATH_DOWN] - shares[FAILED])
                found.append(Limited(row["flow"], path or "", shares))
    return found


OF_CAPTURE = {
    "nothing_to_send_s": "application",
    "window_full_s": "receive window",
    "recovery_s": "recovery",
}
"""Columns of captures, and the limits of which they show a part."""


def of_capture(results: Results) -> list[Limited]:
    """The same of captures, as far as packets tell: the shares do not add up to the whole time."""
    found = []
    for row in results.flows.iter_rows(named=True):
        life = row["end_s"] - row["start_s"]
        mine = pl.col("flow").cast(pl.String) == row["flow"]
        paths = results.subflows.filter(mine).to_dicts()
        several = len(paths) > 1
        told = (
            [(ALL, row), *((path["path"], path) for path in paths)] if several else [(paths[0]["path"], row)]
        )
        for path, values in told:
            shares = dict.fromkeys(NAMES, 0.0)
            shares |= {
                limit: (values.get(column) or 0.0) / life for column, limit in OF_CAPTURE.items() if life > 0
            }
            if any(shares.values()):
                found.append(Limited(row["flow"], path, shares))
    return found


def _sums(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Sums over the replications, names as texts."""
    texts = table.with_columns(pl.col(keys).cast(pl.String))
    return texts.group_by(keys, maintain_order=True).agg(pl.col(list(catalogue.limits())).sum())
