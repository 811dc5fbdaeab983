"""`ropewalk emulate` and `ropewalk compare`: scenarios on the Linux kernel of this machine."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ropewalk import _core
from ropewalk.cli.options import (
    WholeNumber,
    as_json,
    capture,
    directory,
    overrides,
    pairs_of,
    snap,
    without_effect,
)
from ropewalk.cli.reporting import RUN_FAILED, WRONG_INPUT, complain, describe, fail, reported

if TYPE_CHECKING:
    from ropewalk.comparison import Comparison
    from ropewalk.scenario import Scenario

BACKEND = "linux"
INSIDE = "ROPEWALK_IN_USER_NAMESPACE"
"""Set for the command that this one has started in a user namespace: it does not start another."""


def permitted() -> None:
    """Goes on in a user namespace if the kernel wants that; ends the command if it permits nothing."""
    found = _core.emulation()
    if found in {"real-time", "ordinary"}:
        return
    unshare = shutil.which("unshare")
    if found == "user-namespace" and unshare is not None and INSIDE not in os.environ:
        arguments = ["unshare", "--user", "--map-root-user", sys.executable, "-m", "ropewalk", *sys.argv[1:]]
        sys.stdout.flush()
        # This process becomes the other one: its threads, if any, end, and signals reach it.
        os.execve(unshare, arguments, {**os.environ, INSIDE: "1"})  # noqa: S606
    if found == "user-namespace":
        found = "a user namespace may not be made from here\n  fix: run it as root"
    fail(f"this machine does not permit network namespaces with TUN devices: {found}", RUN_FAILED)


def _seeds(scenario: Scenario, count: int | None, first: int | None) -> list[int]:
    from ropewalk.cli.app import chosen_seeds

    return chosen_seeds(scenario, count, first)


def _load(file: Path, sets: tuple[str, ...]) -> Scenario:
    from ropewalk.errors import ScenarioError
    from ropewalk.scenario import Scenario

    try:
        place = Path("/dev/stdin") if str(file) == "-" else file
        return without_effect(Scenario.load(place, pairs_of(sets)))
    except ScenarioError:
        raise
    except OSError as error:
        fail(describe(error), WRONG_INPUT)


FILE = click.argument("file", type=click.Path(path_type=Path))
SEEDS = click.option(
    "--seeds", type=WholeNumber(1, 1000), metavar="N", help="Replications; without it as the scenario says."
)
SEED = click.option("--seed", type=WholeNumber(0), metavar="N", help="First seed; alone: just this one.")
OUT = click.option("--out", callback=directory, metavar="DIR", help="Write results.")


@click.command()
@FILE
@SEEDS
@SEED
@overrides
@OUT
@as_json
@click.option("--plots", is_flag=True, help="With --out, draw the plots as PNG, in DIR/plots/.")
@capture
@snap
def emulate(
    *,
    file: Path,
    seeds: int | None,
    seed: int | None,
    overrides: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    plots: bool,
    capture: str | None,
    snap: int | None,
) -> None:
    """Run a scenario on the Linux kernel of this machine.

    The links are those of the simulator, with the same random numbers; the ends are TCP and MPTCP of the
    kernel, in network namespaces of their own, in real time. As root, or as a user who may make user
    namespaces. A run that was not exact enough fails.
    """
    with reported():
        if plots and out is None:
            fail("--plots without --out\n  fix: add --out DIR, the plots go into DIR/plots/", WRONG_INPUT)
        if capture is not None and out is None:
            fail(
                "--capture without --out\n  fix: add --out DIR, the packets go into DIR/capture/", WRONG_INPUT
            )
        if snap is not None and capture is None:
            fail("--snap without --capture\n  fix: add --capture both", WRONG_INPUT)
        permitted()
        scenario = _load(file, overrides)
        from ropewalk.captures import SNAP
        from ropewalk.cli.run import Order, execute

        chosen = _seeds(scenario, seeds, seed)
        kept = SNAP if snap is None else snap
        execute(
            scenario, Order(file, chosen, 1, out, as_json, False, plots, BACKEND, overrides, capture, kept)
        )


@click.command()
@FILE
@SEEDS
@SEED
@overrides
@OUT
@click.option(
    "--exact",
    is_flag=True,
    help="Add no jitter; several paths with constant delays have one of 0.1 ms otherwise.",
)
@as_json
def compare(
    *,
    file: Path,
    seeds: int | None,
    seed: int | None,
    overrides: tuple[str, ...],
    out: Path | None,
    exact: bool,
    as_json: bool,
) -> None:
    """Run a scenario on kernel and simulator, and compare.

    Both have the same seeds. Goodput and completion time may differ by 10 %, shares and round-trip times by
    25 %; drops and retransmissions may be 25 % outside the range of the kernel's runs. With --out DIR also a
    page with the goodput of both over time. A run on the kernel that was not exact enough is repeated
    twice, then its seed is left out. Exit code 1: a figure is outside.
    """
    with reported():
        permitted()
        scenario = _load(file, overrides)
        from ropewalk import both_ways
        from ropewalk.cli.progress import Progress
        from ropewalk.comparison import compare as run_both
        from ropewalk.kernel_memory import differing, of_this_kernel

        chosen = _seeds(scenario, seeds, seed)
        with Progress(scenario.name, scenario.duration_s) as progress:
            found = run_both(scenario, chosen, exact=exact, simulated=progress.simulated)
        if out is not None:
            found.write(out)
        _show(found, as_json=as_json)
        if left_out := found.missing():
            complain(f"{left_out}\n  fix: end other work on this machine, or lower the rates")
        if hint := differing(scenario, of_this_kernel()):
            complain(hint)
        if hint := both_ways.hint(scenario):
            complain(hint)
        if found.outside:
            sys.exit(RUN_FAILED)


def _show(found: Comparison, *, as_json: bool) -> None:
    import json

    from ropewalk.cli.columns import Column, show_table
    from ropewalk.cli.tables import printer, show_exactness
    from ropewalk.comparison import HEADERS, cells

    if as_json:
        sys.stdout.write(json.dumps(found.to_dict(), indent=2) + "\n")
        return
    rows = [cells(row) for row in found.rows]
    texts = {"of", "quantity", "verdict"}
    columns = [
        Column(header, [row[place] for row in rows], header not in texts, header in {"of", "quantity"})
        for place, header in enumerate(HEADERS)
    ]
    out = printer()
    show_table(out, f"{found.kernel.origin.scenario.name}: simulator and kernel", columns)
    show_exactness(out, found.kernel)
