"""Results and lists as tables for people."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rich.console import Console

from ropewalk import backends, numbers
from ropewalk.cli.columns import Column, show_table
from ropewalk.cli.texts import Printer, show_texts
from ropewalk.numbers import figure
from ropewalk.visible import one_line, readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ropewalk.results import Results
    from ropewalk.statistics import EstimateDict
    from ropewalk.summary import (
        FailedJoinSummary,
        FlowSummary,
        LegSummary,
        LinkSummary,
        MeasureSummary,
        PageSummary,
        SubflowSummary,
        Summary,
    )

T = TypeVar("T")

NONE = "-"
MAX_ROWS = 30
SHOWN_ROWS = 20
"""Longer tables than `MAX_ROWS` are cut to this: the files have all rows."""
ENOUGH, WIDE = 10, 0.25
"""Replications, and the half width of an interval as a share of its mean."""
FEW_SEEDS = "Some intervals are wide, for lack of replications: --seeds 20 makes them narrower."
SAME = (
    "Nothing is random here: all seeds are one run, and ± 0 says nothing. With packets that take up to "
    "0.1 ms longer:"
)
TEXTS = {"flow", "message", "page", "path", "leg", "join", "failure", "link"}
"""Headers of columns of words."""
NAMES = {*TEXTS, "connec-\ntion", "subflow"}
"""Headers of columns that say what a row is about."""


def printer() -> Printer:
    """As wide as the terminal."""
    out = Console(highlight=False, markup=False, emoji=False)
    return Printer(out, out.width if sys.stdout.isatty() else None)


def interval(value: EstimateDict | None, scale: float = 1.0) -> str:
    """Mean and half width of its 95 % interval."""
    return NONE if value is None else narrow(value["mean"], value["ci95"], scale)


def narrow(mean: float, half_width: float | None, scale: float) -> str:
    """The same of figures, for columns with little room."""
    width = None if half_width is None else half_width / scale
    return numbers.interval(mean / scale, width, "±", narrow=True)


def number(value: float | None, scale: float = 1.0) -> str:
    """A plain figure."""
    return NONE if value is None else figure(value / scale)


Columns = dict[str, Callable[[T], str]]

FLOWS: Columns[FlowSummary] = {
    "flow": lambda row: row["flow"],
    "goodput\nMbit/s": lambda row: interval(row["goodput_bit_s"], 1e6),
    "completion\ntime\ns": lambda row: interval(row["completion_s"]),
    "benefit\nvs best\npath": lambda row: _benefit(row, "vs_best"),
    "benefit\nvs sum\nof paths": lambda row: _benefit(row, "vs_sum"),
    "retrans-\nmitted\nsegments": lambda row: interval(row["retransmitted_segments"]),
    "delay\nmean\nms": lambda row: number(row["delay_s"]["mean"], 1e-3),
    "delay\np95\nms": lambda row: number(row["delay_s"]["p95"], 1e-3),
    "out of\norder\nmean kB": lambda row: number(row["ofo_bytes"]["mean"], 1e3),
    "out of\norder\nmax kB": lambda row: number(row["ofo_bytes"]["max"], 1e3),
}

STALL = "longest\nstall\ns"
FLOW_RANKS = {"completion\ntime\ns": 4.5, STALL: 1.5, "retrans-\nmitted\nsegments": 7.5}
"""Completion comes after benefit, retransmissions after delay; see `Column.rank`."""

LATE = "late or\nlost\n%"
MEASURES: Columns[MeasureSummary] = {
    "flow": lambda row: row["flow"],
    "message": lambda row: row["what"],
    "sent": lambda row: interval(row["sent"]),
    "delivered": lambda row: interval(row["delivered"]),
    "delay\nmean\nms": lambda row: interval(row["delay_mean_s"], 1e-3),
    "delay\nmedian\nms": lambda row: interval(row["delay_p50_s"], 1e-3),
    "delay\np95\nms": lambda row: interval(row["delay_p95_s"], 1e-3),
    "jitter\nms": lambda row: interval(row["jitter_s"], 1e-3),
    LATE: lambda row: interval(row["late"], 1e-2),
}
MEASURE_RANKS = {LATE: 3.5, "delay\np95\nms": 4.5}
"""Messages that missed their deadline come before delays, the tail before the median; see `Column.rank`."""

PAGES: Columns[PageSummary] = {
    "flow": lambda row: row["flow"],
    "page": lambda row: row["name"],
    "fetched": lambda row: str(row["pages"]),
    "complete": lambda row: str(row["complete"]),
    "load time\ns": lambda row: interval(row["load_time_s"]),
}

CONNECTION = "connec-\ntion"
SUBFLOWS: Columns[SubflowSummary] = {
    "flow": lambda row: row["flow"],
    CONNECTION: lambda row: str(row["connection"]),
    "subflow": lambda row: str(row["subflow"]),
    "path": lambda row: row["path"] or NONE,
    "goodput\nMbit/s": lambda row: interval(row["goodput_bit_s"], 1e6),
    "share\n%": lambda row: interval(row["share"], 1e-2),
    "srtt\nms": lambda row: interval(row["srtt_s"], 1e-3),
    "cwnd\nkB": lambda row: interval(row["cwnd_bytes"], 1e3),
}

LEGS: Columns[LegSummary] = {
    "flow": lambda row: row["flow"],
    CONNECTION: lambda row: str(row["connection"]),
    "leg": lambda row: f"{row['from_node']} - {row['to_node']}",
    "goodput\nMbit/s": lambda row: interval(row["goodput_bit_s"], 1e6),
    "srtt\nms": lambda row: interval(row["srtt_s"], 1e-3),
    "cwnd\nkB": lambda row: interval(row["cwnd_bytes"], 1e3),
    "retrans-\nmitted\nsegments": lambda row: interval(row["retransmitted_segments"]),
    "held\nmean kB": lambda row: interval(row["held_bytes"], 1e3),
    "lost\nkB": lambda row: interval(row["lost_bytes"], 1e3),
    "Data ACK\nahead kB": lambda row: _positive(row["data_ack_ahead_bytes"]),
    "window\nbeyond kB": lambda row: _positive(row["window_beyond_bytes"]),
}

FAILED_JOINS: Columns[FailedJoinSummary] = {
    "flow": lambda row: row["flow"],
    "join": lambda row: f"{row['from_node']} - {row['to_node']}",
    "path": lambda row: row["path"] or NONE,
    "joins": lambda row: str(row["joins"]),
    "failure": lambda row: row["failure"],
}

LINKS: Columns[LinkSummary] = {
    "link": lambda row: row["link"],
    "utilisation\n%": lambda row: interval(row["utilisation"], 1e-2),
    "drops:\nqueue": lambda row: interval(row["drops_queue"]),
    "drops:\nerrors": lambda row: interval(row["drops_error"]),
    "queueing\nms": lambda row: interval(row["queue_delay_s"], 1e-3),
}


def _positive(value: EstimateDict | None) -> str:
    """In kB; a proxy that keeps the rules has none."""
    return NONE if value is None or value["max"] <= 0 else interval(value, 1e3)


def _benefit(row: FlowSummary, which: Literal["vs_best", "vs_sum"]) -> str:
    benefit = row["aggregation_benefit"]
    return interval(benefit[which]) if benefit else NONE


def _show(
    out: Printer,
    title: str,
    columns: Columns[T],
    rows: Sequence[T],
    ranks: Mapping[str, float] | None = None,
) -> None:
    """A column in which nothing would stand is left out.

    Args:
        out: where.
        title: above the table.
        columns: header to what stands in a row.
        rows: of the table.
        ranks: header to the rank of its column; without it the columns on the right are left out first.
    """
    filled = {header: [cell(row) for row in rows] for header, cell in columns.items()}
    shown = {header: cells for header, cells in filled.items() if set(cells) != {NONE}}
    made = []
    for place, (header, cells) in enumerate(shown.items()):
        rank = None if header in NAMES else (ranks or {}).get(header, float(place))
        made.append(Column(header, cells, header not in TEXTS, header in NAMES, rank))
    show_table(out, title, made)


def _busiest(links: list[LinkSummary]) -> list[LinkSummary]:
    """All links of a small network, the most utilised ones of a large one."""
    if len(links) <= MAX_ROWS:
        return links
    by_load = sorted(links, key=lambda link: -(link["utilisation"] or {"mean": 0.0})["mean"])
    return by_load[:SHOWN_ROWS]


def show_results(results: Results, asked: Sequence[str] = ("FILE",)) -> None:
    """The tables that `ropewalk run` prints.

    Args:
        results: of what was run.
        asked: the scenario and its overrides as arguments, for the command that says why flows are slow.
    """
    # Lists need no polars.
    from ropewalk import jitter
    from ropewalk.problems import problems
    from ropewalk.why.hint import hints

    out = printer()
    summary = results.summary()
    n = len(summary["seeds"])
    runs = "1 replication" if n == 1 else f"mean ± 95 % interval of {n} replications"
    ran = "" if summary["backend"] == backends.default() else f" on {summary['backend']}"
    name = readable(one_line(summary["scenario"]))
    out.paragraph(f"{name}: {summary['duration_s']:g} s, {runs}{ran}", style="bold")
    out.line()
    _show_first(out, "Flows", _flow_columns(results), summary["flows"], FLOW_RANKS)
    for line in problems(results):
        out.paragraph(line, style="bold red")
        out.line()
    if few_seeds([flow["goodput_bit_s"] for flow in summary["flows"]]):
        out.paragraph(FEW_SEEDS)
        out.line()
    if jitter.is_one_run(results):
        out.paragraph(SAME)
        out.command(["ropewalk", "run", *asked, "--seeds", str(n), "--set", f"{jitter.KEY}={jitter.JITTER}"])
        out.line()
    if held := hints(results):
        for line in held:
            out.paragraph(line)
        out.paragraph(f"Why, and what helps: ropewalk why {shlex.join(asked)}")
        out.line()
    _show_parts(out, summary)
    _show_limits(out, results)
    if links := summary["links"]:
        busiest = _busiest(links)
        _show(out, _title("Links", "busiest", len(busiest), len(links)), LINKS, busiest)
    out.paragraph(_cost(summary))
    show_exactness(out, results)


def _flow_columns(results: Results) -> Columns[FlowSummary]:
    """The columns of flows, with the longest stall of each where a path goes down."""
    from ropewalk.stalls import longest

    found = longest(results)

    def stall(row: FlowSummary) -> str:
        of = found.get(row["flow"])
        return NONE if of is None else narrow(of.mean, of.ci95, 1.0)

    first = list(FLOWS.items())
    return dict([*first[:2], (STALL, stall), *first[2:]])


def _show_parts(out: Printer, summary: Summary) -> None:
    """Messages, pages, and what flows are made of."""
    # A single transfer has its time of completion in the table of flows.
    if measures := [one for one in summary["measures"] if one["sent"] and one["sent"]["mean"] > 1]:
        _show_first(out, "Messages", MEASURES, measures, MEASURE_RANKS)
    if pages := summary["pages"]:
        _show_first(out, "Pages", PAGES, pages)
    several = any(row["connection"] for row in summary["subflows"])
    columns = {name: cell for name, cell in SUBFLOWS.items() if several or name != CONNECTION}
    if subflows := summary["subflows"]:
        _show_first(out, "Subflows", columns, subflows)
    if legs := summary["legs"]:
        _show_first(out, "Legs", {n: c for n, c in LEGS.items() if several or n != CONNECTION}, legs)
    if failed := summary["failed_joins"]:
        _show_first(out, "Joins that failed", FAILED_JOINS, failed)


def _cost(summary: Summary) -> str:
    rate = summary["packet_hops"] / summary["cpu_s"] / 1e6 if summary["cpu_s"] > 0 else 0.0
    events = "" if summary["events"] is None else f"{summary['events']:,} events, "
    cost = f"{summary['cpu_s']:.2f} CPU s ({rate:.1f} million hops/s)"
    return f"{summary['packet_hops']:,} packet hops, {events}{cost}"


def show_exactness(out: Printer, results: Results) -> None:
    """How late packets were, of runs in the time of the host."""
    found = results.accuracies
    if not found:
        return
    p50, p99, late = (
        1e6 * max(times) for times in zip(*((one.p50_s, one.p99_s, one.max_s) for one in found), strict=True)
    )
    share = 100 * max(one.cpu_share for one in found)
    priority = "real-time priority" if all(one.real_time for one in found) else "ordinary priority"
    out.paragraph(
        f"Packets were late by {p50:.0f} us (median), {p99:.0f} us (p99), {late:.0f} us at most; links took "
        f"{share:.1f} % of a core, with {priority}"
    )


def few_seeds(estimates: Iterable[Mapping[str, Any] | None]) -> bool:
    """Whether an interval is so wide that more replications are the first thing to try."""
    return any(
        one is not None
        and one["ci95"] is not None
        and one["n"] < ENOUGH
        and one["ci95"] > WIDE * abs(one["mean"])
        for one in estimates
    )


def _show_limits(out: Printer, results: Results) -> None:
    """The limits of each flow by their share of its time; limits without a share are left out."""
    from ropewalk.limits import LEAST, NAMES, Limited, limits

    def share(name: str, row: Limited) -> str:
        return NONE if row.shares[name] < LEAST else f"{100 * row.shares[name]:.1f}"

    columns: Columns[Limited] = {"flow": lambda row: row.flow, "path": lambda row: row.path or NONE}
    for name in NAMES:
        columns[name.replace(" ", "\n")] = functools.partial(share, name)
    if rows := limits(results):
        # The limit with the smallest shares is left out first.
        ranks = {name.replace(" ", "\n"): -max(row.shares[name] for row in rows) for name in NAMES}
        _show_first(out, "Limits, % of the time", columns, rows, ranks)


def _show_first(
    out: Printer,
    name: str,
    columns: Columns[T],
    rows: Sequence[T],
    ranks: Mapping[str, float] | None = None,
) -> None:
    """All of a few rows, the first ones of many."""
    shown = rows if len(rows) <= MAX_ROWS else rows[:SHOWN_ROWS]
    _show(out, _title(name, "first", len(shown), len(rows)), columns, shown, ranks)


def _title(name: str, which: str, shown: int, total: int) -> str:
    return name if shown == total else f"{name}: the {which} {shown} of {total}"


def show_catalogue(entries: list[dict[str, Any]]) -> None:
    """Names, what they are, and their options."""
    out = printer()
    columns = [c for c in ("name", "summary", "source", "notes") if any(entry.get(c) for entry in entries)]
    rows = []
    for entry in entries:
        mark = "" if entry.get("fidelity", True) else " ~"
        rows.append([entry["name"] + mark, *(entry.get(column, "") for column in columns[1:])])
    show_texts(out, columns, rows)
    if not all(entry.get("fidelity", True) for entry in entries):
        out.paragraph("~ fidelity to the source is not claimed")
        out.line()
    options = [
        [
            f"{entry['name']}.{option['name']}",
            option["doc"],
            option["values"],
            "compulsory" if option["default"] is None else option["default"],
        ]
        for entry in entries
        for option in entry.get("options", [])
    ]
    if options:
        show_texts(out, ["option", "meaning", "value", "default"], options)
    for entry in entries:
        for key, value in entry.get("values", {}).items():
            out.paragraph(f"{entry['name']}.{key} = {value}", hanging=4)
