"""Runs the cases: a program of ours on ns-3, and Ropewalk."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import translate
from ropewalk.statistics import jain

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))

import debian

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cases import Case

HERE = Path(__file__).resolve().parent
PACKAGE = "libns3-dev"
MODULES = (
    "core",
    "network",
    "internet",
    "point-to-point",
    "applications",
    "traffic-control",
    "bridge",
    "stats",
)


@dataclass(frozen=True)
class Outcome:
    """What one run delivered, flow by flow."""

    delivered_bytes: list[int]
    completion_s: list[float | None]
    duration_s: float
    cpu_s: float = 0.0
    """Inside the simulation."""
    packet_hops: int = 0
    """Of ns-3 only if it was asked to count."""

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


def ns3_version() -> str | None:
    """Version of Debian's package, or None."""
    if shutil.which("dpkg-query") is None:
        return None
    command = ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Version}", PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    status, _, version = done.stdout.partition(" ")
    return version if status == "installed" else None


def install_ns3() -> str:
    """Installs ns-3 if it is missing and returns its version."""
    if (version := ns3_version()) is not None and shutil.which("g++"):
        return version
    cure = f"fix: on Debian 12, or in a container with it, as root: apt-get install g++ {PACKAGE}"
    print("installing ns-3", file=sys.stderr)
    if reason := debian.install("g++", PACKAGE):
        sys.exit(f"ns-3 and g++ are needed and cannot be installed: {reason}\n  {cure}")
    if (version := ns3_version()) is None:
        sys.exit(f"{PACKAGE} is still missing\n  {cure}")
    return version


class Ns3:
    """Builds and runs our program; finished runs are kept, so that an interrupted comparison goes on."""

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder / "ns3"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._version = version
        self._runs = self._folder / "runs"
        self._runs.mkdir(exist_ok=True)
        self._build()

    def _build(self) -> None:
        """Compiles the program unless its sources have not changed."""
        sources = list(_sources(HERE / "ns3" / "network.cc"))
        digest = hashlib.sha256(self._version.encode())
        for source in sources:
            digest.update(source.read_bytes())
        self._key = digest.hexdigest()[:16]
        self._program = self._folder / f"network-{self._key}"
        if self._program.exists():
            return
        print("building the program for ns-3", flush=True)
        libraries = [f"-lns3-{module}" for module in MODULES]
        part = self._program.with_suffix(".part")
        command = ["g++", "-std=c++17", "-O2", "-o", str(part), str(sources[0]), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
        part.rename(self._program)

    def run(
        self, case: Case, seed: int, mends: Iterable[str] = (), *, keep: bool = True, hops: bool = False
    ) -> Outcome:
        """One run of a case, taken from what is kept unless it says otherwise; counting hops costs time."""
        scenario = case.document(seed)
        arguments = translate.mended(translate.arguments(scenario) | case.ns3, mends)
        arguments |= {"RngRun": str(seed)} | ({"hops": "1"} if hops else {})
        options = [f"--{name}={value}" for name, value in sorted(arguments.items())]
        digest = hashlib.sha256(" ".join([self._key, *options]).encode()).hexdigest()[:24]
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


def _sources(path: Path) -> Iterator[Path]:
    """A source and those of ours that it includes."""
    yield path
    for name in re.findall(r'^#include "([^/"]+)"$', path.read_text(encoding="utf-8"), re.MULTILINE):
        yield from _sources(path.parent / name)


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
