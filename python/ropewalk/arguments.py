"""Arguments of the functions that users call: one that cannot be used is named, with what is allowed."""

from __future__ import annotations

import itertools
import math
import operator
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

Kind = TypeVar("Kind")


def _refuse(what: str, allowed: str, found: object) -> NoReturn:
    raise TypeError(f"{what} is {allowed}, not {type(found).__name__}")


def instance(what: str, allowed: str, kind: type[Kind], found: Any) -> Kind:  # noqa: ANN401
    """An object of a class.

    Raises:
        TypeError: it is of another.
    """
    if not isinstance(found, kind):
        _refuse(what, allowed, found)
    return found


def _items(what: str, allowed: str, found: Any) -> list[Any]:  # noqa: ANN401
    """Several things; one text is not the list of its letters, nor a mapping that of its keys."""
    if isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
        _refuse(what, allowed, found)
    return list(found)


def path(what: str, found: Any) -> Path:  # noqa: ANN401
    """The name of a file or a directory.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(found, str | os.PathLike) or not isinstance(os.fspath(found), str):
        _refuse(what, "a path, str or pathlib.Path", found)
    return Path(found)


def paths(what: str, found: Any) -> list[Path]:  # noqa: ANN401
    """The names of several files.

    Raises:
        TypeError: it is one name, or not of names.
    """
    if isinstance(found, str | os.PathLike):
        one = os.fspath(found)
        cure = f"write [{one!r}]"
        if Path(found).is_dir():
            cure = f"a directory of results is read by ropewalk.Results.read({one!r})"
        raise TypeError(f"{what} is a list of paths, not one path: {cure}")
    return [path(f"each of {what}", one) for one in _items(what, "a list of paths", found)]


def text(what: str, found: Any) -> str:  # noqa: ANN401
    """A text.

    Raises:
        TypeError: it is none.
    """
    return instance(what, "a str", str, found)


def texts(what: str, found: Any) -> list[str]:  # noqa: ANN401
    """Several texts.

    Raises:
        TypeError: it is one text, or not of texts.
    """
    return [text(f"each of {what}", one) for one in _items(what, "a list of str", found)]


def listed(what: str, found: Any) -> list[Any]:  # noqa: ANN401
    """Several things.

    Raises:
        TypeError: it is one thing, or a mapping.
    """
    return _items(what, "a list", found)


def pairs(what: str, found: Any) -> list[tuple[str, str]]:  # noqa: ANN401
    """Keys and their values.

    Raises:
        TypeError: these are no pairs of texts.
    """
    chosen = []
    for one in _items(what, "a list of pairs (key, value), both str", found):
        match one:
            case (str(key), str(value)):
                chosen.append((key, value))
            case _:
                raise TypeError(f"each of {what} is a pair (key, value), both str; found {one!r}")
    return chosen


def choice(what: str, found: Any, known: Collection[str]) -> str:  # noqa: ANN401
    """One of several words.

    Raises:
        TypeError: it is no text.
        ValueError: it is another word.
    """
    word = text(what, found)
    if word not in known:
        raise ValueError(f"{what}: found {word!r}; allowed: {', '.join(known)}")
    return word


def whole(what: str, found: Any, low: float = -math.inf, high: float = math.inf) -> int:  # noqa: ANN401
    """A whole number, also of numpy.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is out of the range.
    """
    try:
        number = operator.index(found)
    except TypeError:
        _refuse(what, "a whole number", found)
    if not low <= number <= high:
        bounds = f"at least {low} is needed" if math.isinf(high) else f"it lies between {low} and {high}"
        raise ValueError(f"{what} is {number}: {bounds}")
    return number


def jobs(found: Any) -> int | None:  # noqa: ANN401
    """How much is done at the same time; None: as much as there is room for.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is less than 1.
    """
    return None if found is None else whole("jobs", found, 1)


def _is_number(found: object) -> bool:
    """An array of numpy is one only without dimensions."""
    return (hasattr(found, "__float__") or hasattr(found, "__index__")) and not getattr(found, "ndim", 0)


def number(what: str, found: Any, low: float = -math.inf, high: float = math.inf) -> float:  # noqa: ANN401
    """A finite number.

    Raises:
        TypeError: it is no number.
        ValueError: it is out of the range, or not finite.
    """
    if not _is_number(found):
        _refuse(what, "a number", found)
    given = float(found)
    if not math.isfinite(given) or not low <= given <= high:
        bounds = "a finite number" if math.isinf(low) and math.isinf(high) else f"{low:g} to {high:g}"
        raise ValueError(f"{what}: found {given:g}; allowed: {bounds}")
    return given


def numbers(what: str, found: Any) -> list[float]:  # noqa: ANN401
    """Finite numbers.

    Raises:
        TypeError: it is one number, or not of numbers.
        ValueError: one is not finite.
    """
    given = _items(what, "a list of numbers", found)
    if not all(map(_is_number, given)):
        wrong = next(one for one in given if not _is_number(one))
        _refuse(f"each of {what}", "a number", wrong)
    values = [float(one) for one in given]
    if not all(map(math.isfinite, values)):
        place, wrong = next((place, one) for place, one in enumerate(values) if not math.isfinite(one))
        raise ValueError(f"{what}: found {wrong:g} in place {place}; allowed: finite numbers")
    return values


def rising(what: str, found: Any) -> list[float]:  # noqa: ANN401
    """Numbers of which none is smaller than the one before; at least one.

    Raises:
        TypeError: they are no numbers.
        ValueError: there is none, one is not finite, or they are not in order.
    """
    values = numbers(what, found)
    if not values or any(two < one for one, two in itertools.pairwise(values)):
        raise ValueError(f"{what}: at least one number is needed, and ascending order")
    return values


def samples(what: str, found: Any) -> dict[int, float]:  # noqa: ANN401
    """Seed to value.

    Raises:
        TypeError: it is no mapping to numbers.
        ValueError: a value is not finite.
    """
    given = instance(what, "a dict of seeds to values", dict, found)
    return dict(zip(given, numbers(f"the values of {what}", list(given.values())), strict=True))


def call(what: str, found: Any) -> None:  # noqa: ANN401
    """Something to call, or None.

    Raises:
        TypeError: it is neither.
    """
    if found is not None and not callable(found):
        _refuse(what, "a function", found)
