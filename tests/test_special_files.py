"""Files that are not files: pipes, devices and `/proc` neither block a command nor fill the memory."""

import os
import subprocess
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import COMMAND, SMALL, Ropewalk
from ropewalk import reading
from ropewalk.reproduce.published import TableError, read
from study_files import write_study

MESSAGES = Path("/proc/kmsg")
"""It says that it is a file of no bytes; a read waits for the next message of the kernel."""


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe into which nothing writes."""
    place = tmp_path / "pipe"
    os.mkfifo(place)
    return place


@pytest.mark.parametrize("command", ["run", "show", "why", "study", "import"])
def test_a_command_does_not_wait_for_a_pipe(ropewalk: Ropewalk, pipe: Path, command: str) -> None:
    for place in (pipe, "/dev/zero"):
        told = ropewalk(command, place)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr.startswith(f"{place}: not a file\n")


@pytest.mark.parametrize("more", [[], ["--anonymise", "out.pcapng"], ["--scenario", "fit.toml"]])
def test_a_capture_is_no_pipe(ropewalk: Ropewalk, pipe: Path, tmp_path: Path, more: list[str]) -> None:
    told = ropewalk("read", pipe, *more, cwd=tmp_path)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith(f"{pipe}: not a regular file\n")


@pytest.mark.skipif(not MESSAGES.exists(), reason="no /proc/kmsg here")
@pytest.mark.parametrize("command", ["run", "study", "import"])
def test_a_file_that_says_it_is_empty_is_not_read(ropewalk: Ropewalk, command: str) -> None:
    told = ropewalk(command, MESSAGES)
    assert told.returncode == 2
    assert str(MESSAGES) in told.stderr


@pytest.mark.skipif(not MESSAGES.exists(), reason="no /proc/kmsg here")
@pytest.mark.parametrize("more", [[], ["--anonymise", "out.pcapng"]])
def test_a_capture_that_says_it_is_empty_is_not_read(
    ropewalk: Ropewalk, tmp_path: Path, more: list[str]
) -> None:
    (tmp_path / "empty.pcap").touch()
    for place in (MESSAGES, "empty.pcap"):
        told = ropewalk("read", place, *more, cwd=tmp_path)
        assert (told.returncode, told.stdout) == (1, "")
        assert told.stderr.startswith(f"{place}: the file is empty or too short\n")


def test_a_study_names_no_pipe_as_its_scenario(ropewalk: Ropewalk, tmp_path: Path, pipe: Path) -> None:
    study = write_study(tmp_path)
    text = study.read_text(encoding="utf-8")
    for place in (pipe, "/dev/zero"):
        changed = text.replace('scenario = "small.toml"', f'scenario = "{place}"')
        assert changed != text
        study.write_text(changed, encoding="utf-8")
        told = ropewalk("study", study, "--dry-run")
        assert told.returncode == 2
        assert f"{place}: it is not a file" in told.stderr


def test_what_a_shell_has_opened_is_read() -> None:
    command = ["bash", "-c", f'"{COMMAND}" show <(cat)']
    done = subprocess.run(command, input=SMALL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert 'name = "small"' in done.stdout


def test_what_never_ends_is_read_to_a_limit(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(reading.LARGEST_TEXT + 1)
    with pytest.raises(OSError, match=f"larger than {reading.LARGEST_TEXT} bytes"):
        rw.Scenario.load(large)
    command = ["bash", "-c", f'yes "# a comment" | "{COMMAND}" show -']
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"/dev/stdin: larger than {reading.LARGEST_TEXT} bytes")


def test_published_figures_come_from_a_file(tmp_path: Path, pipe: Path) -> None:
    with pytest.raises(TableError, match=f"{pipe}: not a file"):
        read("x", pipe, "value", ())
    table = tmp_path / "table.csv"
    table.write_text(f'value\n"{"9" * 200_000}"\n', encoding="utf-8")
    with pytest.raises(TableError, match="field larger than field limit"):
        read("x", table, "value", ())


def test_lines_end_alike(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert reading.text(file) == "a\nb\nc\n"


def test_long_keys_take_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "dots.toml"
    file.write_text(f"a{'.a' * 50_000} = 1\n", encoding="utf-8")
    for command in ("show", "study"):
        line = f'ulimit -v 4000000; exec "{COMMAND}" {command} "{file}"'
        parts = ["bash", "-c", line]
        told = subprocess.run(parts, capture_output=True, text=True, timeout=60, check=False)
        assert told.returncode == 2
        assert told.stderr.startswith(f"{file}:1:1: nested too deeply [E001]\n")
        assert len(told.stderr) < 10_000
