"""Whether one quantity is above another: by the interval of their difference, not by means alone."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.reproduce.values import Sample, combine, estimate_of, mean_of
from ropewalk.reproduce.words import number, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.statistics import Estimate


MOST_TOLD = 3
"""Steps named in a reason."""


class Standing(enum.Enum):
    """How the first quantity stands to the second."""

    ABOVE = "as wanted"
    UNCLEAR = "not distinguishable"
    """The interval of the difference has both signs in it: the runs cannot tell."""
    NOT_ABOVE = "the other way"


@dataclass(frozen=True, slots=True)
class Step:
    """Two quantities compared."""

    difference: Estimate
    """First minus second, seed by seed, with what is allowed added."""
    allowed: float
    """By how much the first may be below the second, as a share of it."""
    unit: str
    name: str
    """The level, in a row of several."""
    equal: bool
    """Whether equal ones count as above."""

    @property
    def standing(self) -> Standing:
        """Without an interval, as of a single run where nothing is random, figures compare exactly."""
        mean, width = self.difference.mean, self.difference.ci95 or 0.0
        if mean - width > 0.0 or (self.equal and mean == width == 0.0):
            return Standing.ABOVE
        return Standing.UNCLEAR if mean + width > 0.0 else Standing.NOT_ABOVE

    @property
    def by_means(self) -> bool:
        """Whether the mean alone is above."""
        return self.difference.mean > 0.0 or (self.equal and self.difference.mean == 0.0)

    @property
    def clarity(self) -> float:
        """How many half widths the difference is above 0."""
        mean, width = self.difference.mean, self.difference.ci95
        return mean / width if width else math.copysign(math.inf, mean) if mean else 0.0

    def __str__(self) -> str:
        """The difference with its interval, and what that means."""
        allowed = f" with {number(self.allowed * 100)} % allowed" if self.allowed else ""
        return f"{shown(self.difference, self.unit, self.name)}{allowed}, {self.standing.value}"


def compare(
    first: Sample | float, second: Sample | float, *, ties: float = 0.0, equal: bool = False, name: str = ""
) -> Step:
    """Is `first` above `second`, or at most `ties` of it below?

    Raises:
        NoValue: they have no seed in common.
    """
    # One run stands for all where nothing is random; it would leave a single pair otherwise.
    pair = [_plain(value) for value in (first, second)]
    slack = ties * math.fabs(mean_of(second))
    difference = combine(lambda a, b: a - b + slack, *pair)
    units = dict.fromkeys(value.unit for value in (first, second) if isinstance(value, Sample))
    return Step(estimate_of(difference), ties, next(iter(units), ""), name, equal or ties > 0.0)


def _plain(value: Sample | float) -> Sample | float:
    return value.mean if isinstance(value, Sample) and len(value.values) == 1 else value


def all_above(steps: Sequence[Step]) -> tuple[bool, bool]:
    """Whether every step is above, and whether that is only unclear."""
    standings = [step.standing for step in steps]
    holds = all(standing is Standing.ABOVE for standing in standings)
    return holds, not holds and Standing.NOT_ABOVE not in standings


def told(steps: Sequence[Step]) -> str:
    """The step that decides, or those that fail; the least clear first."""
    ranked = sorted(steps, key=lambda step: step.clarity)
    failing = [step for step in ranked if step.standing is not Standing.ABOVE]
    said = "; ".join(map(str, failing[:MOST_TOLD] or ranked[:1]))
    more = f" and {len(failing) - MOST_TOLD} more" if len(failing) > MOST_TOLD else ""
    least = "least difference" if len(steps) > 1 and not failing else "difference"
    return f"{least} {said}{more}"
