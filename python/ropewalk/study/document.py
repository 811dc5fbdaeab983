"""TOML documents of studies and reproductions: values of the right kind, or mistakes with place and cure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ropewalk.study.mistakes import UNKNOWN_KEY, WRONG_VALUE, did_you_mean

if TYPE_CHECKING:
    from ropewalk.study.mistakes import Mistakes
    from ropewalk.study.mistakes import Path as Place

KINDS = {
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    list: "a list",
    dict: "a table",
}


def kind_of(value: object) -> str:
    """The kind of a value, in words."""
    return KINDS.get(type(value), "a date or time")


class Document:
    """Its values, and what is wrong with them.

    Raises:
        StudyError: it is not TOML.
    """

    def __init__(self, mistakes: Mistakes) -> None:
        self.mistakes = mistakes
        self.root: dict[str, Any] = mistakes.parse()

    def known(self, table: dict[str, Any], place: Place, keys: tuple[str, ...], where: str = "here") -> None:
        """Notes keys that are none of `keys`."""
        for key in table:
            if key not in keys:
                message = f"`{key}` is not a key {where}"
                self.mistakes.add((*place, key), UNKNOWN_KEY, message, did_you_mean(key, keys), value=False)

    def take(self, table: dict[str, Any], place: Place, key: str, kind: type, default: Any) -> Any:  # noqa: ANN401
        """The value of `key` if it is of `kind`; otherwise `default`."""
        if key not in table:
            return default
        value = table[key]
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is kind:
            return value
        message = f"found {kind_of(value)}, {KINDS[kind]} is needed"
        self.mistakes.add((*place, key), WRONG_VALUE, message, f"write {KINDS[kind]}")
        return default

    def items(self, table: dict[str, Any], place: Place, key: str, kind: type, cure: str) -> list[Any]:
        """The items of a list, those that are of `kind`."""
        values: list[Any] = self.take(table, place, key, list, [])
        good = []
        for index, value in enumerate(values):
            if type(value) is kind or (kind is float and type(value) is int):
                good.append(value)
            else:
                message = f"found {kind_of(value)}, {KINDS[kind]} is needed"
                self.mistakes.add((*place, key, index), WRONG_VALUE, message, cure)
        return good

    def tables(self, table: dict[str, Any], place: Place, key: str) -> list[dict[str, Any]]:
        """The items of an array of tables."""
        name = ".".join(part for part in (*place, key) if isinstance(part, str))
        return self.items(table, place, key, dict, f"write [[{name}]]")

    def numbers(self, table: dict[str, Any], place: Place, key: str) -> list[float]:
        """The items of a list, those that are numbers."""
        return [float(value) for value in self.items(table, place, key, float, "write numbers")]

    def texts(self, table: dict[str, Any], place: Place, key: str) -> list[str]:
        """The items of a list, those that are texts."""
        return self.items(table, place, key, str, "put it into quotes")
