"""Prints packet-hops per CPU second of the benchmark scenarios, recording off, of the simulator as built.

Each runs several times, and the quickest counts: other programs on the machine only take time. Beside each
rate stands how much longer a packet-hop takes than in the bare loop (`crates/lab/benches/bare_loop.rs`, level
L3), which runs before each turn: rates of different machines cannot be compared, this ratio can.
"""

import subprocess
from pathlib import Path

import instructions
import ropewalk as rw
from ropewalk import _core

BENCHES = Path(__file__).resolve().parent.parent / "benches"
TURNS = 3


def bare(program: Path, *arguments: str) -> dict[str, float]:
    """CPU seconds per packet-hop of the levels of the bare loop."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)  # noqa: S603
    rows = (line.split() for line in done.stdout.splitlines())
    return {level: float(seconds) / float(hops) for level, hops, seconds, _ in rows}


def main() -> None:
    """The build, the bare loop, then one line per scenario."""
    program = instructions.benchmark(instructions.ROOT, "bare_loop")
    print(f"build: {_core.BUILD}")
    levels = ", ".join(f"{level} {1e-6 / per_hop:.1f}" for level, per_hop in bare(program).items())
    print(f"bare loop: {levels} Mhops / CPU s")
    print(
        f"{'scenario':<20} {'packet-hops':>12} {'CPU s':>8} {'Mhops / CPU s':>14} {'x bare L3':>10} "
        f"{'CPU s / sim. s':>15}"
    )
    for file in sorted(BENCHES.glob("*.toml")):
        if file.stem == "instructions":
            continue
        scenario = rw.Scenario.load(file)
        turns, floors = [], []
        for _ in range(TURNS):
            floors.append(bare(program, "L3")["L3"])
            turns.append(scenario.run(1, jobs=1, series=False).totals)
        best = min(turns, key=lambda totals: totals.cpu_s)
        ratio = best.cpu_s / best.packet_hops / min(floors)
        print(
            f"{file.stem:<20} {best.packet_hops:>12,} {best.cpu_s:>8.3f} "
            f"{best.packet_hops / best.cpu_s / 1e6:>14.2f} {ratio:>10.1f} "
            f"{best.cpu_s / scenario.duration_s:>15.6f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
