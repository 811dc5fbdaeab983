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

    Progress and messages come last.

    Args:
        columns: width of the terminal.
        arguments: of the command.
        typed: lines that the user types.
        cwd: working directory.
    """
    code, shown, errors = _run(columns, arguments, typed, cwd)
    return code, shown + errors


def lines_on_terminal(columns: int, *arguments: str | Path) -> list[str]:
    """The lines that a command which succeeds shows on stdout."""
    code, shown, errors = _run(columns, arguments, "", None)
    assert code == 0, errors
    return shown.split("\n")


def _run(
    columns: int, arguments: tuple[str | Path, ...], typed: str, cwd: Path | None
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
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
    text, told = (ESCAPE.sub("", part.decode()).replace("\r\n", "\n") for part in (shown, errors))
    return process.returncode, text, told
