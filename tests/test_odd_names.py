"""Files and folders whose names have line ends, control characters, or bytes that are not UTF-8."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import COMMAND, SMALL
from ropewalk import rain
from study_files import write_study

NAMES = ("two\nlines", "-dash", "escape\x1b[31m", "\u202egnp", "return\rhere", "quo\"te'", "back\\slash")
BYTES = os.fsdecode(b"not\xffutf8")
TABLE = "time_s,down_mbit,rtt_ms\n0,1,20\n1,2,30\n2,3,20\n"


def called(*arguments: str | Path) -> tuple[int, bytes]:
    """Exit code, and what is written to both streams."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, timeout=120, check=False)
    assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_measurement_of_any_name_makes_a_link(name: str, tmp_path: Path) -> None:
    """A line end in the name of a file ended the comment, and what followed were keys of the scenario."""
    table = tmp_path / f"{name}.csv"
    table.write_text(TABLE, encoding="utf-8")
    code, told = called("import", table, "--out", tmp_path / "made", "--column", "down=down_mbit:Mbit/s")
    assert code == 0, told
    scenario = rw.Scenario.load(tmp_path / "made" / "link.toml")
    assert scenario.run(1).flows.height == 1
    for file in (tmp_path / "made").iterdir():
        assert not any(character in file.read_text(encoding="utf-8") for character in "\x1b\u202e\r")


@pytest.mark.parametrize("name", [*NAMES, BYTES])
def test_results_in_a_folder_of_any_name(name: str, small: Path, tmp_path: Path) -> None:
    """Results there are read again, and the name of the folder commands no terminal."""
    out = tmp_path / name
    assert called("run", small, "--seeds", "1", "--out", out)[0] == 0
    for command in (["report"], ["export", "--format", "csv"], ["why", "--effort", "quick"]):
        code, told = called(command[0], out, *command[1:])
        assert code == 0, told
        assert not any(character in told.decode(errors="replace") for character in "\x1b\u202e\r")
    study = tmp_path / "study"
    study.mkdir()
    path = write_study(study)
    assert called("study", path, "--seeds", "1", "--out", out / "study", "--store", out / "store")[0] == 0
    assert called("report", out / "study")[0] == 0


@pytest.mark.parametrize("command", ["run", "show", "study", "import", "why", "opportunities"])
def test_an_input_whose_name_is_no_text_is_refused(command: str, tmp_path: Path) -> None:
    file = tmp_path / BYTES
    file.write_text(SMALL, encoding="utf-8")
    code, told = called(command, file, *(["a.down"] if command == "opportunities" else []))
    assert code == 2
    assert b"the name is not UTF-8 text: rename it" in told


def test_an_override_that_is_no_text_is_refused(small: Path) -> None:
    code, told = called("run", small, "--set", f"name={BYTES}")
    assert code == 2
    assert b"not UTF-8 text" in told


def test_a_capture_of_any_name_is_read(small: Path, tmp_path: Path) -> None:
    assert called("run", small, "--seeds", "1", "--out", tmp_path / "out", "--capture", "both")[0] == 0
    for name in ("two\nlines", BYTES):
        capture = tmp_path / f"{name}.pcapng"
        shutil.copy(tmp_path / "out" / "capture" / "seed-1.pcapng", capture)
        place = tmp_path / f"of {name}"
        code, told = called("read", capture, "--out", place, "--scenario", tmp_path / "fit.toml")
        assert code == 0, told
        assert called("report", place)[0] == 0
        rw.Scenario.load(tmp_path / "fit.toml")


def test_the_command_in_a_file_of_rain_stays_a_comment(tmp_path: Path) -> None:
    file = tmp_path / "fade.csv"
    rain.write(file, rain.times(2.0, 1.0), rain.times(2.0, 1.0), ["ropewalk rain --out 'two\nlines'", BYTES])
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [line[:1] for line in lines[:2]] == ["#", "#"]
    assert lines[2].startswith("0,")
