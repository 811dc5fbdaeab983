"""When, where and how a study was run: what differs from call to call, and so stands in no other file."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ropewalk import _core

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.study.conduct import Conducted

FILE = "provenance.json"


def write(directory: Path, done: Conducted, executor: str, elapsed_s: float, damaged: list[str]) -> None:
    """Replaces the note of an earlier call.

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
        "executor": executor,
        "computed": done.computed,
        "found": done.found,
        "failed": len(done.failures),
        "cpu_s": done.cpu_s,
        "elapsed_s": elapsed_s,
        "damaged": damaged,
    }
    (directory / FILE).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
