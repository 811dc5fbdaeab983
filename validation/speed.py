"""Packet-hops per CPU second of ns-3 and of Ropewalk on the same work, beside `make bench`.

Seconds are CPU seconds inside the simulation, without start and set-up. ns-3 runs twice: what counts the hops
costs time.
"""

from __future__ import annotations

from pathlib import Path

import cases
import simulators

ROOT = Path(__file__).resolve().parent.parent
CASES = ("chain/LinuxReno/0/1/on", "chain/CUBIC/0/1/on", "layers/15")
SEED = 1


def ns3_speed(ns3: simulators.Ns3, case: cases.Case) -> tuple[int, float]:
    """Hops and CPU seconds of one run."""
    return ns3.run(case, SEED, keep=False, hops=True).packet_hops, ns3.run(case, SEED, keep=False).cpu_s


def main() -> None:
    """Prints the table, or says why there is none."""
    version = simulators.ns3_version()
    if version is None:
        print("ns-3 is not installed, nothing stands beside these figures; make validate installs it")
        return
    ns3 = simulators.Ns3(ROOT / "results" / "validation", version)
    known = {case.name: case for case in cases.load()}
    print(f"{'':<26} {'ns-3':>32} {'Ropewalk':>32}")
    columns = f"{'hops':>12} {'CPU s':>8} {'Mhops/s':>10}"
    print(f"{'case':<26} {columns} {columns} {'ratio':>8}")
    for name in CASES:
        case = known[name]
        hops, seconds = ns3_speed(ns3, case)
        ours = simulators.ropewalk(case, SEED)
        theirs = hops / seconds / 1e6
        speed = ours.packet_hops / ours.cpu_s / 1e6
        print(
            f"{name:<26} {hops:>12,} {seconds:>8.2f} {theirs:>10.3f} "
            f"{ours.packet_hops:>12,} {ours.cpu_s:>8.2f} {speed:>10.2f} {speed / theirs:>8.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
