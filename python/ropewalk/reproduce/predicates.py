"""Predicates of claims about quantities. Each reports the figures that it compared.

Order claims are judged by the interval of the difference, seed by seed; closeness to a value by means.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ropewalk import statistics
from ropewalk.reproduce.compare import Standing, all_above, compare, told
from ropewalk.reproduce.values import Row, Sample, Value, combine, estimate_of, flat, mean_of
from ropewalk.reproduce.words import number, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ropewalk.reproduce.compare import Step
    from ropewalk.statistics import Estimate


HAIR = 0.005
"""Nearer to a bound than this share of it: the reason says so."""


class WrongUse(ValueError):
    """A predicate with arguments that it does not take."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure that has been looked at."""

    estimate: Estimate
    unit: str
    name: str = ""
    """The level, in a row of several."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The finding of a predicate, or of several combined."""

    holds: bool
    readings: tuple[Reading, ...]
    words: str
    """The measured value, and the allowed ones."""
    found: tuple[str, ...] = ()
    """The facts where there are no figures to show: keys of scenarios, counts."""
    unclear: bool = False
    """It does not hold, but the runs cannot tell whether it should: intervals reach both ways."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A function at the top of an expression."""

    judge: Callable[..., Outcome]
    values: tuple[int, int | None]
    """How many values it takes: at least, at most (None: any number)."""
    options: tuple[str, ...] = ()
    """Numbers that may be given by name."""


def _readings(value: Value) -> tuple[Reading, ...]:
    if isinstance(value, Row):
        pairs = zip(value.items, value.labels, strict=True)
        return tuple(Reading(estimate_of(item), _unit(item), label) for item, label in pairs)
    return (Reading(estimate_of(value), _unit(value)),)


def _unit(value: Sample | float) -> str:
    return value.unit if isinstance(value, Sample) else ""


def _say(value: Value) -> str:
    return "; ".join(shown(reading.estimate, reading.unit, reading.name) for reading in _readings(value))


def _number(value: Value, what: str) -> float:
    if isinstance(value, Sample | Row):
        raise WrongUse(f"{what} must be a number, not a quantity")
    return float(value)


def _fraction(value: float, what: str) -> float:
    if not value >= 0:
        raise WrongUse(f"{what} = {value:g} is negative")
    return value


def between(value: Value, low: Value, high: Value) -> Outcome:
    """`between(x, lo, hi)`: lo <= x <= hi; of a row, each."""
    lower, upper = _number(low, "the lower bound"), _number(high, "the upper bound")
    if lower > upper:
        raise WrongUse(f"the bounds {lower:g} and {upper:g} are the wrong way round")
    readings = _readings(value)
    holds = all(lower <= reading.estimate.mean <= upper for reading in readings)
    across = any(
        math.fabs(reading.estimate.mean - bound) < (reading.estimate.ci95 or 0.0)
        for reading in readings
        for bound in (lower, upper)
    )
    said = ", with a bound inside an interval" if across else ""
    said += _by_a_hair(readings, (lower, upper)) if holds else ""
    return Outcome(
        holds, readings, f"measured {_say(value)}, allowed {number(lower)} to {number(upper)}{said}"
    )


def _by_a_hair(readings: Sequence[Reading], bounds: Sequence[float]) -> str:
    """A margin so small that another choice of the tolerance would refute the claim."""
    near = [
        f"{number(reading.estimate.mean)} for {number(bound)}"
        for reading in readings
        for bound in bounds
        if 0.0 < math.fabs(reading.estimate.mean - bound) < HAIR * math.fabs(bound)
    ]
    return f", by a hair ({', '.join(near)})" if near else ""


def within(
    value: Value,
    target: Value,
    tolerance: Value | None = None,
    *,
    abs: float | None = None,  # noqa: A002
) -> Outcome:
    """`within(x, v, 0.15)`: x = v ± 15 %; `within(x, v, abs=0.05)`: v ± 0.05. Of a row, each."""
    given = [entry for entry in (tolerance, abs) if entry is not None]
    if len(given) != 1:
        raise WrongUse("one tolerance is needed: within(x, 360, 0.15) or within(x, 360, abs=20)")
    middle = _number(target, "what it is compared with")
    width = _fraction(_number(given[0], "the tolerance"), "the tolerance")
    reach = width if abs is not None else width * math.fabs(middle)
    return between(value, middle - reach, middle + reach)


def at_least(value: Value, bound: Value) -> Outcome:
    """`at_least(x, v)`: x >= v; of a row, each."""
    lower = _number(bound, "the bound")
    steps = [compare(item, lower, equal=True, name=label) for item, label in _labelled(value)]
    return _beyond(steps, f"measured {_say(value)}, allowed from {number(lower)}", value, lower)


def at_most(value: Value, bound: Value) -> Outcome:
    """`at_most(x, v)`: x <= v; of a row, each."""
    upper = _number(bound, "the bound")
    steps = [compare(upper, item, equal=True, name=label) for item, label in _labelled(value)]
    return _beyond(steps, f"measured {_say(value)}, allowed up to {number(upper)}", value, upper)


def _beyond(steps: Sequence[Step], words: str, value: Value, bound: float) -> Outcome:
    found = _by_steps(steps, words, [value])
    said = _by_a_hair(found.readings, (bound,)) if found.holds else ""
    return replace(found, words=found.words + said)


def _labelled(value: Value) -> list[tuple[Sample | float, str]]:
    return list(zip(value.items, value.labels, strict=True)) if isinstance(value, Row) else [(value, "")]


def order(*values: Value, ties: float = 0.0) -> Outcome:
    """`order(a, b, c)`: a > b > c; rows level by level. `ties=0.05`: a may be up to 5 % of b below b."""
    _fraction(ties, "ties")
    lengths = {len(value.items) for value in values if isinstance(value, Row)}
    if len(lengths) > 1:
        raise WrongUse("rows of different lengths cannot be ordered level by level")
    labels = next((value.labels for value in values if isinstance(value, Row)), ("",))
    steps = [
        compare(_at(first, place), _at(second, place), ties=ties, name=label)
        for first, second in itertools.pairwise(values)
        for place, label in enumerate(labels)
    ]
    allowed = "each above the next" + (f" or at most {number(ties * 100)} % below it" if ties else "")
    return _by_steps(steps, f"measured {' > '.join(map(_say, values))}, wanted {allowed}", values)


def _at(value: Value, place: int) -> Sample | float:
    return value.items[place] if isinstance(value, Row) else value


def _by_steps(steps: Sequence[Step], words: str, values: Sequence[Value]) -> Outcome:
    holds, unclear = all_above(steps)
    readings = tuple(reading for value in values for reading in _readings(value))
    return Outcome(holds, readings, f"{words}; {told(steps)}", unclear=unclear)


def nearer(value: Value, near: Value, far: Value) -> Outcome:
    """`nearer(x, a, b)`: x is nearer to a than to b, by the quotient; of a row, each.

    That is so on the side of a of the geometric mean of both, which is judged by the interval, seed by seed.
    Where the runs cannot tell a from b they cannot tell it of x.
    """
    steps = []
    for place, (item, label) in enumerate(_labelled(value)):
        one, other = _at(near, place), _at(far, place)
        if not isinstance(one, Sample) and one == other:
            raise WrongUse("nearer(x, a, b) needs two values that differ")
        high, low = (one, other) if mean_of(one) > mean_of(other) else (other, one)
        middle = combine(_geometric, one, other)
        pair = (item, middle) if high is one else (middle, item)
        steps += [
            compare(*pair, name=label),
            compare(high, low, name=f"{label}: both ends".removeprefix(": ")),
        ]
    words = f"measured {_say(value)}, wanted nearer to {_say(near)} than to {_say(far)}"
    return _by_steps(steps, words, [value])


def _geometric(one: float, other: float) -> float:
    if one <= 0.0 or other <= 0.0:
        raise ValueError("quotients need values above 0")
    return math.sqrt(one * other)


def close(*values: Value, tol: float) -> Outcome:
    """`close(a, b, c, tol=0.05)`: each within 5 % of the mean of all; rows count item by item."""
    _fraction(tol, "tol")
    means = [mean_of(item) for item in flat(values)]
    middle = math.fsum(means) / len(means)
    holds = all(math.fabs(mean - middle) <= tol * math.fabs(middle) for mean in means)
    readings = tuple(reading for value in values for reading in _readings(value))
    said = "; ".join(map(_say, values))
    return Outcome(
        holds, readings, f"measured {said}, wanted each within {number(tol * 100)} % of {number(middle)}"
    )


def _items(value: Value, least: int = 2) -> tuple[Sample | float, ...]:
    if not isinstance(value, Row) or len(value.items) < least:
        raise WrongUse(f'a row of at least {least} levels is needed, as in time["sack", :]')
    if value.factors > 1:
        raise WrongUse("a row over several factors has no order: keep one `:`")
    return value.items


def _row(value: Value, least: int = 2) -> list[float]:
    return [mean_of(item) for item in _items(value, least)]


def rising(value: Value, *, ties: float = 0.0) -> Outcome:
    """`rising(x["a", :])`: from level to level more; `ties=0.05`: or up to 5 % less."""
    return _trend(value, ties, up=True)


def falling(value: Value, *, ties: float = 0.0) -> Outcome:
    """`falling(x["a", :])`: from level to level less; `ties=0.05`: or up to 5 % more."""
    return _trend(value, ties, up=False)


def _trend(value: Value, ties: float, *, up: bool) -> Outcome:
    """No mean goes the other way by more than is allowed, and the change over the whole row is beyond doubt.

    To ask that of every step would be to ask the more of a row the finer its levels are.
    """
    _fraction(ties, "ties")
    _items(value)
    named = _labelled(value)

    def step(before: tuple[Sample | float, str], after: tuple[Sample | float, str], ties: float) -> Step:
        first, second = (after[0], before[0]) if up else (before[0], after[0])
        return compare(first, second, ties=ties, name=f"{before[1]} to {after[1]}")

    whole = step(named[0], named[-1], 0.0)
    steps = [step(before, after, ties) for before, after in itertools.pairwise(named)]
    wrong = [each for each in steps if not each.by_means]
    holds = whole.standing is Standing.ABOVE and not wrong
    against = any(each.standing is Standing.NOT_ABOVE for each in (whole, *wrong))
    way = ("rising" if up else "falling") + (
        f", steps of {number(ties * 100)} % the other way allowed" if ties else ""
    )
    words = f"measured {_say(value)}, wanted {way}; {told([whole, *wrong])}"
    return Outcome(holds, _readings(value), words, unclear=not holds and not against)


def flat_row(value: Value, *, tol: float) -> Outcome:
    """`flat(x["a", :], tol=0.1)`: every level within 10 % of the mean of all."""
    _row(value)
    return close(value, tol=tol)


def poolable(value: Value, *, gap: float) -> Outcome:
    """`poolable(x["a", :], gap=1)`: the means are within one pooled standard deviation of replications."""
    if not isinstance(value, Row) or len(value.items) < 2:  # noqa: PLR2004
        raise WrongUse('a row of at least 2 levels is needed, as in time["sack", :]')
    samples = [list(item.values.values()) for item in value.items if isinstance(item, Sample)]
    if len(samples) < len(value.items) or any(len(values) < 2 for values in samples):  # noqa: PLR2004
        raise WrongUse("standard deviations need quantities of two replications or more")
    means = [mean_of(item) for item in value.items]
    _, sd = statistics.pooled(
        [len(values) for values in samples], means, [statistics.sample_sd(values) for values in samples]
    )
    reach = max(means) - min(means)
    words = (
        f"measured {_say(value)}: {number(reach)} apart, wanted up to {number(gap)} "
        f"standard deviations of {number(sd)}"
    )
    return Outcome(reach <= gap * sd, _readings(value), words)


def mostly(first: Value, second: Value, *, share: float = 0.5) -> Outcome:
    """`mostly(a, b, share=0.5)`: of two rows a > b in more than this share of the levels."""
    above, below = _items(first, 1), _items(second, 1)
    if len(above) != len(below):
        raise WrongUse("rows of different lengths cannot be compared level by level")
    standings = [compare(a, b).standing for a, b in zip(above, below, strict=True)]
    count, unclear = standings.count(Standing.ABOVE), standings.count(Standing.UNCLEAR)
    found = f"{count} of {len(above)} levels are above, {unclear} not distinguishable"
    holds = count > share * len(above)
    return Outcome(
        holds,
        (),
        f"{found}, wanted more than {number(share * 100)} %",
        (found,),
        unclear=not holds and count + unclear > share * len(above),
    )


def follows(
    value: Value,
    points: Value,
    deviations: Value | None = None,
    *,
    factor: float,
    curves: float = 1.0,
    ties: float = 0.1,
) -> Outcome:
    """`follows([a[:], b[:]], [1, 2, 3, 4], factor=2, curves=2)`: every point near the published one.

    Points of one curve, and of one abscissa, must have the published order as well where the published ones
    are more than `ties` (0.1: 10 %) apart. With published standard deviations a point may also be within its
    own, and two points have an order only where they are further apart than both together; the words count
    both.
    """
    ours, theirs = _row(value), _row(points)
    spreads = [0.0] * len(theirs) if deviations is None else _row(deviations)
    width, left = divmod(len(ours), max(int(curves), 1))
    if not len(ours) == len(theirs) == len(spreads) or left or factor < 1.0 or min(theirs) <= 0.0:
        said = f"{len(ours)} points, {len(theirs)} published ones, {curves:g} curves, factor {factor:g}"
        raise WrongUse(f"{said} do not go together, or a published point is not above 0")
    away = [max(a / b, b / a) if a > 0.0 else math.inf for a, b in zip(ours, theirs, strict=True)]
    noisy = [abs(a - b) <= sd for a, b, sd in zip(ours, theirs, spreads, strict=True)]
    near = [ratio <= factor for ratio in away]
    alike = [one or other for one, other in zip(near, noisy, strict=True)]
    ordered = [
        (low, high)
        for low, high in itertools.permutations(range(len(theirs)), 2)
        if (low // width == high // width or low % width == high % width)
        and theirs[high] > theirs[low] * (1.0 + _fraction(ties, "ties"))
    ]
    pairs = [
        (low, high)
        for low, high in ordered
        if theirs[high] - theirs[low] > math.hypot(spreads[low], spreads[high])
    ]
    kept = sum(ours[high] * (1.0 + ties) >= ours[low] for low, high in pairs)
    far = [place for place in range(len(ours)) if not alike[place]] or range(len(ours))
    place = max(far, key=away.__getitem__)
    words = [f"{sum(near)} of {len(theirs)} points within a factor {number(factor)}"]
    if deviations is not None:
        words.append(f"{sum(alike) - sum(near)} more within the published deviation")
    words.append(
        f"the worst {number(ours[place])} for {number(theirs[place])} (point {place % width + 1} of curve "
        f"{place // width + 1}); {kept} of {len(pairs)} pairs in the published order"
    )
    if len(pairs) < len(ordered):
        words[-1] += f", {len(ordered) - len(pairs)} pairs left out that differ by less than their deviations"
    found = (f"{sum(alike)} of {len(theirs)} points", f"{kept} of {len(pairs)} pairs")
    return Outcome(all(alike) and kept == len(pairs), (), ", ".join(words), found)


PREDICATES = {
    "within": Predicate(within, (2, 3), ("abs",)),
    "between": Predicate(between, (3, 3)),
    "at_least": Predicate(at_least, (2, 2)),
    "at_most": Predicate(at_most, (2, 2)),
    "order": Predicate(order, (2, None), ("ties",)),
    "nearer": Predicate(nearer, (3, 3)),
    "close": Predicate(close, (1, None), ("tol",)),
    "rising": Predicate(rising, (1, 1), ("ties",)),
    "falling": Predicate(falling, (1, 1), ("ties",)),
    "flat": Predicate(flat_row, (1, 1), ("tol",)),
    "mostly": Predicate(mostly, (2, 2), ("share",)),
    "follows": Predicate(follows, (2, 3), ("factor", "curves", "ties")),
    "poolable": Predicate(poolable, (1, 1), ("gap",)),
}
"""By the name that expressions use."""

COMPULSORY = {
    "close": ("tol",),
    "flat": ("tol",),
    "poolable": ("gap",),
    "follows": ("factor",),
}


def both(outcomes: Sequence[Outcome]) -> Outcome:
    """All must hold."""
    holds = all(outcome.holds for outcome in outcomes)
    possible = all(outcome.holds or outcome.unclear for outcome in outcomes)
    return _joined(outcomes, holds=holds, unclear=possible and not holds)


def either(outcomes: Sequence[Outcome]) -> Outcome:
    """One must hold."""
    holds = any(outcome.holds for outcome in outcomes)
    possible = any(outcome.holds or outcome.unclear for outcome in outcomes)
    return _joined(outcomes, holds=holds, unclear=possible and not holds)


def neither(outcome: Outcome) -> Outcome:
    """It must not hold; an unclear result stays unclear."""
    return replace(outcome, holds=not outcome.holds and not outcome.unclear, words=f"not ({outcome.words})")


def _joined(outcomes: Sequence[Outcome], *, holds: bool, unclear: bool) -> Outcome:
    """The figures are those of the first: it says what the claim is about, the others add conditions."""
    # Failures come first; a repeated sentence is printed once.
    ranked = (
        list(outcomes) if holds else sorted(outcomes, key=lambda outcome: (outcome.holds, outcome.unclear))
    )
    words = dict.fromkeys(outcome.words for outcome in ranked)
    found = dict.fromkeys(text for outcome in outcomes for text in outcome.found)
    return Outcome(holds, outcomes[0].readings, "; ".join(words), tuple(found), unclear)
