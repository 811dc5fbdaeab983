"""Tables of the document itself, for checks: one column, by the values of others."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import reading
from ropewalk.reproduce.values import NoValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class TableError(ValueError):
    """A mistake in a table; `cure` says how to mend it."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure


@dataclass(frozen=True, slots=True)
class Published:
    """A column of a published table."""

    name: str
    path: Path
    levels: tuple[tuple[str, ...], ...]
    """The values of each of the columns that it goes by, in the order of the file."""
    values: Mapping[tuple[str, ...], float]

    def value(self, levels: tuple[str, ...]) -> float:
        """The value in the row with these levels.

        Raises:
            NoValue: there is no such row.
        """
        if levels not in self.values:
            raise NoValue(f"{self.path.name} has no row {', '.join(levels)}")
        return self.values[levels]


def read(name: str, path: Path, column: str, by: Sequence[str]) -> Published:
    """Reads one column, by the values of the columns `by`.

    Raises:
        TableError: there is no such file or column, a row is there twice, or a value is not a number.
    """
    try:
        reader = csv.DictReader(reading.text(path).splitlines(keepends=True))
        columns = list(reader.fieldnames or ())
        rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TableError(f"{path}: {reason}", "name a CSV file beside this one") from None
    for wanted in (column, *by):
        if wanted not in columns:
            raise TableError(f'{path} has no column "{wanted}"', f"its columns: {', '.join(columns)}")
    values: dict[tuple[str, ...], float] = {}
    for line, row in enumerate(rows, 2):
        key = tuple(row[level] for level in by)
        if key in values:
            raise TableError(f"{path}:{line}: {', '.join(key)} is there twice", "name more columns in `by`")
        try:
            values[key] = float(row[column])
        except (TypeError, ValueError):
            raise TableError(
                f"{path}:{line}: {column} is {row[column]!r}", "write a number, or leave the row out"
            ) from None
    levels = tuple(tuple(dict.fromkeys(key[place] for key in values)) for place in range(len(by)))
    return Published(name, path, levels, values)
