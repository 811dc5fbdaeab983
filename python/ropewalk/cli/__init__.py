"""The command `ropewalk`."""

from __future__ import annotations

import io
import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Runs the command line and exits: 0 fine, 1 the run failed, 2 the input is wrong, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that has no ± gets a question mark.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
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
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone, as in `ropewalk show FILE | head`; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
