"""Tells scenarios and studies apart by their keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ropewalk import reading
from ropewalk.cli.reporting import WRONG_INPUT, fail

if TYPE_CHECKING:
    from pathlib import Path


def is_study(file: Path) -> bool:
    """True for a file that names a scenario or the study that it is like; one that cannot be read is none."""
    text = _text(file)
    head = re.split(r"^[ \t]*\[", text, maxsplit=1, flags=re.MULTILINE)[0]
    return _has(text, "scenario") or _has(head, "like")


def refuse_other_kind(file: Path, command: str) -> None:
    """Ends the command if a file that could not be read is for the other one, `run` or `study`."""
    text = _text(file)
    if command == "study" and is_study(file):
        kind, key = "study", "scenario" if _has(text, "scenario") else "like"
    elif command == "run" and _has(text, "flow"):
        kind, key = "scenario", "flow"
    else:
        return
    fail(f"{file}: this is a {kind}: it has the key `{key}`\n  fix: ropewalk {command} {file}", WRONG_INPUT)


def _text(file: Path) -> str:
    try:
        return reading.text(file) if file.is_file() else ""
    except (ValueError, OSError):
        return ""


def _has(text: str, key: str) -> bool:
    # Not tomllib: its time and memory grow with the square of the parts of a dotted key.
    return re.search(rf"^[ \t]*(?:\[\[?[ \t]*)?{key}[ \t]*[].=]", text, re.MULTILINE) is not None
