"""Cases of one scenario, run on the kernel and on the simulator, and kept."""

from __future__ import annotations

import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ropewalk as rw
from ropewalk.kernel_runs import on_kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ropewalk.results import Results

Sets = list[tuple[str, str]]
Figures = dict[str, Any]
"""Numbers by name: a mean over seeds, or a list with one for each seed."""


@dataclass(frozen=True)
class Case:
    """Changes to the scenario, how often it runs, and its figures."""

    sets: Sets
    seeds: int
    figures: Callable[[Results], Figures]


def record(cases: dict[str, Case], scenario: Path, to: Path, *, at_once: int = 1) -> None:
    """Runs on the kernel what is not kept yet, `at_once` side by side, and on the simulator everything."""
    found: dict[str, Any] = json.loads(to.read_text(encoding="utf-8")) if to.exists() else {}
    missing = [name for name in cases if "kernel" not in found.get(name, {})]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(at_once, mp_context=context) as pool:
        running = {pool.submit(judged, scenario, cases[name]): name for name in missing}
        for future in as_completed(running):
            name = running[future]
            if error := future.exception():
                sys.stdout.write(f"{name}: {error}\n")
                continue
            found.setdefault(name, {}).update(future.result())
            sys.stdout.write(f"{name}: {found[name]}\n")
            sys.stdout.flush()
            write(found, cases, to)
    for name, case in cases.items():
        if "kernel" in found.get(name, {}):
            found[name]["simulator"] = case.figures(rw.Scenario.load(scenario, case.sets).run(case.seeds))
    write(found, cases, to)


def judged(scenario: Path, case: Case) -> dict[str, Any]:
    """Figures on the kernel, and the largest 99th percentile of lateness of its runs."""
    loaded = rw.Scenario.load(scenario, case.sets)
    results, left_out = on_kernel(loaded, list(range(1, case.seeds + 1)))
    if left_out:
        raise rw.RunFailed(left_out[0].message)
    late = max(one.p99_s for one in results.accuracies)
    return {"kernel": case.figures(results), "late_s": late}


def write(found: dict[str, Any], cases: dict[str, Case], to: Path) -> None:
    """Keeps what was found, in the order of the cases."""
    kept = {name: found[name] for name in cases if name in found}
    to.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
