"""Files of another kind, places that take nothing, devices: what commands say."""

import json
import subprocess
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import COMMAND, SMALL, Ropewalk
from ropewalk import plots
from ropewalk.cli.app import CATALOGUE
from ropewalk.disk import PARTIAL
from ropewalk.plots import style
from study_files import write_study


def test_a_study_is_no_scenario(ropewalk: Ropewalk, tmp_path: Path, small: Path) -> None:
    study = write_study(tmp_path)
    overlay = tmp_path / "overlay.toml"
    overlay.write_text('like = "study.toml"\n', encoding="utf-8")
    for file, key in ((study, "scenario"), (overlay, "like")):
        told = ropewalk("run", file)
        assert (told.returncode, told.stdout) == (2, "")
        fix = f"  fix: ropewalk study {file}\n"
        assert told.stderr == f"{file}: this is a study: it has the key `{key}`\n{fix}"
    told = ropewalk("study", small)
    assert told.returncode == 2
    assert told.stderr == f"{small}: this is a scenario: it has the key `flow`\n  fix: ropewalk run {small}\n"


def test_a_scenario_comes_from_a_pipe() -> None:
    command = [str(COMMAND), "run", "-", "--json"]
    done = subprocess.run(command, input=SMALL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scenario"] == "small"


@pytest.mark.parametrize(
    "command",
    [["report", "--out", "/proc/x.html"], ["figures", "--out", "/proc/x"]]
    + [["export", "--format", form, "--out", "/proc/x"] for form in ("csv", "flent")],
)
def test_a_place_that_takes_nothing_is_named_with_its_option(
    ropewalk: Ropewalk, ran: Path, command: list[str]
) -> None:
    told = ropewalk(command[0], ran, *command[1:])
    assert told.returncode == 1
    out = command[-1]
    assert told.stderr.startswith(f"--out {out}: cannot be written: {out}: No such file or directory\n")
    assert told.stderr.endswith("\n  fix: name another place with --out\n")


def test_a_device_stays_a_device(ropewalk: Ropewalk, ran: Path, small: Path, tmp_path: Path) -> None:
    assert ropewalk("report", ran, "--out", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()
    shown = ropewalk("opportunities", small, "a.down", "--out", "/dev/stdout")
    written = ropewalk("opportunities", small, "a.down", "--out", tmp_path / "a.mahi")
    number = len((tmp_path / "a.mahi").read_text(encoding="utf-8").splitlines())
    assert written.stdout == f"{number:,} times in {tmp_path / 'a.mahi'}\n"
    assert len(shown.stdout.splitlines()) == number + 1


def test_a_figure_appears_whole_or_not_at_all(
    results: rw.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charts = plots.charts(results)
    drawn = style.Figure.draw

    def interrupted(figure: style.Figure, *arguments: object) -> None:
        if list(tmp_path.iterdir()):
            raise KeyboardInterrupt
        drawn(figure, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(style.Figure, "draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        plots.write(charts, tmp_path, ("png",))
    assert [path.name for path in tmp_path.iterdir()] == [f"{charts[0].key}.png"]
    assert not list(tmp_path.glob(f"{PARTIAL}*"))


def test_the_kinds_of_lists_are_listed(ropewalk: Ropewalk) -> None:
    told = ropewalk("list")
    assert (told.returncode, told.stdout.split()[2::3]) == (0, list(CATALOGUE))
    assert json.loads(ropewalk("list", "--json").stdout) == list(CATALOGUE)


def test_a_directory_without_a_reproduction(ropewalk: Ropewalk, tmp_path: Path) -> None:
    told = ropewalk("reproduce", tmp_path)
    assert told.returncode == 2
    assert told.stderr.startswith(f"{tmp_path}: no reproduction.toml there\n  fix: name the directory")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", ["list congestion", "init new.toml", "show none.toml"])
def test_closed_streams(closed: str, arguments: str, tmp_path: Path) -> None:
    command = ["bash", "-c", f"'{COMMAND}' {arguments} {closed}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    if ">&-" in closed.split():
        assert done.returncode == 1
        assert not done.stderr or done.stderr.startswith("standard output is closed\n  fix: ")
    assert (done.returncode == 0) == (arguments == "list congestion" and ">&-" not in closed.split())
