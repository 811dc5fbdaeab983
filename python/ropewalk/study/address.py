"""The address of a scenario in a store: a hash of all that its results depend on, except the seed."""

from __future__ import annotations

import hashlib
import re

from ropewalk import _core

SIMULATOR = "simulator"
_BACKEND = "# on "
"""Begins the text of a scenario that runs elsewhere, for TOML a comment."""
KEY = re.compile("[0-9a-f]{32}")
_WORDS = re.compile(r"^(name|description) = .*$", re.MULTILINE)
_SEEDS = re.compile(r"^seeds = .*$", re.MULTILINE)


def key_of(text: str, model_version: int = _core.MODEL_VERSION) -> str:
    """The key of an expanded scenario."""
    return hashlib.sha256(f"model {model_version}\n{_plain(text)}".encode()).hexdigest()[:32]


def _plain(text: str) -> str:
    """The scenario without title, description and number of seeds, which change no result."""
    head, table, rest = text.partition("\n[")
    return _SEEDS.sub("seeds = 1", _WORDS.sub(r'\1 = ""', head)) + table + rest


def on(backend: str, text: str) -> str:
    """An expanded scenario that this back end runs: its key is another one than that of the simulator."""
    return text if backend == SIMULATOR else f"{_BACKEND}{backend}\n{text}"


def backend_of(text: str) -> str:
    """The back end that runs the scenario."""
    first, _, _ = text.partition("\n")
    return first.removeprefix(_BACKEND) if first.startswith(_BACKEND) else SIMULATOR
