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


class NoteError(ValueError):
    """A note that cannot be believed. The results beside it can be whole."""

    cure = "remove the file: it only says where results come from"


def write(directory: Path, **more: Any) -> None:  # noqa: ANN401
    """Replaces the note of an earlier call. The results are there already.

    `more` is what only the caller knows, in types that JSON has.

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
        "belongs_to": written.belonging(directory),
    }
    write_whole(directory / FILE, written.seal(found, indent=1), lasting=False)


def read(directory: Path) -> dict[str, Any]:
    """The note that `write` wrote; empty if there is none.

    Raises:
        OSError: it cannot be read.
        NoteError: it is not what was written, or was written for other results.
    """
    path = directory / FILE
    if not path.exists():
        return {}
    try:
        found = written.parse(path)
        written.check_belonging(path, found)
    except ValueError as error:
        raise NoteError(str(error)) from None
    return {key: value for key, value in found.items() if key not in {"belongs_to", "sha256"}}
