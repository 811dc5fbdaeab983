"""Compares the figures of both simulators and says how far they agree."""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk.statistics import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ropewalk.statistics import Estimate

HERE = Path(__file__).resolve().parent
CLOSE = 0.05


@dataclass(frozen=True)
class Explanation:
    """Why figures differ."""

    name: str
    cases: list[str]
    """Patterns of rows, as `chain/*/cubic/* goodput`."""
    text: str

    def covers(self, row: str) -> bool:
        """Whether it explains a row."""
        return any(fnmatch.fnmatchcase(row, pattern) for pattern in self.cases)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    case: str
    metric: str
    ns3: Estimate
    ours: Estimate

    @property
    def name(self) -> str:
        """Case and metric, as explanations match it."""
        return f"{self.case} {self.metric}"

    @property
    def ratio(self) -> float:
        """Ours over that of ns-3."""
        return self.ours.mean / self.ns3.mean if self.ns3.mean else float("nan")

    @property
    def agreement(self) -> str | None:
        """How the figures agree; None if they do not."""
        if abs(self.ratio - 1) <= CLOSE:
            return "within 5 %"
        distance = abs(self.ours.mean - self.ns3.mean)
        if distance <= (self.ours.ci95 or 0) + (self.ns3.ci95 or 0):
            return "intervals overlap"
        return None

    def verdict(self, explanations: Iterable[Explanation]) -> str:
        """What the table says."""
        if self.agreement:
            return self.agreement
        why = next((e.name for e in explanations if e.covers(self.name)), None)
        return f"differs: {why}" if why else UNEXPLAINED


UNEXPLAINED = "DIFFERS, UNEXPLAINED"


def explanations(path: Path = HERE / "explanations.toml") -> list[Explanation]:
    """All explanations, in order."""
    with path.open("rb") as file:
        return [Explanation(**entry) for entry in tomllib.load(file)["explanation"]]


def row(case: str, metric: str, ns3: Iterable[float | None], ours: Iterable[float | None]) -> Row:
    """Compares the figures of the runs of a case.

    Raises:
        ValueError: a run has not got the figure; the others alone would be a choice of the quicker ones.
    """
    return Row(case, metric, _whole(case, metric, "ns-3", ns3), _whole(case, metric, "Ropewalk", ours))


def _whole(case: str, metric: str, simulator: str, values: Iterable[float | None]) -> Estimate:
    """Statistics of what every run must have."""
    figures = list(values)
    found = estimate(figures)
    if found is None or None in figures:
        runs = f"{figures.count(None)} of {len(figures)} runs of {simulator}"
        raise ValueError(f"{case}: {runs} end without {metric}; more time: --set duration=...")
    return found


def figure(value: Estimate) -> str:
    """Mean and half width with three significant digits of the mean."""
    digits = max(0, 2 - _order(value.mean))
    if value.ci95 is None:
        return f"{value.mean:.{digits}f}"
    return f"{value.mean:.{digits}f} ± {value.ci95:.{digits}f}"


def _order(value: float) -> int:
    """Power of ten of the first digit."""
    return int(f"{value:e}".partition("e")[2])
