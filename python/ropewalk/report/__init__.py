"""One self-contained HTML file out of a directory of results: it needs neither server nor network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk import arguments
from ropewalk.report.page import page
from ropewalk.report.source import ReportError, open_source

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["FILE", "ReportError", "build", "save", "write"]

FILE = "report.html"
LARGEST = 8_000_000
"""Bytes: what a mail or a browser on a phone still takes."""
MOST_POINTS = 2000
"""Points of one curve; fewer if the report would be too large."""
FEWEST_POINTS = 60


def build(directory: str | os.PathLike[str], *, run: int | None = None, case: str | None = None) -> str:
    """The report about what a study, `ropewalk run --out` or a reproduction left in `directory`, as HTML.

    It is made of nothing but that directory: the same files give the same bytes.

    Args:
        directory: the results.
        run: seed of the plots over time; the first one that has time series by default.
        case: of a study, the only case to show over time; the first few by default.

    Raises:
        ReportError: there are no results in `directory`, or no such seed or case, or far too many.
        OSError: a file cannot be read.
    """
    if case is not None:
        arguments.text("case", case)
    source = open_source(arguments.path("directory", directory), run=run, case=case)
    points = MOST_POINTS
    while True:
        text = page(source, points)
        if len(text.encode()) < LARGEST:
            return text
        if points < FEWEST_POINTS:
            size = len(text.encode()) / 1e6
            raise ReportError(
                f"{directory}: the report would have {size:.1f} MB, at most {LARGEST / 1e6:g} are allowed",
                "split it, or ask for fewer metrics or flows",
            )
        points //= 2


def write(
    directory: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    run: int | None = None,
    case: str | None = None,
) -> Path:
    """Writes the report to `out`, by default `report.html` in `directory`; the file appears whole.

    Raises:
        ReportError, OSError: see `build`, or it could not be written.
    """
    target = arguments.path("directory", directory) / FILE if out is None else arguments.path("out", out)
    save(build(directory, run=run, case=case), target)
    return target


def save(text: str, target: Path) -> None:
    """Writes a report; the file appears whole.

    Raises:
        OSError: it could not be written.
    """
    from ropewalk.disk import write_whole

    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, text.encode(), lasting=False)
