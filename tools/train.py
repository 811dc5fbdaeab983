"""Runs the shipped scenarios, from which `make pgo` takes the profile for the compiler.

They stand for what users run. No benchmark is among them: the compiler must not see what is measured.
"""

from pathlib import Path

import ropewalk as rw

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
PACKET_HOPS = 500_000
"""Packet-hops up to which each scenario is replicated, so that all weigh the same."""


def main() -> None:
    """Runs each scenario."""
    for file in sorted(SCENARIOS.glob("*.toml")):
        scenario = rw.Scenario.load(file)
        hops, seed = 0, 1
        while hops < PACKET_HOPS:
            hops += scenario.run(seeds=[seed], jobs=1).totals.packet_hops
            seed += 1


if __name__ == "__main__":
    main()
