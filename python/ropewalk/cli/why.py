"""`ropewalk why`."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.cli.progress import Progress
from ropewalk.cli.reporting import WRONG_INPUT, fail, next_step, tell
from ropewalk.visible import visible
from ropewalk.why import kept, why

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ropewalk.scenario import Scenario


@dataclass(frozen=True, slots=True)
class WhyOrder:
    """The options of the command."""

    seeds: list[int] | None
    effort: str
    jobs: int | None
    out: Path | None
    """Directory of results that the diagnosis is about, which keeps it."""
    as_json: bool


def scenario_of(directory: Path, overrides: Sequence[str]) -> Scenario:
    """The scenario of results; ends the command if there are none, or if it were to be changed."""
    from ropewalk.report.source import ReportError, results_of
    from ropewalk.results import Results

    if overrides:
        fail(f"--set with {directory}: the diagnosis is about these results\n  fix: name a file", WRONG_INPUT)
    try:
        found = results_of(directory)
    except ReportError as error:
        fail(str(error), WRONG_INPUT)
    if not isinstance(found, Results):
        fail(
            f"{directory}: this is a study\n  fix: ropewalk why SCENARIO, with --set for a case", WRONG_INPUT
        )
    return found.origin.scenario


def execute(scenario: Scenario, order: WhyOrder) -> None:
    """Runs the scenario and changes of it, and prints why its flows are as slow as they are."""
    with Progress(f"why: {scenario.name}") as progress:
        found = why(scenario, order.seeds, effort=order.effort, jobs=order.jobs, progress=progress.update)
    failure = None
    if order.out is not None:
        try:
            kept.write(order.out, found)
        except OSError as error:
            # The diagnosis took its time: it is printed in any case.
            failure = error
    if order.as_json:
        sys.stdout.write(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")
    else:
        from ropewalk.cli.tables import printer
        from ropewalk.cli.texts import PIPE_WIDTH
        from ropewalk.why.text import lines

        sys.stdout.write(visible("\n".join(lines(found, printer().width or PIPE_WIDTH))) + "\n")
    if failure is not None:
        sys.stdout.flush()
        raise failure
    if order.out is not None:
        tell(f"\n{next_step(order.out)}", aside=order.as_json)
