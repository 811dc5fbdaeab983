"""The command `ropewalk`."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

pressed: list[int] = []
"""Signals that ended the command: Ctrl-C, and SIGTERM of `kill` and of batch systems."""
PLAIN = {"±": "+-", "─": "-", "━": "=", "│": "|", "…": "...", "\u00d7": "x", "\u2013": "-", "→": "->"}
"""Characters of our own output where the encoding of a terminal has none of them."""


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Notes the signal: libraries that call Python make an error of their own of its exception."""
    pressed.append(number)
    signal.default_int_handler(number, frame)
    raise AssertionError


def ending() -> tuple[str, int]:
    """The word and the exit code after a signal: 130 after Ctrl-C, 143 after SIGTERM."""
    number = pressed[-1] if pressed else signal.SIGINT
    return "interrupted" if number == signal.SIGINT else "terminated", 128 + number


def plain(error: UnicodeError) -> tuple[str, int]:
    """Writes characters that the encoding does not have: ours as `PLAIN`, all others as question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in found), error.end


def _open_closed() -> None:
    """Standard streams that the caller has closed are `None`, and another file would take their number."""
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:  # noqa: PLR2004  # 0, 1 and 2 are the standard streams
        null = os.dup(null)
    os.close(null)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stdout is None:
        sys.stderr.write("standard output is closed\n  fix: > /dev/null, if it is not wanted\n")
        sys.exit(1)


def main() -> None:
    """Runs the command line and exits: 0 fine, 1 the run failed, 2 wrong input, 128 + N signal N."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)
    _open_closed()
    codecs.register_error("ropewalk-plain", plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ropewalk-plain")
    try:
        import click

        from ropewalk.cli.app import app

        try:
            sys.exit(app(prog_name="ropewalk", standalone_mode=False))
        except click.ClickException as error:
            from ropewalk.cli.reporting import complain

            said = io.StringIO()
            error.show(said)
            complain(said.getvalue().rstrip("\n"))
            sys.exit(error.exit_code)
        except click.Abort:
            raise KeyboardInterrupt from None
    except KeyboardInterrupt:
        word, code = ending()
        sys.stderr.write(f"{word}\n")
        sys.exit(code)
    except BrokenPipeError:
        # The reader has gone, as in `ropewalk show FILE | head`; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
