"""Every claim can hold and can fail, and each of its bounds bites, within what is physically possible.

A figure lies between the least and the largest value that the scenario of its case allows: a share up to 1, a
time from the propagation delay up to the duration, a rate up to what links carry, windows admit and the
application offers. A bound that no such figure can pass says nothing. Every reading that a claim is judged
under is asked.
"""

import ast
import itertools
import random
from collections.abc import Iterator

import pytest

from invented import STEPS, Key, Search, atoms
from physical import Range, possible
from ropewalk import reproduce as rep
from ropewalk.reproduce.expressions import Evaluator, levels_of, parse
from ropewalk.reproduce.model import Claim, Reproduction
from ropewalk.reproduce.predicates import Outcome
from ropewalk.reproduce.values import NoValue, Sample, flat, mean_of

CLAIMS = [
    (loaded, claim)
    for loaded in map(rep.load, rep.names())
    for claim in loaded.claims
    if claim.check is not None and not loaded.is_set_up(claim)
]
DRAWS = 400
LITTLE = 1e-4
"""Share of the largest value that is drawn in place of 0, which leaves quotients undefined."""
FACTORS = (0.0, LITTLE, 0.1, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0, 10.0, 1e6)
BOUNDED = {"between", "at_least", "at_most"}


class Ranges:
    """Range of each figure that a claim reads, under a reading."""

    def __init__(self, loaded: Reproduction, claim: Claim, profile: str) -> None:
        assert claim.check is not None
        parsed = parse(ast.unparse(claim.check.tree), loaded.names(profile), check=True, published=True)
        self.all: dict[Key, Range] = {
            (use.quantity, levels): possible(loaded.name, use.quantity, levels, profile)
            for use in parsed.uses
            if use.quantity in loaded.quantities
            for levels in levels_of(use)
        }

    def clamped(self, key: Key, value: float) -> float:
        """The nearest possible value; a little above 0."""
        wide = self.all[key]
        return min(max(value, wide.low, wide.high * LITTLE**2), wide.high)


class Exact:
    """Figures as they are given, with configuration as published."""

    def __init__(self, known: dict[Key, float]) -> None:
        self.known = known

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """The same for all seeds."""
        return Sample(dict.fromkeys((1, 2, 3), self.known[quantity, levels]), "")

    def config(self, *_: object) -> Outcome:
        """As published."""
        return Outcome(True, (), "")


class Drawn(Exact):
    """Figures anywhere in their ranges, rows low or high as a whole at times."""

    def __init__(self, ranges: Ranges, draw: random.Random) -> None:
        super().__init__({})
        self._ranges, self._draw = ranges, draw
        self._together = draw.choice((0, 1, None))
        self._shares: dict[object, float] = {}

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """One of the ends, or anything between them."""
        key = (quantity, levels)
        if key not in self.known:
            share = self._draw.choice((0.0, LITTLE, 1.0, LITTLE ** self._draw.random()))
            if self._together is not None:
                share = self._shares.setdefault((quantity, levels[: self._together]), share)
            wide = self._ranges.all[key]
            self.known[key] = wide.low + (wide.high - wide.low) * share
        return super().sample(quantity, levels)


class Holding(Search):
    """Looks for possible figures with which a claim holds."""

    def __init__(self, loaded: Reproduction, claim: Claim, profile: str, ranges: Ranges) -> None:
        self._ranges = ranges
        super().__init__(loaded, claim, profile, spread=LITTLE)

    def _set(self, means: dict[Key, float]) -> None:
        super()._set({key: self._ranges.clamped(key, value) for key, value in means.items()})


class Watch:
    """Which conditions have failed, and which bounds have been passed on either side."""

    def __init__(self, claim: Claim) -> None:
        assert claim.check is not None
        self._atoms = [atom for atom in atoms(claim.check.tree) if ast.unparse(atom.func) != "config"]
        self.failed = False
        self._low: dict[str, bool] = {}
        self._high: dict[str, bool] = {}
        for atom in self._atoms:
            name = ast.unparse(atom.func)
            if name in BOUNDED:
                self._low[ast.unparse(atom)] = name == "at_most"
                self._high[ast.unparse(atom)] = name == "at_least"

    def look(self, evaluator: Evaluator) -> None:
        """Notes the conditions that these figures fail, and the bounds that they pass."""
        for atom in self._atoms:
            text = ast.unparse(atom)
            if self.failed and self._low.get(text, True) and self._high.get(text, True):
                continue
            try:
                self.failed = self.failed or not evaluator.outcome(atom).holds
                if text in self._low:
                    seen = [mean_of(item) for item in flat([evaluator.value(atom.args[0])])]
                    bounds = [mean_of(flat([evaluator.value(each)])[0]) for each in atom.args[1:]]
                    self._low[text] = self._low[text] or min(seen) < bounds[0]
                    self._high[text] = self._high[text] or max(seen) > bounds[-1]
            except NoValue:
                continue

    def idle(self) -> list[str]:
        """Conditions of which a bound has not been passed."""
        return [text for text in self._low if not (self._low[text] and self._high[text])]


@pytest.mark.parametrize(("loaded", "claim"), CLAIMS, ids=[claim.id for _, claim in CLAIMS])
def test_a_claim_can_hold_and_fail_and_its_bounds_bite(loaded: Reproduction, claim: Claim) -> None:
    seen: list[dict[Key, Range]] = []
    for profile in loaded.profiles_of(claim, loaded.profiles or ("",)):
        ranges = Ranges(loaded, claim, profile)
        # Readings that allow the same figures need no second search.
        if ranges.all not in seen:
            seen.append(ranges.all)
            bites(loaded, claim, profile, ranges)


def bites(loaded: Reproduction, claim: Claim, profile: str, ranges: Ranges) -> None:
    """Under one reading: from figures with which it holds, and from figures drawn at random."""
    watch = Watch(claim)
    names, published = loaded.names(profile), loaded.published
    search = Holding(loaded, claim, profile, ranges)
    # A claim that is said to contradict its document need not be possible.
    if search.solve(STEPS[0] if claim.expected else STEPS[-1]):
        for figures in moved(search.source.means, ranges):
            watch.look(Evaluator(Exact(figures), names, claim.published_number, published))
            if watch.failed and not watch.idle():
                return
    else:
        assert claim.expected == "differs", f"nothing that is possible makes it hold {profile}"
    draw = random.Random(claim.id)
    for _ in range(DRAWS):
        watch.look(Evaluator(Drawn(ranges, draw), names, claim.published_number, published))
        if watch.failed and not watch.idle():
            return
    assert watch.failed, f"it holds whatever comes out {profile}"
    assert not watch.idle(), f"nothing that is possible goes beyond a bound {profile}"


def moved(means: dict[Key, float], ranges: Ranges) -> Iterator[dict[Key, float]]:
    """From figures with which a claim holds: one quantity moved, two against each other, one figure alone."""
    quantities = list(dict.fromkeys(name for name, _ in means))

    def times(factors: dict[str, float]) -> dict[Key, float]:
        return {key: ranges.clamped(key, mean * factors.get(key[0], 1.0)) for key, mean in means.items()}

    for factor, name in itertools.product(FACTORS, quantities):
        yield times({name: factor})
    for factor, (one, other) in itertools.product(FACTORS, itertools.permutations(quantities, 2)):
        yield times({one: factor, other: 1.0 / max(factor, LITTLE**2)})
    for factor, (key, mean) in itertools.product(FACTORS, means.items()):
        yield {**means, key: ranges.clamped(key, mean * factor)}
