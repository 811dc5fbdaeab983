"""`ropewalk why`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from ropewalk.cli.progress import Progress
from ropewalk.visible import visible
from ropewalk.why import why

if TYPE_CHECKING:
    from ropewalk.scenario import Scenario


def execute(
    scenario: Scenario, seeds: list[int] | None, effort: str, jobs: int | None, *, as_json: bool
) -> None:
    """Runs the scenario and changes of it, and prints why its flows are as slow as they are."""
    with Progress(f"why: {scenario.name}") as progress:
        found = why(scenario, seeds, effort=effort, jobs=jobs, progress=progress.update)
    if as_json:
        sys.stdout.write(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")
        return
    from ropewalk.cli.tables import printer
    from ropewalk.cli.texts import PIPE_WIDTH
    from ropewalk.why.text import lines

    sys.stdout.write(visible("\n".join(lines(found, printer().width or PIPE_WIDTH))) + "\n")
