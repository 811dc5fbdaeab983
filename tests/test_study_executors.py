"""Studies on Dask workers and as jobs: the same results, whatever becomes of the workers."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ropewalk as rw
from conftest import Ropewalk
from ropewalk.executors import ExecutorError, open_executor
from ropewalk.executors.slurm import SlurmExecutor
from ropewalk.study.conduct import Conductor
from ropewalk.study.store import Store
from ropewalk.study.work import Order, Part
from study_files import write_study
from test_study import done, same_results
from test_study_store import LONG, count, start, undisturbed, wait_for_runs, write_long_study

__all__ = ["undisturbed"]

PATIENCE_S = 60.0


class Cluster:
    """A Dask scheduler and two workers of one thread each, processes on this machine."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.processes = [self._start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")]
        file = place / "scheduler.json"
        until = time.monotonic() + PATIENCE_S
        while not file.exists() or not file.read_text(encoding="utf-8"):
            assert self.processes[0].poll() is None, "the scheduler has ended"
            assert time.monotonic() < until, "the scheduler does not start"
            time.sleep(0.05)
        self.address = json.loads(file.read_text(encoding="utf-8"))["address"].removeprefix("tcp://")
        self.processes += [self._start("dask_worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *options, "--no-dashboard"]
        with (self._place / "log").open("ab") as log:
            file = ["--scheduler-file", str(self._place / "scheduler.json")]
            return subprocess.Popen([*command, *file], stdout=log, stderr=log, cwd=self._place)

    def kill_worker(self) -> None:
        self.processes[1].send_signal(signal.SIGKILL)
        self.processes[1].wait()

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "dask").mkdir()
    found = Cluster(tmp_path / "dask")
    yield found
    found.close()


def test_dask_gives_the_same_results_even_if_a_worker_dies(
    cluster: Cluster, tmp_path: Path, ropewalk: Ropewalk
) -> None:
    path, out = write_long_study(tmp_path), tmp_path / "out"
    where = f"dask://{cluster.address}"
    process = start(path, *LONG, "--out", out, "--executor", where)
    wait_for_runs(process, out / "store", 3)
    cluster.kill_worker()
    stdout, stderr = process.communicate(timeout=100)
    assert process.returncode == 0, stderr
    assert done(stdout) == (48, 0)
    assert count(out / "store") == 48
    again = ropewalk("study", path, *LONG, "--out", tmp_path / "local", "-j", "1")
    assert done(again.stdout) == (48, 0)
    same_results(out, tmp_path / "local")


def test_the_scheduler_dies(cluster: Cluster, tmp_path: Path) -> None:
    path, out = write_long_study(tmp_path), tmp_path / "out"
    process = start(path, *LONG, "--out", out, "--executor", f"dask://{cluster.address}")
    wait_for_runs(process, out / "store", 1)
    cluster.processes[0].kill()
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == 1
    # Dask has its own to say before.
    assert stderr.splitlines()[-1].startswith(f"--executor dask://{cluster.address}: ")
    assert stderr.endswith("finished runs are stored\n")
    assert "/ropewalk/" not in stderr
    there = count(out / "store")
    assert there >= 1
    ran = rw.Study.load(path, [("duration", "60s")], 12).run(out)
    assert (ran.conducted.computed, ran.conducted.found) == (48 - there, there)


def test_no_scheduler(ropewalk: Ropewalk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ropewalk.executors import dask

    monkeypatch.setattr(dask, "TIMEOUT_S", 0.5)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(ExecutorError, match=f"no Dask scheduler answers at 127.0.0.1:{port}"):
        open_executor(f"dask://127.0.0.1:{port}", None, tmp_path)
    place = f"dask://127.0.0.1:{port}"
    nobody = ropewalk("study", write_study(tmp_path), "--executor", place, "--out", tmp_path / "out")
    assert nobody.returncode == 1
    assert nobody.stderr.startswith(f"connecting to {place}\n--executor {place}: no Dask scheduler answers")
    assert "fix: start one (dask scheduler)" in nobody.stderr
    slurm = ropewalk("study", write_study(tmp_path), "--executor", "slurm", "--out", tmp_path / "out")
    assert slurm.returncode == 1
    assert "no SLURM here" in slurm.stderr
    assert "Traceback" not in slurm.stderr


def test_jobs_give_the_same_results(tmp_path: Path) -> None:
    """By way of submitit, whose jobs are processes of this machine here."""
    study = rw.Study.load(write_study(tmp_path))
    local = study.run(tmp_path / "out").results
    store = Store(tmp_path / "jobs-store")
    executor = SlurmExecutor(2, folder=tmp_path / "jobs", cluster="local")
    executor.unit_s = 0.004
    conducted = Conductor(study.plan, store, executor).run()
    assert (conducted.computed, conducted.failures, conducted.lost) == (12, [], 0)
    assert len(list((tmp_path / "jobs").glob("*_log.out"))) >= 2
    for case in study.plan.cases:
        rows = store.load([(case.key, [1, 2, 3])], {"flows"})["flows"].drop("case").rows()
        assert rows == local.flows.filter(local.flows["case"] == case.name).drop("case").rows()
    store.close()


def children(process: int) -> list[int]:
    """Processes that it has started and that run."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def runs(process: int) -> bool:
    """A process that has ended but has not been waited for does not."""
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def started(job: Any) -> list[int]:  # noqa: ANN401
    """Waits for the tasks of a job, which are children of the process that submitit knows.

    That process knows a task only some time after it began: a task that has written into its log is known.
    """
    until = time.monotonic() + PATIENCE_S
    log = job.paths.stdout
    while not (found := children(int(job.job_id))) or not log.exists() or not log.stat().st_size:
        assert time.monotonic() < until, "the job does not start"
        time.sleep(0.05)
    return found


def test_a_job_that_is_killed_is_an_error_of_its_future(tmp_path: Path) -> None:
    from conftest import ENDLESS

    executor = SlurmExecutor(1, folder=tmp_path / "jobs", cluster="local")
    text = rw.Scenario.parse(ENDLESS).show()
    future = executor.submit(Order((Part("key", text, (1,), series=False),)))
    (job, _) = executor._waiting[0]
    job._results_timeout_s = 0.5
    tasks = started(job)
    try:
        os.kill(int(job.job_id), signal.SIGKILL)
        assert future.exception(timeout=PATIENCE_S) is not None
        executor.close(cancel=True)
    finally:
        # SLURM takes the tasks of a job along; on this machine nothing does.
        for task in tasks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(task, signal.SIGKILL)


def test_cancelled_jobs_end(tmp_path: Path) -> None:
    from conftest import ENDLESS

    executor = SlurmExecutor(1, folder=tmp_path / "jobs", cluster="local")
    text = rw.Scenario.parse(ENDLESS).show()
    executor.submit(Order((Part("key", text, (1,), series=False),)))
    (job, _) = executor._waiting[0]
    tasks = started(job)
    executor.close(cancel=True)
    until = time.monotonic() + PATIENCE_S
    while job._process.poll() is None or any(map(runs, tasks)):
        assert time.monotonic() < until, "the job goes on"
        time.sleep(0.05)
