"""Commands as somebody sees them who has a terminal of so many columns."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from conftest import COMMAND

CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def on_terminal(columns: int, *arguments: str | Path, cwd: Path | None = None, fails: int = 0) -> list[str]:
    """The lines that a command shows on stdout, colours left out; messages and progress go elsewhere."""
    master, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES"}}
    command = [str(COMMAND), *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=side, stdout=side, stderr=subprocess.PIPE, env=environment | {"TERM": "xterm"}, cwd=cwd
    ) as process:
        os.close(side)
        shown = b""
        while True:
            try:
                part = os.read(master, 1 << 16)
            except OSError:
                # The other side has closed.
                break
            if not part:
                break
            shown += part
        stderr = process.stderr.read().decode() if process.stderr else ""
    os.close(master)
    assert process.returncode == fails, stderr
    return CONTROL.sub("", shown.decode()).replace("\r\n", "\n").split("\n")
