"""Figures out of the air that make a given claim agree, found by search: no run is needed."""

import ast
import itertools
import math
import random
from collections.abc import Iterator

from ropewalk.reproduce.expressions import CONFIG, Evaluator, levels_of, parse
from ropewalk.reproduce.model import Claim, Reproduction
from ropewalk.reproduce.predicates import Outcome
from ropewalk.reproduce.values import NoValue, Sample, Value, flat, mean_of

Key = tuple[str, tuple[str, ...]]
"""Quantity and levels."""

SPREAD = 0.01
"""Seeds differ by this in all cases alike, so that paired comparisons are beyond doubt."""
RUNS = 3
ENOUGH = 12
"""Runs whose standard deviation has an interval that does not reach 0."""
FACTORS = (-1.0, 1e-3, 0.03, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.05, 1.15, 1.4, 2.0, 3.0, 10.0, 30.0, 1e3)
CLEAR, SMALL = 0.1, 1e-3
"""A value that is to be larger is larger by this factor, and at least by a little."""
STEPS = (5, 400)
"""From each start, one after the other: most checks need few from one start and hundreds from others."""
NEAR = 1e-6
IMPOSSIBLE = 1e6
HELD = 1e-9
"""The distance of a condition that is missed by nothing that could be measured."""


class Invented:
    """A source of figures; all keys of scenarios are as claimed, or none is."""

    def __init__(
        self,
        means: dict[Key, float],
        runs: dict[str, int],
        *,
        configured: bool = True,
        spread: float = SPREAD,
    ) -> None:
        self.means = means
        self.runs = runs
        self.configured = configured
        self._spread = spread

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """Around the mean.

        Raises:
            NoValue: no check reads it, only words do.
        """
        if (quantity, levels) not in self.means:
            raise NoValue(f"{quantity} {levels} is not invented")
        mean = self.means[quantity, levels]
        seeds = range(1, self.runs.get(quantity, RUNS) + 1)
        return Sample({seed: mean * (1.0 + self._spread * (seed % 3 - 1)) for seed in seeds}, "")

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        """As claimed, or otherwise."""
        return Outcome(self.configured, (), f"{place} {key} {value} {case}")


class Search:
    """Coordinate descent on how far the conditions of a check are from holding."""

    def __init__(
        self, reproduction: Reproduction, claim: Claim, profile: str, *, spread: float = SPREAD
    ) -> None:
        assert claim.check is not None
        self._levels = reproduction.names(profile)
        self._reproduction = reproduction
        self._draw = random.Random(claim.id)
        self.source = Invented({}, _runs(claim.check.tree), spread=spread)
        self._evaluator = Evaluator(self.source, self._levels, claim.published_number, reproduction.published)
        self._tree = claim.check.tree
        self._keys = {id(atom): self._figures(atom, check=True) for atom in atoms(self._tree)}
        self._far: dict[int, float] = {}
        self.source.means.update({key: 1.0 for keys in self._keys.values() for key in keys})

    def _figures(self, node: ast.expr, *, check: bool) -> list[Key]:
        """The quantities that a part of the check reads, in order."""
        uses = parse(ast.unparse(node), self._levels, check=check, published=True).uses
        return [
            (use.quantity, levels)
            for use in uses
            if use.quantity in self._reproduction.quantities
            for levels in levels_of(use)
        ]

    def solve(self, longest: int = STEPS[-1]) -> bool:
        """Whether figures have been found; `longest`: the most steps from a start."""
        for steps, power in itertools.product(STEPS, range(-3, 8)):
            if steps > longest:
                return False
            self._set(dict.fromkeys(self.source.means, 10.0**power))
            self._aim()
            if self._descend(self._tree, steps):
                return True
        return False

    def _set(self, means: dict[Key, float]) -> None:
        self.source.means.update(means)
        changed = set(means)
        self._far = {
            atom: far for atom, far in self._far.items() if not changed.intersection(self._keys[atom])
        }

    def _aim(self) -> None:
        """Puts each figure where a condition wants it that names its value."""
        for atom in atoms(self._tree):
            if _name(atom) in {"within", "between", "follows", "at_least", "at_most"}:
                keys = self._figures(atom.args[0], check=False)
                wanted = self._wanted(atom)
                values = flat([self._evaluator.value(atom.args[0])])
                if len(keys) == len(values):
                    self._set(
                        {
                            key: self.source.means[key] * target / mean_of(value)
                            for key, value, target in zip(keys, values, wanted, strict=False)
                            if mean_of(value)
                        }
                    )

    def _wanted(self, atom: ast.Call) -> Iterator[float]:
        bounds = [mean_of(flat([self._evaluator.value(entry)])[0]) for entry in atom.args[1:]]
        match _name(atom):
            case "follows":
                return map(mean_of, flat([self._evaluator.value(atom.args[1])]))
            case "between":
                low, high = bounds
                return itertools.repeat(math.sqrt(low * high) if low > 0.0 else (low + high) / 2.0)
            case "at_least":
                return itertools.repeat(bounds[0] * 1.01)
            case "at_most":
                return itertools.repeat(bounds[0] * 0.99)
        return itertools.repeat(bounds[0])

    def _descend(self, tree: ast.expr, steps: int) -> bool:
        for _ in range(steps):
            if self._distance(tree, wanted=True) == 0.0:
                return True
            failing = [
                atom for atom in atoms(tree) if self._far.get(id(atom), 0.0) > 0.0 and self._keys[id(atom)]
            ]
            if not failing:
                return False
            quantity, levels = self._draw.choice(self._keys[id(self._draw.choice(failing))])
            # One figure, those that have a level in common, or all of the quantity.
            shared = self._draw.choice(
                [set(levels), set(levels), {self._draw.choice(levels or ("",))}, set()]
            )
            group = [key for key in self.source.means if key[0] == quantity and shared <= {*key[1], ""}]
            self._improve(tree, group)
        return False

    def _improve(self, tree: ast.expr, group: list[Key]) -> None:
        """The factor for all of the group that brings the check nearest."""
        before = {key: self.source.means[key] for key in group}
        least = start = self._distance(tree, wanted=True)
        best = 1.0

        def look(factor: float) -> float:
            nonlocal best, least
            self._set({key: mean * factor for key, mean in before.items()})
            far = self._distance(tree, wanted=True)
            if far < least:
                best, least = factor, far
            return far

        slope = (look(1.0 + NEAR) - start) / NEAR
        # Where the distance would be 0 if it went on so, and a little further.
        near = [1.0 - over * start / slope for over in (1.0, 1.02, 1.2)] if slope else []
        for factor in (*near, *FACTORS):
            if least > 0.0:
                look(factor)
        self._set({key: mean * best for key, mean in before.items()})

    def _distance(self, node: ast.expr, *, wanted: bool) -> float:
        """0 if it holds."""
        if isinstance(node, ast.BoolOp):
            parts = [self._distance(value, wanted=wanted) for value in node.values]
            return math.fsum(parts) if isinstance(node.op, ast.And) == wanted else min(parts)
        if isinstance(node, ast.UnaryOp):
            return self._distance(node.operand, wanted=not wanted)
        if id(node) not in self._far:
            self._far[id(node)] = self._atom(node, wanted=wanted)
        return self._far[id(node)]

    def _atom(self, node: ast.expr, *, wanted: bool) -> float:
        assert isinstance(node, ast.Call)
        try:
            found = self._evaluator.outcome(node)
            if found.holds if wanted else not (found.holds or found.unclear):
                return 0.0
            if not wanted or _name(node) == CONFIG:
                return 1.0
            values = [self._evaluator.value(argument) for argument in node.args]
        except NoValue:
            return IMPOSSIBLE
        options = {str(option.arg): ast.literal_eval(option.value) for option in node.keywords}
        return HELD + missing(_name(node), values, options)


def _runs(tree: ast.expr) -> dict[str, int]:
    """As many replications of each quantity as the check wants to count, or an interval of a spread needs."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="spread"), args=[wide]):
                spread = {part.id: ENOUGH for part in ast.walk(wide) if isinstance(part, ast.Name)}
                found = spread | found
            case ast.Call(
                args=[ast.Call(func=ast.Name(id="runs"), args=[counted]), ast.Constant(value=int(number)), *_]
            ):
                found |= {part.id: number for part in ast.walk(counted) if isinstance(part, ast.Name)}
    return found


def atoms(node: ast.expr) -> Iterator[ast.Call]:
    """The conditions that `and`, `or` and `not` combine."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from atoms(value)
    elif isinstance(node, ast.UnaryOp):
        yield from atoms(node.operand)
    elif isinstance(node, ast.Call):
        yield node


def _name(atom: ast.Call) -> str:
    return ast.unparse(atom.func)


def missing(name: str, values: list[Value], options: dict[str, float]) -> float:
    """How far a condition is from holding, without a unit; at last the search asks the predicate itself."""
    rows = [[mean_of(item) for item in flat([value])] for value in values]
    first, bounds = rows[0], [row[0] for row in rows[1:]]
    if name in {"within", "between", "at_least", "at_most"}:
        low, high = _allowed(name, bounds, options)
        return math.fsum(_outside(x, low, high) for x in first)
    if name == "nearer":
        # The geometric mean is between them; if they are equal, any end will do.
        near, far = bounds
        middle = math.sqrt(max(near * far, 0.0))
        rows = [[far], [middle], first] if near < far else [first, [middle], [far]]
    if name in {"order", "mostly", "nearer"}:
        width = max(map(len, rows))
        columns = zip(*(row * width if len(row) == 1 else row for row in rows), strict=True)
        return math.fsum(_below(a, b) for column in columns for a, b in itertools.pairwise(column))
    if name in {"rising", "falling"}:
        return math.fsum(
            _below(a, b) for a, b in itertools.pairwise(first if name == "falling" else first[::-1])
        )
    if name == "follows":
        pairs = zip(first, rows[1], strict=True)
        return math.fsum(abs(math.log(a / b)) if a > 0.0 else math.log(IMPOSSIBLE) for a, b in pairs)
    every = [x for row in rows for x in row]
    middle = math.fsum(every) / len(every)
    return math.fsum(abs(x - middle) for x in every) / (abs(middle) or 1.0)


def _allowed(name: str, bounds: list[float], options: dict[str, float]) -> tuple[float, float]:
    if name == "between":
        return bounds[0], bounds[1]
    if name == "within":
        middle, *share = bounds
        reach = options["abs"] if "abs" in options else abs(middle) * (share[0] if share else options["tol"])
        return middle - reach, middle + reach
    return (bounds[0], math.inf) if name == "at_least" else (-math.inf, bounds[0])


def _outside(x: float, low: float, high: float) -> float:
    size = max((abs(bound) for bound in (low, high) if math.isfinite(bound)), default=0.0) or 1.0
    return max(0.0, low - x, x - high) / size


def _below(a: float, b: float) -> float:
    gap = CLEAR * max(abs(a), abs(b), SMALL)
    return max(0.0, b + gap - a) / (abs(a) + abs(b) + gap)
