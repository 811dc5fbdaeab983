"""`ropewalk reproduce`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from ropewalk.cli import options
from ropewalk.cli.reporting import WRONG_INPUT, describe, fail, reported


@click.command()
@click.argument("name", required=False)
@click.option(
    "--quick",
    is_flag=True,
    help="Only some claims, of few runs each, in about a minute; more runs in the store change nothing.",
)
@click.option("--profile", metavar="NAME", help="Only this reading of the document; all by default.")
@options.units
@options.executor
@click.option("--out", callback=options.directory, metavar="DIR", help="Results; results/NAME by default.")
@options.as_json
@click.option("--strict", is_flag=True, help="Exit code 3 if a claim differs and is not explained.")
def reproduce(
    *,
    name: str | None,
    quick: bool,
    profile: str | None,
    jobs: int | None,
    executor: str,
    out: Path | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Run a published experiment again and judge its claims.

    NAME is a name or a directory; without it the names are listed.

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
