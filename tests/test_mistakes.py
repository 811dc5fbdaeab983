"""Mistakes of users, and the messages about them: never a traceback."""

import os
import re
from pathlib import Path

import pytest

from conftest import ENDLESS, SMALL, Ropewalk
from ropewalk.cli.app import app

PLACE = re.compile(r"^.*small\.toml:\d+:\d+: ", re.MULTILINE)


def test_all_mistakes_of_a_file_at_once(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    text = SMALL.replace("rate =", "rat =").replace('"lia"', '"lai"').replace('"4s"', '"4parsec"')
    small.write_text(text, encoding="utf-8")
    done = ropewalk("run", small, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(PLACE.findall(done.stderr)) >= 3
    assert "did you mean `rate`" in done.stderr
    assert "did you mean `lia`" in done.stderr
    assert f"{small}:2:" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["run", "show"])
@pytest.mark.parametrize(
    "override",
    [
        "flow.upload.transport.congestion=cubik",
        "flow.uplaod.start=1s",
        "path.a.up.rate=fast",
        "path.a.up.rate=-1Mbit/s",
        "duration",
        "duration=",
        "=",
        "seeds=0",
        "nonsense=1",
        "flow=[]",
    ],
)
def test_nonsense_after_set(ropewalk: Ropewalk, small: Path, command: str, override: str) -> None:
    done = ropewalk(command, small, "--set", override)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "--set" in done.stderr
    assert "fix:" in done.stderr
    assert "Traceback" not in done.stderr


def test_json_keeps_stdout_empty_on_mistakes(ropewalk: Ropewalk, small: Path) -> None:
    done = ropewalk("run", small, "--json", "--set", "duration=never")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "missing.toml"], "missing.toml: No such file"),
        (["run", "."], "Is a directory"),
        (["run"], "Missing argument"),
        (["run", "{small}", "--seeds", "0"], "found 0; allowed: a whole number, 1 to 1000000"),
        (["run", "{small}", "--seeds", "1000001"], "found 1000001; allowed: a whole number, 1 to 1000000"),
        (["run", "{small}", "--seed", "9223372036854775808"], "seeds lie between 0 and"),
        (["run", "{small}", "-j", "0"], "found 0; allowed: a whole number, from 1 on"),
        (["run", "{small}", "--sets", "a=b"], "No such option"),
        (["simulate", "{small}"], "No such command"),
        (["list", "satellites"], "satellites"),
        (["run", "{binary}"], "not UTF-8"),
    ],
)
def test_wrong_arguments(
    ropewalk: Ropewalk, small: Path, tmp_path: Path, arguments: list[str], reason: str
) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'name = "\xff\xfe"')
    filled = [argument.format(small=small, binary=binary) for argument in arguments]
    done = ropewalk(*filled, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert reason in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("place", ["small.toml/results", "/proc/results", "/dev/null"])
def test_unwritable_output_is_noticed_before_running(
    ropewalk: Ropewalk, small: Path, tmp_path: Path, place: str
) -> None:
    if place.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("no /proc here")
    # So long a run would not end within the time limit of the test.
    done = ropewalk("run", small, "--out", place, "--set", "duration=1000000s", cwd=tmp_path)
    assert done.returncode == 2
    assert f"--out {place}: cannot write there" in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_directory_without_permission(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    done = ropewalk("run", small, "--out", closed)
    assert done.returncode == 2
    assert "Permission denied" in done.stderr


def test_the_list_of_commands_is_whole(ropewalk: Ropewalk) -> None:
    _, _, commands = ropewalk("--help").stdout.partition("Commands:\n")
    assert len(commands.splitlines()) == sum(not command.hidden for command in app.commands.values())
    assert "..." not in commands


def test_series_without_bound_are_refused(ropewalk: Ropewalk, tmp_path: Path) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(ENDLESS.replace('"100s"', '"1ms"'), encoding="utf-8")
    done = ropewalk("run", scenario, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "record.interval" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["run", "{small}"],
        ["study", "study.toml"],
        ["reproduce", "omueti2007", "--quick"],
        ["figures", "{ran}"],
        ["export", "{ran}", "--format", "csv"],
    ],
    ids=lambda command: command[0],
)
def test_an_empty_directory_name_is_refused(
    ropewalk: Ropewalk, small: Path, ran: Path, tmp_path: Path, command: list[str]
) -> None:
    place = tmp_path / "here"
    place.mkdir()
    filled = [word.format(small=small, ran=ran) for word in command]
    done = ropewalk(*filled, "--out", "", cwd=place)
    assert done.returncode == 2
    assert "an empty name is not a directory" in done.stderr
    assert not list(place.iterdir())
