"""Every claim can fail, and each of its bounds bites, within what is physically possible.

A figure lies between 0 and what the scenario allows: a share up to 1, a time up to the duration, a rate up to
what links carry and the application offers. A bound that no such figure can pass says nothing.
"""

import ast
import functools
import random
import re
import tomllib

import pytest

from invented import atoms
from ropewalk import reproduce as rep
from ropewalk.reproduce.expressions import Evaluator
from ropewalk.reproduce.model import Claim, Reproduction
from ropewalk.reproduce.predicates import Outcome
from ropewalk.reproduce.values import NoValue, Sample, flat, mean_of
from ropewalk.scenario import Scenario
from ropewalk.study.plan import plan

CLAIMS = [
    (loaded, claim)
    for loaded in map(rep.load, rep.names())
    for claim in loaded.claims
    if claim.check is not None and not loaded.is_set_up(claim)
]
DRAWS = 400
LITTLE = 1e-4
"""Share of the largest value that is drawn in place of 0, which leaves quotients undefined."""
MANY = 1e7
"""Packets, drops, bytes of windows: more than any run has."""
UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "B": 8.0, "kB": 8e3}
OF_RATE = {"Mbit/s": 1e-6, "kbit/s": 1e-3, "bytes/s": 0.125, "kB/s": 1.25e-4}
OF_TIME = {"s": 1.0, "ms": 1e3}
OVERHEAD = 1.1
"""The most that headers may add to the offered load."""


def number(text: str) -> float:
    """Number of a quantity as expanded scenarios write it; bits for sizes."""
    found = re.fullmatch(r"([\d.e+-]+) ?([A-Za-z/]+)", text)
    assert found, text
    return float(found[1]) * {**UNITS, "s": 1.0, "ms": 1e-3}[found[2]]


@functools.cache
def scenario(name: str, study: str) -> tuple[float, float]:
    """Duration, and the largest rate that anything has in its first case."""
    file = rep.load(name).studies[study]
    text = Scenario.parse(plan(file).cases[0].text, str(file.path)).whole()
    found = tomllib.loads(text)
    lines = [way["rate"] for link in [*found.get("path", ()), *found.get("link", ())] for way in ways(link)]
    lines += [way["rate"] for mesh in found.get("mesh", ()) for way in ways(mesh)]
    carried = sum(map(number, lines))
    app = found["flow"][0]["app"]
    if app["kind"] == "sockperf":
        carried = min(carried, app["rate"] * number(app["size"]) * OVERHEAD)
    return number(found["duration"]), carried


def ways(link: dict[str, object]) -> list[dict[str, str]]:
    """Its directions that have a rate."""
    return [way for way in link.values() if isinstance(way, dict) and "rate" in way]


def largest(loaded: Reproduction, quantity: str, profile: str) -> float:
    """The bound that a quantity cannot exceed, in its unit."""
    unit = loaded.quantities[quantity].unit
    duration, rate = scenario(loaded.name, loaded.study_of(quantity, profile))
    if unit in OF_RATE:
        return rate * OF_RATE[unit]
    if unit in OF_TIME:
        return duration * OF_TIME[unit]
    return 100.0 if unit == "%" else MANY


class Possible:
    """A figure between a little and the largest possible one for each case."""

    def __init__(self, loaded: Reproduction, profile: str, draw: random.Random) -> None:
        self._loaded, self._profile, self._draw = loaded, profile, draw
        # A row is low or high as a whole only if its figures are drawn together.
        self._together = draw.choice((0, 1, None))
        self._shares: dict[object, float] = {}
        self.known: dict[tuple[str, tuple[str, ...]], float] = {}

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """One of the ends, or anything between them."""
        key = (quantity, levels)
        if key not in self.known:
            high = largest(self._loaded, quantity, self._profile)
            share = self._draw.choice((0.0, LITTLE, 1.0, LITTLE ** self._draw.random()))
            if self._together is not None:
                share = self._shares.setdefault((quantity, levels[: self._together]), share)
            self.known[key] = high * share
        return Sample(dict.fromkeys((1, 2, 3), self.known[key]), "")

    def config(self, *_: object) -> Outcome:
        """As published."""
        return Outcome(True, (), "")


@pytest.mark.parametrize(("loaded", "claim"), CLAIMS, ids=[claim.id for _, claim in CLAIMS])
def test_a_claim_can_fail_and_its_bounds_bite(loaded: Reproduction, claim: Claim) -> None:
    assert claim.check is not None
    profile = (loaded.profiles or ("",))[0]
    draw = random.Random(claim.id)
    failed = False
    reached: dict[str, list[float]] = {}
    bounds: dict[str, tuple[float, ...]] = {}
    for _ in range(DRAWS):
        source = Possible(loaded, profile, draw)
        evaluator = Evaluator(source, loaded.names(profile), claim.published_number, loaded.published)
        for atom in atoms(claim.check.tree):
            try:
                failed = failed or not evaluator.outcome(atom).holds
                if ast.unparse(atom.func) in {"between", "at_least", "at_most"}:
                    seen = [mean_of(item) for item in flat([evaluator.value(atom.args[0])])]
                    reached.setdefault(ast.unparse(atom), []).extend(seen)
                    wanted = (mean_of(flat([evaluator.value(each)])[0]) for each in atom.args[1:])
                    bounds[ast.unparse(atom)] = tuple(wanted)
            except NoValue:
                continue
        if failed and all(bites(values, bounds[text], text) for text, values in reached.items()):
            return
    assert failed, "it holds whatever comes out"
    idle = [text for text, values in reached.items() if not bites(values, bounds[text], text)]
    assert not idle, "nothing that is possible goes beyond a bound"


def bites(values: list[float], bounds: tuple[float, ...], text: str) -> bool:
    """Whether something that is possible lies beyond each of the bounds."""
    low = bounds[0] if not text.startswith("at_most") else None
    high = bounds[-1] if not text.startswith("at_least") else None
    below = low is None or min(values) < low
    return below and (high is None or max(values) > high)
