"""Measurements of each flow in a run: its rate, and the share of each limit in its time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import polars as pl

from ropewalk import catalogue
from ropewalk.facts import kind, quantity

if TYPE_CHECKING:
    from ropewalk.facts import Flow
    from ropewalk.results import Results
    from ropewalk.why.model import Measure

REPORTS = frozenset({"iperf", "player"})
"""Applications whose messages are reports, or segments that a player asks for ahead of time."""


def budget(results: Results, flow: Flow) -> dict[str, float]:
    """Limit to its share in the time of the flow over all replications. Empty without a connection."""
    own = rows(results.flows, flow)
    columns = catalogue.limits()
    sums = own.select(pl.col(list(columns)).sum()).row(0, named=True)
    total = math.fsum(sums.values())
    if total <= 0:
        return {}
    return {limit.replace(" ", "_"): sums[column] / total for column, limit in columns.items()}


def split_buffer(flow: Flow) -> Literal["receive_window", "send_buffer"] | None:
    """The limit of the buffer that CMT splits: a path that is passed over has used up its part of it."""
    split = flow.transport.get("buffer_split", "off")
    if not flow.is_cmt or split == "off":
        return None
    sizes = [quantity(flow.transport.get(key)) or math.inf for key in ("send_buffer", "receive_buffer")]
    at_sender = split == "sender" or (split == "both" and sizes[0] < sizes[1])
    return "send_buffer" if at_sender else "receive_window"


def by_buffer(shares: dict[str, float], flow: Flow) -> dict[str, float]:
    """The budget with the time of the scheduler in that of the buffer that is split: a cause acts on both."""
    owner = split_buffer(flow)
    if owner is None or not shares:
        return shares
    return {**shares, "scheduler": 0.0, owner: shares.get(owner, 0.0) + shares.get("scheduler", 0.0)}


def rows(table: pl.DataFrame, flow: Flow) -> pl.DataFrame:
    """The rows of a table that belong to a flow, without baselines."""
    names = table["flow"].unique().cast(pl.String).to_list()
    return table.filter(pl.col("flow").cast(pl.String).is_in(flow.members(names)))


PACKET = 1500
"""Bytes."""


def goodput(results: Results, flow: Flow) -> dict[int, float]:
    """Seed to goodput in bit/s, the mean of the members of a group."""
    return _by_seed(rows(results.flows, flow), "goodput_bit_s")


def measure(results: Results, flow: Flow) -> Measure:
    """Measure that a cure must improve: the goodput, or the delay of messages or pages."""
    if kind(flow.app) == "http" and not rows(results.pages, flow).is_empty():
        return "pages"
    return "messages" if waits_for_messages(results, flow) else "goodput"


def waits_for_messages(results: Results, flow: Flow) -> bool:
    """Whether the flow is a sequence of messages, whose delay matters and not their sum over time."""
    if kind(flow.app) in REPORTS:
        return False
    sent = rows(results.measures, flow)["sent"]
    return bool(len(sent)) and bool((sent > 1).any())


def speed(results: Results, flow: Flow) -> dict[int, float]:
    """Seed to what a cure must raise.

    It is the goodput; of a sequence of messages or pages the inverse of their mean delay (1/s),
    which is proportional to the goodput that each message sees.
    """
    what = measure(results, flow)
    if what == "goodput":
        # A flow that has delivered nothing counts as one that has delivered a packet: ratios need a base.
        least = 8 * PACKET / results.origin.scenario.duration_s
        return {seed: max(rate, least) for seed, rate in goodput(results, flow).items()}
    if what == "pages":
        # A page that is not complete at the end has taken at least until then.
        so_far = results.origin.scenario.duration_s - pl.col("start_s")
        own = rows(results.pages, flow).with_columns(delay_mean_s=pl.col("load_time_s").fill_null(so_far))
        delays = _by_seed(own, "delay_mean_s")
    else:
        delays = _by_seed(rows(results.measures, flow), "delay_mean_s")
    return {seed: 1.0 / delay for seed, delay in delays.items() if delay > 0}


def _by_seed(table: pl.DataFrame, column: str) -> dict[int, float]:
    means = table.group_by("run", maintain_order=True).agg(pl.col(column).mean())
    return {seed: value for seed, value in means.iter_rows() if value is not None}


def best_path(results: Results, flow: Flow) -> tuple[dict[int, float], str | None]:
    """Seed to the goodput of the best path alone, and the path that is the best most often."""
    names = results.flows["flow"].cast(pl.String)
    alone = results.flows.filter(names.str.starts_with(f"{flow.name}@"))
    if alone.is_empty():
        return {}, None
    best: dict[int, float] = {}
    wins: dict[str, int] = {}
    for run in alone.partition_by("run", maintain_order=True):
        top = run.sort("goodput_bit_s", descending=True, nulls_last=True).row(0, named=True)
        best[top["run"]] = top["goodput_bit_s"] or 0.0
        path = str(top["flow"]).partition("@")[2]
        wins[path] = wins.get(path, 0) + 1
    return best, max(wins, key=lambda path: wins[path])
