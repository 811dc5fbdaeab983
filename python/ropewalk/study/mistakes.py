"""Mistakes in study files: all at once, with place and cure, in the form that scenario files have."""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import TYPE_CHECKING, Any

from ropewalk.errors import Diagnostic, ScenarioError
from ropewalk.study.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ropewalk.study.places import Path, Span

SYNTAX = "S001"
UNKNOWN_KEY = "S002"
MISSING = "S003"
WRONG_VALUE = "S004"
UNKNOWN_NAME = "S005"
CONTRADICTION = "S006"
UNREADABLE = "S007"

_DEEP = re.compile(r"(?:[\[{]\s*(?:[\w.-]+\s*=\s*)?){20}")
_DOTTED = re.compile(r"(?:[\w-]+\s*\.\s*){20}")
_DIGITS = re.compile(r"\d[\d_]{4300}")
_LARGE = re.compile(r"0x[0-9a-fA-F_]{16}|0o[0-7_]{21}|0b[01_]{63}|\d[\d_]{18}")
_DEEPEST = 100
"""Tables within tables, far more than any file has."""
_SYNTAX_PLACE = re.compile(
    r"^(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$"
)


class StudyError(ScenarioError):
    """A study file with mistakes; its text lists all of them, with places and cures."""


class Mistakes:
    """Collects what is wrong with the file `name`."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text
        self._found: list[tuple[Diagnostic, Span | None]] = []
        self.places = Places("")

    def parse(self) -> dict[str, Any]:
        """The values of the file.

        Raises:
            StudyError: it is not TOML.
        """
        try:
            values = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise self._not_toml(str(error)) from None
        except RecursionError:
            raise self._refused(_DEEP, "nested too deeply", "write fewer levels of brackets") from None
        except ValueError:
            # Python converts no more than 4300 digits.
            cure = "integers have at most 64 bits"
            raise self._refused(_DIGITS, "an integer with too many digits", cure) from None
        self._bounded(values)
        self.places = Places(self._text)
        return values

    def _bounded(self, values: dict[str, Any]) -> None:
        """Refuses what TOML forbids and `tomllib` takes: integers beyond 64 bits, tables without end."""
        level: list[object] = [values]
        for _ in range(_DEEPEST):
            inner: list[object] = []
            for value in level:
                if isinstance(value, dict):
                    inner += value.values()
                elif isinstance(value, list):
                    inner += value
                elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                    raise self._refused(_LARGE, "an integer beyond 64 bits", "integers have at most 64 bits")
            if not inner:
                return
            level = inner
        pattern = _DEEP if _DEEP.search(self._text) else _DOTTED
        raise self._refused(pattern, "nested too deeply", "write fewer levels")

    def _refused(self, pattern: re.Pattern[str], what: str, cure: str) -> StudyError:
        """A mistake at the first match of `pattern`; its line is not shown, for it may be long."""
        found = pattern.search(self._text)
        start = found.start() if found else 0
        line = self._text.count("\n", 0, start) + 1
        column = start - self._text.rfind("\n", 0, start)
        diagnostic = Diagnostic(self.name, line, column, "", SYNTAX, what, cure)
        return StudyError(_render(diagnostic, None, 0), (diagnostic,))

    def _not_toml(self, text: str) -> StudyError:
        found = _SYNTAX_PLACE.match(text)
        what = found["what"] if found else text
        lines = self._text.split("\n")
        line = int(found["line"]) if found and found["line"] else len(lines)
        column = int(found["column"]) if found and found["column"] else len(lines[-1]) + 1
        cure = "see https://toml.io for the form of the file"
        diagnostic = Diagnostic(self.name, line, column, "", SYNTAX, f"not TOML: {what}", cure)
        return StudyError(_render(diagnostic, lines[line - 1], 1), (diagnostic,))

    def add(self, path: Path, code: str, message: str, cure: str, *, value: bool = True) -> None:
        """Notes a mistake in the value at `path`, or in its key."""
        span = self.places.value(path) if value else self.places.key(path)
        key = ".".join(map(str, path))
        diagnostic = Diagnostic(self.name, span.line, span.column, key, code, message, cure)
        if all(diagnostic != other for other, _ in self._found):
            self._found.append((diagnostic, span))

    def add_foreign(self, diagnostic: Diagnostic) -> None:
        """Notes a mistake in another file."""
        if all(diagnostic != other for other, _ in self._found):
            self._found.append((diagnostic, None))

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_any(self) -> None:
        """Ends if something has been noted.

        Raises:
            StudyError: with everything noted, in the order of the lines.
        """
        if not self._found:
            return
        ordered = sorted(self._found, key=lambda entry: (entry[0].line, entry[0].column))
        texts = [
            _render(d, self.places.line(span.line), span.length) if span else _render(d, None, 0)
            for d, span in ordered
        ]
        raise StudyError("\n".join(texts), tuple(diagnostic for diagnostic, _ in ordered))


def _render(diagnostic: Diagnostic, source: str | None, width: int) -> str:
    d = diagnostic
    key = f"{d.key}: " if d.key else ""
    lines = [f"{d.file}:{d.line}:{d.column}: {key}{d.message} [{d.code}]"]
    if source is not None:
        gutter = " " * len(str(d.line))
        lines.append(f"  {d.line} | {source}")
        lines.append(f"  {gutter} | {' ' * (d.column - 1)}{'^' * max(1, width)}")
    lines.append(f"  fix: {d.help}")
    return "\n".join(lines)


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """`did you mean X? known: ...` for a name that is none of `known`."""
    names = list(known)
    close = difflib.get_close_matches(found, names, n=1)
    start = f"did you mean `{close[0]}`? " if close else ""
    return f"{start}known: {', '.join(names)}"
