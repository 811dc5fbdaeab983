"""Statistics over replications."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from ropewalk import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TESTS = ("t", "wilcoxon")
CORRECTIONS = ("holm", "none")

EXACT = 1e-15
"""Where a continued fraction ends."""
LONG_SUM = 1000
"""Degrees of freedom above which scipy is quicker."""


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
    """Arithmetic mean."""
    ci95: float | None
    """Half width of the interval; None with fewer than two replications."""
    min: float
    """Smallest value."""
    max: float
    """Largest value."""
    n: int
    """Number of replications."""

    def to_dict(self) -> EstimateDict:
        """For JSON."""
        return EstimateDict(mean=self.mean, ci95=self.ci95, min=self.min, max=self.max, n=self.n)


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """Mean, interval and range of `values`; those that are None do not count. None if nothing is left."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        values = [value for value in values if value is not None]
    present = arguments.numbers("values", values)
    if not present:
        return None
    mean = math.fsum(present) / len(present)
    half_width = student_half_width(sample_sd(present), len(present)) if len(present) > 1 else None
    return Estimate(mean, half_width, min(present), max(present), len(present))


def ratio_of_means(pairs: Sequence[tuple[float, float]]) -> Estimate | None:
    """Ratio of the mean of the second values to that of the first, where the ratios of pairs differ widely.

    The interval is that of the linearised ratio (Cochran 1977, section 6.4); `min` and `max` are those of
    the pairs. None without pairs, or if the first values add up to nothing.

    Args:
        pairs: two positive numbers for each replication.
    """
    below = math.fsum(before for before, _ in pairs)
    if below <= 0.0:
        return None
    ratio = math.fsum(after for _, after in pairs) / below
    rests = [after - ratio * before for before, after in pairs]
    half = student_half_width(sample_sd(rests), len(rests)) * len(rests) / below if len(rests) > 1 else None
    single = [after / before for before, after in pairs if before > 0.0]
    return Estimate(ratio, half, min(single), max(single), len(pairs))


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
    return student_quantile(n - 1, confidence) * sd / math.sqrt(n)


@functools.cache
def student_quantile(freedom: int, confidence: float = 0.95) -> float:
    """The value that |t| of Student does not exceed with probability `confidence`."""
    if freedom > LONG_SUM:
        from scipy.special import stdtrit

        return float(stdtrit(freedom, (1 + confidence) / 2))
    # Importing scipy takes as long as a hundred small runs; a sum is enough where all that is wanted is this.
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """Probability of abs(t) < sqrt(freedom) tan(angle): 26.7.3 and 26.7.4 of Abramowitz and Stegun (1964)."""
    cosine = math.cos(angle)
    term = cosine if freedom % 2 else 1.0
    total = 0.0
    for k in range(freedom % 2 + 2, freedom + 1, 2):
        total += term
        term *= cosine**2 * (k - 1) / k
    if freedom % 2 == 0:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + math.sin(angle) * total)


def student_outside(t: float, freedom: int) -> float:
    """Probability that Student's t is further from 0 than `t`: the p value of a two-sided test."""
    # The regularised incomplete beta function, without scipy for the reason given above.
    a, x, rest = freedom / 2, freedom / (freedom + t * t), t * t / (freedom + t * t)
    return _beta(a, 0.5, x) if x < (a + 1) / (a + 2.5) else 1.0 - _beta(0.5, a, rest)


def _beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its continued fraction (DLMF 8.17.22), which is for x < (a + 1) / (a + b + 2)."""
    if x == 0.0:
        return 0.0
    fraction = up = 1.0
    down, step, n = 0.0, 0.0, 0
    while abs(step - 1.0) > EXACT:
        n += 1
        m, odd = divmod(n, 2)
        term = -(a + m) * (a + b + m) if odd else m * (b - m)
        term *= x / ((a + n - 1.0) * (a + n))
        down = 1.0 / (1.0 + term * down)
        up = 1.0 + term / up
        step = up * down
        fraction *= step
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(scale) / (a * fraction)


def pooled(counts: Sequence[int], means: Sequence[float], sds: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of several samples taken as one with a common variance.

    The weights of the variances are the degrees of freedom n - 1, those of the means are n.

    Raises:
        ValueError: the lists differ in length, or no sample has two values.
    """
    sizes = [arguments.whole("each of counts", n, 1) for n in arguments.listed("counts", counts)]
    counts, means, sds = sizes, arguments.numbers("means", means), arguments.numbers("sds", sds)
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
    """The values that the z-score rule keeps."""

    kept: list[float]
    """In the order of the values."""
    dropped: list[float]
    """In the same order."""
    bound: float
    """Largest z-score that was possible: below the threshold the rule could not drop anything."""


def without_outliers(values: Sequence[float], threshold: float = 3.0) -> WithoutOutliers:
    """Drops, once, the values more than `threshold` sample standard deviations from the mean."""
    values = arguments.numbers("values", values)
    arguments.number("threshold", threshold, 0.0)
    bound = largest_z_score(len(values)) if values else 0.0
    sd = sample_sd(values) if len(values) > 1 else 0.0
    if sd == 0.0:
        return WithoutOutliers(list(values), [], bound)
    mean = math.fsum(values) / len(values)
    dropped = [value for value in values if abs(value - mean) / sd > threshold]
    kept = [value for value in values if abs(value - mean) / sd <= threshold]
    return WithoutOutliers(kept, dropped, bound)


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all are equal, 1/n if one has everything (Jain, Chiu, Hawe 1984).

    Raises:
        ValueError: no values, or all are zero.
    """
    values = arguments.numbers("values", values)
    squares = math.fsum(value**2 for value in values)
    if squares == 0.0:
        raise ValueError("the fairness of nothing is not defined")
    return math.fsum(values) ** 2 / (len(values) * squares)


@dataclass(frozen=True, slots=True)
class Description:
    """A sample in figures. Quantiles are interpolated linearly (type 7 of Hyndman and Fan 1996)."""

    n: int
    """Number of values."""
    mean: float
    """Arithmetic mean."""
    sd: float | None
    """Standard deviation with n - 1 in the denominator; None with one value."""
    ci95: float | None
    """Half width of the 95 % interval of the mean; None with one value."""
    min: float
    """Smallest value."""
    p5: float
    """5 % of the values do not exceed it."""
    p25: float
    """Lower quartile."""
    median: float
    """Half of the values do not exceed it."""
    p75: float
    """Upper quartile."""
    p95: float
    """95 % of the values do not exceed it."""
    max: float
    """Largest value."""


def describe(values: Sequence[float]) -> Description | None:
    """All figures of a sample; None if it is empty."""
    values = arguments.numbers("values", values)
    found = estimate(values)
    if found is None:
        return None
    sd = sample_sd(values) if len(values) > 1 else None
    ordered = sorted(values)
    p5, p25, median, p75, p95 = (_quantile(ordered, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95))
    return Description(found.n, found.mean, sd, found.ci95, found.min, p5, p25, median, p75, p95, found.max)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between order statistics: type 7 of Hyndman and Fan (1996), as numpy has it.

    Args:
        ordered: values in ascending order, at least one.
        share: from 0 to 1.
    """
    return _quantile(arguments.rising("ordered", ordered), arguments.number("share", share, 0.0, 1.0))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (place - below))


@dataclass(frozen=True, slots=True)
class Box:
    """A box plot after Tukey: whiskers end at the last value within 1.5 interquartile ranges of the box."""

    low: float
    """End of the lower whisker."""
    p25: float
    """Lower end of the box."""
    median: float
    """Line in the box."""
    p75: float
    """Upper end of the box."""
    high: float
    """End of the upper whisker."""
    fliers: list[float]
    """Values beyond the whiskers, in order."""


def box(values: Sequence[float]) -> Box | None:
    """The numbers of a box plot; None of an empty sample."""
    values = arguments.numbers("values", values)
    found = describe(values)
    if found is None:
        return None
    reach = 1.5 * (found.p75 - found.p25)
    inside = [value for value in values if found.p25 - reach <= value <= found.p75 + reach]
    fliers = sorted(value for value in values if not found.p25 - reach <= value <= found.p75 + reach)
    return Box(min(inside), found.p25, found.median, found.p75, max(inside), fliers)


@dataclass(frozen=True, slots=True)
class Paired:
    """Differences of two samples under the same seeds."""

    n: int
    """Pairs."""
    mean: float
    """Mean of first minus second."""
    ci95: float | None
    """Half width of its interval; None with one pair."""
    p: float | None
    """The p value of a two-sided test that it is zero; None with one pair."""


def paired(first: Mapping[int, float], second: Mapping[int, float], test: str = "t") -> Paired | None:
    """Compares two samples seed by seed; seeds that one of them lacks do not count. None without any pair.

    Args:
        first: seed to value.
        second: seed to value.
        test: `t` of Student, or `wilcoxon` (signed ranks).
    """
    arguments.choice("test", test, TESTS)
    first, second = arguments.samples("first", first), arguments.samples("second", second)
    differences = [first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())]
    found = estimate(differences)
    if found is None:
        return None
    if found.n == 1:
        return Paired(1, found.mean, None, None)
    sd = sample_sd(differences)
    if not any(differences):
        p = 1.0
    elif test == "wilcoxon":
        from scipy.stats import wilcoxon

        p = float(wilcoxon(differences).pvalue)
    elif sd == 0.0:
        p = 0.0
    else:
        p = student_outside(found.mean / (sd / math.sqrt(found.n)), found.n - 1)
    return Paired(found.n, found.mean, found.ci95, p)


def holm(ps: Sequence[float]) -> list[float]:
    """Significances of a family of tests after Holm's step-down correction (Holm 1979), in their order."""
    ps = [arguments.number("each of ps", p, 0.0, 1.0) for p in arguments.numbers("ps", ps)]
    order = sorted(range(len(ps)), key=lambda index: ps[index])
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, ps[index] * (len(ps) - rank)))
        adjusted[index] = largest
    return adjusted


def alike(
    samples: Sequence[Mapping[int, float]], alpha: float = 0.05, test: str = "t", correction: str = "holm"
) -> list[list[int]]:
    """Groups of samples that do not differ: paired tests of all pairs, corrected for their number.

    A sample may be in several groups; two samples share one exactly if their difference is not significant.
    The groups are found by insertion and absorption (Piepho 2004), best mean first.

    Returns:
        indices into `samples`; groups in the order of their largest mean.
    """
    arguments.number("alpha", alpha, 0.0, 1.0)
    arguments.choice("test", test, TESTS)
    arguments.choice("correction", correction, CORRECTIONS)
    samples = [arguments.samples("each of samples", one) for one in arguments.listed("samples", samples)]
    means = [math.fsum(sample.values()) / len(sample) if sample else -math.inf for sample in samples]
    order = sorted(range(len(samples)), key=lambda index: -means[index])
    pairs = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :]]
    found = [paired(samples[a], samples[b], test) for a, b in pairs]
    raw = [1.0 if pair is None or pair.p is None else pair.p for pair in found]
    ps = holm(raw) if correction == "holm" else raw
    groups: list[frozenset[int]] = [frozenset(order)]
    for (a, b), p in zip(pairs, ps, strict=True):
        if p >= alpha:
            continue
        split = [part for group in groups for part in _without_both(group, a, b)]
        groups = [group for group in dict.fromkeys(split) if not any(group < other for other in split)]
    rank = {index: place for place, index in enumerate(order)}
    listed = [sorted(group, key=rank.__getitem__) for group in groups]
    return sorted(listed, key=lambda group: [rank[index] for index in group])


def _without_both(group: frozenset[int], a: int, b: int) -> list[frozenset[int]]:
    return [group - {a}, group - {b}] if a in group and b in group else [group]


def largest_gap(means: Sequence[float], sd: float) -> float:
    """How many standard deviations the two means lie apart that are furthest from each other.

    Pooling is meant for groups that are no more than three apart.
    """
    spread = max(means) - min(means)
    return spread / sd if sd > 0.0 else (math.inf if spread > 0.0 else 0.0)
