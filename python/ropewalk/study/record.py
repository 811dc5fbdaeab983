"""The form in which the store keeps replications: a line of JSON, then Arrow streams, one after the other.

A record holds what one unit of work has computed, mostly of several cases: tables of all of them are written
and read much faster than those of each. Its file is named after the SHA-256 of its content. The first line
has a SHA-256 of its own, because it is often read alone.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import _core, reading
from ropewalk.study.address import KEY, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SUFFIX = ".record"
"""Another form of the files would need another one: those that end otherwise are passed over."""
SERIES = "series"
SCENARIOS, TEXT = "scenarios", "text"
"""A table of its own: the scenarios of the pieces."""
PART = "part"
"""Column of all tables: index of the piece that a row belongs to."""
MEMBERS = {"model_version", "pieces", "sizes"}
"""Keys of the first line."""
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

    @property
    def name(self) -> str:
        """The name of its file: the SHA-256 of the content."""
        return f"{_digest(self.content)}{SUFFIX}"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a record."""

    model_version: int
    pieces: tuple[Piece, ...]
    sizes: dict[str, int]
    """Bytes of each table."""


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
            # A few rows gain little, and compression would make writing and reading slower.
            streams[name] = _stream(table, compress=table.height > WORTH_COMPRESSING)
    body = b"".join(streams.values())
    header = {
        "model_version": _core.MODEL_VERSION,
        "pieces": [[piece.key, piece.seeds, piece.series] for piece in pieces],
        "sizes": {name: len(stream) for name, stream in streams.items()},
    }
    line = json.dumps(header, separators=(",", ":")).encode()
    return Record(pieces, b"%b %b\n%b" % (_digest(line).encode(), line, body))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _stream(table: pl.DataFrame, *, compress: bool) -> bytes:
    stream = io.BytesIO()
    table.write_ipc_stream(stream, compression="lz4" if compress else "uncompressed")
    return stream.getvalue()


def header(line: bytes, path: Path) -> Header:
    """Reads the first line, the end of it included.

    Raises:
        Damaged: it is not a first line as `pack` writes it.
    """
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != _digest(text).encode():
        raise Damaged(path, "the first line is not what its checksum says")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(path, f"the first line is no JSON: {error}") from None
    if not isinstance(found, dict) or set(found) != MEMBERS:
        have = ", ".join(found) if isinstance(found, dict) else type(found).__name__
        raise Damaged(
            path, f"the first line has {have or 'nothing'}, allowed are {', '.join(sorted(MEMBERS))}"
        )
    version, pieces, sizes = found["model_version"], found["pieces"], found["sizes"]
    if not _is_count(version):
        raise Damaged(path, f"model_version: found {version!r}, allowed is a whole number")
    if not isinstance(sizes, dict) or SCENARIOS not in sizes or not all(map(_is_count, sizes.values())):
        raise Damaged(path, f"sizes: allowed are bytes by table, {SCENARIOS!r} among them")
    if not isinstance(pieces, list):
        raise Damaged(path, "pieces: allowed is a list")
    return Header(version, tuple(_piece(path, place, one) for place, one in enumerate(pieces)), sizes)


def _is_count(found: object) -> bool:
    return type(found) is int and found >= 0


def _piece(path: Path, place: int, found: object) -> Piece:
    match found:
        case [str(key), list(seeds), bool(series)] if KEY.fullmatch(key) and all(map(_is_count, seeds)):
            return Piece(key, tuple(map(int, seeds)), series)
    raise Damaged(path, f"pieces[{place}]: allowed are a key, a list of seeds, and true or false")


def unpack(path: Path, tables: Iterable[str] | None = None) -> tuple[Header, dict[str, pl.DataFrame]]:
    """Reads the tables of a record, or those of `tables` that it has.

    Raises:
        Damaged: it is not what was written: edited, cut, or under the name or key of another one.
        OSError: it cannot be read.
    """
    content = reading.content(path)
    # First of all, so that no foreign JSON or Arrow data is parsed.
    if f"{_digest(content)}{SUFFIX}" != path.name:
        raise Damaged(path, "edited, cut or renamed: the name is not the SHA-256 of the content")
    start = content.find(b"\n") + 1
    head = header(content[:start], path)
    body = memoryview(content)[start:]
    if sum(head.sizes.values()) != len(body):
        raise Damaged(path, f"{len(body)} bytes of tables, the first line says {sum(head.sizes.values())}")
    wanted = set(head.sizes if tables is None else tables)
    found = {}
    at = 0
    for name, size in head.sizes.items():
        if name in wanted or name == SCENARIOS:
            found[name] = _table(path, name, body[at : at + size])
        at += size
    _check_keys(path, head, found[SCENARIOS])
    return head, {name: table for name, table in found.items() if name in wanted}


def _table(path: Path, name: str, content: memoryview) -> pl.DataFrame:
    try:
        return pl.read_ipc_stream(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise Damaged(path, f"table {name}: {error}") from None


def _check_keys(path: Path, head: Header, scenarios: pl.DataFrame) -> None:
    """A key is the hash of a scenario and a model version: those that the record itself has."""
    if scenarios.columns != [PART, TEXT] or scenarios.height != len(head.pieces):
        raise Damaged(path, f"table {SCENARIOS}: not one scenario for each of {len(head.pieces)} pieces")
    for piece, text in zip(head.pieces, scenarios[TEXT], strict=True):
        if key_of(text, head.model_version) != piece.key:
            version = head.model_version
            raise Damaged(path, f"{piece.key} is not the key of its scenario and model version {version}")
