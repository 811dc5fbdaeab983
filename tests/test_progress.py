"""Progress of runs under way."""

import contextlib
import os
import pty
import re
import subprocess
import time
from pathlib import Path

import pytest

from conftest import COMMAND, SMALL
from ropewalk.cli.progress import Progress


class Clock:
    """Seconds that pass when told."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "monotonic", found.monotonic)
    return found


def test_one_long_run_tells_simulated_time_and_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("long", duration_s=30_000.0) as shown:
        for seconds in (0.0, 4.0, 6.0, 12.0):
            clock.now = 100.0 + seconds
            shown.simulated(1500.0 * seconds)
            shown.update(0, 3)
    assert capsys.readouterr().err.splitlines() == [
        "long: 0 of 3 runs, 9,000 of 90,000 s simulated, 54 s left",
        "long: 0 of 3 runs, 18,000 of 90,000 s simulated, 48 s left",
    ]


def test_a_study_counts_runs_and_leaves_out_what_was_stored(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("study") as shown:
        shown.update(50, 100)
        clock.now = 106.0
        shown.update(50, 100)
        clock.now = 120.0
        shown.update(60, 100)
    assert capsys.readouterr().err.splitlines() == [
        "study: 50 of 100 runs, no run finished yet",
        "study: 60 of 100 runs, 0.5 runs/s, 1 min 20 s left",
    ]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_bar_of_one_long_run_fits_the_terminal(tmp_path: Path, width: int) -> None:
    file = tmp_path / "long.toml"
    file.write_text(SMALL.replace('duration = "4s"', 'duration = "400s"'), encoding="utf-8")
    terminal, side = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": str(width)}
    command = [str(COMMAND), "run", str(file), "--seeds", "1", "-j", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=side, env=environment) as process:
        os.close(side)
        shown = b""
        with contextlib.suppress(OSError):
            while part := os.read(terminal, 1 << 16):
                shown += part
        assert process.wait(timeout=60) == 0
    os.close(terminal)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode()).replace("\r", "\n").split("\n")
    assert max(map(len, lines)) <= width
    # The flow and its two baselines.
    assert [line for line in lines if re.search(r"[0-3]/3 [\d,]+ of 1,200 s simulated", line)]
