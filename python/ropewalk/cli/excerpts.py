"""Messages on a terminal: lines broken between words, long lines of a file cut around the mark."""

from __future__ import annotations

import re

from ropewalk.cli.texts import wrap

_SOURCE = re.compile(r"( *\d* \| )(.*)")
_MARK = re.compile(r"( +\| )([ \t]*)(\^+)")
HANGING = 4
LEFT = 3
"""A cut line begins at least this part of its width in front of the mark."""


def folded(message: str, width: int) -> str:
    """The message in lines of a terminal of `width` characters; words that are longer stay whole."""
    lines = message.split("\n")
    shown: list[str] = []
    place = 0
    while place < len(lines):
        source = _SOURCE.fullmatch(lines[place])
        mark = _MARK.fullmatch(lines[place + 1]) if place + 1 < len(lines) else None
        if source and mark and len(source[1]) == len(mark[1]):
            shown += _excerpt(source, mark, width)
            place += 2
        else:
            shown += _paragraph(lines[place], width)
            place += 1
    return "\n".join(shown)


def _paragraph(line: str, width: int) -> list[str]:
    indent = len(line) - len(line.lstrip(" "))
    first, *others = wrap(line.lstrip(" "), width - indent, HANGING)
    return [" " * indent + first, *(" " * (indent + HANGING) + other for other in others)]


def _excerpt(source: re.Match[str], mark: re.Match[str], width: int) -> list[str]:
    """A line of a file and the mark below it, cut to the part around the mark."""
    room = width - len(source[1])
    text, before = source[2], len(mark[2])
    if len(text) <= room or room < HANGING * LEFT:
        return [source[0], mark[0]]
    start = max(0, min(before - room // LEFT, len(text) - room))
    end = start + room
    cut = (
        ("…" if start else text[:1])
        + text[start + 1 : end - 1]
        + ("…" if end < len(text) else text[end - 1 : end])
    )
    carets = mark[3][: end - before]
    return [source[1] + cut, mark[1] + mark[2][start:] + carets]
