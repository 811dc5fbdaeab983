"""`ropewalk read`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from ropewalk import captures, disk
from ropewalk.cli.columns import Column, show_table
from ropewalk.cli.reporting import RUN_FAILED, fail
from ropewalk.cli.tables import NONE, printer
from ropewalk.numbers import figure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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


def execute(files: Sequence[Path], out: Path | None, *, as_json: bool) -> None:
    """Reads, writes, prints."""
    reading = captures.read(files)
    for problem in reading.problems:
        sys.stderr.write(f"{problem}\n")
    if not reading.packets:
        fail("no packet could be read", RUN_FAILED)
    tables = {"flows": reading.flows, "subflows": reading.subflows}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            disk.write_whole(out / f"{name}.csv", table.write_csv().encode(), lasting=False)
    if as_json:
        found = {name: table.to_dicts() for name, table in tables.items()}
        facts = {"packets": reading.packets, "not_read": reading.not_read, "problems": reading.problems}
        sys.stdout.write(json.dumps({**facts, **found}, ensure_ascii=False, allow_nan=False) + "\n")
        return
    _print(reading)
    if out is not None:
        sys.stdout.write(f"flows.csv and subflows.csv in {out}/\n")


def _print(reading: captures.Reading) -> None:
    screen = printer()
    others = f", {reading.not_read} of them no TCP" if reading.not_read else ""
    screen.paragraph(f"{reading.packets} packets{others}", style="bold")
    screen.line()
    if not reading.flows.height:
        screen.paragraph("No TCP connection has sent data.")
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
