"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PARTIAL = ".partial-"
STALE_S = 86400.0
"""Temporary files of other hosts are taken for left behind after this."""

_numbers = iter(range(1 << 62))


def write_whole(path: Path, content: bytes, *, lasting: bool) -> None:
    """Writes a file and moves it into place; with `lasting` it has survived a crash of the machine on return.

    Raises:
        OSError: it could not be written; nothing is left of it.
    """
    # Host and process are in the name, to tell what a killed process has left from what is being written.
    unique = f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}-{next(_numbers)}"
    partial = path.parent / f"{PARTIAL}{unique}"
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    if lasting:
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def sweep(directory: Path, pattern: str) -> None:
    """Removes temporary files of killed processes; `pattern` stands for their directories, as in `*/*/`."""
    here = f"{PARTIAL}{socket.gethostname()}-"
    for path in directory.glob(f"{pattern}{PARTIAL}*"):
        with contextlib.suppress(OSError, ValueError):
            if path.name.startswith(here):
                left = not _alive(int(path.name.removeprefix(here).split("-")[0]))
            else:
                left = time.time() - path.stat().st_mtime > STALE_S
            if left:
                path.unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
