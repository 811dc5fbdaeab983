"""Workers of a Dask cluster. Results come back over its network; only this process writes into the store."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from ropewalk.executors import ExecutorError
from ropewalk.study.work import carry_out

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ropewalk.study.work import Order, Outcome

TIMEOUT_S = 8.0
"""Timeout for the scheduler, and for a first worker."""


class DaskExecutor:
    """All workers of the scheduler at `address`, or `jobs` units of work at a time."""

    unit_s = 2.0
    probes = False

    def __init__(self, address: str, jobs: int | None = None) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise ExecutorError(f"{error.name} is not installed: pip install 'ropewalk[dask]'") from None
        # Ropewalk reports failures itself, once and without tracebacks.
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.name = f"dask://{address}"
        self._jobs = jobs
        try:
            self._client = Client(f"tcp://{address}", timeout=TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ExecutorError(
                f"no Dask scheduler answers at {address} within {TIMEOUT_S:g} s: {error}\n"
                "  fix: start one (dask scheduler), or give its address as dask://HOST:PORT"
            ) from None
        try:
            self._client.wait_for_workers(1, timeout=TIMEOUT_S)
        except TimeoutError:
            self._client.close()
            raise ExecutorError(
                f"the Dask scheduler at {address} has no workers after {TIMEOUT_S:g} s\n"
                f"  fix: start some (dask worker {address}), then give the same command again"
            ) from None
        # Dask would answer a unit that equals an earlier one from its cache.
        self._pool = self._client.get_executor(pure=False)

    @property
    def slots(self) -> int:
        """Threads of all present workers, at most `jobs`."""
        try:
            threads: int = sum(self._client.nthreads().values())
        except Exception as error:
            raise self._gone(error) from error
        return max(1, threads if self._jobs is None else min(threads, self._jobs))

    def submit(self, order: Order) -> Future[Outcome]:
        """Hands over a unit of work. If its worker dies, Dask gives it to another one."""
        try:
            future: Future[Outcome] = self._pool.submit(carry_out, order)
        except Exception as error:
            raise self._gone(error) from error
        return future

    def _gone(self, error: Exception) -> ExecutorError:
        return ExecutorError(
            f"the Dask scheduler does not answer any more: {error}; finished runs are stored"
        )

    def close(self, *, cancel: bool) -> None:
        """Closes the client; the cluster keeps running."""
        # A scheduler that does not answer any more has no work to cancel.
        with contextlib.suppress(Exception) if cancel else contextlib.nullcontext():
            self._pool.shutdown(wait=not cancel)
            self._client.close()
