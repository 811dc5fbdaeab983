"""Mistakes in files of reproductions: all at once, with place and cure, as in scenario files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from ropewalk import _core
from ropewalk.errors import StudyError

if TYPE_CHECKING:
    from collections.abc import Iterable

Path: TypeAlias = "tuple[str | int, ...]"
"""Keys and indices of arrays, from the root."""

UNKNOWN_KEY = "E002"
MISSING = "E003"
WRONG_VALUE = "E005"
UNKNOWN_NAME = "E009"
CONTRADICTION = "E012"
UNREADABLE = "E022"


class Mistakes:
    """Collects what is wrong with the file `name`.

    The extension checks it by the key tables of its `kind`, `any` without such.

    Raises:
        StudyError: it is not TOML.
    """

    def __init__(self, name: str, text: str, kind: str = "any") -> None:
        try:
            self._source = _core.Source.read(text, name, kind)
        except _core.InvalidScenario as error:
            raise StudyError.from_core(error) from None

    def parse(self) -> dict[str, Any]:
        """The values of the file, without those that are wrong."""
        values: dict[str, Any] = json.loads(self._source.values(), object_hook=_without_wrong)
        return values

    def add(self, path: Path, code: str, message: str, cure: str, *, value: bool = True) -> None:
        """Notes a mistake in the value at `path`, or in its key."""
        self._source.add(list(path), not value, code, message, cure)

    def raise_any(self) -> None:
        """Ends if something has been noted.

        Raises:
            StudyError: with everything noted, in the order of the lines.
        """
        try:
            self._source.check()
        except _core.InvalidScenario as error:
            raise StudyError.from_core(error) from None


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """`did you mean X? known: ...` for a name that is none of `known`."""
    return _core.suggest(found, list(known))


def _without_wrong(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}
