"""A terminal of a given width, for tests of what a user sees and types."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from typing import TYPE_CHECKING

from conftest import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def on_terminal(
    columns: int, *arguments: str | Path, typed: str = "", cwd: Path | None = None
) -> tuple[int, str]:
    """Runs `ropewalk` on a terminal; returns its exit code and what it shows, without colours.

    Args:
        columns: width of the terminal.
        arguments: of the command.
        typed: lines that the user types.
        cwd: working directory.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    # Progress goes to stderr, which is no terminal here.
    process = subprocess.Popen(
        [str(COMMAND), *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**environment, "TERM": "xterm"},
    )
    os.close(theirs)
    if typed:
        os.write(ours, typed.encode())
    shown = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            found = os.read(ours, 65536)
        except OSError:
            # Linux says so when the other end is closed.
            break
        if not found:
            break
        shown += found
    os.close(ours)
    _, errors = process.communicate(timeout=120)
    text = ESCAPE.sub("", (shown + errors).decode()).replace("\r\n", "\n")
    return process.returncode, text
