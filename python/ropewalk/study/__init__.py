"""Studies: a scenario, what to vary in it, and how often to repeat it."""

from __future__ import annotations

import errno
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ropewalk import _core, arguments, backends
from ropewalk.errors import StudyError
from ropewalk.scenario import MAX_REPLICATIONS
from ropewalk.study import file
from ropewalk.study.model import Stopping
from ropewalk.study.plan import Plan, plan

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ropewalk.study.conduct import Conducted
    from ropewalk.study.plan import Case
    from ropewalk.study.results import StudyResults
    from ropewalk.study.store import Store

__all__ = ["Ran", "Study", "StudyError", "stored"]

STORE = "store"
"""Where the replications are in the directory of the results, unless said otherwise."""
SLURM = "slurm-jobs"
ROUNDS = 3
"""How often to compute again what turns out to be damaged in the store."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A study that has been run."""

    results: StudyResults
    """Its tables and figures."""
    conducted: Conducted
    """How many replications this call computed, how many it found, which failed."""
    damaged: list[str]
    """Files of the store that were not what had been written; their replications were computed again."""


class Study:
    """A checked study: `plan` has its cases."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        """Its cases, metrics and number of replications."""

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        overrides: Sequence[tuple[str, str]] = (),
        replications: int | None = None,
        reading: str | None = None,
        backend: str = "simulator",
    ) -> Study:
        """Reads the study file `path`.

        Args:
            path: a TOML file.
            overrides: `(key, value)` pairs as after `--set`, for all cases.
            replications: instead of what the file says.
            reading: which of the readings, if the file has any.
            backend: what runs it. On `linux` give `run` one job: the runs are made one at a time.

        Raises:
            OSError: the file cannot be read.
            StudyError: it or its scenario has mistakes, or the back end cannot run a case.
            ValueError: this number of replications is not possible.
        """
        arguments.path("path", path)
        sets = arguments.pairs("overrides", overrides)
        if reading is not None:
            arguments.text("reading", reading)
        arguments.choice("backend", backend, [one["name"] for one in backends.all_backends()])
        stopping = None
        if replications is not None:
            stopping = Stopping.fixed(arguments.whole("replications", replications, 1, MAX_REPLICATIONS))
        return cls(plan(file.load(path, reading), sets, stopping, backend))

    def run(
        self,
        out: str | os.PathLike[str],
        *,
        store: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        executor: str = "local",
        progress: Callable[[int, int], object] | None = None,
    ) -> Ran:
        """Computes what the store does not have yet, and writes tables and figures into `out`.

        Args:
            out: a directory.
            store: for finished replications, `out/store` by default; studies and processes may share one.
            jobs: units of work at the same time; None: as many as the executor has room for.
            executor: `local`, `dask://HOST:PORT` or `slurm`. The results do not depend on it.
            progress: called with (done, total) replications.

        Raises:
            ValueError: there is no such executor, or `jobs` is less than 1.
            StudyError: a metric names what the scenario does not have.
            StoreError: the store is full or the like; its content stays.
            ExecutorError: no executor can be reached.
            OSError: a file could not be written.
            KeyboardInterrupt: Ctrl-C; finished replications are kept.
        """
        from ropewalk.disk import sweep
        from ropewalk.executors import open_executor
        from ropewalk.study.conduct import Conductor
        from ropewalk.study.manifest import manifest
        from ropewalk.study.record import Damaged
        from ropewalk.study.results import StudyResults
        from ropewalk.study.store import Disappeared
        from ropewalk.study.summary import write

        directory = arguments.path("out", out)
        place = directory / STORE if store is None else arguments.path("store", store)
        arguments.call("progress", progress)
        directory.mkdir(parents=True, exist_ok=True)
        kept = _open(place, "another place with --out" if store is None else "another store with --store")
        begun = time.monotonic()
        attempts = 0
        try:
            kept.sweep()
            sweep(directory)
            while True:
                try:
                    worker = open_executor(executor, jobs, directory / SLURM)
                    conductor = Conductor(
                        self.plan,
                        kept,
                        worker,
                        progress=progress,
                        check=lambda c, s: self._examine(kept, c, s),
                    )
                    conducted = conductor.run()
                    results = StudyResults(manifest(self.plan, conducted, place))
                    note = partial(_note, directory, conducted, executor, begun, kept.damaged)
                    write(results, directory, note)
                except (Damaged, Disappeared):
                    # `Disappeared`: the first line of a record was damaged, or another process set it aside.
                    attempts += 1
                    if attempts > ROUNDS:
                        raise
                    # Rarely one alone.
                    kept.check()
                else:
                    return Ran(results, conducted, kept.damaged)
        finally:
            kept.close()

    def _examine(self, store: Store, case: Case, seeds: set[int]) -> None:
        """A metric that names no flow or link of the scenario would otherwise be noticed at the very end."""
        import polars as pl

        there = store.load([(case.key, [min(seeds)])], {"flows", "links"})
        flows = there["flows"]["flow"].unique(maintain_order=True).cast(pl.String).to_list()
        links = there["links"]["link"].unique(maintain_order=True).cast(pl.String).to_list()
        try:
            self.plan.study.core.check_names(flows, links)
        except _core.InvalidScenario as error:
            raise StudyError.from_core(error) from None


def _open(place: Path, cure: str) -> Store:
    from ropewalk.study.conduct import StoreError
    from ropewalk.study.store import Store

    try:
        return Store(place)
    except OSError as error:
        there = error.errno == errno.EEXIST
        reason = "it is there, and is not a directory" if there else error.strerror or str(error)
        raise StoreError(f"{error.filename or place}: {reason}\n  fix: name {cure}") from error


def _note(directory: Path, done: Conducted, executor: str, begun: float, damaged: list[str]) -> None:
    """Where the results come from."""
    from ropewalk import provenance

    provenance.write(
        directory,
        executor=executor,
        computed=done.computed,
        found=done.found,
        failed=len(done.failures),
        cpu_s=done.cpu_s,
        elapsed_s=time.monotonic() - begun,
        damaged=damaged,
    )


def stored(study: Study, store: str | os.PathLike[str]) -> list[int]:
    """For each case, how many of the replications that may be wanted are in `store` already."""
    from ropewalk.study.store import Store

    kept = Store(store, read_only=True)
    found = []
    for case in study.plan.cases:
        seeds, series = kept.seeds(case.key)
        wanted = range(1, study.plan.stopping.maximum + 1)
        found.append(sum(1 for seed in wanted if seed in (series if seed <= study.plan.series else seeds)))
    return found
