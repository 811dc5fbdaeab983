"""HTML pages: one set of templates, in which everything is escaped."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import TYPE_CHECKING, Any
from unicodedata import bidirectional

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ropewalk.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOLDER = "templates"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""Nothing may be loaded: the file is all there is."""
_APART = re.compile(r"( / |, | → )")
"""Between levels of a case, items of a list, ends of a link."""
_BREAK = re.compile(r"((?<!\d)\.|\.(?!\d)|[/_])(?=\w)(?!s\b)")
"""Dots and strokes of keys and paths, not those of `kbit/s` and of 0.5."""
_POWER = re.compile(r"\b\d+(?:\.\d+)?e[+-]?\d+\b")
"""A number such as 1e-5, which browsers break after its sign."""


def render(template: str, filters: Mapping[str, Callable[..., object]] | None = None, **values: Any) -> str:  # noqa: ANN401
    """A page made of one of the templates.

    Args:
        template: name of its file.
        filters: functions that only this page has.
        values: of its variables.
    """
    made = _environment()
    if filters:
        made = made.overlay()
        made.filters = {**made.filters, **filters}
    return made.get_template(template).render(**values)


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("ropewalk", FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.globals |= {"asset": _asset, "policy": POLICY}
    made.filters |= {"soft": soft, "isolated": isolated}
    return made


def soft(text: str) -> Markup:
    """Keys and paths may break after their dots; units, numbers and words nowhere."""
    broken = _BREAK.sub(r"\1<wbr>", str(escape(visible(text))))
    return Markup(_POWER.sub(r'<span class="whole">\g<0></span>', broken))  # noqa: S704


def isolated(text: str) -> Markup | str:
    """Parts in a script from right to left turn neither each other nor what stands beside them."""
    if not any(bidirectional(letter) in {"R", "AL"} for letter in text):
        return text
    pieces = _APART.split(text)
    marked = Markup().join(
        piece if place % 2 else Markup("<bdi>{}</bdi>").format(visible(piece))
        for place, piece in enumerate(pieces)
    )
    return Markup("<span>{}</span>").format(marked)


def _shown(value: object) -> object:
    """Characters that a browser would not show, or would obey, are written out."""
    return visible(str(value)) if isinstance(value, str) and not isinstance(value, Markup) else value


def _asset(name: str) -> Markup:
    """A style sheet or script of ours."""
    return Markup((resources.files("ropewalk") / FOLDER / name).read_text(encoding="utf-8"))  # noqa: S704
