"""Prints what captures cost: writing beside the simulation, reading in packets per CPU second, memory.

Writing also for each shipped scenario. Ratios of figures of one run of this script depend little on
how fast the machine is.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path

import ropewalk as rw
from ropewalk import _core

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "benches" / "two-paths.toml"
LENGTHS = (8, 64)
"""Seconds of simulated time."""
MANY = (ROOT / "scenarios" / "leo-pair-browsing.toml", ROOT / "benches" / "short-flows.toml")
"""Scenarios of many connections."""
TURNS = 9


def simulated(scenario: rw.Scenario, order: rw.Capture) -> tuple[float, float]:
    """CPU seconds of a run without and with a capture in a new file: the quickest of a few."""
    spent = []
    for _ in range(TURNS):
        order.files([1])[1].unlink(missing_ok=True)
        runs = [scenario.run(1, jobs=1, series=False, capture=capture) for capture in (None, order)]
        spent.append([run.totals.cpu_s for run in runs])
    plain, written = (min(one) for one in zip(*spent, strict=True))
    return plain, written


def read(file: Path, answer: "multiprocessing.SimpleQueue[tuple[int, float, int]]") -> None:
    """Packets of a capture, CPU seconds, and the most memory in bytes, of a process for this alone."""
    # The highest memory so far is forgotten.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = memory("VmRSS")
    start = time.process_time()
    _, _, totals, _ = _core.read_captures([file])
    spent = time.process_time() - start
    answer.put((dict(totals)["packets"], spent, memory("VmHWM") - before))


def memory(which: str) -> int:
    """A figure of this process, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{which}:"))


def measured(file: Path) -> tuple[int, float, int]:
    """The quickest of a few readings, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    found = []
    for _ in range(TURNS):
        answer: multiprocessing.SimpleQueue[tuple[int, float, int]] = context.SimpleQueue()
        process = context.Process(target=read, args=(file, answer))
        process.start()
        process.join()
        found.append(answer.get())
    return min(found, key=lambda one: one[1])


def main() -> None:
    """One line for each length, and for each scenario of many connections."""
    print(
        f"{'captures of':<20} {'packets':>12} {'write / simulate':>17} {'read, M / CPU s':>16} {'MB more':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        order = rw.Capture(folder)
        long: list[tuple[Path, list[tuple[str, str]], str]]
        long = [(SCENARIO, [("duration", f"{seconds}s")], f", {seconds} s") for seconds in LENGTHS]
        for file, changes, label in [*long, *((file, [], "") for file in MANY)]:
            scenario = rw.Scenario.load(file, changes)
            plain, written = simulated(scenario, order)
            packets, spent, memory = measured(order.files([1])[1])
            print(
                f"{file.stem + label:<20} {packets:>12,} {written / plain - 1.0:>17.2f} "
                f"{packets / spent / 1e6:>16.2f} {memory / 1e6:>8.1f}",
                flush=True,
            )
        print(f"\n{'captures of':<30} {'simulate, s':>12} {'write / simulate':>17} {'MB':>8}")
        for file in sorted((ROOT / "scenarios").glob("*.toml")):
            scenario = rw.Scenario.load(file)
            try:
                plain, written = simulated(scenario, order)
            except ValueError as refused:
                print(f"{file.stem:<30} {str(refused).splitlines()[0]}")
                continue
            size = order.files([1])[1].stat().st_size
            print(
                f"{file.stem:<30} {plain:>12.4f} {written / plain - 1.0:>17.2f} {size / 1e6:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
