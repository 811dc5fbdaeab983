"""Reads files that may come from strangers: nothing that blocks, and nothing without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LARGEST_TEXT = 1 << 24
"""Bytes of a scenario, a study and the like; the numbers of long traces belong into files of their own."""
PIPES = (Path("/dev/stdin"), Path("/dev/fd"), Path("/proc/self/fd"))
"""Standard input, and what a shell writes for `<(command)`."""


def name(path: str | os.PathLike[str]) -> str:
    """The name of a file as text, for messages and for what is written about it.

    Raises:
        OSError: its bytes are not UTF-8 text.
    """
    found = os.fsdecode(path)
    try:
        found.encode()
    except UnicodeEncodeError:
        raise _refused(errno.EILSEQ, "the name is not UTF-8 text: rename it", path) from None
    return found


def shown(text: str) -> str:
    """The text with `?` for what is not UTF-8: the name of a folder of results may have any bytes."""
    return text.encode(errors="replace").decode()


def content(path: str | os.PathLike[str], largest: int | None = None) -> bytes:
    """The bytes of a regular file, or of a pipe that the shell has opened.

    Files of `/proc` and the like say that they are empty. They are not read: some block, some never end.

    Args:
        path: the file.
        largest: bytes; more are refused. A regular file is bounded by its size in any case.

    Raises:
        OSError: it cannot be read, is not a file, or is larger.
    """
    place = Path(path)
    about = place.stat()
    limit = about.st_size
    if any(place.is_relative_to(pipe) for pipe in PIPES) and not stat.S_ISREG(about.st_mode):
        limit = largest or LARGEST_TEXT
    elif stat.S_ISDIR(about.st_mode):
        raise _refused(errno.EISDIR, os.strerror(errno.EISDIR), path)
    elif not stat.S_ISREG(about.st_mode):
        raise _refused(errno.EINVAL, "not a file", path)
    if largest is None or limit <= largest:
        with place.open("rb") as file:
            found = file.read(limit + 1) if limit else b""
        if largest is None or len(found) <= largest:
            return found
    raise _refused(errno.EFBIG, f"larger than {largest} bytes", path)


def text(path: str | os.PathLike[str]) -> str:
    """The text of a file that a user has written, without a byte order mark; lines end with a line feed.

    Raises:
        OSError: it cannot be read, is not a file, or is larger than `LARGEST_TEXT`.
        UnicodeDecodeError: it is no text.
    """
    found = content(path, LARGEST_TEXT).decode("utf-8-sig")
    return found.replace("\r\n", "\n").replace("\r", "\n")


def _refused(number: int, reason: str, path: str | os.PathLike[str]) -> OSError:
    return OSError(number, reason, os.fspath(path))
