"""Mistakes in files and arguments of users."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

    from ropewalk._core import InvalidScenario


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake in a file."""

    file: str
    """File name, or `--set` for an override."""
    line: int
    """From 1."""
    column: int
    """In characters, from 1."""
    key: str
    """Dotted path of the key."""
    code: str
    """Stable code of the kind of mistake, such as `E002`."""
    message: str
    """The value found, and the allowed ones."""
    help: str
    """The cure."""


class ScenarioError(ValueError):
    """A scenario with mistakes; its text lists all of them, with places and cures."""

    def __init__(self, text: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics
        """The mistakes one by one, where they are in a file or an override."""

    @classmethod
    def from_core(cls, error: InvalidScenario) -> Self:
        """The same error with its diagnostics as objects."""
        text, details = error.args
        names = Diagnostic.__slots__
        return cls(text, tuple(Diagnostic(**{name: d[name] for name in names}) for d in json.loads(details)))


class StudyError(ScenarioError):
    """A file of a study or reproduction with mistakes; its text lists all of them, with places and cures."""
