"""Results and lists as tables for people."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ropewalk.results import Results
    from ropewalk.statistics import EstimateDict
    from ropewalk.summary import FlowSummary, LinkSummary, SubflowSummary

NONE = "-"
MAX_ROWS = 24
"""Longer tables are cut: the files have all rows."""
PIPE_WIDTH = 120
ROOMY = 100
"""Terminals narrower than this get the columns closer together."""


def console() -> Console:
    """As wide as the terminal; where there is none, wide enough for all columns."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, soft_wrap=False)


def figure(value: float, digits: int = 3) -> str:
    """A few significant digits without an exponent."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def interval(value: EstimateDict | None, scale: float = 1.0) -> str:
    """Mean and half width of its 95 % interval."""
    if value is None:
        return NONE
    mean, half_width = value["mean"] / scale, (value["ci95"] or 0.0) / scale
    if value["ci95"] is None:
        return figure(mean)
    if half_width == 0.0:
        return f"{figure(mean)}±0"
    # Two significant digits of the half width, and as many decimals for the mean.
    places = min(max(1 - math.floor(math.log10(half_width)), 0), 2)
    return f"{mean:.{places}f}±{half_width:.{places}f}"


def number(value: float | None, scale: float = 1.0) -> str:
    """A plain figure."""
    return NONE if value is None else figure(value / scale)


def _table(out: Console, title: str | None, *columns: str) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1) if out.width >= ROOMY else 0,
        pad_edge=False,
    )
    for index, column in enumerate(columns):
        table.add_column(
            column, justify="left" if index == 0 else "right", vertical="bottom", overflow="fold"
        )
    return table


def _add(table: Table, rows: Sequence[Iterable[str]], where: str) -> None:
    for row in rows[:MAX_ROWS]:
        table.add_row(*row)
    if len(rows) > MAX_ROWS:
        table.caption = f"{len(rows) - MAX_ROWS} more rows in {where}"
        table.caption_justify = "left"


def show_results(results: Results) -> None:
    """The tables that `ropewalk run` prints."""
    out = console()
    summary = results.summary()
    n = len(summary["seeds"])
    runs = "1 replication" if n == 1 else f"mean ± 95 % interval of {n} replications"
    out.print(f"{summary['scenario']}: {summary['duration_s']:g} s, {runs}\n", style="bold", markup=False)
    out.print(_flows(out, summary["flows"]))
    out.print(_subflows(out, summary["subflows"]))
    out.print(_links(out, summary["links"]))
    rate = summary["packet_hops"] / summary["cpu_s"] / 1e6 if summary["cpu_s"] > 0 else 0.0
    out.print(
        f"{summary['packet_hops']:,} packet hops, {summary['events']:,} events, "
        f"{summary['cpu_s']:.2f} CPU s ({rate:.1f} million hops/s)"
    )


def _flows(out: Console, flows: list[FlowSummary]) -> Table:
    table = _table(
        out,
        "Flows",
        "flow",
        "goodput\nMbit/s",
        "benefit\nvs best\npath",
        "benefit\nvs sum\nof paths",
        "retrans-\nmitted\nsegments",
        "delay\nmean\nms",
        "delay\np95\nms",
        "out of\norder\nmean kB",
        "out of\norder\nmax kB",
    )
    rows = []
    for flow in flows:
        benefit = flow["aggregation_benefit"]
        rows.append(
            [
                flow["flow"],
                interval(flow["goodput_bit_s"], 1e6),
                interval(benefit["vs_best"]) if benefit else NONE,
                interval(benefit["vs_sum"]) if benefit else NONE,
                interval(flow["retransmitted_segments"]),
                number(flow["delay_s"]["mean"], 1e-3),
                number(flow["delay_s"]["p95"], 1e-3),
                number(flow["ofo_bytes"]["mean"], 1e3),
                number(flow["ofo_bytes"]["max"], 1e3),
            ]
        )
    _add(table, rows, "flows.parquet")
    return table


def _subflows(out: Console, subflows: list[SubflowSummary]) -> Table:
    table = _table(
        out, "Subflows", "flow", "subflow", "path", "goodput\nMbit/s", "share\n%", "srtt\nms", "cwnd\nkB"
    )
    rows = [
        [
            row["flow"],
            str(row["subflow"]),
            row["path"] or NONE,
            interval(row["goodput_bit_s"], 1e6),
            interval(row["share"], 1e-2),
            interval(row["srtt_s"], 1e-3),
            interval(row["cwnd_bytes"], 1e3),
        ]
        for row in subflows
    ]
    _add(table, rows, "subflows.parquet")
    return table


def _links(out: Console, links: list[LinkSummary]) -> Table:
    table = _table(out, "Links", "link", "utilisation\n%", "drops:\nqueue", "drops:\nerrors", "queueing\nms")
    rows = [
        [
            row["link"],
            interval(row["utilisation"], 1e-2),
            interval(row["drops_queue"]),
            interval(row["drops_error"]),
            interval(row["queue_delay_s"], 1e-3),
        ]
        for row in links
    ]
    _add(table, rows, "links.parquet")
    return table


def show_catalogue(entries: list[dict[str, Any]]) -> None:
    """Names, what they are, and their options."""
    out = console()
    columns = [column for column in ("name", "summary", "source") if column in entries[0]]
    table = _table(out, None, *columns)
    for column in table.columns:
        column.justify = "left"
    for entry in entries:
        table.add_row(*(entry[column] for column in columns))
    out.print(table)
    for entry in entries:
        for option in entry.get("options", []):
            default = "compulsory" if option["default"] is None else f"default {option['default']}"
            text = f"{entry['name']}.{option['name']}: {option['doc']} ({option['values']}; {default})"
            out.print(text, markup=False)
        for key, value in entry.get("values", {}).items():
            out.print(f"{entry['name']}.{key} = {value}", markup=False)
