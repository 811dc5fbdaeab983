"""The command `ropewalk`."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys

# As in `ropewalk`: nothing slow is imported before Ctrl-C is handled.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

    from _typeshed import ReadableBuffer

pressed: list[int] = []
"""Signals that ended the command: Ctrl-C, SIGTERM of `kill`, SIGHUP of a terminal that was closed."""
PLAIN = {"±": "+-", "─": "-", "━": "=", "│": "|", "…": "...", "\u00d7": "x", "\u2013": "-", "→": "->"}
"""Characters of our own output where the encoding of a terminal has none of them."""


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Notes the signal: libraries that call Python make an error of their own of its exception."""
    pressed.append(number)
    signal.default_int_handler(number, frame)
    raise AssertionError


def ending() -> tuple[str, int]:
    """The word and the exit code after a signal: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
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


class _Output(io.FileIO):
    """Standard output; errors name it, as those of files name their file."""

    def write(self, content: ReadableBuffer) -> int:
        try:
            return super().write(content)
        except OSError as error:
            error.filename = "standard output"
            raise


def _prepare() -> None:
    """Signals and standard streams."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    # Signals that `nohup` has had ignored stay so. Windows has no SIGHUP.
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    _open_closed()
    codecs.register_error("ropewalk-plain", plain)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="ropewalk-plain")
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        raw = _Output(out.fileno(), "wb", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=out.encoding,
            errors="ropewalk-plain",
            line_buffering=out.line_buffering,
            write_through=out.write_through,
        )


def _called() -> object:
    """Runs the command; returns its exit code."""
    import click

    from ropewalk.cli.app import app

    try:
        return app(prog_name="ropewalk", standalone_mode=False)
    except SystemExit as ended:
        return ended.code
    except click.ClickException as error:
        from ropewalk.cli.reporting import complain

        said = io.StringIO()
        error.show(said)
        complain(said.getvalue().rstrip("\n"))
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None


def _flushed(code: object) -> object:
    """Writes what is left for both streams, so that nothing can fail at exit; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if stream is sys.stdout and not code:
                code = 1
                if not isinstance(error, BrokenPipeError):
                    from ropewalk.cli.reporting import complain, describe

                    complain(describe(error))
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def main() -> None:
    """Runs the command line and exits: 0 fine, 1 the run failed, 2 wrong input, 128 + N signal N."""
    _prepare()
    code: object
    try:
        code = _called()
    except KeyboardInterrupt:
        import contextlib

        word, code = ending()
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{word}\n")
    except BrokenPipeError:
        # The reader has gone, as in `ropewalk show FILE | head`.
        code = 1
    except OSError as error:
        from ropewalk.cli.reporting import complain, describe

        complain(describe(error))
        code = 1
    sys.exit(_flushed(code))  # type: ignore[arg-type]
