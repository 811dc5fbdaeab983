"""The content of a study file, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ropewalk.statistics import CORRECTIONS, TESTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from ropewalk import _core
    from ropewalk.study.metrics import Metric


@dataclass(frozen=True, slots=True)
class Level:
    """One setting of a factor."""

    label: str
    overrides: tuple[tuple[str, str], ...]
    """Keys and values, as after `--set`."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that is varied."""

    name: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Stopping:
    """How many replications a case gets."""

    minimum: int
    maximum: int
    metric: Metric | None = None
    """None: `maximum` replications, whatever comes out."""
    half_width: float = 0.0
    """Wanted half width of the 95 % interval of `metric`, as a fraction of its mean."""
    step: int = 1
    """Replications between two looks at the interval."""

    @classmethod
    def fixed(cls, replications: int) -> Stopping:
        """The same number of replications for each case."""
        return cls(replications, replications)

    def after(self, replications: int) -> int:
        """How many there will be at the next look."""
        return min(replications + self.step, self.maximum)


OUTLIERS = ("keep", "z-score")


@dataclass(frozen=True, slots=True)
class Treatment:
    """Options of the statistics."""

    outliers: str = "keep"
    """`keep`, or `z-score`: values with |z| > `z` are dropped once, case by case."""
    z: float = 3.0
    test: str = "t"
    """Paired test: `t` or `wilcoxon`."""
    correction: str = "holm"
    """For many comparisons with a baseline: `holm` or `none`."""
    alpha: float = 0.05
    pool: tuple[str, ...] = ()
    """Factors over which cases are pooled in a table of their own."""

    def mistakes(self, factors: Collection[str]) -> Iterator[str]:
        """Mistakes that the kinds of the values do not rule out."""
        for name, found, allowed in (
            ("outliers", self.outliers, OUTLIERS),
            ("test", self.test, TESTS),
            ("correction", self.correction, CORRECTIONS),
        ):
            if found not in allowed:
                yield f"treatment.{name}: found {found!r}, allowed is {' or '.join(allowed)}"
        if not 0 < self.alpha < 1:
            yield f"treatment.alpha: found {self.alpha:g}, allowed is what lies between 0 and 1"
        if self.z <= 0:
            yield f"treatment.z: found {self.z:g}, allowed is what is above 0"
        for name in self.pool:
            if name not in factors:
                yield f"treatment.pool: there is no factor {name!r}"


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study file."""

    path: Path
    text: str = field(repr=False)
    core: _core.Study = field(repr=False)
    """The checked file, which expands the cases."""
    reading: str | None
    """The one that was chosen, if the file has any."""
    name: str
    scenario: Path
    factors: tuple[Factor, ...]
    stopping: Stopping
    series: int
    """Number of replications of each case that keep their time series."""
    compare_paths: bool | tuple[str, ...] | None
    """None: as the scenario says."""
    metrics: tuple[Metric, ...]
    """Empty: chosen by the flows of the scenario."""
    baseline: dict[str, str] | None
    """Levels of the cases that others are compared to."""
    treatment: Treatment
