"""The store: what happens when processes are killed, share it, or find no room."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from conftest import COMMAND, ENDLESS, Ropewalk
from ropewalk.disk import PARTIAL
from ropewalk.study import work
from ropewalk.study.plan import Case
from ropewalk.study.record import Record
from ropewalk.study.store import Claims, Disappeared, Store
from ropewalk.study.work import Order, Part, carry_out
from ropewalk.written import seal
from study_files import STUDY, write_study
from test_study import all_files, done, same_results

LONG = ("--set", "duration=60s", "--seeds", "12")
"""A second or two of work: 48 runs with time series, more than 1 MB."""


MOUNT, UMOUNT = shutil.which("mount") or "mount", shutil.which("umount") or "umount"


def count(place: Path) -> int:
    return sum(len(file.seeds) for file in all_files(place)) if place.is_dir() else 0


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    command = [str(COMMAND), "study", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_runs(process: subprocess.Popen[str], place: Path, number: int) -> None:
    while count(place) < number:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def write_long_study(place: Path) -> Path:
    return write_study(place, "series = 12\n" + STUDY)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the long study, computed in one go."""
    place = tmp_path_factory.mktemp("undisturbed")
    study = rw.Study.load(write_long_study(place), [("duration", "60s")], 12)
    study.run(place / "out")
    return place / "out"


def test_killed_again_and_again(ropewalk: Ropewalk, tmp_path: Path, undisturbed: Path) -> None:
    path, out = write_long_study(tmp_path), tmp_path / "out"
    store = out / "store"
    for more in (1, 10):
        process = start(path, *LONG, "--out", out, "-j", "2")
        wait_for_runs(process, store, count(store) + more)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=20)
    there = count(store)
    # As if it had been killed in the middle of a write.
    left = store / f"{PARTIAL}{os.uname().nodename}-{process.pid}-1-1"
    left.write_bytes(b"half a fi")
    last = ropewalk("study", path, *LONG, "--out", out)
    assert last.returncode == 0, last.stderr
    assert done(last.stdout) == (48 - there, there)
    assert not list(store.rglob(f"{PARTIAL}*"))
    assert count(store) == 48
    assert_same_but_for_the_path(out, undisturbed)


def assert_same_but_for_the_path(one: Path, two: Path) -> None:
    """`same_results`, where the files name scenarios in different directories."""
    for place in (one, two):
        for name in ("summary.json", "study.json"):
            text = (place / name).read_text(encoding="utf-8").replace(str(place.parent), "HERE")
            (place / name).write_text(text, encoding="utf-8")
        listed = json.loads((place / "study.json").read_text(encoding="utf-8"))
        # The checksums are those of the files with their paths.
        del listed["sha256"], listed["files"]["summary.json"]
        (place / "study.json").write_bytes(seal(listed))
    same_results(one, two)


def test_two_processes_share_a_store_and_the_work(tmp_path: Path, undisturbed: Path) -> None:
    path, store = write_long_study(tmp_path), tmp_path / "store"
    both = [start(path, *LONG, "--out", tmp_path / name, "--store", store, "-j", "1") for name in "ab"]
    outputs = [process.communicate(timeout=100) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    computed = [done(stdout)[0] for stdout, _ in outputs]
    assert sum(computed) == 48, "a run was computed twice"
    assert min(computed) > 0, "one process did everything"
    for name in "ab":
        assert (tmp_path / name / "flows.parquet").read_bytes() == (
            undisturbed / "flows.parquet"
        ).read_bytes()


def test_claims_of_a_killed_process_are_free(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from ropewalk.study.store import Claims
claims = Claims(Path({str(tmp_path / "claims")!r}))
print(claims.take("key", 1), flush=True)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    claims = Claims(tmp_path / "claims")
    assert not claims.take("key", 1)
    assert claims.take("key", 2)
    process.kill()
    process.communicate()
    assert claims.take("key", 1)
    claims.close()


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    path, out = write_long_study(tmp_path), tmp_path / "out"
    process = start(path, *LONG, "--out", out, "-j", "2")
    wait_for_runs(process, out / "store", 1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "the same command goes on from here" in stderr
    assert "Traceback" not in stderr
    assert count(out / "store") >= 1
    assert not (out / "study.json").exists()


def test_ctrl_c_does_not_wait_for_long_runs(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    (tmp_path / "small.toml").write_text(ENDLESS, encoding="utf-8")
    process = start(path, "--out", tmp_path / "out", "-j", "2")
    store = tmp_path / "out" / "store"
    while not (store / "claims").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """A file system of 1 MB. Needs root."""
    place.mkdir()
    mount = [MOUNT, "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run([UMOUNT, str(place)], capture_output=True, check=True)


def test_a_full_disk_loses_nothing_finished(ropewalk: Ropewalk, tmp_path: Path, undisturbed: Path) -> None:
    path, disk = write_long_study(tmp_path), tmp_path / "disk"
    with small_disk(disk):
        full = ropewalk("study", path, *LONG, "--out", tmp_path / "out", "--store", disk)
        assert full.returncode == 1
        assert f"{disk}: No space left on device" in full.stderr
        assert "fix: make room" in full.stderr
        assert "Traceback" not in full.stderr
        there = count(disk)
        assert 0 < there < 48
        assert f"{there} finished runs are stored" in full.stderr
        assert not list(disk.rglob(f"{PARTIAL}*"))
        subprocess.run([MOUNT, "-o", "remount,size=500M", str(disk)], check=True)
        again = ropewalk("study", path, *LONG, "--out", tmp_path / "out", "--store", disk)
        assert again.returncode == 0, again.stderr
        assert done(again.stdout) == (48 - there, there)
    assert (tmp_path / "out" / "flows.parquet").read_bytes() == (undisturbed / "flows.parquet").read_bytes()


def test_no_room_for_the_tables(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path, disk = write_long_study(tmp_path), tmp_path / "disk"
    with small_disk(disk):
        (disk / "film").write_bytes(bytes(1_020_000))
        full = ropewalk("study", path, "--out", disk, "--store", tmp_path / "store")
        assert full.returncode == 1
        assert re.search(rf"{disk}/\S+: No space left on device", full.stderr)
        assert "fix: make room" in full.stderr
        assert "Traceback" not in full.stderr
        assert count(tmp_path / "store") == 12
        (disk / "film").unlink()
        again = ropewalk("study", path, "--out", disk, "--store", tmp_path / "store")
        assert done(again.stdout) == (0, 12)
        assert not list(disk.glob(f"{PARTIAL}*"))


def test_no_room_for_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without root: the disk is full from the third file on."""
    study = rw.Study.load(write_study(tmp_path), replications=8)
    written = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) > 4:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"No space left on device\n.*finished runs are stored"):
        study.run(tmp_path / "out", jobs=1)
    monkeypatch.undo()
    there = count(tmp_path / "out" / "store")
    assert 0 < there < 32
    ran = study.run(tmp_path / "out")
    assert (ran.conducted.computed, ran.conducted.found) == (32 - there, there)


def compute(case: Case, seeds: tuple[int, ...], *, series: bool = False) -> Record:
    (record,) = carry_out(Order((Part(case.key, case.text, seeds, series),))).records
    return record


def test_seeds_with_gaps_and_in_several_files(tmp_path: Path) -> None:
    study = rw.Study.load(write_study(tmp_path))
    results = study.run(tmp_path / "out").results
    one, other = study.plan.cases[:2]
    store = Store(tmp_path / "store")
    parts = tuple(Part(case.key, case.text, (4, 2), series=False) for case in (other, one))
    (both,) = carry_out(Order(parts)).records
    assert store.put([compute(one, (1, 3)), both, compute(other, (1,))]) == (3, None)
    store.refresh()
    assert store.seeds(one.key) == ({1, 2, 3, 4}, set())
    assert store.seeds(other.key) == ({1, 2, 4}, set())
    rows = store.load([(one.key, [1, 2, 3]), (other.key, [2, 1])], {"flows", "delays"})
    for name in ("flows", "delays"):
        found = rows[name].with_columns(pl.col(pl.Categorical).cast(pl.String))
        expected = results.table(name)
        whole = expected.filter(pl.col("case") == one.name)
        half = expected.filter((pl.col("case") == other.name) & (pl.col("run") <= 2))
        assert found.drop("case").equals(pl.concat([whole, half]).drop("case"))
        assert found["case"].to_list() == [0] * whole.height + [1] * half.height
    with pytest.raises(Disappeared, match=f"1 of 3 replications of {other.key} are not there"):
        store.load([(other.key, [1, 2, 3])], {"flows"})
    store.close()


def test_a_unit_of_work_is_one_file(tmp_path: Path) -> None:
    study = rw.Study.load(write_study(tmp_path))
    study.run(tmp_path / "out", jobs=1)
    # Two at once without knowing how long runs take, then the rest.
    files = list((tmp_path / "out" / "store").glob("*.record"))
    assert len(files) == 3
    assert sum(len(file.seeds) for file in all_files(tmp_path / "out" / "store")) == 12


def test_many_damaged_records_are_named_wherever_they_are_met(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path, out = write_study(tmp_path), tmp_path / "out"
    for seeds in range(1, 8):
        rw.Study.load(path, replications=seeds).run(out)
    victims = list((out / "store").glob("*.record"))
    assert len(victims) > 6
    for victim in victims:
        content = bytearray(victim.read_bytes())
        content[-100] ^= 1
        victim.write_bytes(content)
    for command in (["report", out], ["figures", out], ["export", out, "--format", "csv"]):
        told = ropewalk(*command)
        assert told.returncode == 1
        assert re.search(
            r"store/\w+\.record: damaged: edited, cut or renamed: .*\n  fix: run the study again", told.stderr
        )
        assert "Traceback" not in told.stderr
    again = ropewalk("study", path, "--seeds", "7", "--out", out)
    assert again.returncode == 0, again.stderr
    assert done(again.stdout) == (28, 0)
    assert again.stdout.count("damaged and computed again: ") == len(victims)
    assert ropewalk("report", out).returncode == 0


def test_those_with_time_series_are_taken_from_where_they_are(tmp_path: Path) -> None:
    case = rw.Study.load(write_study(tmp_path)).plan.cases[0]
    store = Store(tmp_path / "store")
    store.put([compute(case, (1, 2)), compute(case, (2,), series=True)])
    rows = store.load([(case.key, [1, 2])], {"flows", "series"})
    store.close()
    assert rows["flows"]["run"].to_list() == [1, 2]
    assert rows["series"]["run"].unique().to_list() == [2]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (80, "the first line is not what its checksum says"),
        (-100, "edited, cut or renamed: the name is not the SHA-256 of the content"),
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_a_damaged_record_is_set_aside_and_computed_again(
    tmp_path: Path, place: int, reason: str, cut: bool
) -> None:
    study = rw.Study.load(write_study(tmp_path))
    before = study.run(tmp_path / "out").results.summary()
    victim = max((tmp_path / "out" / "store").glob("*.record"), key=lambda path: path.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[place] ^= 1
    # Its own header has been read by this process already, as by one that shares the store.
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "out" / "store", copy)
    (copy / victim.name).write_bytes(content[:place] if cut else content)
    lost = sum(len(file.seeds) for file in all_files(victim.parent) if file.path == victim)
    ran = study.run(tmp_path / "out", store=copy)
    assert ran.damaged == [f"{copy / victim.name}: damaged: {reason}"]
    assert ran.conducted.computed == lost
    assert ran.results.summary() == before
    assert len(list(copy.glob("*.damaged"))) == 1
    assert study.run(tmp_path / "out", store=copy).damaged == []


def test_a_unit_with_many_rows_is_several_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = rw.Study.load(write_study(tmp_path)).plan.cases
    order = Order(tuple(Part(case.key, case.text, (1, 2), series=True) for case in cases))
    whole = carry_out(order)
    rows = sum(len(table) for _, table in work.simulate(order.parts[0], None).tables)
    monkeypatch.setattr(work, "LARGE", 1.5 * rows)
    pieces = [[piece.key for piece in record.pieces] for record in carry_out(order).records]
    assert pieces == [[case.key for case in cases[:2]], [case.key for case in cases[2:]]]
    assert [len(record.pieces) for record in whole.records] == [4]


@contextlib.contextmanager
def read_only(place: Path) -> Iterator[None]:
    """A directory that takes nothing. Needs root."""
    for options in (["--bind"], ["-o", "remount,ro,bind"]):
        mount = [MOUNT, *options, *([str(place)] if options == ["--bind"] else []), str(place)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run([UMOUNT, str(place)], capture_output=True, check=True)


def test_a_read_only_store_is_read(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path, store = write_study(tmp_path), tmp_path / "store"
    first = ropewalk("study", path, "--out", tmp_path / "out", "--store", store)
    with read_only(store):
        again = ropewalk("study", path, "--out", tmp_path / "again", "--store", store)
        assert (again.returncode, again.stderr.count("fix")) == (0, 0), again.stderr
        assert done(again.stdout) == (0, 12)
        assert again.stdout.splitlines()[:10] == first.stdout.splitlines()[:10]
        assert ropewalk("report", tmp_path / "again").returncode == 0
        more = ropewalk("study", path, "--seeds", "4", "--out", tmp_path / "more", "--store", store)
        assert more.returncode == 1
        assert more.stderr.endswith(
            f"{store}: Read-only file system: 4 runs of 16 are missing there and would have to be stored\n"
            "  fix: name another store with --store; a copy of this one keeps what it has\n"
        )
        lacking = ropewalk("study", path, "--out", tmp_path / "new", "--store", store / "deep")
        assert lacking.returncode == 1
        assert lacking.stderr.endswith(
            f"{store / 'deep'}: Read-only file system\n  fix: name another store with --store\n"
        )
    assert not (tmp_path / "more" / "study.json").exists()
