"""`ropewalk import`: measurements of other tools as a link of a scenario."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ropewalk.cli.reporting import WRONG_INPUT, describe, fail, reported
from ropewalk.disk import write_whole
from ropewalk.errors import ScenarioError
from ropewalk.quantities import BITS_PER_S, SECONDS, quantity
from ropewalk.scenario import Scenario, toml_value

if TYPE_CHECKING:
    from ropewalk.measured.link import Part
    from ropewalk.measured.model import Options

FORMATS = ("ping", "irtt", "iperf3", "flent", "mahimahi", "csv")
NAME = re.compile(r"[A-Za-z0-9_-]+")
LINK = """\
duration = "1s"
[[path]]
name = "link"
both = {{ rate = {rate}, delay = {delay} }}
[[flow]]
name = "flow"
from = "terminal"
to = "server"
transport = {{ kind = "tcp" }}
"""
"""A scenario that checks the values of options before anything is written."""
COLUMNS = ("time", "down", "up", "rtt", "loss")


@click.command(name="import")
@click.argument("files", metavar="FILE...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--name", metavar="NAME", default="link", show_default=True, help="Of the link and the files.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", default=Path(), help="Where to; here by default."
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Of the files; by default as they look.")
@click.option("--down", metavar="RATE", help="Rate to the terminal, if no file has it.")
@click.option(
    "--up", metavar="RATE", help="Rate to the server, if no file has it; that of --down by default."
)
@click.option("--delay", metavar="TIME", help="Delay of one way, if no file has round-trip times.")
@click.option(
    "--column",
    "columns",
    metavar="KEY=NAME[:UNIT]",
    multiple=True,
    help="Of a table, the column of time, down, up, rtt or loss.",
)
@click.option(
    "--interval", type=float, metavar="S", default=1.0, show_default=True, help="Of ping without -D."
)
@click.option(
    "--window", type=float, metavar="S", default=5.0, show_default=True, help="For shares of lost probes."
)
def import_(
    *,
    files: tuple[Path, ...],
    name: str,
    out: Path,
    form: str | None,
    down: str | None,
    up: str | None,
    delay: str | None,
    columns: tuple[str, ...],
    interval: float,
    window: float,
) -> None:
    """Make a link of measurements: ping, iperf3, flent, tables.

    Files of ping, irtt, iperf3, flent and mahimahi are read, and tables with named columns.

    Several files may describe one link: ping for the delay, iperf3 for the rate.

    Exit codes: 0 fine, 1 a file could not be written, 2 the input is wrong.
    """
    with reported():
        from ropewalk.measured import link as links
        from ropewalk.measured.model import Options, Quantity

        if not NAME.fullmatch(name):
            fail(f'--name: found "{name}"\n  fix: letters, digits, - and _', WRONG_INPUT)
        for option, value in (("--interval", interval), ("--window", window)):
            if not 0 < value < float("inf"):
                fail(f"{option}: found {value:g}\n  fix: give seconds above 0", WRONG_INPUT)
        for option, text, units in (
            ("--down", down, BITS_PER_S),
            ("--up", up, BITS_PER_S),
            ("--delay", delay, SECONDS),
        ):
            _check(option, text, units)
        options = Options(interval, window, _columns(columns))
        rates = {way: rate for way, rate in ((Quantity.DOWN, down), (Quantity.UP, up)) if rate is not None}
        target = out / f"{name}.toml"
        made = links.combine(name, _read(files, form, options), rates, delay)
        written = {target: links.scenario(made)}
        written |= {out / file: content for file, content in links.files(made).items()}
        if there := next((file for file in written if file.exists()), None):
            fail(f"{there}: there is such a file already\n  fix: choose another --name or --out", WRONG_INPUT)
        out.mkdir(parents=True, exist_ok=True)
        try:
            for file, content in written.items():
                write_whole(file, content.encode(), lasting=False)
            # The file that was written can be run.
            Scenario.load(target)
        except (OSError, ScenarioError):
            # None of them was there: a part of a link would stand in the way of the next attempt.
            for file in written:
                file.unlink(missing_ok=True)
            raise
        _show(links.told(made), list(written))


def _show(told: list[str], written: list[Path]) -> None:
    from ropewalk.cli.tables import printer

    shown = printer()
    for line in told:
        shown.paragraph(line, hanging=2)
    shown.paragraph(f"written: {', '.join(map(str, written))}", hanging=2)
    shown.line(f"  ropewalk run {shlex.quote(str(written[0]))}")


def _read(files: tuple[Path, ...], form: str | None, options: Options) -> list[Part]:
    from ropewalk.measured import link as links

    parts: list[Part] = []
    for file in files:
        try:
            parts += links.read(file, form, options)
        except OSError as error:
            fail(describe(error), WRONG_INPUT)
    return parts


def _check(option: str, text: str | None, units: dict[str, float]) -> None:
    if text is None:
        return
    try:
        quantity(text, units)
    except ValueError as error:
        fail(f"{option}: {error}", WRONG_INPUT)
    given = {"rate": "1Mbit/s", "delay": "10ms", "rate" if units is BITS_PER_S else "delay": text}
    try:
        Scenario.parse(LINK.format(**{key: toml_value(value) for key, value in given.items()}))
    except ScenarioError as error:
        wrong = error.diagnostics[0]
        fail(f"{option}: {wrong.message}\n  fix: {wrong.help}", WRONG_INPUT)


def _columns(given: tuple[str, ...]) -> dict[str, tuple[str, str | None]]:
    found: dict[str, tuple[str, str | None]] = {}
    for text in given:
        key, equals, rest = text.partition("=")
        if not equals or key not in COLUMNS:
            fail(f"--column {text}: write KEY=NAME\n  fix: KEY is one of {', '.join(COLUMNS)}", WRONG_INPUT)
        name, colon, unit = rest.rpartition(":")
        found[key] = (name, unit) if colon else (rest, None)
    return found
