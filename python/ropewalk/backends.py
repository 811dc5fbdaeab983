"""Back ends: what can run a scenario."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import TypedDict

from ropewalk import _core


class BackEnd(TypedDict):
    """One of them."""

    name: str
    summary: str
    """A description for people."""
    series: bool
    """It records time series."""
    trace: bool
    """It records readable traces."""
    capture: bool
    """It captures packets."""
    measured: dict[str, list[str]]
    """Columns that it fills, by table; others are null."""
    runs: dict[str, list[tuple[str, str]]]
    """Keys and the values that it can run, by what has them; empty: it runs everything."""


@cache
def all_backends() -> list[BackEnd]:
    """The one that is used unless another is asked for comes first."""
    found: list[BackEnd] = json.loads(_core.backends())
    return found


def names() -> list[str]:
    """The values that `--backend` takes."""
    return [one["name"] for one in all_backends()]


def default() -> str:
    """The simulator of Ropewalk."""
    return names()[0]


def folder() -> Path:
    """Where they keep what they build once, such as the program for ns-3."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ropewalk"
