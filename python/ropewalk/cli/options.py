"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ropewalk import reading
from ropewalk.cli.reporting import complain
from ropewalk.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.scenario import Scenario


class WholeNumber(click.IntRange):
    """A whole number within bounds; a refusal names the value found and the allowed ones."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 (as the method of click)
        parameter: click.Parameter | None,
        context: click.Context | None,
    ) -> int:
        """The number."""
        try:
            number: int = super().convert(value, parameter, context)
        except click.BadParameter:
            bounds = f"{self.min} to {self.max}" if self.max is not None else f"from {self.min} on"
            self.fail(f"found {value}; allowed: a whole number, {bounds}", parameter, context)
        return number


def directory(_context: click.Context, parameter: click.Parameter, text: str | None) -> Path | None:
    """Refuses the empty name, which would be the current directory."""
    if text is not None and not text.strip():
        raise click.BadParameter("an empty name is not a directory", param=parameter)
    return None if text is None else Path(text)


as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on stdout."
)
units = click.option(
    "-j",
    "--jobs",
    type=WholeNumber(1),
    metavar="N",
    help="Units of work at a time; by default one per processor, Dask thread, or 100 SLURM jobs.",
)
executor = click.option(
    "--executor",
    metavar="WHERE",
    default="local",
    show_default=True,
    help="local, dask://HOST:PORT or slurm.",
)
overrides = click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change a key, as in flow.upload.transport.congestion=cubic. May be repeated.",
)
capture = click.option(
    "--capture",
    is_flag=False,
    flag_value="both",
    metavar="[WHERE]",
    help="With --out, write packets as pcapng, in DIR/capture/: both (ends of all flows; "
    "the default), a node or a link.",
)
snap = click.option(
    "--snap",
    type=click.IntRange(0, 65_535),
    metavar="BYTES",
    help="With --capture, bytes that are kept of a packet; 96 by default, 100 with IPv6, 0: all.",
)


def without_effect(scenario: Scenario) -> Scenario:
    """The same, after a warning on stderr if `--set` chose a `kind` that leaves out keys of the file."""
    if scenario.left_out is not None:
        complain(f"warning: {scenario.left_out}")
    return scenario


def pairs_of(overrides: Sequence[str]) -> list[tuple[str, str]]:
    """The arguments of `--set`, as keys and values."""
    pairs = []
    for text in overrides:
        if reading.shown(text) != text:
            raise ScenarioError(f"--set {text}: not UTF-8 text\n  fix: write it as UTF-8")
        key, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"--set {text}: no `=`\n  fix: write KEY=VALUE, as in --set duration=10s")
        pairs.append((key.strip(), value.strip()))
    return pairs
