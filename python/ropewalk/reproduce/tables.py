"""One TOML file of a reproduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk.study.file import text_of
from ropewalk.study.mistakes import UNKNOWN_NAME, Mistakes, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from ropewalk.study.mistakes import Path as Place


class TomlFile:
    """One TOML file, checked by the key tables of its kind: its values, and what is wrong with them."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        self.mistakes = Mistakes(str(path), text_of(path), kind)
        self.root = self.mistakes.parse()

    def only(self, keys: Iterable[str], place: Place, profiles: Collection[str]) -> None:
        """Notes keys that are no profile."""
        for key in keys:
            if key not in profiles:
                message, cure = f'there is no profile "{key}"', did_you_mean(key, profiles)
                self.mistakes.add((*place, key), UNKNOWN_NAME, message, cure, value=False)
