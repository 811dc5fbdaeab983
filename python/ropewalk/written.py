"""JSON that Ropewalk has written, read back. People edit it: what does not fit is named by its place."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Readers = Mapping[object, Callable[[str], object]]

Kind = TypeVar("Kind")

WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
LONGEST = 60
"""Characters of a value that are shown."""


def parse(path: Path) -> dict[str, Any]:
    """The object in a file.

    Raises:
        OSError: it cannot be read.
        ValueError: there is none.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: {_misfit('the whole', found, dict)}")
    return found


def load(path: Path, kind: type[Kind], readers: Readers | None = None) -> Kind:
    """The object in a file as a dataclass: it must have all its fields; others are passed over.

    Args:
        path: the file.
        kind: the dataclass.
        readers: how values of other types come out of a text.

    Raises:
        OSError: it cannot be read.
        ValueError: something in it is not as it was written.
    """
    found = parse(path)
    try:
        return typing.cast("Kind", _built("", found, kind, readers or {}))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _built(place: str, found: dict[str, Any], kind: Any, readers: Readers) -> object:  # noqa: ANN401
    kinds = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    if missing := [name for name in names if name not in found]:
        raise ValueError(f"{f'{place} has ' if place else ''}no {missing[0]}")
    before = f"{place}." if place else ""
    return kind(**{name: _fitted(f"{before}{name}", found[name], kinds[name], readers) for name in names})


def _fitted(place: str, found: Any, kind: Any, readers: Readers) -> object:  # noqa: ANN401
    """The value as what a field is annotated with."""
    if kind in readers:
        try:
            return readers[kind](str(_fitted(place, found, str, readers)))
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin is types.UnionType:
        chosen = next((part for part in parts if _is(found, part)), None)
        if chosen is None:
            raise ValueError(_misfit(place, found, *parts))
        return _fitted(place, found, chosen, readers)
    if not _is(found, kind):
        raise ValueError(_misfit(place, found, kind))
    if origin in {list, tuple}:
        return origin(_fitted(f"{place}[{i}]", one, parts[0], readers) for i, one in enumerate(found))
    if origin is dict:
        return {key: _fitted(f"{place}.{key}", one, parts[1], readers) for key, one in found.items()}
    if dataclasses.is_dataclass(kind):
        return _built(place, found, kind, readers)
    return float(found) if kind is float else found


def _json_kind(kind: Any) -> type:  # noqa: ANN401
    """What it is in JSON."""
    origin = typing.get_origin(kind) or kind
    if origin in {list, tuple}:
        return list
    return origin if origin in {str, int, float, bool, types.NoneType} else dict


def _is(found: object, kind: object) -> bool:
    wanted = _json_kind(kind)
    if wanted in {int, float}:
        whole = isinstance(found, int) and not isinstance(found, bool)
        return whole or (wanted is float and isinstance(found, float) and math.isfinite(found))
    return isinstance(found, wanted)


def _misfit(place: str, found: object, *kinds: object) -> str:
    text = json.dumps(found, ensure_ascii=False)
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    wanted = (_json_kind(kind) for kind in kinds)
    allowed = " or ".join("null" if one is types.NoneType else WORDS.get(one, "an object") for one in wanted)
    return f"{place}: found {shown}, allowed is {allowed}"
