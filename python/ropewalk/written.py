"""JSON that Ropewalk has written, read back: checked against its checksum, then field by field.

The last member of each file, `sha256`, is the SHA-256 of the text in front of it. A member `files` holds the
SHA-256 of other files of the same results, by name. They detect damage and no forgery: they need no key.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import re
import types
import typing
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from ropewalk import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Readers = Mapping[object, Callable[[str], object]]

Kind = TypeVar("Kind")

WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
LISTINGS = ("study.json", "summary.json")
"""Files with the checksums of a study, and of a run; the first that is there counts."""
LONGEST = 60
"""Characters of a value that are shown."""
_SEAL = re.compile(rb'(?:, |,\n )"sha256": "([0-9a-f]{64})"\n?}\n\Z')


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def digests(contents: Mapping[str, bytes]) -> dict[str, str]:
    """The member `files`: name to SHA-256."""
    return {name: digest(content) for name, content in contents.items()}


def seal(found: Mapping[str, Any], indent: int | None = None) -> bytes:
    """The object as the content of a file, with its checksum as the last member."""
    text = json.dumps(found, ensure_ascii=False, allow_nan=False, indent=indent)
    end = "}" if indent is None else "\n}"
    # File names may have half characters, which JSON writes as escapes.
    body = text.removesuffix(end).encode(errors="backslashreplace")
    between = ", " if indent is None else ",\n" + " " * indent
    return body + f'{between}"sha256": "{digest(body)}"{end}\n'.encode()


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: not a file")
    return reading.content(path)


def _check_seal(content: bytes) -> None:
    found = _SEAL.search(content[-100:])
    if found is None:
        raise ValueError("no checksum: written by an earlier version of Ropewalk, or by another program")
    body = content[: len(content) - len(found[0])]
    if digest(body).encode() != found[1]:
        raise ValueError("damaged or edited: not what its checksum says")


def checked(listing: Path, name: str, files: Mapping[str, str]) -> bytes:
    """The content of a file of results, once it has proved to be what was written.

    Args:
        listing: the file that has the checksums; `name` is seen from its directory.
        name: the file.
        files: name to SHA-256.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not what was written, or has no checksum.
    """
    path = _listed(listing, name, files)
    content = _content(path)
    _compare(digest(content), files[name], path, listing)
    return content


def check_large(listing: Path, name: str, files: Mapping[str, str]) -> None:
    """`checked` for a file that may be larger than memory.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not what was written, or has no checksum.
    """
    path = _listed(listing, name, files)
    _compare(digest_of(path), files[name], path, listing)


def digest_of(path: Path) -> str:
    """SHA-256 of a file of any size.

    Raises:
        OSError: it cannot be read.
        ValueError: it is a pipe, a device or the like.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: not a file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listed(listing: Path, name: str, files: Mapping[str, str]) -> Path:
    parts = PurePosixPath(name).parts
    if name not in files or not parts or ".." in parts or PurePosixPath(name).is_absolute():
        raise ValueError(f"{listing}: files: {name!r} is none of these results")
    return listing.parent / name


def _compare(found: str, wanted: str, path: Path, listing: Path) -> None:
    if found != wanted:
        raise ValueError(f"{path}: damaged or edited: not what its checksum in {listing.name} says")


def check_all(listing: Path, files: Mapping[str, str]) -> None:
    """Checks the files that are there. Missing files are accepted: they cannot mislead a reader.

    Raises:
        OSError: one cannot be read.
        ValueError: one is not what was written.
    """
    for name in files:
        with contextlib.suppress(FileNotFoundError):
            checked(listing, name, files)


def belonging(directory: Path) -> dict[str, str]:
    """The member `belongs_to` of a file beside results: the SHA-256 of their own list, by its name."""
    for name in LISTINGS:
        with contextlib.suppress(FileNotFoundError):
            return {name: digest(_content(directory / name))}
    return {}


def check_belonging(path: Path, found: Mapping[str, Any]) -> None:
    """Checks that a file was made for the results beside it: its own checksum also fits beside others.

    Raises:
        OSError: the list of the results cannot be read.
        ValueError: it was made for others, or does not say for which.
    """
    wanted = belonging(path.parent)
    if wanted and found.get("belongs_to") != wanted:
        listing = next(iter(wanted))
        raise ValueError(
            f"{path}: not of these results: written for another {listing} than the one beside it"
        )


def parse(path: Path) -> dict[str, Any]:
    """The object in a file.

    Raises:
        OSError: it cannot be read.
        ValueError: there is none, or it is not what was written.
    """
    content = _content(path)
    try:
        found = json.loads(content.decode("utf-8"))
        if not isinstance(found, dict):
            raise ValueError(_misfit("the whole", found, dict))
        _check_seal(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
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
    except (ValueError, RecursionError) as error:
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
    """The kind of a value in JSON."""
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
