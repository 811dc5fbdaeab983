"""The cases of the comparison: families, read from cases.toml.

A family names a scenario, and axes. Every combination of values on its axes is a case; each value sets keys
of the scenario, which the back end `ns3` translates.
"""

from __future__ import annotations

import fnmatch
import itertools
import random
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ropewalk as rw
from ropewalk.scenario import toml_value

HERE = Path(__file__).resolve().parent
FIRST_SECOND = 1.0
# Keys of a flow that say when it starts.
TIMES = {"start", "spread", "spacing"}
"""Several flows start at random instants of it: started together they would move in step."""


@dataclass(frozen=True)
class Case:
    """One row of work for both simulators."""

    name: str
    """Family and values, as explanations match it."""
    scenario: Path
    metrics: tuple[str, ...]
    seeds: int
    """Runs of ns-3."""
    times: int
    """So many times as many of Ropewalk, which is quicker."""
    flows: int
    """Flows in the place of each flow of the scenario."""
    recorded: bool
    """Its figures of ns-3 are kept for the tests."""
    ns3: dict[str, str] = field(hash=False)
    """Arguments of ns-3 beside those that the scenario means: what ns-3 does unless it is told otherwise."""
    keys: dict[str, str] = field(hash=False)
    """Keys of the scenario, with values as they stand in TOML."""
    vary: dict[str, list[int]] = field(hash=False, default_factory=dict)
    """Queues among `keys`, and how many packets more they have in each run: so no single event decides."""

    @property
    def runs(self) -> int:
        """Runs of Ropewalk."""
        return self.seeds * self.times

    @property
    def _flows(self) -> list[dict[str, Any]]:
        flows: list[dict[str, Any]] = tomllib.loads(self.scenario.read_text(encoding="utf-8"))["flow"]
        return flows

    def document(self, seed: int) -> rw.Scenario:
        """The scenario of one run."""
        text = self.scenario.read_text(encoding="utf-8")
        bases = [flow["name"] for flow in self._flows]
        names = [*bases, *(f"{base}-{i}" for i in range(2, self.flows + 1) for base in bases)]
        for name in names[len(bases) :]:
            text += f'\n[[flow]]\nname = "{name}"\nlike = "{name.rpartition("-")[0]}"\n'
        keys = self.keys | {
            key: _longer(self.keys[key], more[(seed - 1) % len(more)]) for key, more in self.vary.items()
        }
        timed = {flow["name"] for flow in self._flows if TIMES & set(flow)}
        timed |= {name for name in names if any(f"flow.{name}.{key}" in keys for key in TIMES)}
        starts = dict(zip(names, self.starts(seed, len(names)), strict=True))
        own = {name for name in names if name in timed or name.rpartition("-")[0] in timed}
        keys |= {f"flow.{name}.start": f"{starts[name]}s" for name in names if name not in own}
        return rw.Scenario(text, str(self.scenario), list(keys.items()))

    def starts(self, seed: int, count: int) -> list[float]:
        """When flows start that do not say it, in seconds: the same for both simulators."""
        if count == 1:
            return [0.0]
        draw = random.Random(f"{seed}")  # noqa: S311
        return [round(draw.uniform(0, FIRST_SECOND), 6) for _ in range(count)]


def _longer(queue: str, packets: int) -> str:
    """The limit of a queue, raised by a number of packets; the back end refuses other limits."""
    return re.sub(r"\d+(?=p\b)", lambda length: str(max(1, int(length[0]) + packets)), queue)


def load(path: Path = HERE / "cases.toml") -> list[Case]:
    """All cases, in order."""
    with path.open("rb") as file:
        document = tomllib.load(file)
    return [
        case for family in document["family"] for case in _expand(family, document["recorded"], path.parent)
    ]


def of_scenario(path: Path) -> Case:
    """A scenario of its own as a case."""
    flows = tomllib.loads(rw.Scenario.load(path).show())["flow"]
    sized = any(flow["app"].get("size", "unlimited") != "unlimited" for flow in flows)
    count = sum(flow["count"] for flow in flows)
    metrics = ("goodput", "jain", *(f"goodput {i + 1}" for i in range(count)))
    return Case(
        name=path.stem,
        scenario=path,
        metrics=("completion",) if sized else metrics,
        seeds=8,
        times=1,
        flows=1,
        recorded=False,
        ns3={},
        keys={},
    )


def _expand(family: dict[str, Any], recorded: list[str], folder: Path) -> list[Case]:
    cases = []
    axes = [list(axis["value"]) for axis in family["axis"]]
    for chosen in itertools.product(*axes):
        settings: dict[str, Any] = {"seeds": family["seeds"], "times": family.get("times", 1), "flows": 1}
        settings |= {"metrics": family["metrics"], "ns3": {}, "vary": {}, "scenario": family["scenario"]}
        keys: dict[str, str] = {}
        for value in chosen:
            keys |= {k: toml_value(v) for k, v in value.get("set", {}).items()}
            settings |= {name: value[name] for name in settings if name in value}
        name = "/".join((family["name"], *(value["name"] for value in chosen)))
        cases.append(
            Case(
                name=name,
                keys=keys,
                recorded=any(fnmatch.fnmatchcase(name, pattern) for pattern in recorded),
                **settings
                | {"metrics": tuple(settings["metrics"]), "scenario": folder / settings["scenario"]},
            )
        )
    return cases
