"""`ropewalk examples`: lists and copies what comes with Ropewalk."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ropewalk.cli.options import directory
from ropewalk.cli.reporting import WRONG_INPUT, fail, reported, tell
from ropewalk.numbers import count

if TYPE_CHECKING:
    from ropewalk import shipped

USE = {"scenario": "run", "study": "study", "measurement": "import", "reproduction": "reproduce"}
"""The purpose of each kind."""


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Copy all of them.")
@click.option("--out", callback=directory, metavar="DIR", help="Copy into it; here by default.")
def examples(*, names: tuple[str, ...], every: bool, out: Path | None) -> None:
    """List or copy the examples that come with Ropewalk.

    Without NAME they are listed.

    Scenarios go to scenarios/, studies to studies/, a reproduction to reproductions/NAME/, with the files
    that they name.

    Exit codes: 0 fine, 1 a file could not be written, 2 the input is wrong.
    """
    with reported():
        from ropewalk.shipped import copy
        from ropewalk.shipped import examples as all_examples

        found = all_examples()
        if not found:
            fail(
                "this installation has no examples\n  fix: install the wheel that make wheel builds",
                WRONG_INPUT,
            )
        if not names and not every:
            if out is not None:
                fail("--out without a NAME\n  fix: name an example, or --all", WRONG_INPUT)
            _list(found)
            return
        if names and every:
            fail("names beside --all\n  fix: leave one of them out", WRONG_INPUT)
        chosen = found if every else [_named(name, found) for name in names]
        done: set[Path] = set()
        for example in chosen:
            home = out or Path()
            try:
                copies = copy(example, home, done)
            except FileExistsError as error:
                cure = "choose another --out, or remove it"
                fail(f"{error.filename}: there is such a file already\n  fix: {cure}", WRONG_INPUT)
            done.update(copies)
            folder = copies[0].parent
            whole = example.kind == "reproduction"
            command = shlex.join(["ropewalk", USE[example.kind], str(folder if whole else copies[0])])
            shown = f"{folder}: {count(len(copies), 'file')}" if whole else ", ".join(map(str, copies))
            tell(f"{shown}\n  {command}")


def _named(name: str, found: list[shipped.Example]) -> shipped.Example:
    from ropewalk import _core

    plain = Path(name).name.removesuffix(".toml")
    fitting = (one for one in found if one.name == plain or str(one.path).endswith(f"/{name}"))
    example = next(fitting, None)
    if example is None:
        near = _core.suggest(plain, [one.name for one in found]).partition("known: ")[0].strip()
        cure = near or "ropewalk examples lists them"
        fail(f'there is no example "{name}"\n  fix: {cure}', WRONG_INPUT)
    return example


def _list(found: list[shipped.Example]) -> None:
    from ropewalk.cli.tables import printer

    out = printer()
    for kind, command in USE.items():
        out.line(f"For ropewalk {command}:")
        out.line()
        for example in found:
            if example.kind == kind:
                out.line(f"  {example.name}")
                out.paragraph(example.about, indent=6)
        out.line()
    out.paragraph("ropewalk examples NAME copies one, --all copies all of them.")
