"""Finished replications on disk, addressed by what decides about their results.

The files of the directory are records: what one unit of work has computed. The first line of each says which
replications it holds, each by the hash of its scenario and model version (the key) and by its seed. A file
appears whole or not at all, and is named after its content, so that a change is noticed when it is read.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk.disk import sweep, write_lasting
from ropewalk.study.record import PART, SCENARIOS, SUFFIX, TEXT, Damaged, header, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import polars as pl

    from ropewalk.study.record import Header, Record

CLAIMS = "claims"
CASE = "case"


class Disappeared(OSError):
    """The store does not have what it should have."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Replications of one scenario in one file."""

    path: Path
    part: int
    """Their index in the file."""
    seeds: frozenset[int]
    series: bool


class ReadOnly(OSError):
    """Something is to be computed, and the store takes nothing."""


class Store:
    """A directory of finished replications. Several processes may use it at the same time.

    One that is on a read-only file system, or belongs to another user, can be read; `claims` then says why
    nothing can be computed.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.damaged: list[str] = []
        """The damaged files that were set aside."""
        self._files: set[str] = set()
        """Names of the files that have been looked at."""
        self._index: dict[str, list[Stored]] = {}
        """Key to what there is of it."""
        self._claims: Claims | None = None
        self._refusal = "opened for reading only"
        if not read_only:
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                self._claims = Claims(self.path / CLAIMS)
            except OSError as error:
                if error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}:
                    raise
                self._refusal = error.strerror or str(error)
        self.refresh()

    @property
    def claims(self) -> Claims:
        """Which process is computing what.

        Raises:
            ReadOnly: the store cannot be written to.
        """
        if self._claims is None:
            raise ReadOnly(f"{self.path}: {self._refusal}")
        return self._claims

    def close(self) -> None:
        """Gives up all claims."""
        if self._claims is not None:
            self._claims.close()

    def refresh(self) -> None:
        """Looks at the files that have come since the last look."""
        try:
            names = {entry.name for entry in os.scandir(self.path) if entry.name.endswith(SUFFIX)}
        except FileNotFoundError:
            names = set()
        if self._files - names:
            # Set aside, by this process or another one.
            self._files.clear()
            self._index.clear()
        for name in sorted(names - self._files):
            try:
                self._add(name, _first_line(self.path / name))
            except FileNotFoundError:
                continue
            except Damaged as error:
                self.set_aside(error)

    def _add(self, name: str, head: Header) -> None:
        self._files.add(name)
        for part, piece in enumerate(head.pieces):
            stored = Stored(self.path / name, part, frozenset(piece.seeds), piece.series)
            self._index.setdefault(piece.key, []).append(stored)

    def files(self, key: str) -> list[Stored]:
        """The runs of a scenario that were stored at the last look."""
        return self._index.get(key, [])

    def seeds(self, key: str) -> tuple[set[int], set[int]]:
        """Seeds that were stored at the last look, and of these those with time series."""
        found: set[int] = set()
        series: set[int] = set()
        for file in self.files(key):
            found |= file.seeds
            if file.series:
                series |= file.seeds
        return found, series

    def put(self, records: Sequence[Record]) -> tuple[int, OSError | None]:
        """Keeps records. They have survived even a crash of the machine when this returns.

        Returns:
            how many are kept, the first ones; and why not all are.
        """
        return write_lasting((self.path / record.name, record.content) for record in records)

    def load(
        self,
        wanted: Sequence[tuple[str, Iterable[int]]],
        tables: Collection[str],
        keep: pl.Expr | None = None,
    ) -> dict[str, pl.DataFrame]:
        """The rows of scenarios and their seeds, in this order, with the index in `wanted` as first column.

        Time series are those of the seeds that have them. With `keep` only some rows are kept, file by file.

        Raises:
            Damaged: a file is not what was written.
            OSError: a file cannot be read, or `Disappeared`.
        """
        import polars as pl

        self.refresh()
        pieces: dict[str, list[pl.DataFrame]] = {name: [] for name in tables}
        for path, uses in self._choose(wanted).items():
            head, found = unpack(path, tables)
            for name, table in found.items():
                rows = _chosen(table, head, uses)
                pieces[name].append(rows if keep is None else rows.filter(keep))
        return {name: _in_order(parts) if parts else pl.DataFrame() for name, parts in pieces.items()}

    def scenario(self, key: str) -> str:
        """The scenario that a key stands for, with every default filled in.

        Raises:
            Damaged: a file is not what was written.
            OSError: a file cannot be read, or `Disappeared`.
        """
        self.refresh()
        for file in self.files(key):
            _, found = unpack(file.path, {SCENARIOS})
            return str(found[SCENARIOS][TEXT][file.part])
        raise Disappeared(f"{self.path}: {key} is not there: run the study again")

    def _choose(self, wanted: Sequence[tuple[str, Iterable[int]]]) -> dict[Path, list[Use]]:
        """The files that have it all, and what of them."""
        chosen: dict[Path, list[Use]] = {}
        for case, (key, seeds) in enumerate(wanted):
            missing = set(seeds)
            count = len(missing)
            # Files with time series first: a replication may also be stored without.
            for file in sorted(self.files(key), key=lambda file: not file.series):
                useful = file.seeds & missing
                if useful:
                    chosen.setdefault(file.path, []).append(Use(case, file.part, useful))
                    missing -= useful
            if missing:
                lack = f"{len(missing)} of {count} replications of {key} are not there"
                raise Disappeared(f"{self.path}: {lack}: run the study again")
        return chosen

    def set_aside(self, error: Damaged) -> None:
        """Renames a damaged file, so that its replications count as not done."""
        # Where nothing can be written, it is passed over every time.
        with contextlib.suppress(OSError):
            error.path.rename(error.path.with_name(f"{error.path.name}.damaged"))
        self._files.add(error.path.name)
        self.damaged.append(error.what)

    def check(self) -> None:
        """Reads all files and sets aside those that are damaged."""
        self.refresh()
        for name in sorted(self._files):
            try:
                unpack(self.path / name)
            except FileNotFoundError:
                continue
            except Damaged as error:
                self.set_aside(error)

    def sweep(self) -> None:
        """Removes temporary files of processes that were killed."""
        sweep(self.path)


@dataclass(frozen=True, slots=True)
class Use:
    """The part of a file that is wanted."""

    case: int
    part: int
    seeds: frozenset[int]


@functools.cache
def _first_line(path: Path) -> Header:
    """Files do not change: each is looked at once. A pipe would block, and a device never end."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        mode = stat.S_IFLNK
    if not stat.S_ISREG(mode):
        raise Damaged(path, "not a file")
    with path.open("rb") as file:
        return header(file.readline(), path)


def _chosen(table: pl.DataFrame, head: Header, uses: list[Use]) -> pl.DataFrame:
    """The wanted rows of a table, with its case in place of its part."""
    import polars as pl

    cases: list[int | None] = [None] * len(head.pieces)
    for use in uses:
        cases[use.part] = use.case
    case = pl.Series(CASE, cases, dtype=pl.UInt32)[table[PART]]
    table.replace_column(table.get_column_index(PART), case)
    if all(len(use.seeds) == len(head.pieces[use.part].seeds) for use in uses):
        return table if len(uses) == len(head.pieces) else table.filter(case.is_not_null())
    rows = [(use.case, seed) for use in uses for seed in use.seeds]
    wanted = pl.DataFrame(rows, schema={CASE: pl.UInt32, "run": pl.Int64}, orient="row")
    return table.join(wanted, on=[CASE, "run"], how="semi", maintain_order="left")


def _in_order(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The cases in their order, and of each the replications in the order of their seeds."""
    import polars as pl

    parts = sorted((part for part in parts if part.height), key=lambda part: part.row(0)[:2]) or parts[:1]
    # Cases may draw different values: a column that only some have is empty in the others.
    rows = pl.concat(parts, how="diagonal")
    # Files mostly hold seeds in a row, and sorting takes longer than looking.
    places = rows[CASE].cast(pl.Int64) * (rows["run"].max() or 0) + rows["run"]
    return rows if places.is_sorted() else rows.sort(CASE, "run", maintain_order=True)


class Claims:
    """Runs that processes compute: file locks, which end with their process, however it ends.

    Each run is one byte of a file that stays empty: locks may lie beyond its end.
    """

    def __init__(self, path: Path) -> None:
        # In a store of several users it may be a pipe, which would block, or a link to a file elsewhere.
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            number = os.open(path, flags, 0o666)
        except OSError as error:
            if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
                raise OSError(errno.EINVAL, "not a file: remove it", str(path)) from None
            raise error from None
        self._file = open(number, "ab")  # noqa: PTH123, SIM115  # closed by `close`
        if not stat.S_ISREG(os.fstat(number).st_mode):
            self._file.close()
            raise OSError(errno.EINVAL, "not a file: remove it", str(path))

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
