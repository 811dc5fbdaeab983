"""Prints what lies around the packet path: studies, tables, report, plots, time series, memory per flow.

Ratios of figures of one run of this script depend little on how fast the machine is.
"""

import multiprocessing
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from string import ascii_letters

import ropewalk as rw

ROOT = Path(__file__).resolve().parent.parent

STUDY = """\
name = "a thousand small runs"
scenario = "scenario.toml"
replications = {runs}

[[vary]]
key = "path.a.up.delay"
values = [{delays}]
"""

SCENARIO = """\
name = "small"
duration = "30s"

[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "20ms", queue = "50p", loss = { kind = "packet", probability = 0.01 } }

[[flow]]
name = "file"
from = "terminal"
to = "server"
app = "bulk"
transport = { kind = "tcp" }
"""

IDLE = """\
[[flow]]
name = "flow{letter}"
count = 1000
from = "terminal"
to = "server"
app = {{ kind = "bulk", size = "{size}", repeat = 2, think = "1000s" }}
spread = "20s"
transport = {{ kind = "tcp", profile = "linux" }}
"""


def studies() -> None:
    """A thousand small runs: few cases and many, the first time in a process and later, as a command."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        files = {cases: study_of(there, cases) for cases in (20, 100)}
        print(f"{'1,000 runs':<38} {'wall s':>8} {'runs: CPU s':>12} {'beside: CPU s':>15} {'share':>7}")
        # The first study of a process imports what all of them need.
        for name, cases, jobs in (
            ("20 cases, the first of a process", 20, 1),
            ("20 cases", 20, 1),
            ("100 cases", 100, 1),
            ("100 cases, 2 workers", 100, 2),
        ):
            wall, cpu = time.monotonic(), time.process_time()
            ran = rw.Study.load(files[cases]).run(there / name, jobs=jobs)
            tell(name, time.monotonic() - wall, ran.conducted.cpu_s, time.process_time() - cpu)
        for cases, file in files.items():
            out = there / f"command {cases}"
            command = [sys.executable, "-m", "ropewalk", "study", str(file), "--out", str(out), "-j", "1"]
            wall, cpu, text = process(command)
            found = re.search(r"([\d.]+) CPU s in the engine", text)
            tell(f"{cases} cases, the whole command", wall, float(found[1]) if found else 0.0, cpu)
    for name, program in (("Python itself", "pass"), ("Python and polars", "import polars")):
        _, cpu, _ = min(process([sys.executable, "-c", program]) for _ in range(5))
        print(f"{name}: {cpu:.2f} CPU s")


def study_of(there: Path, cases: int) -> Path:
    """A study file of a thousand runs, and its scenario."""
    (there / "scenario.toml").write_text(SCENARIO)
    file = there / f"{cases}.toml"
    delays = ", ".join(f'"{20 + 20 * case / cases:g}ms"' for case in range(cases))
    file.write_text(STUDY.format(runs=1000 // cases, delays=delays))
    return file


def process(command: list[str]) -> tuple[float, float, str]:
    """Wall and CPU seconds of a command, and what it says."""
    wall, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    wall, after = time.monotonic() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text


def tell(name: str, wall: float, runs: float, cpu: float) -> None:
    """One line of the table."""
    print(f"{name:<38} {wall:>8.2f} {runs:>12.2f} {cpu - runs:>15.2f} {(cpu - runs) / runs:>7.0%}")


def waiting() -> None:
    """CPU seconds of the commands around one run: the engine, the tables, the report, the plots."""
    scenario = str(ROOT / "scenarios" / "two-geo-beams.toml")
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", scenario, "-j", "1"]
        commands = {
            "run": run,
            "run --out": [*run, "--out", folder],
            "report": ["report", folder],
            "figures --format png": ["figures", folder, "--format", "png"],
            "run --out --plots": [*run, "--out", folder, "--plots"],
        }
        turns = [
            [process([sys.executable, "-m", "ropewalk", *arguments])[1] for arguments in commands.values()]
            for _ in range(5)
        ]
        engine = min(rw.Scenario.load(scenario).run(jobs=1).totals.cpu_s for _ in range(5))
    print(f"\n{'two GEO beams, 20 replications':<38} {'CPU s':>8} {'of --plots':>12}")
    least = dict(zip(commands, map(min, zip(*turns, strict=True)), strict=True))
    for name, cpu in ({"the engine alone": engine} | least).items():
        print(f"{name:<38} {cpu:>8.2f} {cpu / least['run --out --plots']:>12.0%}")


def recording() -> None:
    """Time series against none."""
    scenario = rw.Scenario.load(ROOT / "benches" / "two-paths.toml", [("duration", "300s")])
    turns = [
        [scenario.run(1, series=series).summary()["cpu_s"] for series in (False, True)] for _ in range(5)
    ]
    plain, recorded = (min(times) for times in zip(*turns, strict=True))
    print(f"\nrecording all time series: {recorded / plain:.2f} times the CPU time without (least of 5)")


def peak_kib(thousands: int, size: str) -> int:
    """Largest memory of a process with thousands of idle connections that have sent `size` each."""
    path = SCENARIO[: SCENARIO.index("[[flow]]")].replace("4Mbit/s", "10Gbit/s").replace("50p", "50000p")
    path = path.replace("0.01", "0")
    flows = "\n".join(IDLE.format(letter=letter, size=size) for letter in ascii_letters[:thousands])
    rw.Scenario.parse(path + flows).run(1, series=False)
    # Not ru_maxrss: a process inherits that of the one that has started it.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0])


def kib_per_flow(size: str) -> float:
    """The memory that a flow adds to the peak, everything included."""
    few, many = 6, 14
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        one, other = pool.starmap(peak_kib, [(few, size), (many, size)], chunksize=1)
    return (other - one) / (1000 * (many - few))


if __name__ == "__main__":
    studies()
    waiting()
    recording()
    for size in ("1kB", "100kB"):
        print(f"memory per flow that has sent {size} and waits: {kib_per_flow(size):.1f} KiB, all included")
