"""What is compared: families of cases, read from cases.toml.

A family names a program of ours for ns-3, a scenario, and axes. Every combination of values on its axes is a
case; each value says what it means to either simulator: arguments of the program, keys of the scenario.
"""

from __future__ import annotations

import fnmatch
import itertools
import random
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ropewalk as rw
from ropewalk.scenario import toml_value

HERE = Path(__file__).resolve().parent
FIRST_SECOND = 1.0
"""Several flows start at random instants of it: started together they would move in step."""


@dataclass(frozen=True)
class Case:
    """One row of work for both simulators."""

    name: str
    """Family and values, as explanations match it."""
    program: str
    scenario: str
    metrics: tuple[str, ...]
    seeds: int
    flows: int
    """Flows in the place of each flow of the scenario."""
    recorded: bool
    """Its figures of ns-3 are kept for the tests."""
    arguments: dict[str, str] = field(hash=False)
    """Of the program."""
    keys: dict[str, Any] = field(hash=False)
    """Of the scenario."""

    @property
    def _bases(self) -> list[str]:
        text = (HERE / "scenarios" / self.scenario).read_text(encoding="utf-8")
        return [flow["name"] for flow in tomllib.loads(text)["flow"]]

    @property
    def flow_count(self) -> int:
        """Flows in all."""
        return self.flows * len(self._bases)

    def document(self, seed: int) -> rw.Scenario:
        """The scenario of one run."""
        path = HERE / "scenarios" / self.scenario
        text = path.read_text(encoding="utf-8")
        bases = self._bases
        names = [*bases, *(f"{base}-{i}" for i in range(2, self.flows + 1) for base in bases)]
        for name in names[len(bases) :]:
            text += f'\n[[flow]]\nname = "{name}"\nlike = "{name.rpartition("-")[0]}"\n'
        starts = zip(names, self.starts(seed, len(names)), strict=True)
        keys = self.keys | {f"flow.{name}.start": f"{start}s" for name, start in starts}
        return rw.Scenario(text, str(path), [(key, toml_value(value)) for key, value in keys.items()])

    def starts(self, seed: int, count: int) -> list[float]:
        """When each flow starts, in seconds: the same for both simulators."""
        if count == 1:
            return [0.0]
        draw = random.Random(f"{seed}")  # noqa: S311
        return [round(draw.uniform(0, FIRST_SECOND), 6) for _ in range(count)]


def load(path: Path = HERE / "cases.toml") -> list[Case]:
    """All cases, in order."""
    with path.open("rb") as file:
        document = tomllib.load(file)
    return [case for family in document["family"] for case in _expand(family, document["recorded"])]


def _expand(family: dict[str, Any], recorded: list[str]) -> list[Case]:
    cases = []
    axes = [list(axis["value"]) for axis in family["axis"]]
    for chosen in itertools.product(*axes):
        settings: dict[str, Any] = {"seeds": family["seeds"], "flows": 1}
        arguments = {k: str(v) for k, v in family.get("ns3", {}).items()}
        keys = dict(family.get("ropewalk", {}))
        for value in chosen:
            arguments |= {k: str(v) for k, v in value.get("ns3", {}).items()}
            keys |= value.get("ropewalk", {})
            settings |= {name: value[name] for name in settings if name in value}
        name = "/".join((family["name"], *(value["name"] for value in chosen)))
        cases.append(
            Case(
                name=name,
                program=family["program"],
                scenario=family["scenario"],
                metrics=tuple(family["metrics"]),
                arguments=arguments,
                keys=keys,
                recorded=any(fnmatch.fnmatchcase(name, pattern) for pattern in recorded),
                **settings,
            )
        )
    return cases
