"""The form in which the store keeps replications: a line of JSON, then Arrow streams, one after the other.

A record holds what one unit of work has computed, mostly of several cases: tables of all of them are written
and read much faster than those of each.
"""

from __future__ import annotations

import io
import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SERIES = "series"
SCENARIOS, TEXT = "scenarios", "text"
"""A table of its own: the scenarios of the pieces."""
PART = "part"
"""Column of all tables: index of the piece that a row belongs to."""
WORTH_COMPRESSING = 500
"""Rows."""


class Damaged(OSError):
    """A file of the store is not what was written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.what = f"{path}: damaged: {reason}"
        super().__init__(f"{self.what}\n  fix: run the study again: what the file held is computed again")
        self.path = path


@dataclass(frozen=True, slots=True)
class Piece:
    """Replications of one scenario."""

    key: str
    """Hash of the scenario and the model version."""
    seeds: tuple[int, ...]
    series: bool
    """With time series."""


@dataclass(frozen=True, slots=True)
class Record:
    """Replications to keep."""

    pieces: tuple[Piece, ...]
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Header:
    """What a record says about itself."""

    pieces: tuple[Piece, ...]
    sizes: dict[str, int]
    """Bytes of each table."""
    checksum: int
    """Of the tables."""


def pack(ran: Sequence[tuple[Piece, str, _core.Output]]) -> Record:
    """The scenarios and tables of all pieces as bytes."""
    pieces = tuple(piece for piece, _, _ in ran)
    with_series = any(piece.series for piece in pieces)
    texts = pl.DataFrame({PART: range(len(ran)), TEXT: [text for _, text, _ in ran]})
    streams = {SCENARIOS: _stream(texts.cast({PART: pl.UInt32}), compress=True)}
    for columns in zip(*(output.tables for *_, output in ran), strict=True):
        name = columns[0][0]
        if name != SERIES or with_series:
            table = pl.DataFrame(_core.Columns.joined([table for _, table in columns]))
            # Of a few rows there is little to save: it would take longer to write and to read.
            streams[name] = _stream(table, compress=table.height > WORTH_COMPRESSING)
    body = b"".join(streams.values())
    header = {
        "model_version": _core.MODEL_VERSION,
        "pieces": [[piece.key, piece.seeds, piece.series] for piece in pieces],
        "sizes": {name: len(stream) for name, stream in streams.items()},
        "crc32": zlib.crc32(body),
    }
    line = json.dumps(header, separators=(",", ":")).encode()
    return Record(pieces, b"%08x %b\n%b" % (zlib.crc32(line), line, body))


def _stream(table: pl.DataFrame, *, compress: bool) -> bytes:
    stream = io.BytesIO()
    table.write_ipc_stream(stream, compression="lz4" if compress else "uncompressed")
    return stream.getvalue()


def header(line: bytes, path: Path) -> Header:
    """Reads the first line, the end of it included.

    Raises:
        Damaged: it is none of ours.
    """
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        raise Damaged(path, "the first line is not what was written")
    found = json.loads(text)
    pieces = tuple(Piece(key, tuple(seeds), series) for key, seeds, series in found["pieces"])
    return Header(pieces, found["sizes"], found["crc32"])


def unpack(path: Path, tables: Iterable[str]) -> tuple[Header, dict[str, pl.DataFrame]]:
    """Those of `tables` that the record has.

    Raises:
        Damaged: some bytes are not those that were written.
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    start = content.find(b"\n") + 1
    head = header(content[:start], path)
    body = memoryview(content)[start:]
    if zlib.crc32(body) != head.checksum:
        raise Damaged(path, "wrong checksum")
    found = {}
    wanted = set(tables)
    at = 0
    for name, size in head.sizes.items():
        if name in wanted:
            found[name] = pl.read_ipc_stream(io.BytesIO(body[at : at + size]))
        at += size
    return head, found
