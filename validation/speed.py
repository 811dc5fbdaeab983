"""Packet-hops per CPU second of ns-3 and of Ropewalk on the same work, beside `make bench`.

The scenarios of `benches/` that ns-3 can run, with TCP as the comparison of both has it, and two cases of the
comparison. Seconds are CPU seconds inside the simulation, without start and set-up. ns-3 runs twice: counting
the hops costs time.
"""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import cases
import ropewalk as rw
import simulators
from ropewalk import _core
from ropewalk.scenario import toml_value

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
CASES = ("chain/LinuxReno/0/1/on", "chain/CUBIC/0/1/on")
# Simulated seconds where ns-3 would need minutes for those of the file.
SHORTER = {"layered": "20s", "flows-10": "500s", "flows-1000": "3s"}
# The same for flows of a kind: with each packet ns-3 looks at all connections that there have been.
FEWER = {"short-flows": 200}
# Settings that ns-3's controllers need beside the transport of the comparison.
CONTROLLERS = {"newreno": {}, "cubic": {"slow_start_limit": "unlimited"}}
SEED = 1


def benches() -> Iterator[cases.Case]:
    """The scenarios of the benchmark; TCP is that of the comparison."""
    with (cases.HERE / "scenarios" / "chain.toml").open("rb") as file:
        transport = tomllib.load(file)["flow"][0]["transport"]
    for path in sorted((ROOT / "benches").glob("*.toml")):
        with path.open("rb") as file:
            flows = tomllib.load(file).get("flow", [])
        if not flows:
            continue
        keys = {"duration": toml_value(SHORTER[path.stem])} if path.stem in SHORTER else {}
        for flow in flows:
            own = flow["transport"]
            if own["kind"] == "tcp":
                more = CONTROLLERS[own["congestion"]] | {"congestion": own["congestion"]}
                keys[f"flow.{flow['name']}.transport"] = toml_value(transport | more)
            if path.stem in FEWER:
                keys[f"flow.{flow['name']}.count"] = str(FEWER[path.stem])
        yield dataclasses.replace(cases.of_scenario(path), keys=keys)


def ns3_speed(ns3: simulators.Ns3, case: cases.Case) -> tuple[int, float]:
    """Hops and CPU seconds of one run."""
    return ns3.run(case, SEED, keep=False, hops=True).packet_hops, ns3.run(case, SEED, keep=False).cpu_s


def main() -> None:
    """Prints the table, or says why there is none."""
    if _core.ns3_version() is None:
        print("ns-3 is not installed, nothing stands beside these figures; make validate installs it")
        return
    ns3 = simulators.Ns3(ROOT / "results" / "validation")
    print(f"{'':<26} {'ns-3':>32} {'Ropewalk':>32}")
    columns = f"{'hops':>12} {'CPU s':>8} {'Mhops/s':>10}"
    print(f"{'case':<26} {columns} {columns} {'ratio':>8}")
    for case in [*(case for case in cases.load() if case.name in CASES), *benches()]:
        try:
            case.document(SEED).ns3_arguments()
        except rw.ScenarioError as why:
            print(f"{case.name:<26} not on ns-3: {', '.join(one.key for one in why.diagnostics[:3])}")
            continue
        hops, seconds = ns3_speed(ns3, case)
        ours = simulators.ropewalk(case, SEED)
        theirs = hops / seconds / 1e6
        speed = ours.packet_hops / ours.cpu_s / 1e6
        print(
            f"{case.name:<26} {hops:>12,} {seconds:>8.2f} {theirs:>10.3f} "
            f"{ours.packet_hops:>12,} {ours.cpu_s:>8.2f} {speed:>10.2f} {speed / theirs:>8.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
