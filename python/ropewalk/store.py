"""Results on disk."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import provenance, written
from ropewalk.disk import partial_name, sweep

if TYPE_CHECKING:
    import os

    from ropewalk.results import Results
    from ropewalk.study.results import StudyResults

SUMMARY = "summary.json"
SCENARIO = "scenario.toml"
TRACES = "trace"
PLOTS = "plots"
DRAWN = ("png", "svg", "pdf")
DERIVED = (
    "report.html",
    *(f"{folder}.{suffix}" for folder in ("figures/*", "figures/*/*", f"{PLOTS}/*") for suffix in DRAWN),
    "export/csv/*.csv",
    "export/parquet/*.parquet",
    "export/flent/*.flent.gz",
)
"""What commands make of results, where they put it unless told otherwise."""
LAST = (SUMMARY, "verdicts.json")
"""Written last: a directory with one of them has results."""


def check_writable(directory: str | os.PathLike[str]) -> None:
    """Makes `directory` and tries to write into it.

    Raises:
        OSError: with the reason.
    """
    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path):
        pass


def write(results: Results, directory: str | os.PathLike[str]) -> list[Path]:
    """See `Results.write`."""
    target = Path(directory)
    check_writable(target)
    # Files are moved in whole: a reader never sees half of one.
    sweep(target)
    with tempfile.TemporaryDirectory(dir=target, prefix=partial_name()) as name:
        staging = Path(name)
        for table, rows in results.tables.items():
            rows.write_parquet(staging / f"{table}.parquet")
        (staging / SCENARIO).write_text(results.origin.scenario.whole(), encoding="utf-8")
        (staging / TRACES).mkdir()
        for seed, text in results.traces.items():
            (staging / TRACES / f"seed-{seed}.txt").write_text(text, encoding="utf-8")
        (staging / SUMMARY).write_text(to_json(results), encoding="utf-8")
        _forget_earlier(target)
        return _move_in(staging, target)


def _forget_earlier(target: Path) -> None:
    """Removes what another run left: its summary before the tables, so that those do not pass for whole."""
    forget_derived(target)
    (target / SUMMARY).unlink(missing_ok=True)
    (target / provenance.FILE).unlink(missing_ok=True)
    for old in target.glob(f"{TRACES}/seed-*.txt"):
        old.unlink()


def forget_derived(target: Path) -> None:
    """Removes what was made of earlier results: it would be taken for something of the new ones.

    In a directory without results, files of such names are somebody else's.

    Raises:
        OSError: one could not be removed.
    """
    if not any((target / name).exists() for name in LAST):
        return
    for pattern in DERIVED:
        for old in [*target.glob(pattern)]:
            old.unlink()


def _move_in(staging: Path, target: Path) -> list[Path]:
    files = sorted(file for file in staging.rglob("*") if file.is_file() and file.name != SUMMARY)
    written = []
    for file in [*files, staging / SUMMARY]:
        place = target / file.relative_to(staging)
        place.parent.mkdir(exist_ok=True)
        shutil.move(file, place)
        written.append(place)
    return written


def to_json(results: Results | StudyResults) -> str:
    """The summary as one line of JSON."""
    return json.dumps(results.summary(), ensure_ascii=False, allow_nan=False) + "\n"


def _table(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path}: {error}") from None


@dataclass(frozen=True, slots=True)
class _Summary:
    """What no table says."""

    seeds: list[int]
    model_version: int
    events: int
    packet_hops: int
    cpu_s: float


def read(directory: str | os.PathLike[str]) -> Results:
    """See `Results.read`."""
    from ropewalk.results import TABLES, Origin, Results, Totals
    from ropewalk.scenario import Scenario

    source = Path(directory)
    summary = written.load(source / SUMMARY, _Summary)
    totals = Totals(summary.events, summary.packet_hops, summary.cpu_s)
    origin = Origin(Scenario.load(source / SCENARIO), summary.seeds, summary.model_version, totals)
    tables = {name: _table(source / f"{name}.parquet") for name in TABLES}
    if summary.seeds != tables["runs"]["run"].to_list():
        raise ValueError(f"{source / SUMMARY}: seeds: not those of runs.parquet")
    traces = {
        int(file.stem.removeprefix("seed-")): file.read_text(encoding="utf-8")
        for file in (source / TRACES).glob("seed-*.txt")
    }
    return Results(origin, tables, dict(sorted(traces.items())))
