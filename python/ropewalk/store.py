"""Results on disk."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import arguments, provenance, reading, written
from ropewalk.captures import file_of
from ropewalk.disk import PARTIAL, alone, folder, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ropewalk.results import Results
    from ropewalk.study.results import StudyResults

SUMMARY = "summary.json"
SCENARIO = "scenario.toml"
TRACES = "trace"
CAPTURES = "capture"
_TRACE = re.compile(rf"{TRACES}/seed-(\d{{1,19}})\.txt")
PLOTS = "plots"
DRAWN = ("png", "svg", "pdf")
DERIVED = (
    "report.html",
    "why.json",
    *(f"{folder}.{suffix}" for folder in ("figures/*", "figures/*/*", f"{PLOTS}/*") for suffix in DRAWN),
    "export/csv/*.csv",
    "export/parquet/*.parquet",
    "export/flent/*.flent.gz",
)
"""Files that commands make of results, in their default places."""
LAST = (SUMMARY, "verdicts.json", "comparison.json")
"""Written last: a directory with one of them has results."""


def check_writable(directory: str | os.PathLike[str]) -> None:
    """Makes `directory` and tries to write into it.

    Raises:
        OSError: with the reason.
    """
    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        # The temporary name tells the user nothing.
        error.filename = str(path)
        raise


def check_places(target: Path, names: Iterable[str]) -> None:
    """Refuses a directory, a pipe or the like in the place of a file of results, before earlier results go.

    Raises:
        OSError: with that place.
    """
    for name in names:
        place = target / name
        if place.exists() and not place.is_file():
            raise OSError(errno.EEXIST, "it is there, and is not a file", str(place))
        if place.parent != target and os.path.lexists(place.parent) and not place.parent.is_dir():
            raise OSError(errno.ENOTDIR, "it is there, and is not a directory", str(place.parent))


def write(
    results: Results, directory: str | os.PathLike[str], then: Callable[[], object] = lambda: None
) -> list[Path]:
    """See `Results.write`. `then` is called before another process can write there."""
    target = arguments.path("directory", directory)
    check_writable(target)
    # Files are moved in whole: a reader never sees half of one.
    sweep(target)
    with folder(target) as staging:
        files: dict[str, str] = {}
        for file, content in _contents(results):
            # Digest of the intended content, so that a fault of the disk is noticed.
            files[file] = written.digest(content)
            _stage(staging, target, file, content)
        # Captures in another folder of the user stay there; those of a temporary folder move.
        here = (target / CAPTURES).resolve()
        moving = {
            seed: path for seed, path in results.captures.items() if path.parent.name.startswith(PARTIAL)
        }
        there = {path for path in results.captures.values() if path.parent.resolve() == here}
        kept = [*moving.values(), *there]
        files.update((f"{CAPTURES}/{path.name}", written.digest_of(path)) for path in kept)
        _stage(staging, target, SUMMARY, written.seal({**results.summary(), "files": files}))
        with alone(target):
            check_places(target, [*files, SUMMARY, provenance.FILE])
            _forget_earlier(target)
            for old in {*target.glob(f"{CAPTURES}/seed-*.pcapng")} - {
                target / CAPTURES / path.name for path in there
            }:
                old.unlink()
            # Until here a failure leaves the captures where they are: writing can be tried again.
            for seed, path in moving.items():
                (staging / CAPTURES).mkdir(exist_ok=True)
                path.replace(staging / CAPTURES / path.name)
                results.captures[seed] = target / CAPTURES / path.name
            places = _move_in(staging, target)
            then()
            return places


def _stage(staging: Path, target: Path, file: str, content: bytes) -> None:
    try:
        (staging / file).parent.mkdir(exist_ok=True)
        (staging / file).write_bytes(content)
    except OSError as error:
        # A full disk names no file, and the temporary name tells the user nothing.
        error.filename = str(target / file)
        raise


def _contents(results: Results) -> Iterator[tuple[str, bytes]]:
    """Names and contents of all files but the summary."""
    for table, rows in results.tables.items():
        content = io.BytesIO()
        rows.write_parquet(content)
        yield f"{table}.parquet", content.getvalue()
    origin = results.origin
    yield SCENARIO, (origin.text or origin.scenario.whole()).encode()
    for seed, text in results.traces.items():
        yield f"{TRACES}/seed-{seed}.txt", text.encode()


def earlier(target: Path) -> str | None:
    """The scenario whose results are in `target`, if its summary can be read; None: there are no results."""
    try:
        summary = json.loads(reading.content(target / SUMMARY))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return "unknown"
    return str(summary.get("scenario", "unknown")) if isinstance(summary, dict) else "unknown"


def _forget_earlier(target: Path) -> None:
    """Removes what another run left: its summary before the tables, so that those do not pass for whole."""
    forget_derived(target)
    (target / SUMMARY).unlink(missing_ok=True)
    (target / provenance.FILE).unlink(missing_ok=True)
    for old in target.glob(f"{TRACES}/seed-*.txt"):
        old.unlink()


def forget_derived(target: Path) -> None:
    """Removes what was made of earlier results: it would be taken for something of the new ones.

    In a directory without results, files of such names were not made by Ropewalk.

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
    places = []
    for file in [*files, staging / SUMMARY]:
        place = target / file.relative_to(staging)
        place.parent.mkdir(exist_ok=True)
        shutil.move(file, place)
        places.append(place)
    return places


def to_json(results: Results | StudyResults) -> str:
    """The summary as one line of JSON."""
    return json.dumps(results.summary(), ensure_ascii=False, allow_nan=False) + "\n"


def _table(listing: Path, name: str, files: dict[str, str]) -> pl.DataFrame:
    """Polars sees no other bytes than were written: damaged ones can end the process or change figures."""
    content = written.checked(listing, name, files)
    try:
        return pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{listing.parent / name}: {error}") from None


@dataclass(frozen=True, slots=True)
class _Summary:
    """Facts that no table holds."""

    seeds: list[int]
    model_version: int
    backend: str
    events: int | None
    packet_hops: int
    cpu_s: float
    files: dict[str, str]
    """The others and their checksums."""


def read(directory: str | os.PathLike[str]) -> Results:
    """See `Results.read`."""
    from ropewalk.results import ADDED, TABLES, Origin, Results, Totals
    from ropewalk.scenario import Scenario

    source = arguments.path("directory", directory)
    listing = source / SUMMARY
    summary = written.load(listing, _Summary)
    provenance.read(source)
    totals = Totals(summary.events, summary.packet_hops, summary.cpu_s)
    text = written.checked(listing, SCENARIO, summary.files).decode()
    scenario = Scenario.parse(text, str(source / SCENARIO))
    origin = Origin(scenario, summary.seeds, summary.model_version, totals, summary.backend)
    tables = {
        name: pl.DataFrame()
        if name in ADDED and f"{name}.parquet" not in summary.files
        else _table(listing, f"{name}.parquet", summary.files)
        for name in TABLES
    }
    if summary.seeds != tables["runs"]["run"].to_list():
        raise ValueError(f"{listing}: seeds: not those of runs.parquet")
    traces: dict[int, str] = {}
    for name in summary.files:
        found = _TRACE.fullmatch(name)
        # Traces are large, and may have been removed.
        if found and (source / name).exists():
            traces[int(found[1])] = written.checked(listing, name, summary.files).decode()
    results = Results(origin, tables, dict(sorted(traces.items())))
    captures = {seed: file_of(source / CAPTURES, seed) for seed in summary.seeds}
    results.captures = {seed: path for seed, path in captures.items() if path.exists()}
    for path in results.captures.values():
        written.check_large(listing, f"{CAPTURES}/{path.name}", summary.files)
    return results
