"""Results after a kill between two steps of writing them: whole, or refused as unfinished."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import SMALL
from ropewalk.comparison import Comparison
from ropewalk.disk import PARTIAL, partial_name
from ropewalk.report.source import ReportError, results_of
from ropewalk.store import write as write_results
from ropewalk.study.results import StudyResults
from ropewalk.study.summary import write as write_study_results
from study_files import STUDY, write_study

BEFORE = rw.Scenario.parse(SMALL, "small.toml")
AFTER = BEFORE.set("path.a.both.rate", "5Mbit/s")
STEPS = {"open", "os.remove", "os.rename", "os.mkdir", "os.rmdir"}
"""Audit events of the calls that change a directory."""
DEAD = f"{PARTIAL}{socket.gethostname()}-{2**22 + 1}-"
"""Start of temporary names of a process that has ended: numbers of processes are smaller."""


class Watch:
    """Copies a directory before each step of a process that changes it: what a kill at that moment leaves."""

    def __init__(self) -> None:
        self.place: Path | None = None
        self.copies: list[Path] = []
        self.into = Path()
        sys.addaudithook(self._step)

    def _step(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.place is None or event not in STEPS:
            return
        if event == "open" and not _writes(arguments):
            return
        named = arguments[0]
        if not isinstance(named, str | bytes | os.PathLike):
            return
        if not Path(os.fsdecode(named)).is_relative_to(self.place):
            return
        place, self.place = self.place, None
        try:
            self._copy(place)
        finally:
            self.place = place

    def _copy(self, place: Path) -> None:
        copy = self.into / f"step-{len(self.copies)}"
        shutil.copytree(place, copy)
        # The process that was killed is no longer there.
        for left in copy.glob(f"{partial_name()}*"):
            left.rename(copy / left.name.replace(partial_name(), DEAD))
        self.copies.append(copy)

    @contextmanager
    def of(self, place: Path, into: Path) -> Iterator[list[Path]]:
        self.copies, self.into, self.place = [], into, place
        try:
            yield self.copies
        finally:
            self.place = None


def _writes(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


WATCH = Watch()


UNFINISHED = "unfinished: what wrote there was ended\n  fix: run it again"


def read(place: Path) -> rw.Results | StudyResults | None:
    """The results in a directory; None: it says that they are unfinished, and nothing else."""
    try:
        return results_of(place)
    except ReportError as error:
        if UNFINISHED not in str(error):
            raise
        return None


def read_run(place: Path) -> rw.Results | None:
    found = read(place)
    assert found is None or isinstance(found, rw.Results)
    return found


def tables(results: rw.Results) -> dict[str, object]:
    return {name: table.to_dicts() for name, table in results.tables.items()}


def content(place: Path) -> dict[str, bytes]:
    """All files; the summary has the time of the processor, which differs, and is read instead."""
    assert read(place) is not None
    files = (file for file in place.rglob("*") if file.is_file() and file.name != "summary.json")
    return {str(file.relative_to(place)): file.read_bytes() for file in files}


def run(scenario: rw.Scenario, place: Path, *, trace: bool) -> rw.Results:
    """Results with captures as the command line makes them, in a temporary folder of the directory."""
    place.mkdir(exist_ok=True)
    folder = place / f"{partial_name()}captures"
    results = scenario.run(2, trace=trace, capture=rw.Capture(folder, snap=20))
    write_results(results, place)
    folder.rmdir()
    return results


def state(place: Path) -> frozenset[tuple[Path, int]]:
    """The files of a copy with their times: steps in temporary folders change none of them."""
    files = ((file.relative_to(place), file) for file in place.rglob("*") if file.is_file())
    return frozenset(
        (name, file.stat().st_mtime_ns) for name, file in files if not name.parts[0].startswith(PARTIAL)
    )


def test_results_over_earlier_ones(tmp_path: Path) -> None:
    """Each step leaves the earlier results, the new ones, or a directory that is known to be unfinished."""
    out, copies, alone = tmp_path / "out", tmp_path / "copies", tmp_path / "alone"
    copies.mkdir()
    before = tables(run(BEFORE, out, trace=True))
    (out / "report.html").write_text("made of the earlier results", encoding="utf-8")
    after = tables(run(AFTER, alone, trace=False))
    with WATCH.of(out, copies) as steps:
        run(AFTER, out, trace=False)
    assert content(out) == content(alone)
    kinds = []
    for copy in {state(copy): copy for copy in [*steps, out]}.values():
        found = read_run(copy)
        kinds.append("none" if found is None else "before" if tables(found) == before else "after")
        if found is not None and kinds[-1] == "before":
            assert set(found.traces) == set(found.captures) == {1, 2}, copy
        else:
            assert not (copy / "report.html").exists(), copy
        if found is not None and kinds[-1] == "after":
            assert tables(found) == after, copy
            assert (set(found.traces), set(found.captures)) == (set(), {1, 2}), copy
        run(AFTER, copy, trace=False)
        assert content(copy) == content(alone), copy
    assert len(kinds) > 15
    assert kinds == sorted(kinds, key=["before", "none", "after"].index), kinds
    assert set(kinds) == {"before", "none", "after"}


def test_a_study_over_an_earlier_one(tmp_path: Path) -> None:
    """The tables of the second were called damaged while the list of the first was still there."""
    out, copies = tmp_path / "out", tmp_path / "copies"
    copies.mkdir()
    rw.Study.load(write_study(tmp_path, STUDY.replace("replications = 3", "replications = 1"))).run(out)
    before = results_of(out)
    results = rw.Study.load(write_study(tmp_path)).run(tmp_path / "alone").results
    (out / "report.html").write_text("made of the earlier results", encoding="utf-8")
    with WATCH.of(out, copies) as steps:
        write_study_results(results, out)
    shutil.copytree(out, copies / "end")
    assert isinstance(before, StudyResults)
    kinds = []
    for copy in {state(copy): copy for copy in [*steps, copies / "end"]}.values():
        # A study knows its place.
        shutil.rmtree(out)
        shutil.copytree(copy, out)
        found = read(out)
        if found is None:
            kinds.append("none")
            continue
        assert isinstance(found, StudyResults)
        kinds.append("before" if found.table("runs").equals(before.table("runs")) else "after")
        assert kinds[-1] == "before" or found.table("runs").equals(results.table("runs")), copy
        assert kinds[-1] == "before" or not (out / "report.html").exists(), copy
    assert len(kinds) > 12
    assert kinds == sorted(kinds, key=["before", "none", "after"].index), kinds
    assert set(kinds) == {"before", "none", "after"}


def test_captures_survive_a_directory_that_cannot_take_them(tmp_path: Path) -> None:
    """The captures went with the temporary folder, and the second call found nothing to write."""
    out = tmp_path / "out"
    (out / "flows.parquet").mkdir(parents=True)
    folder = out / f"{partial_name()}captures"
    results = BEFORE.run(2, capture=rw.Capture(folder, snap=20))
    with pytest.raises(OSError, match=r"flows\.parquet"):
        results.write(out)
    (out / "flows.parquet").rmdir()
    results.write(out)
    assert rw.Results.read(out).captures == {seed: out / "capture" / f"seed-{seed}.pcapng" for seed in (1, 2)}


def test_a_comparison_that_is_not_written_to_its_end(tmp_path: Path) -> None:
    """The page of the earlier one stood beside results of which it was not made."""
    first = BEFORE.run(1)
    Comparison(first, first, []).write(tmp_path)
    assert {"comparison.json", "comparison.md", "goodput-0.png"} < {path.name for path in tmp_path.iterdir()}
    shutil.rmtree(tmp_path / "simulator")
    (tmp_path / "simulator").write_bytes(b"in the way")
    with pytest.raises(OSError, match="simulator"):
        Comparison(AFTER.run(1), first, []).write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"linux", "simulator"}
