"""No room for a file: the message names it, nothing half-written is left, and results are printed."""

import shlex
import subprocess
from pathlib import Path

from conftest import COMMAND, ROOT
from ropewalk.disk import PARTIAL


def limited(kibibytes: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command whose files cannot grow beyond this."""
    line = f"ulimit -f {kibibytes}; exec {shlex.join(map(str, [COMMAND, *arguments]))}"
    command = ["bash", "-c", line]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_run_prints_its_tables_all_the_same(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = limited(2, "run", small, "--out", out)
    assert told.returncode == 1
    assert "Flows" in told.stdout
    assert told.stderr.startswith(f"{out}/")
    assert told.stderr.splitlines()[0].endswith(".parquet: File too large")
    assert not list(out.rglob(f"{PARTIAL}*"))


def test_a_diagnosis_is_printed_all_the_same(ran: Path) -> None:
    before = sorted(ran.iterdir())
    told = limited(0, "why", ran, "--effort", "quick")
    assert told.returncode == 1
    assert "Limits, by time" in told.stdout
    assert told.stderr.splitlines()[0] == f"{ran}/why.json: File too large"
    assert sorted(ran.iterdir()) == before


def test_an_example_is_copied_whole_or_not_at_all(tmp_path: Path) -> None:
    told = limited(1, "examples", "--all", "--out", tmp_path)
    assert told.returncode == 1
    name = told.stderr.splitlines()[0].removesuffix(": File too large")
    assert Path(name).is_relative_to(tmp_path)
    copies = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert Path(name) not in copies
    for path in copies:
        assert path.read_bytes() == (ROOT / path.relative_to(tmp_path)).read_bytes()


def test_a_capture_appears_whole_and_earlier_results_stay(small: Path, tmp_path: Path) -> None:
    """The capture of a run that fails took the place of the one before, whose results were then refused."""
    out = tmp_path / "out"
    first = limited(100_000, "run", small, "--seeds", "1", "--out", out, "--capture", "both")
    assert first.returncode == 0, first.stderr
    before = (out / "capture" / "seed-1.pcapng").read_bytes()
    told = limited(8, "run", small, "--seeds", "1", "--out", out, "--capture", "both", "--snap", "0")
    assert told.returncode == 1
    assert "capture/seed-1.pcapng: cannot be written: File too large" in told.stderr
    assert (out / "capture" / "seed-1.pcapng").read_bytes() == before
    assert [path.name for path in (out / "capture").iterdir()] == ["seed-1.pcapng"]
    assert limited(100_000, "report", out).returncode == 0
    capture = out / "capture" / "seed-1.pcapng"
    told = limited(8, "read", capture, "--anonymise", tmp_path / "plain.pcapng")
    assert told.returncode == 1
    assert not (tmp_path / "plain.pcapng").exists()
    assert not list(tmp_path.glob(f"{PARTIAL}*"))


def test_a_link_is_imported_whole_or_not_at_all(tmp_path: Path) -> None:
    table = tmp_path / "m.csv"
    rows = "".join(f"{at},1,20\n" for at in range(1000))
    table.write_text(f"time_s,down_mbit,rtt_ms\n{rows}", encoding="utf-8")
    told = limited(2, "import", table, "--out", tmp_path / "made", "--column", "down=down_mbit:Mbit/s")
    assert told.returncode == 1
    assert told.stderr.endswith(".csv: File too large\n")
    assert list((tmp_path / "made").iterdir()) == []
