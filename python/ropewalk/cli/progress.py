"""Progress on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from ropewalk.numbers import figure
from ropewalk.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

QUIET_S = 5.0
"""Without a terminal nothing is said about runs shorter than this, and no more often than this."""
LEAST_SHARE = 1e-4
"""Share of the work that must be done before the time left is shown."""


class Progress:
    """How far a run or a study is, how fast, and for how long.

    Args:
        title: what runs.
        duration_s: simulated seconds of one run, for progress within runs; 0: runs are counted.
    """

    def __init__(self, title: str, duration_s: float = 0.0) -> None:
        self._title = visible(title)
        self._duration_s = duration_s
        self._simulated_s = 0.0
        self._begun = self._last = time.monotonic()
        self._first: int | None = None
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=None, table_column=Column(max_width=40, ratio=1)),
                TextColumn("{task.fields[pace]}", table_column=Column(no_wrap=True)),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True, expand=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=None, pace="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def simulated(self, seconds: float) -> None:
        """Takes the time that all runs together have simulated; shown with the next `update`."""
        self._simulated_s = seconds

    def update(self, done: int, total: int) -> None:
        """`done` of `total` runs are there."""
        if self._first is None:
            self._first = done
        now = time.monotonic()
        whole = self._duration_s * total
        share = max(done / max(total, 1), self._simulated_s / whole if whole > 0 else 0.0)
        if self._bar is not None and self._task is not None:
            pace = f"{done}/{total} {self._pace(now, done, total, share)}"
            self._bar.update(self._task, completed=share * total, total=total, pace=pace)
        elif now - self._last > QUIET_S:
            self._last = now
            pace = self._pace(now, done, total, share)
            sys.stderr.write(f"{self._title}: {done} of {total} runs, {pace}\n")
            sys.stderr.flush()

    def _pace(self, now: float, done: int, total: int, share: float) -> str:
        """How far within the runs, or how many of them in a second, and the time left."""
        elapsed = max(now - self._begun, 1e-9)
        # Runs that were stored before do not count for the rate.
        before = (self._first or 0) / max(total, 1)
        if self._duration_s > 0.0:
            told = f"{self._simulated_s:,.0f} of {self._duration_s * total:,.0f} s simulated"
        elif done > (self._first or 0):
            told = f"{figure((done - (self._first or 0)) / elapsed)} runs/s"
        else:
            return "no run finished yet"
        if share - before < LEAST_SHARE:
            return told
        return f"{told}, {_duration((1.0 - share) / (share - before) * elapsed)} left"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
