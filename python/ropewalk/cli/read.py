"""`ropewalk read`."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ropewalk import connections, disk, provenance, store
from ropewalk.cli.columns import Column, show_table
from ropewalk.cli.reporting import (
    RUN_FAILED,
    complain,
    describe,
    fail,
    next_step,
    refuse_others,
    refuse_to_replace,
    tell,
)
from ropewalk.cli.tables import NONE, printer
from ropewalk.numbers import count, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import polars as pl

Row = dict[str, Any]


def _scaled(name: str, scale: float) -> Callable[[Row], str]:
    return lambda row: NONE if row[name] is None else figure(row[name] / scale)


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: NONE if row[name] is None else str(row[name])


def _word(name: str) -> Callable[[Row], str]:
    return lambda row: str(row[name])


FLOWS: list[tuple[str, Callable[[Row], str]]] = [
    ("flow", _word("flow")),
    ("transport", lambda row: "tcp (fell back)" if row["fell_back"] else str(row["transport"])),
    ("seen at", _word("side")),
    ("MB", _scaled("bytes", 1e6)),
    ("goodput\nMbit/s", _scaled("goodput_bit_s", 1e6)),
    ("sub-\nflows", _count("subflows")),
    ("seg-\nments", _count("segments_sent")),
    ("retrans-\nmitted", _count("retransmitted_segments")),
    ("reinjected\nkB", _scaled("reinjected_bytes", 1e3)),
]
SUBFLOWS: list[tuple[str, Callable[[Row], str]]] = [
    ("path", _word("path")),
    ("share\n%", _scaled("share", 0.01)),
    ("goodput\nMbit/s", _scaled("goodput_bit_s", 1e6)),
    ("RTT\nms", _scaled("srtt_mean_s", 1e-3)),
    ("joined\ns", _scaled("established_s", 1.0)),
    ("seg-\nments", _count("segments_sent")),
    ("retrans-\nmitted", _count("retransmitted_segments")),
    ("reinjected\nkB", _scaled("reinjected_bytes", 1e3)),
    ("duplicate\nACKs", _count("duplicate_acks")),
]
WORDS = {"flow", "path", "transport", "seen at"}


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """The options of the command."""

    files: tuple[Path, ...]
    out: Path | None
    plots: bool
    scenario: Path | None
    """Where the fitted scenario goes."""
    as_json: bool


def anonymise(files: tuple[Path, ...], out: Path) -> None:
    """Writes one capture without addresses, payload and keys, and says so."""
    refuse_to_replace(files, "--anonymise", out, "the capture")
    try:
        done = connections.anonymise(files, out)
    except OSError as error:
        fail(f"--anonymise {out}: cannot be written: {describe(error)}", RUN_FAILED)
    for problem in done.problems:
        complain(problem)
    if not done.written:
        out.unlink(missing_ok=True)
        fail("no TCP packet could be read", RUN_FAILED)
    others = f"; {done.left_out} others are left out" if done.left_out else ""
    tell(f"{count(done.written, 'TCP packet')} without addresses, payload and keys in {out}{others}")


def execute(order: ReadOrder) -> None:
    """Reads, writes, prints."""
    if order.out is not None:
        refuse_others(order.out, "run")
    if order.scenario is not None:
        refuse_to_replace(order.files, "--scenario", order.scenario, "the capture")
    reading = connections.read(order.files)
    for problem in reading.problems:
        complain(problem)
    if reading.not_read == reading.packets:
        others = ": none is TCP, SCTP or UDP with whole headers" if reading.packets else ""
        fail(f"no packet could be read{others}", RUN_FAILED)
    if order.scenario is not None and reading.fitted.flow is None:
        fail(
            f"--scenario {order.scenario}: no connection whose sender was captured\n"
            "  fix: capture at the end that sends the data, from before the connection on",
            RUN_FAILED,
        )
    written = list(_written(reading, order))
    if order.as_json:
        tables = {name: reading.tables[name].to_dicts() for name in ("flows", "subflows")}
        facts = {
            "packets": reading.packets,
            "not_read": reading.not_read,
            "mptcp_options": reading.mptcp_options,
            "problems": reading.problems,
        }
        sys.stdout.write(json.dumps({**facts, **tables}, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        _print(reading)
    for line in written:
        tell(line, aside=order.as_json)


def _written(reading: connections.Reading, order: ReadOrder) -> Iterator[str]:
    """Writes files, and says which."""
    if order.scenario is not None:
        try:
            disk.write_whole(order.scenario, reading.nearest().text.encode(), lasting=False)
        except OSError as error:
            fail(f"--scenario {order.scenario}: cannot be written: {describe(error)}", RUN_FAILED)
        command = f"ropewalk run {shlex.quote(str(order.scenario))}"
        yield f"{order.scenario} is fitted to {reading.fitted.flow}{_near(reading)}; {command}"
    if order.out is not None:
        try:
            out = order.out
            store.write(reading, out, lambda: provenance.write(out))
            if order.plots:
                reading.plot.write(order.out / store.PLOTS)
        except OSError as error:
            fail(f"--out {order.out}: cannot be written: {describe(error)}", RUN_FAILED)
        plots = f", plots in {order.out / store.PLOTS}/" if order.plots else ""
        same = "as there" if order.scenario is not None else f"fitted{_near(reading)}"
        yield f"tables, {store.SUMMARY} and {store.SCENARIO} ({same}) in {order.out}/{plots}"
        yield next_step(order.out)


def _near(reading: connections.Reading) -> str:
    """How near runs of the fitted scenario are, after a colon."""
    near = reading.fitted.near
    return "" if near is None else f": {near.short}"


def _print(reading: connections.Reading) -> None:
    screen = printer()
    others = f", {reading.not_read} of them not read" if reading.not_read else ""
    screen.paragraph(f"{reading.packets} packets{others}", style="bold")
    if reading.mptcp_options:
        listed = ", ".join(f"{name} {packets}" for name, packets in reading.mptcp_options.items())
        screen.paragraph(f"Options of MPTCP: {listed}")
    screen.line()
    if not reading.flows.height:
        screen.paragraph("No connection has sent data.")
        return
    show_table(screen, "Connections", _columns(FLOWS, reading.flows))
    several = reading.subflows.filter(reading.subflows["flow"].is_duplicated())
    if several.height:
        show_table(screen, "Subflows", _columns(SUBFLOWS, several))


def _columns(wanted: list[tuple[str, Callable[[Row], str]]], table: pl.DataFrame) -> list[Column]:
    rows = table.to_dicts()
    return [
        Column(header, [cell(row) for row in rows], header not in WORDS, position == 0, position or None)
        for position, (header, cell) in enumerate(wanted)
    ]
