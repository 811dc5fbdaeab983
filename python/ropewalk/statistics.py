"""Statistics over replications."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class EstimateDict(TypedDict):
    """An `Estimate` in JSON."""

    mean: float
    ci95: float | None
    min: float
    max: float
    n: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over replications with its 95 % Student confidence interval."""

    mean: float
    ci95: float | None
    """Half width of the interval; None with fewer than two replications."""
    min: float
    max: float
    n: int
    """Number of replications."""

    def to_dict(self) -> EstimateDict:
        """For JSON."""
        return EstimateDict(mean=self.mean, ci95=self.ci95, min=self.min, max=self.max, n=self.n)


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """Mean, interval and range of `values`; those that are None do not count. None if nothing is left."""
    present = [float(value) for value in values if value is not None]
    if not present:
        return None
    mean = math.fsum(present) / len(present)
    half_width = student_half_width(sample_sd(present), len(present)) if len(present) > 1 else None
    return Estimate(mean, half_width, min(present), max(present), len(present))


def sample_sd(values: Sequence[float]) -> float:
    """Standard deviation with n - 1 in the denominator.

    Raises:
        ValueError: fewer than two values.
    """
    n = len(values)
    if n < 2:  # noqa: PLR2004
        raise ValueError(f"a standard deviation needs at least two values, got {n}")
    mean = math.fsum(values) / n
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))


def student_half_width(sd: float, n: int, confidence: float = 0.95) -> float:
    """Half width of the confidence interval of a mean of `n` values with sample standard deviation `sd`."""
    # Not scipy.stats: importing it takes most of a second.
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + confidence) / 2)) * sd / math.sqrt(n)


def pooled(counts: Sequence[int], means: Sequence[float], sds: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of several samples taken as one with a common variance.

    The weights of the variances are the degrees of freedom n - 1, those of the means are n.

    Raises:
        ValueError: the lists differ in length, or no sample has two values.
    """
    if not len(counts) == len(means) == len(sds):
        raise ValueError("counts, means and standard deviations differ in number")
    freedom = sum(n - 1 for n in counts)
    if freedom < 1:
        raise ValueError("at least one sample with two values is needed")
    mean = math.fsum(n * m for n, m in zip(counts, means, strict=True)) / sum(counts)
    variance = math.fsum((n - 1) * s**2 for n, s in zip(counts, sds, strict=True)) / freedom
    return mean, math.sqrt(variance)


def largest_z_score(n: int) -> float:
    """No value among `n` can lie more than this many sample standard deviations from the mean.

    A rule "drop z > 3" therefore never drops anything among 10 values (bound 2.846).
    """
    return (n - 1) / math.sqrt(n)


@dataclass(frozen=True, slots=True)
class WithoutOutliers:
    """What the z-score rule leaves."""

    kept: list[float]
    dropped: list[float]
    bound: float
    """Largest z-score that was possible: below the threshold the rule could not drop anything."""


def without_outliers(values: Sequence[float], threshold: float = 3.0) -> WithoutOutliers:
    """Drops, once, the values more than `threshold` sample standard deviations from the mean."""
    bound = largest_z_score(len(values)) if values else 0.0
    sd = sample_sd(values) if len(values) > 1 else 0.0
    if sd == 0.0:
        return WithoutOutliers(list(values), [], bound)
    mean = math.fsum(values) / len(values)
    dropped = [value for value in values if abs(value - mean) / sd > threshold]
    kept = [value for value in values if abs(value - mean) / sd <= threshold]
    return WithoutOutliers(kept, dropped, bound)
