"""Tables with named columns, such as data sets of Starlink and LTE."""

from __future__ import annotations

import csv
import datetime
import re
from dataclasses import dataclass

from ropewalk.measured.model import Quantity, Series, Source, series

RATES = {
    **dict.fromkeys(("bit/s", "bps", "b/s"), 1.0),
    **dict.fromkeys(("kbit/s", "kbps", "Kbps", "kb/s"), 1e3),
    **dict.fromkeys(("Mbit/s", "mbit/s", "Mbps", "mbps", "Mb/s"), 1e6),
    **dict.fromkeys(("Gbit/s", "gbit/s", "Gbps", "gbps", "Gb/s"), 1e9),
    **dict.fromkeys(("B/s", "Bps"), 8.0),
    **dict.fromkeys(("kB/s", "KB/s", "kBps"), 8e3),
    **dict.fromkeys(("MB/s", "MBps"), 8e6),
}
"""In bit/s; capital B is bytes."""
TIMES = {
    **dict.fromkeys(("s", "sec", "secs", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec"), 1e-3),
    **dict.fromkeys(("us", "µs", "usec"), 1e-6),
    "ns": 1e-9,
    "min": 60.0,
}
"""In seconds."""
SHARES = {"%": 0.01, "percent": 0.01, "pct": 0.01, "ratio": 1.0, "fraction": 1.0}

TIME = "time"
UNITS = {
    TIME: TIMES,
    Quantity.RTT: TIMES,
    Quantity.DOWN: RATES,
    Quantity.UP: RATES,
    Quantity.LOSS: SHARES,
}
NAMES = {
    TIME: re.compile(r"^(?:t|time|timestamp|date|datetime|epoch)(?:[^a-z]|$)|^(?:time|date|epoch)"),
    Quantity.RTT: re.compile(r"rtt|ping|latency|round.?trip"),
    Quantity.LOSS: re.compile(r"loss|lost|drop"),
    Quantity.DOWN: re.compile(
        r"(?:^|[^a-z])(?:down\w*|dl|rx\w*|receive\w*)(?:[^a-z]|$)|^throughput|^rate|^goodput"
    ),
    Quantity.UP: re.compile(r"(?:^|[^a-z])(?:up(?:link|load)?|ul|tx\w*|sent|send)(?:[^a-z]|$)"),
}
"""Names of columns. A column has the first kind in `ORDER` that fits; the first column of a kind is read."""
ORDER = (TIME, Quantity.LOSS, Quantity.RTT, Quantity.UP, Quantity.DOWN)
DATE = re.compile(r"(\d{4})[./-](\d\d)[./-](\d\d)[ T_](\d\d)[.:](\d\d)[.:](\d\d(?:\.\d+)?)")
"""Dates of data sets that ISO 8601 does not know, such as 2019.12.14_10.16.30."""
MISSING = {"", "nan", "na", "n/a", "null", "none", "-"}
EPOCH_MS = 1e11
"""A bare time from here on is in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class _Column:
    index: int
    name: str
    scale: float


def recognise(text: str) -> bool:
    """Whether a text begins with names in columns."""
    head = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    cells = re.split(r"[;,\t]", head)
    return len(cells) > 1 and all(re.match(r'\s*"?[A-Za-z]', cell) for cell in cells)


def read(source: Source) -> list[Series]:
    """The columns whose names say what they are, or those that the user named.

    A missing value is no sample; the other values of its line are.

    Raises:
        MeasurementError: no column fits, a unit is unknown, or a cell is no number.
    """
    lines = source.text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    between = next((c for c in ";,\t" if c in lines[start]), ",")
    try:
        rows = list(csv.reader(lines[start:], delimiter=between, skipinitialspace=True))
    except csv.Error as error:
        raise source.wrong(start + 1, str(error), "write one line for each sample") from None
    header = [name.strip() for name in rows[0]]
    columns = {name: column for name in UNITS if (column := _find(source, header, name, start + 1))}
    time = columns.pop(TIME, None)
    if time is None or not columns:
        what = "time" if time is None else "a rate, an RTT or a loss"
        cure = f"name it, as in --column down=NAME; columns: {', '.join(header)}"
        raise source.wrong(start + 1, f"no column that holds {what}", cure)
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in columns}
    for line, row in enumerate(rows[1:], start + 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            found = f"found {len(row)} cells below {len(header)} names"
            raise source.wrong(line, found, "write one cell for each name")
        at = _time(source, line, time, row[time.index])
        for name, column in columns.items():
            cell = row[column.index].strip()
            if cell.lower() not in MISSING:
                value = _number(source, line, column, cell)
                if name == Quantity.LOSS and value > 1:
                    cure = f"if these are percent: --column loss={column.name}:%"
                    raise source.wrong(line, f'found "{cell}" as a share of packets', cure)
                samples[name].append((at, value))
    return [_series(source, Quantity(name), found) for name, found in samples.items()]


def _series(source: Source, quantity: Quantity, samples: list[tuple[float, float]]) -> Series:
    began = samples[0][0] if samples and samples[0][0] > EPOCH_MS / 1e3 else None
    return series(source, quantity, samples, began)


def _find(source: Source, header: list[str], name: str, line: int) -> _Column | None:
    chosen, unit = source.options.columns.get(name, (None, None))
    if chosen == "":
        return None
    if chosen is None:
        kinds = [_kind(column.lower()) for column in header]
        if name not in kinds:
            return None
        index = kinds.index(name)
    elif chosen in header:
        index = header.index(chosen)
    else:
        raise source.wrong(line, f'no column "{chosen}"', f"columns: {', '.join(header)}")
    return _Column(index, header[index], _scale(source, header[index], name, unit, line))


def _kind(column: str) -> str | None:
    """The quantity in a column of this name."""
    return next((str(name) for name in ORDER if NAMES[name].search(column)), None)


def _scale(source: Source, column: str, name: str, unit: str | None, line: int) -> float:
    units = UNITS[name]
    if unit is not None:
        if unit not in units:
            raise source.wrong(line, f'--column {name}: unknown unit "{unit}"', f"units: {', '.join(units)}")
        return units[unit]
    if name == Quantity.LOSS:
        says = re.search(r"%|percent|pct", column.lower())
        return 0.01 if says else 1.0
    said = re.split(r"[_ (\[.\-]", column.rstrip(")]").replace("bit_s", "bit/s"))[-1]
    if said in units and said != column:
        return units[said]
    if name == TIME:
        return 1.0
    example = "Mbit/s" if units is RATES else "ms"
    cure = f"say it: --column {name}={column}:{example}; or leave it out: --column {name}="
    raise source.wrong(line, f'the column "{column}" has no unit', cure)


def _time(source: Source, line: int, column: _Column, text: str) -> float:
    cell = text.strip()
    try:
        number = float(cell)
    except ValueError:
        try:
            date = DATE.fullmatch(cell)
            iso = "{}-{}-{}T{}:{}:{}".format(*date.groups()) if date else cell
            when = datetime.datetime.fromisoformat(iso)
        except ValueError:
            cure = "write seconds, or a date and time as 2024-05-01T12:00:00Z"
            raise source.wrong(line, f'found "{cell}", which is not a time', cure) from None
        return (when if when.tzinfo else when.replace(tzinfo=datetime.UTC)).timestamp()
    if column.scale == 1.0 and number >= EPOCH_MS:
        return number * 1e-3
    return number * column.scale


def _number(source: Source, line: int, column: _Column, cell: str) -> float:
    try:
        return float(cell) * column.scale
    except ValueError:
        cure = "write a number, or leave the cell empty"
        raise source.wrong(line, f'found "{cell}" in the column "{column.name}"', cure) from None
