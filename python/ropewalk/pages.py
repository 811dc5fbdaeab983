"""HTML pages: one set of templates, in which everything is escaped."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Any

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
_BREAK = re.compile(r"([./_])(?=\w)")


def render(template: str, filters: Mapping[str, Callable[..., object]] | None = None, **values: Any) -> str:  # noqa: ANN401
    """A page made of one of the templates.

    Args:
        template: name of its file.
        filters: functions that only this page has.
        values: of its variables.
    """
    made = Environment(
        loader=PackageLoader("ropewalk", FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.globals |= {"asset": _asset, "policy": POLICY}
    made.filters |= {"soft": soft, **(filters or {})}
    return made.get_template(template).render(**values)


def soft(text: str) -> Markup:
    """Keys and paths may break after their dots, and words nowhere."""
    return Markup(_BREAK.sub(r"\1<wbr>", str(escape(visible(text)))))  # noqa: S704


def _shown(value: object) -> object:
    """Characters that a browser would not show, or would obey, are written out."""
    return visible(str(value)) if isinstance(value, str) and not isinstance(value, Markup) else value


def _asset(name: str) -> Markup:
    """A style sheet or script of ours."""
    return Markup((resources.files("ropewalk") / FOLDER / name).read_text(encoding="utf-8"))  # noqa: S704
