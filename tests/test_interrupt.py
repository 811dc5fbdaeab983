"""Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from conftest import COMMAND, ENDLESS

RUNNING_AFTER_S = 4.0
PATIENCE_S = 60.0
"""On a busy machine; how quickly it ends is not a matter of tests."""


def interrupt(command: list[str]) -> tuple[int, str, str]:
    """Starts a command, presses Ctrl-C while it runs, waits for its end."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(RUNNING_AFTER_S)
    assert process.poll() is None, "it ended before the test could interrupt it"
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    return process.returncode, stdout, stderr


def test_run_ends_at_once_without_files(tmp_path: Path) -> None:
    scenario = tmp_path / "endless.toml"
    scenario.write_text(ENDLESS, encoding="utf-8")
    out = tmp_path / "out"
    code, stdout, stderr = interrupt([str(COMMAND), "run", str(scenario), "--out", str(out), "-j", "2"])
    assert code == 130
    assert stdout == ""
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    assert not list(out.iterdir())


def test_python_gets_a_keyboard_interrupt(tmp_path: Path) -> None:
    scenario = tmp_path / "endless.toml"
    scenario.write_text(ENDLESS, encoding="utf-8")
    program = f"""
import ropewalk as rw
try:
    rw.Scenario.load({str(scenario)!r}).run(series=False)
except KeyboardInterrupt:
    print("caught")
"""
    code, stdout, _ = interrupt([sys.executable, "-c", program])
    assert (code, stdout) == (0, "caught\n")
