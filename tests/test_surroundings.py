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
from ropewalk.captures import BOTH
from ropewalk.cli import run as command
from ropewalk.cli.run import Order
from ropewalk.study import summary
from ropewalk.study.store import CLAIMS, Store
from ropewalk.visible import LONGEST, markdown, readable
from study_files import write_study
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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_other_signals_end_a_run_as_ctrl_c_does(tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS, encoding="utf-8")
    out = tmp_path / "out"
    # Tests under `nohup` ignore SIGHUP, and so would the command.
    command = [
        "env",
        "--default-signal=HUP",
        str(COMMAND),
        "run",
        str(tmp_path / "endless.toml"),
        "--out",
        str(out),
    ]
    told, stdout, stderr = interrupt(command, out, number)
    assert (told, stdout, stderr.splitlines()[-1]) == (code, "", "terminated")
    assert not list(out.iterdir())


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["run small.toml --seeds 1", "list congestion", "--help", "--version"])
def test_no_room_at_standard_output(tmp_path: Path, arguments: str, unbuffered: str) -> None:
    told = run(f"ropewalk {arguments} >/dev/full", tmp_path, PYTHONUNBUFFERED=unbuffered)
    assert (told.returncode, told.stderr) == (1, "standard output: No space left on device\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", ["run small.toml --seeds 1", "opportunities small.toml a.down --out /dev/stdout", "--help"]
)
def test_the_reader_of_standard_output_goes_away(tmp_path: Path, arguments: str, unbuffered: str) -> None:
    pipe = f"ropewalk {arguments} | head -c 0; exit ${{PIPESTATUS[0]}}"
    told = run(pipe, tmp_path, PYTHONUNBUFFERED=unbuffered)
    assert (told.returncode, told.stderr) == (1, "")


def test_a_full_device_is_named(tmp_path: Path) -> None:
    told = run("ropewalk opportunities small.toml a.down --out /dev/full", tmp_path)
    assert (told.returncode, told.stderr) == (1, "/dev/full: No space left on device\n")


def test_the_exit_code_stays_where_messages_have_no_room(tmp_path: Path) -> None:
    for arguments in ("run small.toml --set none=1", "run small.toml --none"):
        assert run(f"ropewalk {arguments} 2>/dev/full", tmp_path).returncode == 2
    assert run("ropewalk run small.toml --seeds 1 >/dev/full 2>/dev/full", tmp_path).returncode == 1


@pytest.mark.parametrize("line", ["run small.toml", "study study.toml", "reproduce omueti2007"])
def test_a_name_that_is_too_long_is_wrong_input(line: str, tmp_path: Path) -> None:
    write_study(tmp_path)
    told = run(f"ropewalk {line} --out {'d' * 300}", tmp_path)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith(f"--out {'d' * 300}: cannot write there: ")
    assert told.stderr.endswith("File name too long\n")


def test_results_go_to_no_file(tmp_path: Path) -> None:
    told = run("touch out; ropewalk run small.toml --out out", tmp_path)
    assert told.returncode == 2
    assert told.stderr == "--out out: cannot write there: out: it is there, and is not a directory\n"
    told = run("ropewalk report out", tmp_path)
    assert told.stderr.startswith("out: not a directory\n  fix: name the one that")
    told = run("ropewalk report none", tmp_path)
    assert told.stderr.startswith("none: no such directory\n  fix: name the one that")


@pytest.mark.parametrize(
    ("there", "options", "found"),
    [
        ("mkdir out/flows.parquet", "", "out/flows.parquet: it is there, and is not a file"),
        ("mkfifo out/summary.json", "", "out/summary.json: it is there, and is not a file"),
        ("mkdir out/provenance.json", "", "out/provenance.json: it is there, and is not a file"),
        ("touch out/trace", "--trace", "out/trace: it is there, and is not a directory"),
        ("touch out/capture", "--capture both", "out/capture: it is there, and is not a directory"),
        ("ln -s none out/capture", "--capture both", "out/capture: it is there, and is not a directory"),
    ],
)
def test_something_else_in_the_place_of_results(tmp_path: Path, there: str, options: str, found: str) -> None:
    """So long a run would not end within the time limit of the test."""
    told = run(f"mkdir out; {there}; ropewalk run small.toml --out out {options}", tmp_path)
    assert (told.returncode, told.stderr) == (2, f"--out out: cannot write there: {found}\n")
    assert len(list((tmp_path / "out").iterdir())) == 1


def test_earlier_results_stay_where_a_study_cannot_write(tmp_path: Path) -> None:
    study = rw.Study.load(write_study(tmp_path))
    study.run(tmp_path / "out")
    (tmp_path / "out" / "pooled.csv").mkdir()
    with pytest.raises(OSError, match="is not a file") as told:
        study.run(tmp_path / "out")
    assert told.value.filename == str(tmp_path / "out" / "pooled.csv")
    assert rw.StudyResults.read(tmp_path / "out").estimates.height


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


def test_two_studies_into_one_directory_are_not_mixed(tmp_path: Path) -> None:
    study = rw.Study.load(write_study(tmp_path))
    out = tmp_path / "out"
    first = study.run(out).results
    with disk.alone(out):
        writer = threading.Thread(target=summary.write, args=(first, out))
        before = (out / "study.json").stat().st_mtime_ns
        writer.start()
        writer.join(timeout=0.5)
        assert writer.is_alive()
        assert (out / "study.json").stat().st_mtime_ns == before
    writer.join()
    assert (out / "study.json").stat().st_mtime_ns > before


def test_captures_of_two_runs_into_one_directory_are_not_mixed(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captures of the run that simulated last were read under the tables of the other."""
    out = tmp_path / "out"
    order = Order(small, [1], 1, out, True, False, False, "simulator", (), BOTH)
    long, short = (rw.Scenario.load(small).set("duration", duration) for duration in ("4s", "3500ms"))
    capture, write = out / "capture" / "seed-1.pcapng", store.write
    command.execute(long, order)
    captured = capture.read_bytes()
    seen: list[bytes] = []

    def interleaved(*arguments: object) -> object:
        """Another run, from beginning to end, after this one has simulated and before it has written."""
        monkeypatch.setattr(store, "write", write)
        command.execute(short, order)
        seen.append(capture.read_bytes())
        return write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "write", interleaved)
    command.execute(long, order)
    assert seen[0] != captured
    assert capture.read_bytes() == captured
    assert rw.Results.read(out).captures == {1: capture}
    assert not list(out.glob(f"{disk.PARTIAL}*"))


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


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "directory"])
def test_a_store_reads_nothing_but_files(tmp_path: Path, kind: str) -> None:
    """A store of several users may hold anything: a pipe would block, a device never end."""
    place = tmp_path / f"{64 * '0'}.record"
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "device":
            place.symlink_to("/dev/zero")
        case "loop":
            place.symlink_to(place.name)
        case _:
            place.mkdir()
    opened = Store(tmp_path)
    assert opened.damaged == [f"{place}: damaged: not a file"]
    assert opened.files("any") == []
    opened.close()


@pytest.mark.parametrize("kind", ["pipe", "link", "directory"])
def test_claims_are_in_a_file_of_the_store(tmp_path: Path, kind: str) -> None:
    """A pipe would block, and through a link a file elsewhere would be made."""
    place = tmp_path / CLAIMS
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "link":
            place.symlink_to("elsewhere")
        case _:
            place.mkdir()
    with pytest.raises(OSError, match="not a file: remove it") as told:
        Store(tmp_path)
    assert told.value.filename == str(place)
    assert not (tmp_path / "elsewhere").exists()


def test_long_names_are_cut_in_messages_and_tables(ropewalk: Ropewalk, tmp_path: Path) -> None:
    assert readable("a\nb" + "x" * LONGEST).startswith("a\nbxxx")
    assert readable("x" * LONGEST) == "x" * LONGEST
    cut = readable("x" * 9_000_000)
    assert "…(9000000 characters)…" in cut
    assert len(cut) < LONGEST
    for length, code in ((10_000, 0), (9_000_000, 2)):
        text = SMALL.replace('name = "small"', f'name = "{"long " * (length // 5)}"')
        (tmp_path / "long.toml").write_text(text, encoding="utf-8")
        told = ropewalk("run", tmp_path / "long.toml", "--seeds", "1")
        assert told.returncode == code, told.stderr
        assert (f"…({length} characters)…" in told.stdout) == (code == 0)
        assert ("a text of 9000000 characters; allowed: up to 10000" in told.stderr) == (code == 2)
        assert len(told.stdout + told.stderr) < 10_000


def test_names_are_text_in_markdown() -> None:
    assert markdown("a|b`<c>\n# [d](e)") == r"a\|b\`\<c\>\\n\# \[d\](e)"
    assert markdown("beam1.up 8.1 ± 0.2 %") == "beam1.up 8.1 ± 0.2 %"
