"""Paragraphs and tables of words for terminals of any width.

Lines are broken between words only; none ends in blanks.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.cells import cell_len

from ropewalk.visible import one_line, readable, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

PIPE_WIDTH = 120
"""Width of tables of words where there is no terminal."""
GAP = 3
NARROW = 20
"""A column of prose is no narrower: rows are printed as lists instead."""


class Printer:
    """Text for people on stdout: lines of a terminal are as long as it is wide, others as long as they are.

    Names and labels come from files of others: control characters in them are made visible.
    """

    def __init__(self, out: Console, width: int | None) -> None:
        self._out = out
        self.width = width
        """Width of the terminal in characters; None: no line is broken."""

    def line(self, text: str = "", style: str | None = None, end: str = "\n") -> None:
        """One line as it is, however long."""
        self._out.print(
            visible(text), style=style, end=end, no_wrap=True, overflow="ignore", crop=False, markup=False
        )

    def paragraph(self, text: str, *, indent: int = 0, hanging: int = 0, style: str | None = None) -> None:
        """Text whose lines are broken between words.

        Args:
            text: each of its lines is a paragraph.
            indent: blanks in front of every line.
            hanging: more blanks in front of all lines of a paragraph but its first.
            style: of rich.
        """
        for paragraph in readable(visible(text)).split("\n"):
            room = None if self.width is None else self.width - indent
            for place, line in enumerate(wrap(paragraph, room, hanging)):
                shift = indent + (hanging if place else 0)
                self.line((" " * shift + line).rstrip(), style)

    def command(self, words: Sequence[str]) -> None:
        """A command to be copied: where it is longer than a line it goes on behind a backslash."""
        parts: list[str] = []
        for before, word in zip(["", *words], words, strict=False):
            if before.startswith("--") and not word.startswith("--"):
                parts[-1] += f" {shlex.quote(word)}"
            else:
                parts.append(shlex.quote(word))
        lines = ["  " + parts[0]]
        for part in parts[1:]:
            if self.width is not None and cell_len(f"{lines[-1]} {part} \\") > self.width:
                lines[-1] += " \\"
                lines.append("    " + part)
            else:
                lines[-1] += f" {part}"
        for line in lines:
            self.line(line)


def wrap(text: str, width: int | None, hanging: int = 0) -> list[str]:
    """The lines of a paragraph; a word that is longer than a line stays whole.

    Args:
        text: one paragraph.
        width: of a line in characters.
        hanging: characters that all lines but the first have less.
    """
    if width is None or cell_len(text) <= width:
        return [text.rstrip()]
    lines = [""]
    for word in text.split():
        room = width - (hanging if len(lines) > 1 else 0)
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines


def show_texts(
    out: Printer,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Sequence[str | None] | None = None,
) -> None:
    """A table of words, whose cells are broken between words; rows are lists where there is no room for that.

    Args:
        out: where.
        headers: one line each.
        rows: a cell for each header.
        styles: of the last cell of each row.
    """
    plain = [[readable(one_line(cell)) for cell in row] for row in rows]
    columns = list(zip(headers, *plain, strict=True))
    width = PIPE_WIDTH if out.width is None else out.width
    widths = _widths(columns, width - GAP * (len(headers) - 1))
    tones = styles or [None] * len(plain)
    if widths is None:
        _lists(out, headers, plain, tones)
        return
    head = (" " * GAP).join(name.ljust(size) for name, size in zip(headers, widths, strict=True))
    out.line(head.rstrip(), "bold")
    out.line("─" * (sum(widths) + GAP * (len(widths) - 1)))
    last = sum(widths[:-1]) + GAP * (len(widths) - 1)
    for row, tone in zip(plain, tones, strict=True):
        for line in _row(row, widths):
            # The style goes with the last column; wide letters have none.
            cut = last if tone and cell_len(line) == len(line) else len(line)
            out.line(line[:cut], end="")
            out.line(line[cut:], tone)
    out.line()


def _row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of a row."""
    cells = [wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
    lines = []
    for place in range(max(map(len, cells))):
        parts = [lines_of[place] if place < len(lines_of) else "" for lines_of in cells]
        filled = (part + " " * (size - cell_len(part)) for part, size in zip(parts, widths, strict=True))
        lines.append((" " * GAP).join(filled).rstrip())
    return lines


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column; None if words or prose would not fit."""
    whole = [max(map(cell_len, column)) for column in columns]
    if sum(whole) <= room:
        return whole
    least = [
        max(min(size, NARROW), *(cell_len(word) for cell in column for word in cell.split()))
        for column, size in zip(columns, whole, strict=True)
    ]
    left = room - sum(least)
    if left < 0:
        return None
    wanted = [size - low for size, low in zip(whole, least, strict=True)]
    return [low + left * want // sum(wanted) for low, want in zip(least, wanted, strict=True)]


def _lists(
    out: Printer, headers: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str | None]
) -> None:
    """Each row as a list: its first cell, then a paragraph for each other cell."""
    for row, tone in zip(rows, styles, strict=True):
        out.paragraph(row[0], style="bold")
        for place, (header, cell) in enumerate(zip(headers[1:], row[1:], strict=True), 2):
            if cell:
                style = tone if place == len(headers) else None
                out.paragraph(f"{header}: {cell}", indent=2, hanging=2, style=style)
    out.line()
