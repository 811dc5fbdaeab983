"""The proxies on the way of a flow: which leg is the slow one, and what was lost at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ropewalk.why.budget import rows
from ropewalk.why.model import AtProxy

if TYPE_CHECKING:
    from ropewalk.facts import Flow
    from ropewalk.results import Results


def at_proxies(results: Results, flow: Flow) -> tuple[AtProxy, ...]:
    """By leg behind the first, means over replications and connections. Empty without proxies."""
    legs = rows(results.legs, flow).filter(pl.col("leg") > 0)
    if legs.is_empty():
        return ()
    # A subflow is a row: what the proxy holds is the same in each.
    one = ["run", "flow", "connection", "leg", "from", "to"]
    held = pl.col("held_mean_bytes", "lost_bytes").max()
    each = legs.group_by(one, maintain_order=True).agg(held, pl.col("srtt_mean_s").min())
    found = each.group_by(["leg", "from", "to"], maintain_order=True).agg(
        pl.col("held_mean_bytes", "srtt_mean_s").mean(), pl.col("lost_bytes").sum() / pl.col("run").n_unique()
    )
    return tuple(
        AtProxy(
            node=str(row["from"]),
            to=str(row["to"]),
            held_bytes=row["held_mean_bytes"] or 0.0,
            srtt_s=row["srtt_mean_s"],
            lost_bytes=row["lost_bytes"] or 0.0,
        )
        for row in found.sort("leg").to_dicts()
    )
