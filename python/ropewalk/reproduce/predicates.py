"""What a claim can say about quantities. Predicates judge means over replications and say what they saw."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import statistics
from ropewalk.reproduce.values import Row, Sample, Value, estimate_of, flat, mean_of
from ropewalk.reproduce.words import number, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ropewalk.statistics import Estimate


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
    """What a predicate, or several combined, found."""

    holds: bool
    readings: tuple[Reading, ...]
    words: str
    """What was measured, and what is allowed."""
    found: tuple[str, ...] = ()
    """What was looked at where there are no figures to show: keys of scenarios, counts."""


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
    holds = all(lower <= mean_of(item) <= upper for item in flat([value]))
    return Outcome(
        holds, _readings(value), f"measured {_say(value)}, allowed {number(lower)} to {number(upper)}"
    )


def within(
    value: Value,
    target: Value,
    tolerance: Value | None = None,
    *,
    tol: float | None = None,
    abs: float | None = None,  # noqa: A002
) -> Outcome:
    """`within(x, v, 0.15)`: x = v ± 15 %; `within(x, v, abs=0.05)`: v ± 0.05. Of a row, each."""
    given = [entry for entry in (tolerance, tol, abs) if entry is not None]
    if len(given) != 1:
        raise WrongUse("one tolerance is needed: within(x, 360, 0.15) or within(x, 360, abs=20)")
    middle = _number(target, "what it is compared with")
    width = _fraction(_number(given[0], "the tolerance"), "the tolerance")
    reach = width if abs is not None else width * math.fabs(middle)
    return between(value, middle - reach, middle + reach)


def at_least(value: Value, bound: Value) -> Outcome:
    """`at_least(x, v)`: x >= v; of a row, each."""
    lower = _number(bound, "the bound")
    holds = all(mean_of(item) >= lower for item in flat([value]))
    return Outcome(holds, _readings(value), f"measured {_say(value)}, allowed from {number(lower)}")


def at_most(value: Value, bound: Value) -> Outcome:
    """`at_most(x, v)`: x <= v; of a row, each."""
    upper = _number(bound, "the bound")
    holds = all(mean_of(item) <= upper for item in flat([value]))
    return Outcome(holds, _readings(value), f"measured {_say(value)}, allowed up to {number(upper)}")


def order(*values: Value, ties: float = 0.0) -> Outcome:
    """`order(a, b, c)`: a > b > c; rows level by level. `ties=0.05`: a may be up to 5 % of b below b."""
    _fraction(ties, "ties")
    lengths = {len(value.items) for value in values if isinstance(value, Row)}
    if len(lengths) > 1:
        raise WrongUse("rows of different lengths cannot be ordered level by level")
    places = range(lengths.pop() if lengths else 1)
    rows = [
        [mean_of(value.items[place] if isinstance(value, Row) else value) for value in values]
        for place in places
    ]
    holds = all(_descends(row, ties) for row in rows)
    allowed = "each above the next" + (f" or at most {number(ties * 100)} % below it" if ties else "")
    readings = tuple(reading for value in values for reading in _readings(value))
    return Outcome(holds, readings, f"measured {' > '.join(map(_say, values))}, wanted {allowed}")


def _descends(means: Sequence[float], ties: float) -> bool:
    pairs = itertools.pairwise(means)
    return all(
        first > second - ties * math.fabs(second) if ties else first > second for first, second in pairs
    )


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


def _row(value: Value, least: int = 2) -> list[float]:
    if not isinstance(value, Row) or len(value.items) < least:
        raise WrongUse(f'a row of at least {least} levels is needed, as in time["sack", :]')
    if value.factors > 1:
        raise WrongUse("a row over several factors has no order: keep one `:`")
    return [mean_of(item) for item in value.items]


def rising(value: Value, *, ties: float = 0.0) -> Outcome:
    """`rising(x["a", :])`: from level to level more; `ties=0.05`: or up to 5 % less."""
    means = _row(value)
    holds = _descends(means[::-1], _fraction(ties, "ties"))
    return Outcome(holds, _readings(value), f"measured {_say(value)}, wanted rising{_but(ties)}")


def falling(value: Value, *, ties: float = 0.0) -> Outcome:
    """`falling(x["a", :])`: from level to level less; `ties=0.05`: or up to 5 % more."""
    means = _row(value)
    holds = _descends(means, _fraction(ties, "ties"))
    return Outcome(holds, _readings(value), f"measured {_say(value)}, wanted falling{_but(ties)}")


def _but(ties: float) -> str:
    return f", steps of {number(ties * 100)} % the other way allowed" if ties else ""


def flat_row(value: Value, *, tol: float) -> Outcome:
    """`flat(x["a", :], tol=0.1)`: every level within 10 % of the mean of all."""
    _row(value)
    return close(value, tol=tol)


def linear(abscissae: Value, value: Value, *, tol: float) -> Outcome:
    """`linear([1, 5, 10], x[:], tol=0.1)`: each at most 10 % of the largest off the least-squares line."""
    _fraction(tol, "tol")
    xs, ys = _row(abscissae, 3), _row(value, 3)
    if len(xs) != len(ys):
        raise WrongUse(f"{len(xs)} abscissae for {len(ys)} levels")
    x0, y0 = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - x0) ** 2 for x in xs)
    if spread == 0.0:
        raise WrongUse("the abscissae are all the same")
    slope = math.fsum((x - x0) * (y - y0) for x, y in zip(xs, ys, strict=True)) / spread
    away = max(math.fabs(y - y0 - slope * (x - x0)) for x, y in zip(xs, ys, strict=True))
    holds = away <= tol * max(map(math.fabs, ys))
    words = f"measured {_say(value)}, at most {number(away)} from a straight line of slope {number(slope)}"
    return Outcome(holds, _readings(value), f"{words}, allowed {number(tol * 100)} % of the largest")


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
    above, below = _row(first, 1), _row(second, 1)
    if len(above) != len(below):
        raise WrongUse("rows of different lengths cannot be compared level by level")
    count = sum(a > b for a, b in zip(above, below, strict=True))
    found = f"{count} of {len(above)} levels are above"
    words = f"{found}, wanted more than {number(share * 100)} %"
    return Outcome(count > share * len(above), (), words, (found,))


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
    "within": Predicate(within, (2, 3), ("tol", "abs")),
    "between": Predicate(between, (3, 3)),
    "at_least": Predicate(at_least, (2, 2)),
    "at_most": Predicate(at_most, (2, 2)),
    "order": Predicate(order, (2, None), ("ties",)),
    "close": Predicate(close, (1, None), ("tol",)),
    "rising": Predicate(rising, (1, 1), ("ties",)),
    "falling": Predicate(falling, (1, 1), ("ties",)),
    "flat": Predicate(flat_row, (1, 1), ("tol",)),
    "mostly": Predicate(mostly, (2, 2), ("share",)),
    "follows": Predicate(follows, (2, 3), ("factor", "curves", "ties")),
    "linear": Predicate(linear, (2, 2), ("tol",)),
    "poolable": Predicate(poolable, (1, 1), ("gap",)),
}
"""By the name that expressions use."""

COMPULSORY = {
    "close": ("tol",),
    "flat": ("tol",),
    "linear": ("tol",),
    "poolable": ("gap",),
    "follows": ("factor",),
}


def both(outcomes: Sequence[Outcome]) -> Outcome:
    """All must hold."""
    return _joined(outcomes, holds=all(outcome.holds for outcome in outcomes))


def either(outcomes: Sequence[Outcome]) -> Outcome:
    """One must hold."""
    return _joined(outcomes, holds=any(outcome.holds for outcome in outcomes))


def neither(outcome: Outcome) -> Outcome:
    """It must not hold."""
    return Outcome(not outcome.holds, outcome.readings, f"not ({outcome.words})", outcome.found)


def _joined(outcomes: Sequence[Outcome], *, holds: bool) -> Outcome:
    """The figures are those of the first: it says what the claim is about, the others add conditions."""
    # What has failed comes first; what repeats another is said once.
    ranked = list(outcomes) if holds else sorted(outcomes, key=lambda outcome: outcome.holds)
    words = dict.fromkeys(outcome.words for outcome in ranked)
    found = dict.fromkeys(text for outcome in outcomes for text in outcome.found)
    return Outcome(holds, outcomes[0].readings, "; ".join(words), tuple(found))
