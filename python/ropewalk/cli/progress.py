"""Progress on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

QUIET_S = 5.0
"""Without a terminal nothing is said about runs shorter than this, and no more often than this."""


class Progress:
    """How far a run is."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int) -> None:
        """`done` of `total` simulations are finished."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)
        elif time.monotonic() - self._last > QUIET_S:
            self._last = time.monotonic()
            sys.stderr.write(f"{self._title}: {done} of {total} simulations\n")
            sys.stderr.flush()
