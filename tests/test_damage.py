"""One flipped bit in a file of results: it is refused, and polars never sees it."""

import json
import os
import random
import shutil
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import Ropewalk
from ropewalk import provenance
from ropewalk.report.source import ReportError, results_of
from ropewalk.results import TABLES
from ropewalk.study.summary import write
from ropewalk.written import checked, seal

FLIPS = int(os.environ.get("ROPEWALK_FLIPS", "40"))
"""Flips in each file: a checksum finds them all, or none."""
SEED = int(os.environ.get("ROPEWALK_SEED", "20261123"))


def flipped(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(8 * len(content))
    damaged = bytearray(content)
    damaged[place // 8] ^= 1 << place % 8
    return bytes(damaged)


def files_of(directory: Path) -> list[Path]:
    """The written files, without the store, whose records have checksums of their own."""
    files = (path for path in directory.rglob("*") if path.is_file() and "store" not in path.parts)
    return sorted(path for path in files if path.name not in {"provenance.json", "report.html"})


def refuse_all(directory: Path) -> None:
    for file in files_of(directory):
        content = file.read_bytes()
        for flip in range(FLIPS):
            where = f"{SEED} {file.relative_to(directory)} {flip}"
            file.write_bytes(flipped(content, random.Random(where)))
            with pytest.raises(ReportError, match="fix: run it again") as told:
                results_of(directory)
            assert str(file) in str(told.value), where
        file.write_bytes(content)
    results_of(directory)


def test_every_file_of_a_run(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ran, tmp_path / "out")
    assert {f"{name}.parquet" for name in TABLES} < {path.name for path in files_of(tmp_path / "out")}
    # Nothing is parsed thousands of times: a damaged file is refused before.
    known = rw.Results.read(tmp_path / "out").tables["runs"]
    monkeypatch.setattr("polars.read_parquet", lambda _: known)
    refuse_all(tmp_path / "out")


def test_a_capture(small: Path, ropewalk: Ropewalk, tmp_path: Path) -> None:
    """Files too large to be held in memory are checked, too; a capture may be removed."""
    out = tmp_path / "out"
    assert ropewalk("run", small, "--out", out, "--capture", "both").returncode == 0
    capture = out / "capture" / "seed-1.pcapng"
    assert rw.Results.read(out).captures[1] == capture
    content = capture.read_bytes()
    capture.write_bytes(flipped(content, random.Random(SEED)))
    done = ropewalk("report", out)
    assert done.returncode == 2
    assert f"{capture}: damaged or edited: not what its checksum in summary.json says" in done.stderr
    capture.unlink()
    assert ropewalk("report", out).returncode == 0


def test_every_file_of_a_study(studied: Path, tmp_path: Path) -> None:
    shutil.copytree(studied, tmp_path / "out")
    names = {path.name for path in files_of(tmp_path / "out")}
    assert {"study.json", "summary.json", "study.toml", "flows.parquet", "estimates.csv"} < names
    refuse_all(tmp_path / "out")


def test_every_flip_in_the_note(ran: Path, studied: Path, tmp_path: Path) -> None:
    """It is not part of the results, so that the cure is another one."""
    for number, place in enumerate((ran, studied)):
        copy = tmp_path / str(number)
        shutil.copytree(place, copy)
        note = copy / provenance.FILE
        # Python's `write` leaves the note to its caller.
        provenance.write(copy)
        content = note.read_bytes()
        for flip in range(FLIPS):
            note.write_bytes(flipped(content, random.Random(f"{SEED} {flip}")))
            with pytest.raises(ReportError, match=rf"^{note}: .*\n  fix: remove the file"):
                results_of(copy)
        note.unlink()
        results_of(copy)


@pytest.mark.parametrize("command", [["report"], ["figures"], ["export", "--format", "csv"], ["why"]])
def test_a_note_of_other_results_is_refused(
    ran: Path, studied: Path, ropewalk: Ropewalk, tmp_path: Path, command: list[str]
) -> None:
    """Its own checksum is right: it says for which results it was written."""
    copy = tmp_path / "out"
    shutil.copytree(ran, copy)
    shutil.copy(studied / provenance.FILE, copy)
    done = ropewalk(command[0], copy, *command[1:])
    assert done.returncode == 2
    assert done.stderr == (
        f"{copy / provenance.FILE}: not of these results: written for another summary.json than the one "
        f"beside it\n  fix: {provenance.NoteError.cure}\n"
    )


def test_a_diagnosis_of_other_results_is_refused(ran: Path, ropewalk: Ropewalk, tmp_path: Path) -> None:
    copy = tmp_path / "out"
    shutil.copytree(ran, copy)
    assert ropewalk("why", copy, "--effort", "quick").returncode == 0
    assert ropewalk("report", copy).returncode == 0
    found = json.loads((copy / "why.json").read_text(encoding="utf-8"))
    del found["sha256"]
    (copy / "why.json").write_bytes(seal({**found, "belongs_to": {}}))
    done = ropewalk("report", copy)
    assert done.returncode == 2
    assert f"{copy / 'why.json'}: not of these results" in done.stderr


def test_an_earlier_note_does_not_stay_beside_a_study(studied: Path, tmp_path: Path) -> None:
    """A process that is killed before it writes its note leaves none."""
    shutil.copytree(studied, tmp_path / "out")
    write(rw.StudyResults.read(tmp_path / "out"), tmp_path / "out")
    assert not (tmp_path / "out" / provenance.FILE).exists()


def test_the_command_says_which_file_and_what_to_do(ran: Path, ropewalk: Ropewalk, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(ran, out)
    table = out / "flows.parquet"
    table.write_bytes(flipped(table.read_bytes(), random.Random(SEED)))
    for command in (["report", out], ["figures", out], ["export", out, "--format", "csv"]):
        done = ropewalk(*command)
        assert done.returncode == 2
        assert done.stderr == (
            f"{out}: cannot be read as results: {table}: damaged or edited: not what its checksum in "
            "summary.json says\n  fix: run it again\n"
        )


def test_results_of_earlier_versions_are_refused(ran: Path, studied: Path, tmp_path: Path) -> None:
    for number, (place, name) in enumerate(((ran, "summary.json"), (studied, "study.json"))):
        copy = tmp_path / str(number)
        shutil.copytree(place, copy)
        text = (copy / name).read_text(encoding="utf-8")
        (copy / name).write_text(text[: text.rindex(",")] + "}", encoding="utf-8")
        with pytest.raises(ReportError, match=r"no checksum: written by an earlier .*\n  fix: run it again"):
            results_of(copy)


@pytest.mark.parametrize("name", ["../secret", "/dev/zero", "", "..", "x/../../secret"])
def test_a_listing_names_nothing_outside(name: str, tmp_path: Path) -> None:
    """Results of others cannot make a file readable that is not among them."""
    listing = tmp_path / "out" / "summary.json"
    with pytest.raises(ValueError, match=f"{listing}: files: .* is none of these results"):
        checked(listing, name, {name: "0" * 64})


def test_a_device_in_place_of_a_file_is_refused(ran: Path, tmp_path: Path) -> None:
    shutil.copytree(ran, tmp_path / "out")
    for name in ("flows.parquet", "summary.json"):
        (tmp_path / "out" / name).unlink()
        (tmp_path / "out" / name).symlink_to("/dev/zero")
        with pytest.raises(ReportError, match=f"{name}: not a file"):
            results_of(tmp_path / "out")
