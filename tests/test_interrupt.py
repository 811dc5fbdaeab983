"""Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import COMMAND, ENDLESS, SMALL

WORK_S = 2.0
"""Processor time after which a command that was about to simulate does so; imports take a fraction of it."""
PATIENCE_S = 300.0
"""No measure of anything: on the busiest machine a command that heeds Ctrl-C has ended by then."""


def processor_s(process: int) -> float:
    """Processor time that it has taken."""
    status = Path(f"/proc/{process}/stat")
    if not status.exists():
        pytest.skip("no /proc here")
    user, system = status.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def interrupt(command: list[str], ready: Path, number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Starts a command that makes `ready` when it is, sends it a signal while it simulates."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(ready.exists, process)
            before = processor_s(process.pid)
            wait_for(lambda: processor_s(process.pid) > before + WORK_S, process)
            os.kill(process.pid, number)
            stdout, stderr = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    return process.returncode, stdout, stderr


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until it holds."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, "it ended before the test could interrupt it"
        assert time.monotonic() < until, "it does not begin to simulate"
        time.sleep(0.05)


def test_run_ends_at_once_without_files(tmp_path: Path) -> None:
    scenario = tmp_path / "endless.toml"
    scenario.write_text(ENDLESS, encoding="utf-8")
    out = tmp_path / "out"
    command = [str(COMMAND), "run", str(scenario), "--out", str(out), "-j", "2"]
    # The directory is made as soon as the scenario has been read.
    code, stdout, stderr = interrupt(command, ready=out)
    assert code == 130
    assert stdout == ""
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    assert not list(out.iterdir())


YEAR = """\
duration = "31536000s"
record = { interval = "10000s" }

[[path]]
name = "p"

[path.both]
rate = "1Mbit/s"
"""
SATELLITES = (
    YEAR
    + """
[path.both.delay]
kind = "walker"
altitude = 600
inclination = 53
planes = 1000
per_plane = 100
terminal_lat = 89
terminal_lon = 0
gateway_lat = 89
gateway_lon = 1

[[flow]]
name = "f"
from = "terminal"
to = "server"
transport = { kind = "tcp" }
"""
)


def test_a_search_for_a_satellite_ends_at_once(tmp_path: Path) -> None:
    """No satellite is ever above the horizon there: each event of the run is a long search."""
    scenario, out = tmp_path / "satellites.toml", tmp_path / "out"
    scenario.write_text(SATELLITES, encoding="utf-8")
    code, _, stderr = interrupt([str(COMMAND), "run", str(scenario), "--out", str(out)], ready=out)
    assert (code, stderr.splitlines()[-1]) == (130, "interrupted")


LATE = (
    YEAR
    + """\
delay = "10ms"
loss = { kind = "gilbert_time", mean_good = "1us", mean_bad = "1us" }

[[flow]]
name = "f"
from = "terminal"
to = "server"
start = "31535000s"
app = { kind = "bulk", size = "100kB" }
transport = { kind = "tcp" }
"""
)


@pytest.mark.parametrize("command", ["run", "study"])
def test_one_event_of_hours_ends_at_once(command: str, tmp_path: Path) -> None:
    """The first packet of the flow finds 3e13 phases of the channel to go through."""
    scenario, out = tmp_path / "late.toml", tmp_path / "out"
    scenario.write_text(LATE, encoding="utf-8")
    study = tmp_path / "study.toml"
    vary = '[[vary]]\nkey = "path.p.both.delay"\nvalues = ["10ms", "20ms"]\n'
    study.write_text('name = "late"\nscenario = "late.toml"\nreplications = 2\n' + vary, encoding="utf-8")
    file = scenario if command == "run" else study
    code, _, stderr = interrupt([str(COMMAND), command, str(file), "--out", str(out)], ready=out)
    assert code == 130, stderr
    assert "interrupted" in stderr
    assert "Traceback" not in stderr


def test_python_gets_a_keyboard_interrupt(tmp_path: Path) -> None:
    scenario = tmp_path / "endless.toml"
    scenario.write_text(ENDLESS, encoding="utf-8")
    ready = tmp_path / "ready"
    program = f"""
from pathlib import Path
import ropewalk as rw
scenario = rw.Scenario.load({str(scenario)!r})
Path({str(ready)!r}).touch()
try:
    scenario.run(series=False)
except KeyboardInterrupt:
    print("caught")
"""
    code, stdout, _ = interrupt([sys.executable, "-c", program], ready)
    assert (code, stdout) == (0, "caught\n")


def test_a_command_is_ready_for_ctrl_c_before_anything_large_is_imported() -> None:
    """An interrupt while modules are imported before `main` handles it would end in a traceback.

    Without `site` Python has few modules of its own: `typing`, `contextlib` and `importlib` took 30 of 38 ms.
    """
    folder = str(Path(rw.__file__).parent.parent)
    program = f"import sys; sys.path.insert(0, {folder!r}); before = set(sys.modules); import ropewalk.cli\n"
    program += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    new = done.stdout.split()
    assert [name for name in new if "ropewalk" in name] == ["ropewalk", "ropewalk.cli"]
    assert not {"typing", "contextlib", "importlib", "re"} & set(new)


def test_an_interrupt_that_a_library_makes_an_error_of_is_one() -> None:
    """As polars does while it imports modules of Python."""
    program = """
import os, signal, sys
import ropewalk.cli
from ropewalk.cli.app import app
def work(**_):
    from ropewalk.cli.reporting import WRONG_INPUT, fail, reported
    with reported():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as error:
            fail(f"the file cannot be read: {error!r}", WRONG_INPUT)
app.commands["doctor"].callback = work
sys.argv = ["ropewalk", "doctor"]
ropewalk.cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc here")
@pytest.mark.parametrize("work", ["rw.Scenario.parse(text, 'x.toml')", "rw.read([capture])"])
def test_long_work_before_a_run_is_interrupted(work: str, tmp_path: Path) -> None:
    """The signal is heeded while the work goes on: its thread is still there."""
    text = SMALL + "".join(f'[[flow]]\nname = "g{i}"\nlike = "upload"\n' for i in range(50_000))
    (tmp_path / "large.toml").write_text(text, encoding="utf-8")
    rw.Scenario.parse(SMALL, "small.toml").run(seeds=1, capture=rw.Capture(tmp_path))
    content = (tmp_path / "seed-1.pcapng").read_bytes()
    (tmp_path / "large.pcapng").write_bytes(content * (200_000_000 // len(content)))
    program = f"""
import os, signal
from pathlib import Path
import ropewalk as rw
rw.Scenario.parse({SMALL!r}, "small.toml"), rw.read([{str(tmp_path / "seed-1.pcapng")!r}])
text, capture = Path({str(tmp_path / "large.toml")!r}).read_text(), {str(tmp_path / "large.pcapng")!r}
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
threads = len(os.listdir("/proc/self/task"))
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    {work}
except KeyboardInterrupt:
    print(len(os.listdir("/proc/self/task")) - threads, flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 1
