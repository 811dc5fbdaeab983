"""Results for other programs: CSV, Parquet, and the data files of flent."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ropewalk import arguments, visible
from ropewalk.disk import write_whole
from ropewalk.report.source import results_of
from ropewalk.results import TABLES, Results

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import polars as pl

    from ropewalk.study.results import StudyResults

FORMATS = ("csv", "parquet", "flent")
OF_STUDIES = ("cases", "values", "estimates", "comparisons", "pooled")
"""Tables that only a study has."""
FOLDER = "export"


def export(
    directory: str | os.PathLike[str], form: str, out: str | os.PathLike[str] | None = None
) -> list[Path]:
    """Writes what a study or `ropewalk run --out` left in `directory` in another form, file by file whole.

    Args:
        directory: the results.
        form: `csv` or `parquet`: one file per table; `flent`: one file per flow and replication with series.
        out: where to; `export/FORM` in `directory` by default.

    Returns:
        the files.

    Raises:
        ReportError: there are no results, or flent is asked for where nothing was recorded over time.
        ValueError: there is no such form.
        OSError: a file cannot be read or written.
    """
    if arguments.text("form", form) not in FORMATS:
        raise ValueError(f"there is no form {form!r}; known: {', '.join(FORMATS)}")
    source = arguments.path("directory", directory)
    target = source / FOLDER / form if out is None else arguments.path("out", out)
    results = results_of(source)
    if form == "flent":
        from ropewalk.export import flent

        contents = flent.files(source, results)
    else:
        contents = {f"{name}.{form}": _encode(table, form) for name, table in tables(results).items()}
    target.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_whole(target / name, content, lasting=False)
    return [target / name for name in contents]


def tables(results: Results | StudyResults) -> dict[str, pl.DataFrame]:
    """All tables that have columns."""
    if isinstance(results, Results):
        return dict(results.tables)
    found = {name: results.table(name) for name in TABLES}
    more = {name: getattr(results, name) for name in OF_STUDIES}
    found |= {name: table for name, table in more.items() if table is not None}
    return {name: table for name, table in found.items() if table.width}


def _encode(table: pl.DataFrame, form: str) -> bytes:
    if form == "csv":
        return visible.csv(table)
    content = io.BytesIO()
    table.write_parquet(content)
    return content.getvalue()
