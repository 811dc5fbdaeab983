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
@click.option(
    "--compare",
    "comparing",
    is_flag=True,
    help="No verdicts: only the figures, beside the published points; with --set, or for changed files.",
)
@options.overrides
@click.option(
    "--figure",
    "figures",
    metavar="ID",
    multiple=True,
    help="With --compare, only this figure. May be repeated.",
)
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
    comparing: bool,
    overrides: tuple[str, ...],
    figures: tuple[str, ...],
    jobs: int | None,
    executor: str,
    out: Path | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Run a published experiment again and judge its claims.

    NAME is a name or a directory; without it the names are listed. With --compare nothing is judged: the
    figures show what --set KEY=VALUE changes, in all studies that have the key and do not vary it.

    Exit codes: 0 fine, whatever the verdicts; 1 a run failed, 2 the input is wrong, 3 as --strict says,
    130 interrupted.
    """
    from ropewalk.cli import changed, verdicts
    from ropewalk.executors import check_name
    from ropewalk.reproduce import files

    with reported():
        _refuse_idle(comparing=comparing, strict=strict, overrides=overrides, figures=figures)
        try:
            check_name(executor)
        except ValueError as error:
            fail(f"--executor: {error}", WRONG_INPUT)
        try:
            if name is None:
                if comparing:
                    fail("--compare without a NAME\n  fix: name a reproduction, or a directory", WRONG_INPUT)
                verdicts.list_all()
                return
            loaded = files.load(name, judged=not comparing)
        except files.NotFound as error:
            fail(str(error), WRONG_INPUT)
        except OSError as error:
            fail(describe(error), WRONG_INPUT)
        verdicts.check_profile(loaded, profile)
        if comparing:
            sets = tuple(options.pairs_of(overrides))
            order = changed.CompareOrder(sets, figures, quick, profile, jobs, executor, as_json)
            changed.execute(loaded, order, out)
            return
        place = out or Path("results") / loaded.name
        verdicts.execute(
            loaded, verdicts.ReproduceOrder(place, quick, profile, jobs, executor, as_json, strict)
        )


def _refuse_idle(
    *, comparing: bool, strict: bool, overrides: tuple[str, ...], figures: tuple[str, ...]
) -> None:
    """Options that would have no effect."""
    if overrides and not comparing:
        why = "the claims are about the document, and say nothing about another experiment"
        fail(f"--set without --compare: {why}\n  fix: add --compare", WRONG_INPUT)
    if figures and not comparing:
        fail("--figure without --compare\n  fix: add --compare, or leave --figure out", WRONG_INPUT)
    if strict and comparing:
        fail("--strict beside --compare, which judges nothing\n  fix: leave one of them out", WRONG_INPUT)
