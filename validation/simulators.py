"""Runs the cases: a program of ours on ns-3, and Ropewalk."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mends as mending
from ropewalk import _core
from ropewalk.statistics import jain

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))

import debian

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cases import Case

HERE = Path(__file__).resolve().parent
PACKAGE = "libns3-dev"


@dataclass(frozen=True)
class Outcome:
    """The bytes that one run delivered, flow by flow."""

    delivered_bytes: list[int]
    completion_s: list[float | None]
    duration_s: float
    cpu_s: float = 0.0
    """Inside the simulation."""
    packet_hops: int = 0
    """Packet-hops; of ns-3 only if it was asked to count."""

    def metric(self, name: str) -> float | None:
        """One figure, of all flows; None if a flow is not complete at the end."""
        rates = [8 * n / self.duration_s / 1e6 for n in self.delivered_bytes]
        match name.split():
            case ["goodput"]:
                return sum(rates)
            case ["goodput", flow]:
                return rates[int(flow) - 1]
            case ["delivered"]:
                return sum(self.delivered_bytes) / 1e6
            case ["jain"]:
                return jain(rates)
            case ["completion"]:
                done = [seconds for seconds in self.completion_s if seconds is not None]
                return sum(done) / len(done) if len(done) == len(self.completion_s) else None
        raise ValueError(
            f"there is no metric {name}; metrics: goodput, goodput N, delivered, jain, completion"
        )


def install_ns3() -> str:
    """Installs ns-3 if it is missing and returns its version."""
    if (version := _core.ns3_version()) is not None and shutil.which("g++"):
        return version
    cure = f"fix: on Debian 12, or in a container with it, as root: apt-get install g++ {PACKAGE}"
    print("installing ns-3", file=sys.stderr)
    if reason := debian.install("g++", PACKAGE):
        sys.exit(f"ns-3 and g++ are needed and cannot be installed: {reason}\n  {cure}")
    if (version := _core.ns3_version()) is None:
        sys.exit(f"{PACKAGE} is still missing\n  {cure}")
    return version


class Ns3:
    """Runs the program of the back end; finished runs are kept, so that an interrupted comparison goes on."""

    def __init__(self, folder: Path) -> None:
        place = folder / "ns3"
        self._runs = place / "runs"
        self._runs.mkdir(parents=True, exist_ok=True)
        try:
            self._program = _core.ns3_program(place)
        except _core.RunFailed as error:
            sys.exit(str(error))

    def run(
        self, case: Case, seed: int, mends: Iterable[str] = (), *, keep: bool = True, hops: bool = False
    ) -> Outcome:
        """One run of a case, taken from what is kept unless it says otherwise; counting hops costs time."""
        scenario = case.document(seed)
        arguments = mending.mended(scenario.ns3_arguments() | case.ns3, mends)
        arguments |= {"RngRun": str(seed)} | ({"hops": "1"} if hops else {})
        options = [f"--{name}={value}" for name, value in sorted(arguments.items())]
        digest = hashlib.sha256(" ".join([self._program.name, *options]).encode()).hexdigest()[:24]
        kept = self._runs / f"{digest}.json"
        if not keep or not kept.exists():
            command = [str(self._program), *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{shlex.join(command)} failed ({done.returncode}):\n{done.stderr[-4000:]}")
            part = kept.with_suffix(".part")
            part.write_text(done.stdout, encoding="utf-8")
            part.rename(kept)
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return Outcome(
            found["delivered_bytes"],
            found["completion_s"],
            scenario.duration_s,
            found["cpu_s"],
            found["packet_hops"],
        )


def ropewalk(case: Case, seed: int) -> Outcome:
    """One run of a case with Ropewalk."""
    scenario = case.document(seed)
    results = scenario.run([seed], jobs=1, series=False)
    flows = results.flows
    return Outcome(
        flows["delivered_bytes"].to_list(),
        flows["completion_s"].to_list(),
        scenario.duration_s,
        results.totals.cpu_s,
        results.totals.packet_hops,
    )
