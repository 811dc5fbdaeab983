"""Labels, names and reasons made harmless where they are written: terminals, CSV, HTML.

They come from files that others may have made. Characters in them can reverse the text beside them, control a
terminal, make a formula of a cell, or end the element of a page.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that change the direction of text (Unicode Standard Annex 9)."""
CONTROLS = (*(c for c in range(0x20) if chr(c) not in "\t\n"), *range(0x7F, 0xA0))
"""Control characters of terminals: C0 without tab and line feed, DEL, C1.

A carriage return is one of them: what follows it would be written over its line.
"""
UNSEEN = (0x00AD, 0x180E, 0x200B, 0x2028, 0x2029, *range(0x2060, 0x2065), 0xFEFF)
"""Characters without a form: two names that differ by one look alike. Joiners, which scripts need, stay."""
HALVES = range(0xD800, 0xE000)
"""Surrogates: bytes in the names of files that are not UTF-8, which no file can hold as text."""
_SHOWN = {character: f"\\u{character:04x}" for character in (*BIDI, *CONTROLS, *UNSEEN, *HALVES)}
_BREAKS = {ord(character): escape for character, escape in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))}
_IN_JSON = {character: f"\\\\u{character:04x}" for character in (*BIDI, *HALVES)} | {ord("<"): "\\u003c"}
LONGEST = 2000
"""Characters of a line of a message that are shown: names can be as long as a file."""
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""How a cell begins that spreadsheets evaluate: also with the wide forms of the signs."""
_MARKS = re.compile(r"[\\`*_{}\[\]<>#|!&~]")
"""Characters with which an element of Markdown begins or ends, and references to characters of HTML."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")


def visible(text: str) -> str:
    """Characters of direction, of control and without a form, and surrogates, as escapes."""
    return text.translate(_SHOWN)


def one_line(text: str) -> str:
    """The same, and line ends and tabs as escapes: a label forges no second row of a table."""
    return text.translate(_SHOWN | _BREAKS)


def readable(text: str) -> str:
    """The text without the middle of lines that are longer than `LONGEST`."""
    return "\n".join(map(_without_middle, text.split("\n")))


def _without_middle(line: str) -> str:
    if len(line) <= LONGEST:
        return line
    return f"{line[: LONGEST // 2]}…({len(line)} characters)…{line[-LONGEST // 4 :]}"


def markdown(text: str) -> str:
    """Text in a line or a cell of Markdown: it begins no element, ends no cell and no line."""
    return _MARKS.sub(r"\\\g<0>", one_line(text))


def json_in_html(value: object) -> str:
    """JSON that may stand in a script element: nothing in it ends or nests one.

    `<` is written as an escape, so that neither `</script` nor `<!--<script` occurs. Characters of direction
    become visible as escapes.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_IN_JSON)


def cell(text: str) -> str:
    """A cell of CSV: with `'` in front where a spreadsheet would evaluate it. Numbers stay numbers."""
    shown = visible(text)
    return f"'{shown}" if _FORMULA.match(shown) and not _NUMBER.fullmatch(shown) else shown


def csv(table: pl.DataFrame) -> bytes:
    """The table as CSV, texts and headings as `cell` makes them."""
    import polars as pl

    table = table.clone()
    for place, column in enumerate(table.get_columns()):
        if column.dtype in {pl.String, pl.Categorical, pl.Enum}:
            known = column.unique().drop_nulls().cast(pl.String).to_list()
            changed = {text: cell(text) for text in known if cell(text) != text}
            if changed:
                table.replace_column(place, column.cast(pl.String).replace(changed))
    names: list[str] = []
    for name in map(cell, table.columns):
        # Headings that differed in such characters alone stay apart.
        names.append(f"'{name}" if name in names else name)
    table.columns = names
    return table.write_csv().encode()
