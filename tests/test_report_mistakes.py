"""Messages about directories from which no report can be made, and about runs that failed."""

import shutil
from pathlib import Path

import pytest

from conftest import Ropewalk
from ropewalk import report
from ropewalk.cli.reporting import MARKS
from ropewalk.report import verdicts
from ropewalk.reproduce import conduct
from ropewalk.study import manifest
from ropewalk.written import seal
from study_files import FACTORS_START, STUDY, write_study


@pytest.fixture
def places(studied: Path, ran: Path, tmp_path: Path) -> dict[str, Path]:
    return {"studied": studied, "ran": ran, ".": tmp_path, "nowhere": Path("nowhere")}


def test_a_report_replaces_no_file_of_its_results(ran: Path, tmp_path: Path, ropewalk: Ropewalk) -> None:
    shutil.copytree(ran, tmp_path / "out")
    table = tmp_path / "out" / "flows.parquet"
    content = table.read_bytes()
    done = ropewalk("report", tmp_path / "out", "--out", table)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--out {table}: a file of the results itself would be replaced" in done.stderr
    assert table.read_bytes() == content
    assert ropewalk("report", tmp_path / "out", "--out", tmp_path / "out" / "mine.html").returncode == 0
    assert ropewalk("report", tmp_path / "out", "--out", tmp_path / "out" / "mine.html").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere"], "nowhere: no such directory"),
        (["."], "found no results there"),
        (["ran", "--case", "x"], "it is no study"),
        (["ran", "--seed", "9"], "there is no seed 9"),
        (["studied", "--case", "x"], 'there is no case "x"'),
        (["studied", "--seed", "2"], "there is no seed 2 with time series"),
    ],
)
def test_wrong_directories(
    arguments: list[str], reason: str, places: dict[str, Path], ropewalk: Ropewalk
) -> None:
    done = ropewalk("report", places[arguments[0]], *arguments[1:], cwd=places["."])
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_table_is_an_error(ran: Path, ropewalk: Ropewalk, tmp_path: Path) -> None:
    for file in ran.glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "flows.parquet").write_bytes(b"nonsense")
    done = ropewalk("report", tmp_path)
    assert done.returncode == 2
    assert f"cannot be read as results: {tmp_path / 'flows.parquet'}: " in done.stderr
    (tmp_path / "summary.json").write_bytes(seal({"study": "other"}))
    done = ropewalk("report", tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path / 'summary.json'}: no seeds" in done.stderr


def test_a_damaged_note_is_named(ran: Path, studied: Path, ropewalk: Ropewalk, tmp_path: Path) -> None:
    for number, place in enumerate((ran, studied)):
        copy = tmp_path / str(number)
        shutil.copytree(place, copy)
        (copy / "provenance.json").write_text("{", encoding="utf-8")
        done = ropewalk("report", copy)
        assert done.returncode == 2
        assert done.stderr.startswith(f"{copy / 'provenance.json'}: Expecting property name")
        assert "fix: remove the file" in done.stderr
    (tmp_path / "verdicts.json").write_text("{", encoding="utf-8")
    assert ropewalk("report", tmp_path).stderr.startswith(f"{tmp_path / 'verdicts.json'}: Expecting")


def test_results_of_several_kinds_are_not_mixed(
    ropewalk: Ropewalk, studied: Path, ran: Path, tmp_path: Path
) -> None:
    """The report would be that of the study, or of the reproduction, whatever came last."""
    assert MARKS == {
        "run": "delays.parquet",
        "study": manifest.FILE,
        "reproduction": verdicts.REPRODUCTION,
        "comparison": "comparison.json",
    }
    assert (conduct.VERDICTS_JSON, conduct.FORM) == (verdicts.REPRODUCTION, verdicts.FORM)
    copy = tmp_path / "out"
    shutil.copytree(studied, copy)
    before = report.build(copy)
    small = write_study(tmp_path).with_name("small.toml")
    done = ropewalk("run", small, "--out", copy)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--out {copy}: study.json there belongs to the results of a study\n  fix: name" in done.stderr
    assert report.build(copy) == before
    given = {"run": small, "study": tmp_path / "study.toml", "reproduce": "omueti2007"}
    marks = {
        "run": ran / MARKS["run"],
        "study": copy / MARKS["study"],
        "reproduce": tmp_path / "verdicts.json",
    }
    marks["reproduce"].touch()
    for there, mark in marks.items():
        place = tmp_path / there
        place.mkdir()
        shutil.copy(mark, place)
        for command in given.keys() - {there}:
            done = ropewalk(command, given[command], "--out", place)
            assert done.returncode == 2, (there, command)
            assert f"{mark.name} there belongs to the results of a" in done.stderr
        assert [path.name for path in place.iterdir()] == [mark.name]


TOO_MUCH = """\
[[vary]]
name = "recording"
[vary.cases]
much = { "duration" = "1000000s", "record.interval" = "1ms" }
little = {}
"""
"""The runs of the first case are refused."""


def test_runs_that_failed_leave_something_to_tell(ropewalk: Ropewalk, tmp_path: Path) -> None:
    head = STUDY[:FACTORS_START].replace('{ congestion = "lia" }', '{ recording = "much" }')
    path = write_study(tmp_path, head + "series = 2\n" + TOO_MUCH)
    told = ropewalk("study", path, "--out", tmp_path / "out", "--seeds", "1")
    assert told.returncode == 1
    assert (
        "1 run failed; the figures are those of the others:\n  much, seed 1: the time series"
        in told.stderr + told.stdout
    )
    text = report.build(tmp_path / "out")
    assert "As in the case little." in text
    assert "Seed 1. Failed, so that nothing can be shown: much." in text
    for arguments, reason in (
        (["--case", "much"], "the runs to show have failed: much\n  fix: choose others"),
        (["--case", "much", "--seed", "1"], "there is no seed 1 with time series\n  fix: none has"),
        (["--seed", "2"], "there is no seed 2 with time series\n  fix: seeds: 1\n"),
    ):
        done = ropewalk("report", tmp_path / "out", *arguments)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    assert ropewalk("export", tmp_path / "out", "--format", "flent").returncode == 0


def test_a_study_whose_runs_have_all_failed_says_why(ropewalk: Ropewalk, tmp_path: Path) -> None:
    rest = "series = 3\n" + TOO_MUCH.replace(
        "little = {}", 'less = { "record.interval" = "1ms", "duration" = "900000s" }'
    )
    head = STUDY[:FACTORS_START].replace('baseline = { congestion = "lia" }\n', "")
    told = ropewalk("study", write_study(tmp_path, head + rest), "--out", tmp_path / "out")
    assert told.returncode == 1
    assert "6 runs failed; there are no others:\n  much, seed 1: the time series" in told.stdout
    assert told.stderr.endswith("6 runs failed\n")
    assert "Traceback" not in told.stderr
    done = ropewalk("report", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "6 runs failed" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
