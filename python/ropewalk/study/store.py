"""Finished replications on disk, addressed by what decides about their results.

`STORE/ab/abcdef.../` belongs to one scenario and model version (the key); its files hold replications, some
seeds each. A file appears whole or not at all. Nothing in it is ever changed.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk.study.disk import sweep, write_lasting, write_whole
from ropewalk.study.record import Damaged, header, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

SUFFIX = ".runs"
WITH_SERIES = ".series.runs"
SCENARIO = "scenario.toml"
CLAIMS = "claims"
_NAME = re.compile(r"^(\d+)-(\d+)-(\d+)-[0-9a-f]{8}(\.series)?\.runs$")
"""First and last seed, number of seeds, hash of all of them."""


class Disappeared(OSError):
    """The store does not have what it should have."""


@dataclass(frozen=True, slots=True)
class Record:
    """Replications to keep."""

    key: str
    plain: str
    """The scenario that the key stands for."""
    seeds: tuple[int, ...]
    content: bytes = field(repr=False)
    series: bool


@dataclass(frozen=True, slots=True)
class Stored:
    """One file."""

    path: Path
    seeds: frozenset[int]
    series: bool


class Store:
    """A directory of finished replications. Several processes may use it at the same time.

    Raises:
        OSError: it cannot be made or written to.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._headers: dict[Path, frozenset[int]] = {}
        self._claims: Claims | None = None
        if not read_only:
            self.path.mkdir(parents=True, exist_ok=True)
            self._claims = Claims(self.path / CLAIMS)

    @property
    def claims(self) -> Claims:
        """Who is computing what."""
        assert self._claims is not None, "opened for reading only"  # noqa: S101
        return self._claims

    def close(self) -> None:
        """Gives up all claims."""
        if self._claims is not None:
            self._claims.close()

    def folder(self, key: str) -> Path:
        """Where the replications of a scenario are."""
        return self.path / key[:2] / key

    def files(self, key: str) -> list[Stored]:
        """What there is of a scenario, in the order of the names."""
        try:
            names = sorted(entry.name for entry in os.scandir(self.folder(key)))
        except FileNotFoundError:
            return []
        folder = self.folder(key)
        matches = filter(None, map(_NAME.match, names))
        return [
            Stored(folder / found[0], self._seeds(folder / found[0], found), found[4] is not None)
            for found in matches
        ]

    def seeds(self, key: str) -> tuple[set[int], set[int]]:
        """Seeds that are stored, and of these those with time series."""
        found: set[int] = set()
        series: set[int] = set()
        for file in self.files(key):
            found |= file.seeds
            if file.series:
                series |= file.seeds
        return found, series

    def _seeds(self, path: Path, name: re.Match[str]) -> frozenset[int]:
        """The name says it all if no seed is left out between first and last; otherwise the file does."""
        first, last, count = map(int, name.groups()[:3])
        if last - first + 1 == count:
            return frozenset(range(first, last + 1))
        if path not in self._headers:
            with path.open("rb") as file:
                try:
                    self._headers[path] = frozenset(header(file.readline(), path).seeds)
                except Damaged:
                    self.set_aside(path)
                    return frozenset()
        return self._headers[path]

    def put(self, records: Sequence[Record]) -> tuple[int, OSError | None]:
        """Keeps records. They have survived even a crash of the machine when this returns.

        Returns:
            how many are kept, the first ones; and why not all are.
        """
        return write_lasting((self._place(record), record.content) for record in records)

    def _place(self, record: Record) -> Path:
        folder = self.folder(record.key)
        if not (folder / SCENARIO).exists():
            folder.mkdir(parents=True, exist_ok=True)
            # For people: nothing depends on it.
            write_whole(folder / SCENARIO, record.plain.encode(), lasting=False)
        seeds = record.seeds
        digest = hashlib.sha256(repr(seeds).encode()).hexdigest()[:8]
        end = WITH_SERIES if record.series else SUFFIX
        return folder / f"{min(seeds)}-{max(seeds)}-{len(seeds)}-{digest}{end}"

    def load(
        self, key: str, seeds: Iterable[int], tables: set[str]
    ) -> tuple[dict[str, list[pl.DataFrame]], float]:
        """The rows of `seeds`, table by table in pieces, and the CPU seconds that they took.

        Time series are those of the seeds that have them.

        Raises:
            Damaged: a file is not what was written.
            OSError: a file cannot be read, or `Disappeared`.
        """
        import polars as pl

        missing = set(seeds)
        wanted = set(missing)
        pieces: dict[str, list[pl.DataFrame]] = {name: [] for name in tables}
        cpu_s = 0.0
        # Those with time series first: a replication may also be there without.
        for file in sorted(self.files(key), key=lambda file: not file.series):
            useful = file.seeds & missing
            if not useful:
                continue
            head, found = unpack(file.path.read_bytes(), file.path, tables)
            cpu_s += head.cpu_s * len(useful) / len(file.seeds)
            for name, table in found.items():
                rows = table if useful == file.seeds else table.filter(pl.col("run").is_in(sorted(useful)))
                pieces[name].append(rows)
            missing -= useful
        if missing:
            lack = f"{len(missing)} of {len(wanted)} replications are not there"
            raise Disappeared(f"{self.folder(key)}: {lack}: run the study again")
        return pieces, cpu_s

    def set_aside(self, path: Path) -> None:
        """Renames a damaged file, so that its replications count as not done."""
        if path.is_file():
            path.rename(path.with_name(f"{path.name}.damaged"))

    def sweep(self) -> None:
        """Removes temporary files of processes that were killed."""
        sweep(self.path, "*/*/")


class Claims:
    """Who is computing what: locks that vanish with the process that holds them, however it ends.

    Each run is one byte of a file that stays empty: locks may lie beyond its end.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")

    def take(self, key: str, seed: int) -> bool:
        """Claims a run; False if another process has.

        Raises:
            OSError: the file system has no locks.
        """
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _offset(key, seed))
        except OSError as error:
            if error.errno in {errno.EACCES, errno.EAGAIN}:
                return False
            raise
        return True

    def release(self, key: str, seed: int) -> None:
        """Gives it back."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _offset(key, seed))

    def close(self) -> None:
        """Gives all back."""
        self._file.close()


def _offset(key: str, seed: int) -> int:
    return (_start(key) + seed) % (1 << 62)


@functools.lru_cache(maxsize=1024)
def _start(key: str) -> int:
    """Where the bytes of a scenario begin, far from those of most others."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") >> 2
