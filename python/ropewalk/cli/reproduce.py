"""`ropewalk reproduce`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ropewalk.cli.reporting import WRONG_INPUT, describe, fail, reported


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Name or directory; without it the names are listed.", show_default=False
        ),
    ] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Only some claims, in less than a minute.")] = False,
    profile: Annotated[
        str | None,
        typer.Option(help="Only this reading of the document; all by default.", show_default=False),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j", "--jobs", min=1, help="Units of work at a time, as of a study.", show_default=False
        ),
    ] = None,
    executor: Annotated[
        str, typer.Option(metavar="WHERE", help="local, dask://HOST:PORT or slurm.")
    ] = "local",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Results; results/NAME by default.", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 3 if a claim differs without a demonstrated cause.")
    ] = False,
) -> None:
    """Run a published experiment again and say, claim by claim, whether it agrees.

    Exit codes: 0 fine, whatever the verdicts; 1 a run failed, 2 the input is wrong, 3 as --strict says,
    130 interrupted.
    """
    from ropewalk.cli.verdicts import ReproduceOrder, execute, list_all
    from ropewalk.executors import check_name
    from ropewalk.reproduce import files

    with reported():
        try:
            check_name(executor)
        except ValueError as error:
            fail(f"--executor: {error}", WRONG_INPUT)
        try:
            if name is None:
                list_all()
                return
            loaded = files.load(name)
        except files.NotFound as error:
            fail(str(error), WRONG_INPUT)
        except OSError as error:
            fail(describe(error), WRONG_INPUT)
        place = out or Path("results") / loaded.name
        execute(loaded, ReproduceOrder(place, quick, profile, jobs, executor, as_json, strict))
