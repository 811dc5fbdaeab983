"""Where the work of a study is done: threads of this process, Dask workers, SLURM jobs.

An executor is one of `concurrent.futures`: `submit` gives a future. Besides, it says how many units of work
it can do at a time and how long one should take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ropewalk import arguments

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from ropewalk.study.work import Order, Outcome

LOCAL = "local"
KINDS = (LOCAL, "dask://HOST:PORT", "slurm")


class ExecutorError(RuntimeError):
    """The place to compute at cannot be had."""


class Executor(Protocol):
    """The interface that a study needs."""

    name: str
    """For messages."""
    unit_s: float
    """How long a unit of work should take: long against handing it over, short against losing it."""
    probes: bool
    """Handing over is so slow that the first replication is better measured here."""

    @property
    def slots(self) -> int:
        """Units of work that can be done at the same time; may change."""

    def submit(self, order: Order) -> Future[Outcome]:
        """Hands over a unit of work."""

    def close(self, *, cancel: bool) -> None:
        """Ends; `cancel` gives up what has been handed over."""


def check_name(where: str) -> None:
    """Is there such an executor?

    Raises:
        ValueError: no.
    """
    arguments.text("executor", where)
    if where not in {LOCAL, "slurm"} and not (where.startswith("dask://") and len(where) > len("dask://")):
        raise ValueError(f"there is no executor {where!r}; known: {', '.join(KINDS)}")


def open_executor(where: str, jobs: int | None, folder: Path) -> Executor:
    """The executor that `where` names.

    Args:
        where: `local`, `dask://HOST:PORT` or `slurm`.
        jobs: units of work at the same time; None: as many as there is room for.
        folder: for files of SLURM jobs; the nodes must see it.

    Raises:
        ValueError: there is no such executor, or `jobs` is less than 1.
        ExecutorError: it cannot be had.
    """
    check_name(where)
    jobs = arguments.jobs(jobs)
    if where == "slurm":
        from ropewalk.executors.slurm import SlurmExecutor

        return SlurmExecutor(jobs, folder=folder)
    if where == LOCAL:
        from ropewalk.executors.local import LocalExecutor

        return LocalExecutor(jobs)
    from ropewalk.executors.dask import DaskExecutor

    return DaskExecutor(where.removeprefix("dask://"), jobs)
