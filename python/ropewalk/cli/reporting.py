"""How commands end: messages without tracebacks, and exit codes."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ropewalk._core import RunFailed
from ropewalk.cli import ending, pressed
from ropewalk.errors import ScenarioError
from ropewalk.visible import readable, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import NoReturn

RUN_FAILED = 1
WRONG_INPUT = 2
UNEXPLAINED = 3
MARKS = {
    "run": "delays.parquet",
    "study": "study.json",
    "reproduction": "verdicts.json",
    "comparison": "comparison.json",
}
"""Files that nothing else leaves in a directory."""


def fail(message: str, code: int) -> NoReturn:
    """Ends the command with a message on stderr. After a signal it would only say what that broke off."""
    if pressed:
        message, code = ending()
    complain(message)
    sys.exit(code)


def tell(message: str, *, aside: bool = False) -> None:
    """Writes lines for the user, with `aside` to stderr.

    The name of a file can have characters that command a terminal: they are shown as escapes.
    """
    (sys.stderr if aside else sys.stdout).write(f"{readable(visible(message))}\n")


def complain(message: str) -> None:
    """Writes a message to stderr, broken into lines where that is a terminal.

    Where stderr takes nothing, the exit code says what is left to say.
    """
    text = readable(visible(message))
    if sys.stderr.isatty():
        from ropewalk.cli.excerpts import folded

        text = folded(text, os.get_terminal_size(sys.stderr.fileno()).columns)
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")


def refuse_others(out: Path, kind: str) -> None:
    """Ends the command if `out` has results of another kind: those would be taken for the new ones."""
    try:
        found = {other: mark for other, mark in MARKS.items() if other != kind and (out / mark).exists()}
    except OSError as error:
        # A name that is too long, for instance.
        fail(f"--out {out}: cannot write there: {describe(error)}", WRONG_INPUT)
    for other, mark in found.items():
        fail(
            f"--out {out}: {mark} there belongs to the results of a {other}\n"
            "  fix: name another directory, or remove that one",
            WRONG_INPUT,
        )


def refuse_to_replace(files: Iterable[Path], option: str, out: Path, what: str) -> None:
    """Ends the command if `out` is one of the files that it reads."""
    if any(file.exists() and out.exists() and file.samefile(out) for file in files):
        fail(f"{option} {out}: {what} itself would be replaced\n  fix: name another file", WRONG_INPUT)


def next_step(out: Path) -> str:
    """The command that makes results readable."""
    return f"ropewalk report {shlex.quote(str(out))} makes one page of tables and plots"


@contextmanager
def reported() -> Iterator[None]:
    """Turns what can go wrong in a command into a message and an exit code. Anything else is a bug."""
    try:
        yield
    except ScenarioError as error:
        fail(f"{error}\n{_count(error)}", WRONG_INPUT)
    except RunFailed as error:
        fail(f"the run failed: {error}", RUN_FAILED)
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(describe(error), RUN_FAILED)
    except KeyboardInterrupt:
        fail(*ending())


def _count(error: ScenarioError) -> str:
    number = max(1, len(error.diagnostics))
    return "1 mistake" if number == 1 else f"{number} mistakes"


def describe(error: OSError, cure: str | None = None) -> str:
    """The reason in words, with the file; then what helps, where the reason itself does not say."""
    reason = error.strerror or str(error)
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        cure = "allow more open files, as with ulimit -n 1024"
    if error.errno == errno.EEXIST and reason == os.strerror(errno.EEXIST):
        reason = "it is there, and is not a directory"
    told = f"{error.filename}: {reason}" if error.filename else reason
    return told if cure is None else f"{told}\n  fix: {cure}"
