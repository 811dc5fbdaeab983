"""Prints packet-hops per CPU second of the benchmark scenarios, recording off, of the simulator as built.

Each runs several times, and the quickest counts: whatever else the machine does only ever takes time.
"""

from pathlib import Path

import ropewalk as rw
from ropewalk import _core

BENCHES = Path(__file__).resolve().parent.parent / "benches"
TURNS = 3


def main() -> None:
    """Which build it is, then one line per scenario."""
    print(f"build: {_core.BUILD}")
    print(f"{'scenario':<20} {'packet-hops':>12} {'CPU s':>8} {'Mhops / CPU s':>14} {'CPU s / sim. s':>15}")
    for file in sorted(BENCHES.glob("*.toml")):
        if file.stem == "instructions":
            continue
        scenario = rw.Scenario.load(file)
        turns = [scenario.run(1, jobs=1, series=False).totals for _ in range(TURNS)]
        best = min(turns, key=lambda totals: totals.cpu_s)
        print(
            f"{file.stem:<20} {best.packet_hops:>12,} {best.cpu_s:>8.3f} "
            f"{best.packet_hops / best.cpu_s / 1e6:>14.2f} {best.cpu_s / scenario.duration_s:>15.6f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
