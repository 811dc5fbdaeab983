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


class Progress:
    """How far a run or a study is, how fast, and for how long."""

    def __init__(self, title: str) -> None:
        self._title = visible(title)
        self._begun = self._last = time.monotonic()
        self._first: int | None = None
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[pace]}"),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=None, pace="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int) -> None:
        """`done` of `total` runs are there."""
        if self._first is None:
            self._first = done
        now = time.monotonic()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, pace=self._pace(now, done, total))
        elif now - self._last > QUIET_S:
            self._last = now
            sys.stderr.write(f"{self._title}: {done} of {total} runs, {self._pace(now, done, total)}\n")
            sys.stderr.flush()

    def _pace(self, now: float, done: int, total: int) -> str:
        """What was stored before does not count for the rate."""
        rate = (done - (self._first or 0)) / max(now - self._begun, 1e-9)
        if rate <= 0.0:
            return "no run finished yet"
        return f"{figure(rate)} runs/s, {_duration((total - done) / rate)} left"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
