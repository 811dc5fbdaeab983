"""Prints what lies around the packet path: the machinery of studies, time series, and memory per flow.

Ratios of figures of one run of this script depend little on how fast the machine is.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path
from string import ascii_letters

import ropewalk as rw

ROOT = Path(__file__).resolve().parent.parent

STUDY = """\
name = "a thousand small runs"
scenario = "scenario.toml"
replications = 50

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
app = {{ kind = "bulk", size = "1kB" }}
spread = "1s"
transport = {{ kind = "tcp", profile = "linux" }}
"""


def studies() -> None:
    """A thousand small runs on one and on two workers."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        (there / "scenario.toml").write_text(SCENARIO)
        file = there / "study.toml"
        file.write_text(STUDY.format(delays=", ".join(f'"{delay}ms"' for delay in range(20, 40))))
        study = rw.Study.load(file)
        head = f"{'study of 1,000 runs':<20} {'wall s':>8}"
        print(head, f"{'runs: CPU s':>12} {'machinery: CPU s':>17} {'share':>7}")
        # The first study of a process imports what all of them need.
        for name, jobs in (("1 worker, at first", 1), ("1 worker", 1), ("2 workers", 2)):
            wall, cpu = time.monotonic(), time.process_time()
            ran = study.run(there / name, jobs=jobs)
            wall, cpu = time.monotonic() - wall, time.process_time() - cpu
            runs = ran.conducted.cpu_s
            share = f"{(cpu - runs) / runs:.0%}"
            print(f"{name:<20} {wall:>8.2f} {runs:>12.2f} {cpu - runs:>17.2f} {share:>7}")


def recording() -> None:
    """Time series against none."""
    scenario = rw.Scenario.load(ROOT / "benches" / "two-paths.toml", [("duration", "300s")])
    turns = [
        [scenario.run(1, series=series).summary()["cpu_s"] for series in (False, True)] for _ in range(5)
    ]
    plain, recorded = (min(times) for times in zip(*turns, strict=True))
    print(f"\nrecording all time series: {recorded / plain:.2f} times the CPU time without (least of 5)")


def peak_kib(thousands: int) -> int:
    """Largest memory of a process that runs so many thousand flows with little to do."""
    path = SCENARIO[: SCENARIO.index("[[flow]]")].replace("4Mbit/s", "400Mbit/s").replace("50p", "5000p")
    flows = "\n".join(IDLE.format(letter=letter) for letter in ascii_letters[:thousands])
    rw.Scenario.parse(path + flows).run(1, series=False)
    # Not ru_maxrss: a process inherits that of the one that has started it.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0])


def kib_per_flow() -> float:
    """What a flow adds to the largest memory, everything included."""
    few, many = 6, 14
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        one, other = pool.map(peak_kib, [few, many], chunksize=1)
    return (other - one) / (1000 * (many - few))


if __name__ == "__main__":
    studies()
    recording()
    print(f"memory per idle flow: {kib_per_flow():.1f} KiB, both ends and its rows of results")
