"""Threads of this process. The engine runs without the interpreter lock, so they share all processors."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from ropewalk.scenario import available_processors
from ropewalk.study.work import carry_out

if TYPE_CHECKING:
    from ropewalk.study.work import Order, Outcome


class LocalExecutor:
    """As many threads as there are processors, or `jobs`."""

    name = "local"
    unit_s = 0.5
    probes = False

    def __init__(self, jobs: int | None = None) -> None:
        self.slots = available_processors() if jobs is None else jobs
        self._pool = ThreadPoolExecutor(self.slots, thread_name_prefix="study")
        self._stop = threading.Event()

    def submit(self, order: Order) -> Future[Outcome]:
        """Hands over a unit of work."""
        return self._pool.submit(carry_out, order, self._stop)

    def close(self, *, cancel: bool) -> None:
        """Ends; replications that are being simulated end within 50 ms if `cancel`."""
        if cancel:
            self._stop.set()
        self._pool.shutdown(cancel_futures=cancel)
