"""TOML as plain data, read by the front end that checks all files of users."""

from __future__ import annotations

import json
from typing import Any

from ropewalk import _core


def values(text: str, name: str) -> dict[str, Any]:
    """The values of a file of any kind: tables are dicts, lists lists.

    Args:
        text: TOML.
        name: of the file, for messages.

    Raises:
        ValueError: it is not TOML; the message has the place.
    """
    try:
        read = _core.Source.read(text, name, "any")
    except _core.InvalidScenario as error:
        raise ValueError(error.args[0]) from None
    found: dict[str, Any] = json.loads(read.values())
    return found
