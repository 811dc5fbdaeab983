"""Jobs of a SLURM cluster, by way of submitit.

Partition, account, limits and the like are those of sbatch's own environment variables, such as
`SBATCH_PARTITION`.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ropewalk.executors import ExecutorError
from ropewalk.study.work import carry_out

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.study.work import Order, Outcome

JOBS = 100
MINUTES = 60
POLL_S = 1.0


class SlurmExecutor:
    """At most `jobs` jobs of one processor at a time; their orders, results and logs are in `folder`."""

    name = "slurm"
    unit_s = 300.0
    probes = True

    def __init__(self, jobs: int | None = None, *, folder: Path, cluster: str = "slurm") -> None:
        try:
            import submitit
        except ModuleNotFoundError as error:
            raise ExecutorError(f"{error.name} is not installed: pip install 'ropewalk[slurm]'") from None
        self.slots = JOBS if jobs is None else jobs
        try:
            self._cluster = submitit.AutoExecutor(folder=folder, cluster=cluster)
        except RuntimeError as error:
            raise ExecutorError(
                f"no SLURM here (`srun` and `sbatch` are needed): {error}\n"
                "  fix: start it on a login node of the cluster, or leave --executor out"
            ) from None
        self._cluster.update_parameters(name="ropewalk", timeout_min=MINUTES, cpus_per_task=1)
        self._poll_s = POLL_S if cluster == "slurm" else 0.05
        self._waiting: list[tuple[Any, Future[Outcome]]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._watch_jobs, name="slurm", daemon=True)
        self._watch.start()

    def submit(self, order: Order) -> Future[Outcome]:
        """Hands over a unit of work as a job."""
        try:
            job = self._cluster.submit(carry_out, order)
        except Exception as error:
            raise ExecutorError(f"the job was not accepted: {error}") from error
        future: Future[Outcome] = Future()
        with self._lock:
            self._waiting.append((job, future))
        return future

    def close(self, *, cancel: bool) -> None:
        """Ends; `cancel` takes jobs out of the queue, running ones too."""
        with self._lock:
            waiting = list(self._waiting)
        for job, future in waiting:
            if cancel:
                job.cancel(check=False)
                future.cancel()
            else:
                future.exception()
        self._over.set()
        self._watch.join()

    def _watch_jobs(self) -> None:
        while not self._over.wait(self._poll_s):
            with self._lock:
                waiting = list(self._waiting)
            finished = [(job, future) for job, future in waiting if future.cancelled() or job.done()]
            for job, future in finished:
                _settle(job, future)
            with self._lock:
                self._waiting = [entry for entry in self._waiting if entry not in finished]


def _settle(job: Any, future: Future[Outcome]) -> None:  # noqa: ANN401
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job.result())
    except Exception as error:  # whatever became of the job is for the study to judge
        future.set_exception(error)
