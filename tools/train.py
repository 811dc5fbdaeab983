"""Runs the shipped scenarios: what `make pgo` takes the compiler's profile of.

They are what users run, and none of them is a benchmark: what the benchmarks gain is not learned from them.
"""

from pathlib import Path

import ropewalk as rw

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
# Each counts as much as any other.
PACKET_HOPS = 500_000


def main() -> None:
    """Packet-hops up to which each scenario is replicated."""
    for file in sorted(SCENARIOS.glob("*.toml")):
        scenario = rw.Scenario.load(file)
        hops, seed = 0, 1
        while hops < PACKET_HOPS:
            hops += scenario.run(seeds=[seed], jobs=1).totals.packet_hops
            seed += 1


if __name__ == "__main__":
    main()
