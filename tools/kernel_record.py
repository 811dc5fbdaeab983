"""Cases of one scenario, run on the kernel and on the simulator, and kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import ropewalk as rw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ropewalk.results import Results

Sets = list[tuple[str, str]]


def record(
    cases: dict[str, Sets],
    scenario: Path,
    seeds: int,
    figures: Callable[[Results], dict[str, float]],
    to: Path,
) -> None:
    """Runs on the kernel what is not kept yet, and on the simulator everything."""
    found: dict[str, Any] = json.loads(to.read_text(encoding="utf-8")) if to.exists() else {}
    for name, sets in cases.items():
        case = rw.Scenario.load(scenario, sets)
        kept = found.setdefault(name, {})
        if "kernel" not in kept:
            kept["kernel"] = figures(case.run(seeds, backend="linux"))
        kept["simulator"] = figures(case.run(seeds))
        to.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
