"""Locale, signals, standard streams, other processes around a command: a clear word, and nothing lost."""

import fcntl
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import COMMAND, ENDLESS, SMALL, Ropewalk
from ropewalk import disk, store
from ropewalk.study.store import Store
from ropewalk.visible import LONGEST, markdown, readable
from test_interrupt import interrupt


def run(arguments: str, place: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    """A command in a shell, in a directory with the scenario `small.toml`."""
    (place / "small.toml").write_text(SMALL, encoding="utf-8")
    command = ["bash", "-c", arguments.replace("ropewalk", f'"{COMMAND}"')]
    return subprocess.run(
        command,
        cwd=place,
        env={**os.environ, **changed},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_terminal_without_our_characters_shows_others(tmp_path: Path) -> None:
    told = run("ropewalk run small.toml --seeds 2", tmp_path, PYTHONIOENCODING="ascii")
    assert told.returncode == 0
    assert "mean +- 95 % interval of 2 replications" in told.stdout
    assert "-----" in told.stdout
    assert "?" not in told.stdout


def test_characters_of_others_are_question_marks(tmp_path: Path) -> None:
    told = run("ropewalk run späte.toml", tmp_path, PYTHONIOENCODING="ascii")
    assert (told.returncode, told.stderr) == (2, "sp?te.toml: No such file or directory\n")


def test_sigterm_ends_a_run_as_ctrl_c_does(tmp_path: Path) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS, encoding="utf-8")
    out = tmp_path / "out"
    command = [str(COMMAND), "run", str(tmp_path / "endless.toml"), "--out", str(out)]
    code, stdout, stderr = interrupt(command, out, signal.SIGTERM)
    assert (code, stdout, stderr.splitlines()[-1]) == (143, "", "terminated")
    assert not list(out.iterdir())


def test_no_room_at_standard_output(tmp_path: Path) -> None:
    told = run("ropewalk run small.toml --seeds 1 >/dev/full", tmp_path)
    assert (told.returncode, told.stderr) == (1, "No space left on device\n")


def test_results_go_to_no_file(tmp_path: Path) -> None:
    told = run("touch out; ropewalk run small.toml --out out", tmp_path)
    assert told.returncode == 2
    assert told.stderr == "--out out: cannot write there: out: it is there, and is not a directory\n"


def test_too_many_open_files_name_the_results_and_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = rw.Scenario.parse(SMALL, "small.toml").run(seeds=1)

    def refused(path: Path, _: bytes) -> int:
        raise OSError(24, os.strerror(24), str(path))

    monkeypatch.setattr(Path, "write_bytes", refused)
    with pytest.raises(OSError, match="Too many open files") as told:
        store.write(results, tmp_path / "out")
    assert str(told.value.filename).startswith(str(tmp_path / "out"))
    assert disk.PARTIAL not in str(told.value.filename)


def test_two_runs_into_one_directory_are_not_mixed(tmp_path: Path) -> None:
    """The second waits until all files of the first are in their places."""
    first, second = (rw.Scenario.parse(SMALL, "small.toml").run(seeds=[seed]) for seed in (1, 2))
    out = tmp_path / "out"
    first.write(out)
    with disk.alone(out):
        writer = threading.Thread(target=second.write, args=(out,))
        writer.start()
        writer.join(timeout=0.5)
        assert writer.is_alive()
        assert rw.Results.read(out).origin.seeds == [1]
    writer.join()
    assert rw.Results.read(out).origin.seeds == [2]


def test_a_directory_without_locks_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(fcntl, "flock", refused)
    rw.Scenario.parse(SMALL, "small.toml").run(seeds=1).write(tmp_path / "out")
    assert rw.Results.read(tmp_path / "out").origin.seeds == [1]


def test_swapped_results_are_refused(tmp_path: Path) -> None:
    for seed in (1, 2):
        rw.Scenario.parse(SMALL, "small.toml").run(seeds=[seed]).write(tmp_path / f"{seed}")
    for name in ("flows.parquet", store.SUMMARY):
        ours, theirs = tmp_path / "1" / name, tmp_path / "2" / name
        kept = ours.read_bytes()
        ours.write_bytes(theirs.read_bytes())
        with pytest.raises(ValueError, match="damaged or edited"):
            rw.Results.read(tmp_path / "1")
        ours.write_bytes(kept)
    rw.Results.read(tmp_path / "1")


@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_a_store_reads_nothing_but_files(tmp_path: Path, kind: str) -> None:
    """A store of several users may hold anything: a pipe would block, a device never end."""
    place = tmp_path / f"{64 * '0'}.record"
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "device":
            place.symlink_to("/dev/zero")
        case _:
            place.mkdir()
    opened = Store(tmp_path)
    assert opened.damaged == [f"{place}: damaged: not a file"]
    assert opened.files("any") == []
    opened.close()


def test_long_names_are_cut_in_messages_and_tables(ropewalk: Ropewalk, tmp_path: Path) -> None:
    assert readable("a\nb" + "x" * LONGEST).startswith("a\nbxxx")
    assert readable("x" * LONGEST) == "x" * LONGEST
    cut = readable("x" * 9_000_000)
    assert "…(9000000 characters)…" in cut
    assert len(cut) < LONGEST
    text = SMALL.replace('name = "small"', f'name = "{"long " * 100_000}"')
    (tmp_path / "long.toml").write_text(text, encoding="utf-8")
    told = ropewalk("run", tmp_path / "long.toml", "--seeds", "1")
    assert told.returncode == 0, told.stderr
    assert "…(500000 characters)…" in told.stdout
    assert len(told.stdout) < 10_000


def test_names_are_text_in_markdown() -> None:
    assert markdown("a|b`<c>\n# [d](e)") == r"a\|b\`\<c\>\\n\# \[d\](e)"
    assert markdown("beam1.up 8.1 ± 0.2 %") == "beam1.up 8.1 ± 0.2 %"
