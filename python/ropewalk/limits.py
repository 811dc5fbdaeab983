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
ALL = "all"
"""In the place of a path: the connection over all of its paths."""


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
                found.append(Limited(row["flow"], path or "", shares))
    return found


def _sums(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Sums over the replications, names as texts."""
    texts = table.with_columns(pl.col(keys).cast(pl.String))
    return texts.group_by(keys, maintain_order=True).agg(pl.col(list(catalogue.limits())).sum())
