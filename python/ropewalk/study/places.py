"""Where the keys and values of a TOML file stand. `tomllib` reads values, but says nothing of places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = "tuple[str | int, ...]"
"""Keys and indices of arrays, from the root."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = [
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
]
_SCALAR = re.compile(r"[^,\]}#\n]+")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the file."""

    line: int
    """From 1."""
    column: int
    """In characters, from 1."""
    length: int


class Places:
    """The places of everything in `text`, which `tomllib` must have accepted."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._lines = self._text.split("\n")
        self._keys: dict[Path, tuple[int, int]] = {}
        self._values: dict[Path, tuple[int, int]] = {}
        self._tables: dict[Path, int] = {}
        self._document()

    def key(self, path: Path) -> Span:
        """Where the key stands; that of the nearest table around it if it stands nowhere."""
        return self._nearest(path, self._keys)

    def value(self, path: Path) -> Span:
        """Where its value stands."""
        return self._nearest(
            path, self._values | {p: s for p, s in self._keys.items() if p not in self._values}
        )

    def line(self, number: int) -> str:
        """The text of a line, from 1."""
        return self._lines[number - 1] if number <= len(self._lines) else ""

    def _nearest(self, path: Path, spans: dict[Path, tuple[int, int]]) -> Span:
        while path and path not in spans:
            path = path[:-1]
        start, end = spans.get(path, (0, 1))
        line = self._text.count("\n", 0, start) + 1
        column = start - (self._text.rfind("\n", 0, start) + 1) + 1
        length = len(self._text[start:end].split("\n", 1)[0])
        return Span(line, column, max(1, length))

    def _document(self) -> None:
        table: Path = ()
        at = self._skip(_BLANK, 0)
        while at < len(self._text):
            if self._text[at] == "[":
                table, at = self._header(at)
            else:
                at = self._pair(table, at)
            at = self._skip(_BLANK, at)

    def _header(self, at: int) -> tuple[Path, int]:
        many = self._text.startswith("[[", at)
        start = at
        names, at = self._dotted(self._skip(_SPACE, at + (2 if many else 1)))
        at = self._skip(_SPACE, at) + (2 if many else 1)
        path = (*self._inside(tuple(names[:-1])), names[-1])
        if many:
            index = self._tables.get(path, -1) + 1
            self._tables[path] = index
            self._keys.setdefault(path, (start, at))
            path += (index,)
        self._keys.setdefault(path, (start, at))
        return path, at

    def _inside(self, names: Path) -> Path:
        """A name that stands for an array of tables means its latest one."""
        path: Path = ()
        for name in names:
            path += (name,)
            if path in self._tables:
                path += (self._tables[path],)
        return path

    def _dotted(self, at: int) -> tuple[list[str], int]:
        names = []
        while True:
            start = at
            if self._text[at] in "\"'":
                at = self._string(at)
                names.append(self._text[start + 1 : at - 1])
            else:
                at = self._skip(_PLAIN_KEY, at)
                names.append(self._text[start:at])
            following = self._skip(_SPACE, at)
            if not self._text.startswith(".", following):
                return names, at
            at = self._skip(_SPACE, following + 1)

    def _pair(self, table: Path, at: int) -> int:
        start = at
        names, at = self._dotted(at)
        path = table + tuple(names)
        for depth in range(len(table) + 1, len(path) + 1):
            self._keys.setdefault(path[:depth], (start, at))
        at = self._skip(_SPACE, self._skip(_SPACE, at) + 1)
        return self._value(path, at)

    def _value(self, path: Path, at: int) -> int:
        start = at
        first = self._text[at]
        if first in "\"'":
            at = self._string(at)
        elif first == "[":
            at = self._array(path, at + 1)
        elif first == "{":
            at = self._inline(path, at + 1)
        else:
            found = _SCALAR.match(self._text, at)
            at += len(found.group().rstrip()) if found else 1
        self._values[path] = (start, at)
        return at

    def _array(self, path: Path, at: int) -> int:
        index = 0
        while (at := self._skip(_BLANK, at)) < len(self._text) and self._text[at] != "]":
            if self._text[at] == ",":
                at += 1
                continue
            at = self._value((*path, index), at)
            index += 1
        return at + 1

    def _inline(self, path: Path, at: int) -> int:
        while (at := self._skip(_BLANK, at)) < len(self._text) and self._text[at] != "}":
            at = at + 1 if self._text[at] == "," else self._pair(path, at)
        return at + 1

    def _string(self, at: int) -> int:
        for pattern in _STRINGS:
            if found := pattern.match(self._text, at):
                return found.end()
        return at + 1

    def _skip(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self._text, at)
        return found.end() if found else at
