"""Values of expressions: numbers, samples (one value per seed), and rows of samples (one per level)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ropewalk import statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ropewalk.statistics import Estimate


FEWEST = 3
"""Replications of which one may be left out and a standard deviation remains."""


class NoValue(ValueError):
    """There is nothing to compute with: no run has the quantity, or two have no seed in common."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A quantity over replications."""

    values: Mapping[int, float]
    """Seed to value."""
    unit: str = ""

    @property
    def estimate(self) -> Estimate:
        """Mean and 95 % interval.

        Raises:
            NoValue: of no values.
        """
        found = statistics.estimate(self.values.values())
        if found is None:
            raise NoValue("no run has a value")
        return found

    @property
    def mean(self) -> float:
        """Mean over replications."""
        if not self.values:
            raise NoValue("no run has a value")
        return math.fsum(self.values.values()) / len(self.values)


@dataclass(frozen=True, slots=True)
class Row:
    """Samples or numbers side by side: a quantity over the levels of a factor, or a list."""

    items: tuple[Sample | float, ...]
    labels: tuple[str, ...]
    factors: int = 1
    """Over the levels of how many factors; the last one changes fastest."""


Value: TypeAlias = "float | Sample | Row"


def combine(function: Callable[..., float], *operands: Sample | float, unit: str = "") -> Sample | float:
    """`function` of the operands, seed by seed; seeds that one of the samples lacks are left out.

    Raises:
        NoValue: no seed is left, or the function is not defined for the values.
    """
    samples = [operand for operand in operands if isinstance(operand, Sample)]
    if not samples:
        return _call(function, [float(operand) for operand in operands if not isinstance(operand, Sample)])
    seeds = sorted(set.intersection(*(set(sample.values) for sample in samples)))
    if not seeds:
        raise NoValue("the runs have no seed in common, or none of them has a value")
    return Sample(
        {
            seed: _call(function, [o.values[seed] if isinstance(o, Sample) else float(o) for o in operands])
            for seed in seeds
        },
        unit,
    )


def _call(function: Callable[..., float], operands: Sequence[float]) -> float:
    try:
        value = function(*operands)
    except (ArithmeticError, ValueError) as error:
        shown = ", ".join(f"{operand:g}" for operand in operands)
        raise NoValue(f"not defined for {shown}: {error}") from None
    if isinstance(value, complex) or not math.isfinite(value):
        raise NoValue(
            f"the result for {', '.join(f'{operand:g}' for operand in operands)} is no finite number"
        )
    return float(value)


def spread(function: Callable[..., float], *operands: Value, unit: str = "") -> Value:
    """The same over rows, item by item; a row and a single value combine with each item.

    Raises:
        NoValue: as `combine`, or rows of different lengths.
    """
    rows = [operand for operand in operands if isinstance(operand, Row)]
    if not rows:
        return combine(function, *(o for o in operands if not isinstance(o, Row)), unit=unit)
    if len({len(row.items) for row in rows}) > 1:
        raise NoValue("rows of different lengths: " + " and ".join(str(len(row.items)) for row in rows))
    items = tuple(
        combine(function, *(o.items[place] if isinstance(o, Row) else o for o in operands), unit=unit)
        for place in range(len(rows[0].items))
    )
    return Row(items, rows[0].labels, max(row.factors for row in rows))


def deviation(value: Sample | float) -> Sample:
    """The standard deviation over replications, with an interval: its pseudo-values of the jackknife.

    Their mean is the standard deviation without its bias, their interval that of the jackknife (Miller 1974,
    "The jackknife: a review", Biometrika 61). Pairs of seeds stay pairs. Two samples of equal deviation
    differ significantly in 6 % of experiments with 10 or 30 normal values, in 6 to 7 % with lognormal ones.

    Raises:
        NoValue: of a number, or of fewer than three replications.
    """
    if not isinstance(value, Sample) or len(value.values) < FEWEST:
        raise NoValue(f"`spread` needs a quantity of {FEWEST} replications or more")
    count = len(value.values)
    whole = statistics.sample_sd(list(value.values.values()))
    without = {
        seed: statistics.sample_sd([other for key, other in value.values.items() if key != seed])
        for seed in value.values
    }
    return Sample({seed: count * whole - (count - 1) * sd for seed, sd in without.items()}, value.unit)


def flat(values: Sequence[Value]) -> list[Sample | float]:
    """All items, those of rows one by one."""
    return [item for value in values for item in (value.items if isinstance(value, Row) else (value,))]


def mean_of(value: Sample | float) -> float:
    """The mean over replications; a number is its own."""
    return value.mean if isinstance(value, Sample) else float(value)


def estimate_of(value: Sample | float) -> Estimate:
    """Mean and interval; a number has none."""
    if isinstance(value, Sample):
        return value.estimate
    return statistics.Estimate(float(value), None, float(value), float(value), 1)
