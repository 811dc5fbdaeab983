"""Tables of figures for terminals of any width: no cell is broken, no line ends in blanks.

A table that is too wide loses columns, the least important ones first, and a line below names them. Columns
that may not be left out are divided among blocks, each with the names of the rows. Where the names and one
column do not fit beside each other, a row becomes a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from ropewalk.visible import one_line, readable, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.cli.texts import Printer

GAPS = (3, 2)
"""Blanks between columns, the first that fits."""
DIVIDED = 2
"""The same in a table that is divided or has lost columns."""
INDENT = 1
HOW = "`| less -S` shows all columns"


@dataclass(frozen=True, slots=True)
class Column:
    """One column, its header in one or more lines."""

    header: str
    cells: list[str]
    right: bool = True
    """Figures are aligned at their right end."""
    names: bool = False
    """It says what the row is about, and stands in every block."""
    rank: float | None = None
    """In a table that is too wide, the column of the largest rank is left out first; None: it stays."""

    width: int = field(init=False)
    """Width of the widest line; each row asks."""

    def __post_init__(self) -> None:
        """Measures every cell once."""
        width = max(map(cell_len, (*self.header.split("\n"), *self.cells)), default=0)
        object.__setattr__(self, "width", width)

    @property
    def label(self) -> str:
        """The header in one line."""
        return self.header.replace("-\n", "").replace("\n", " ")


def show_table(out: Printer, title: str, columns: Sequence[Column]) -> None:
    """Prints a table of columns of the same length under its title."""
    shown = [[readable(one_line(cell)) for cell in column.cells] for column in columns]
    plain = [
        replace(column, header=visible(column.header), cells=cells)
        for column, cells in zip(columns, shown, strict=True)
    ]
    out.paragraph(title, style="bold")
    out.line()
    kept, left_out = _fitting(plain, out.width)
    blocks = _blocks(kept, out.width)
    if blocks is None:
        _lists(out, kept)
    for chosen, gap in blocks or []:
        for line in _header(chosen, gap):
            out.line(line, "bold")
        out.line(" " * INDENT + "─" * _width(chosen, gap))
        for row in zip(*(column.cells for column in chosen), strict=True):
            out.line(_line(chosen, row, gap))
        out.line()
    if left_out:
        names = ", ".join(column.label for column in left_out)
        text = f"Left out: {names};"
        # A command is not broken: it is copied.
        apart = out.width is not None and cell_len(f"{text} {HOW}.") > out.width - INDENT
        for line in (text, f"{HOW}.") if apart else (f"{text} {HOW}.",):
            out.paragraph(line, indent=INDENT, style="dim")
        out.line()


def _width(columns: Sequence[Column], gap: int) -> int:
    return sum(column.width for column in columns) + gap * (len(columns) - 1)


def _fits(columns: Sequence[Column], gap: int, width: int) -> bool:
    return INDENT + _width(columns, gap) <= width


def _fitting(columns: list[Column], width: int | None) -> tuple[list[Column], list[Column]]:
    """The columns that stay, and those that a terminal of this width has no room for."""
    if width is None or any(_fits(columns, gap, width) for gap in GAPS):
        return columns, []
    kept = list(columns)
    candidates = sorted(
        (place for place, column in enumerate(columns) if column.rank is not None),
        key=lambda place: (columns[place].rank, place),
    )
    # One figure stays, whatever its width.
    dropped: set[int] = set()
    for place in reversed(candidates[1:]):
        dropped.add(place)
        kept = [column for at, column in enumerate(columns) if at not in dropped]
        if _fits(kept, DIVIDED, width):
            break
    return kept, [columns[place] for place in sorted(dropped)]


def _blocks(columns: list[Column], width: int | None) -> list[tuple[list[Column], int]] | None:
    """The columns of each block and the blanks between them; None where not one fits beside the names."""
    if width is None:
        return [(columns, GAPS[0])]
    for gap in GAPS:
        if _fits(columns, gap, width):
            return [(columns, gap)]
    names = [column for column in columns if column.names]
    blocks: list[list[Column]] = [[]]
    for column in columns:
        if column.names:
            continue
        if not _fits([*names, column], DIVIDED, width):
            return None
        if blocks[-1] and not _fits([*names, *blocks[-1], column], DIVIDED, width):
            blocks.append([])
        blocks[-1].append(column)
    return [([*names, *block], DIVIDED) for block in blocks]


def _lists(out: Printer, columns: list[Column]) -> None:
    """Each row as a list: its names, then a line for each figure."""
    for row in range(len(columns[0].cells)):
        names = "  ".join(column.cells[row] for column in columns if column.names)
        out.paragraph(names, indent=INDENT, style="bold")
        for column in columns:
            if not column.names:
                out.paragraph(f"{column.label}: {column.cells[row]}", indent=INDENT + 2)
        out.line()


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
