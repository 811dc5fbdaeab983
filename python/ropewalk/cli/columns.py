"""Tables of figures for terminals of any width: no cell is broken, no line ends in blanks.

A table that is too wide is divided: each block has the names of the rows and as many columns as fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from ropewalk.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

GAPS = (3, 2, 1)
"""Blanks between columns, the first that fits."""
DIVIDED = 2
"""The same in a table that is divided."""
INDENT = 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column, its header in one or more lines."""

    header: str
    cells: list[str]
    right: bool = True
    """Figures are aligned at their right end."""
    names: bool = False
    """It says what the row is about, and stands in every block."""

    @property
    def width(self) -> int:
        """Of the widest line."""
        return max(map(cell_len, (*self.header.split("\n"), *self.cells)), default=0)


def show_table(out: Console, title: str, columns: Sequence[Column], width: int | None) -> None:
    """Prints the columns that have anything in them.

    Args:
        out: where.
        title: above the table.
        columns: all of the same length.
        width: of the terminal, in characters; None: as much as it takes.
    """
    plain = [
        Column(visible(c.header), [visible(cell) for cell in c.cells], c.right, c.names) for c in columns
    ]
    _print(out, f"{title}\n", bold=True)
    for chosen, gap in _blocks(plain, width):
        for line in _header(chosen, gap):
            _print(out, line, bold=True)
        _print(out, " " * INDENT + "─" * _width(chosen, gap))
        for row in zip(*(column.cells for column in chosen), strict=True):
            _print(out, _line(chosen, row, gap))
        _print(out, "")


def _print(out: Console, line: str, *, bold: bool = False) -> None:
    out.print(line, style="bold" if bold else None, no_wrap=True, overflow="ignore", crop=False)


def _width(columns: Sequence[Column], gap: int) -> int:
    return sum(column.width for column in columns) + gap * (len(columns) - 1)


def _blocks(columns: list[Column], width: int | None) -> list[tuple[list[Column], int]]:
    """The columns of each block and the blanks between them."""
    if width is None:
        return [(columns, GAPS[0])]
    for gap in GAPS:
        if INDENT + _width(columns, gap) <= width:
            return [(columns, gap)]
    names = [column for column in columns if column.names]
    blocks: list[list[Column]] = [[]]
    for column in columns:
        if column.names:
            continue
        if blocks[-1] and INDENT + _width([*names, *blocks[-1], column], DIVIDED) > width:
            blocks.append([])
        blocks[-1].append(column)
    return [([*names, *block], DIVIDED) for block in blocks]


def _header(columns: Sequence[Column], gap: int) -> list[str]:
    """Headers end on the same line."""
    parts = [column.header.split("\n") for column in columns]
    height = max(map(len, parts))
    filled = [[""] * (height - len(part)) + part for part in parts]
    return [_line(columns, row, gap) for row in zip(*filled, strict=True)]


def _line(columns: Sequence[Column], row: Sequence[str], gap: int) -> str:
    cells = []
    for column, cell in zip(columns, row, strict=True):
        blanks = " " * (column.width - cell_len(cell))
        cells.append(blanks + cell if column.right else cell + blanks)
    return (" " * INDENT + (" " * gap).join(cells)).rstrip()
