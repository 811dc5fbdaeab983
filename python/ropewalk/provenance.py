"""When, where and how something was run: what differs from call to call, and so stands in no other file."""

from __future__ import annotations

import platform
import shlex
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ropewalk import _core, written
from ropewalk.disk import write_whole

if TYPE_CHECKING:
    from pathlib import Path

FILE = "provenance.json"


def write(directory: Path, **more: Any) -> None:  # noqa: ANN401
    """Replaces the note of an earlier call; `more` is what only the caller knows, as it can stand in JSON.

    Raises:
        OSError: it could not be written.
    """
    found: dict[str, Any] = {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "host": platform.node(),
        "python": platform.python_version(),
        "ropewalk": _core.VERSION,
        "model_version": _core.MODEL_VERSION,
        "build": _core.BUILD,
        **more,
    }
    write_whole(directory / FILE, written.seal(found, indent=1), lasting=False)


def read(directory: Path) -> dict[str, Any]:
    """The note that `write` wrote; empty if there is none.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON object, or not what was written.
    """
    path = directory / FILE
    return written.parse(path) if path.exists() else {}
