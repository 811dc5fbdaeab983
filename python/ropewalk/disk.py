"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PARTIAL = ".partial-"
STALE_S = 86400.0
"""Age in seconds at which a temporary file of another host counts as left behind."""

_numbers = iter(range(1 << 62))


def write_whole(path: Path, content: bytes, *, lasting: bool) -> None:
    """Writes a file and moves it into place; with `lasting` it has survived a crash of the machine on return.

    A device or a pipe, such as `/dev/stdout`, is written to and stays what it is.

    Raises:
        OSError: it could not be written; nothing is left of it.
    """
    if path.exists() and not path.is_file():
        try:
            path.write_bytes(content)
        except OSError as error:
            error.filename = str(path)
            raise
        return
    _write_partial(path, content, lasting=lasting).replace(path)
    if lasting:
        _make_lasting(path.parent)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary name for a file that another program writes; it is moved into place unless the block fails.

    A device or a pipe, such as `/dev/stdout`, is written to and stays what it is.

    Raises:
        OSError: it could not be moved.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    partial = path.parent / f"{partial_name()}{threading.get_ident()}-{next(_numbers)}"
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_lasting(files: Iterable[tuple[Path, bytes]]) -> tuple[int, OSError | None]:
    """Writes many files, each whole or not at all, in half the time that it takes to sync them one by one.

    Returns:
        the number of files that have survived a crash of the machine on return; why the next one failed.
    """
    written: list[tuple[Path, Path]] = []
    failure = None
    try:
        for path, content in files:
            written.append((_write_partial(path, content, lasting=True), path))
    except OSError as error:
        failure = error
    finally:
        for partial, path in written:
            partial.replace(path)
        for folder in dict.fromkeys(path.parent for _, path in written):
            _make_lasting(folder)
    return len(written), failure


@contextlib.contextmanager
def folder(directory: Path) -> Iterator[Path]:
    """A temporary folder in `directory`, removed at the end; `sweep` removes those of killed processes.

    Raises:
        OSError: it cannot be made.
    """
    place = directory / f"{partial_name()}{threading.get_ident()}-{next(_numbers)}"
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Lets one process at a time move its results into a directory: those of two would be mixed.

    The lock ends with its process. Where the file system has no locks, there is none.
    """
    place = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def partial_name() -> str:
    """Start of temporary names: it has host and process, so that `sweep` finds files of killed processes."""
    return f"{PARTIAL}{socket.gethostname()}-{os.getpid()}-"


def _write_partial(path: Path, content: bytes, *, lasting: bool) -> Path:
    """Writes a temporary file into the directory of `path`; returns its path."""
    partial = path.parent / f"{partial_name()}{threading.get_ident()}-{next(_numbers)}"
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            if lasting:
                os.fsync(file.fileno())
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError):
            # A full disk names no file, and the temporary name tells the user nothing.
            error.filename = str(path)
        raise
    return partial


def _make_lasting(folder: Path) -> None:
    """Syncs a directory: names in it survive a crash of the machine."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def sweep(directory: Path) -> None:
    """Removes temporary files and folders of killed processes."""
    here = f"{PARTIAL}{socket.gethostname()}-"
    for path in directory.glob(f"{PARTIAL}*"):
        with contextlib.suppress(OSError, ValueError):
            if path.name.startswith(here):
                left = not _alive(int(path.name.removeprefix(here).split("-")[0]))
            else:
                left = time.time() - path.stat().st_mtime > STALE_S
            if left and path.is_dir():
                shutil.rmtree(path)
            elif left:
                path.unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
