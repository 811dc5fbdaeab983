"""One TOML file of a reproduction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ropewalk.study.document import Document
from ropewalk.study.file import text_of
from ropewalk.study.mistakes import MISSING, Mistakes

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.study.mistakes import Path as Place


class TomlFile(Document):
    """One TOML file and what is wrong with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(Mistakes(str(path), text_of(path)))

    def take(self, table: dict[str, Any], place: Place, key: str, kind: type, default: Any) -> Any:  # noqa: ANN401
        """As of any document, but None as `default` means that the key is compulsory."""
        if default is None and key not in table:
            self.mistakes.add(place, MISSING, f"`{key}` is missing", f"add {key} = ...", value=False)
        found = super().take(table, place, key, kind, default)
        return "" if found is None and kind is str else found
