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


def messages_on_terminal(columns: int, *arguments: str | Path, cwd: Path | None = None) -> tuple[int, str]:
    """The exit code of a command whose stderr is the terminal, and what it shows there."""
    code, shown, _ = _run(columns, arguments, "", cwd, whole=True)
    return code, shown


def _run(
    columns: int, arguments: tuple[str | Path, ...], typed: str, cwd: Path | None, *, whole: bool = False
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; `whole`: stderr is the terminal, too, and comes with stdout."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    # Progress goes to stderr and would overwrite itself on a terminal.
    process = subprocess.Popen(
        [str(COMMAND), *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs if whole else subprocess.PIPE,
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
            # Linux reports EIO when the other end is closed.
            break
        if not found:
            break
        shown += found
    os.close(ours)
    _, errors = process.communicate(timeout=120)
    text, told = (ESCAPE.sub("", part.decode()).replace("\r\n", "\n") for part in (shown, errors or b""))
    return process.returncode, text, told
