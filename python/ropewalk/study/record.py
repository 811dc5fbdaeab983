"""The form in which the store keeps replications: a line of JSON, then Arrow streams, one after the other."""

from __future__ import annotations

import functools
import io
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import _core

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.results import Results

FORM = 1
SERIES = "series"
WORTH_COMPRESSING = 500
"""Rows."""
SMALL = 4096
"""Bytes up to which a table may well be that of other records."""


class Damaged(Exception):
    """A file of the store is not what was written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: damaged: {reason}")
        self.path = path


@dataclass(frozen=True, slots=True)
class Header:
    """What a record says about itself."""

    seeds: list[int]
    cpu_s: float
    sizes: dict[str, int]
    """Bytes of each table."""
    checksum: int
    start: int
    """Where the tables begin."""


def pack(results: Results, series: bool) -> bytes:
    """The tables of `results` as bytes."""
    streams: dict[str, bytes] = {}
    for name, table in results.tables.items():
        if name == SERIES and not series:
            continue
        streams[name] = _stream(table)
    body = b"".join(streams.values())
    header = {
        "form": FORM,
        "model_version": _core.MODEL_VERSION,
        "seeds": results.origin.seeds,
        "cpu_s": results.totals.cpu_s,
        "sizes": {name: len(stream) for name, stream in streams.items()},
        "crc32": zlib.crc32(body),
    }
    return json.dumps(header).encode() + b"\n" + body


def _stream(table: pl.DataFrame) -> bytes:
    return _written(table) if table.height else _empty(tuple(table.schema.items()))


@functools.cache
def _empty(schema: tuple[tuple[str, pl.DataType], ...]) -> bytes:
    """Tables without rows are the same in all records: they are written once."""
    return _written(pl.DataFrame(schema=dict(schema)))


def _written(table: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    # Of a few rows there is little to save: it would take longer to write and to read, and be hardly smaller.
    table.write_ipc_stream(stream, compression="lz4" if table.height > WORTH_COMPRESSING else "uncompressed")
    return stream.getvalue()


@functools.lru_cache(maxsize=64)
def _small(stream: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(io.BytesIO(stream))


def _table(stream: memoryview) -> pl.DataFrame:
    """Tables without rows are the same in all records: they are read once."""
    if len(stream) > SMALL:
        return pl.read_ipc_stream(io.BytesIO(stream))
    return _small(bytes(stream)).clone()


def header(content: bytes, path: Path) -> Header:
    """Reads the first line.

    Raises:
        Damaged: it is none of ours.
    """
    line, newline, _ = content.partition(b"\n")
    try:
        found = json.loads(line)
        if not newline or found["form"] != FORM:
            raise Damaged(path, "unknown form")
        return Header(found["seeds"], found["cpu_s"], found["sizes"], found["crc32"], len(line) + 1)
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(path, "unreadable first line") from error


def unpack(content: bytes, path: Path, tables: set[str]) -> tuple[Header, dict[str, pl.DataFrame]]:
    """Those of `tables` that the record has.

    Raises:
        Damaged: some bytes are not those that were written.
    """
    head = header(content, path)
    body = memoryview(content)[head.start :]
    if zlib.crc32(body) != head.checksum:
        raise Damaged(path, "wrong checksum")
    found = {}
    at = 0
    for name, size in head.sizes.items():
        if name in tables:
            found[name] = _table(body[at : at + size])
        at += size
    return head, found
