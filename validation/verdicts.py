"""Compares the figures of both simulators, and says how far they agree and why they do not."""

from __future__ import annotations

import dataclasses
import itertools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mends
from ropewalk.statistics import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cases import Case
    from ropewalk.statistics import Estimate

HERE = Path(__file__).resolve().parent
CLOSE = 0.05
UNEXPLAINED = "DIFFERS, UNEXPLAINED"


@dataclass(frozen=True)
class Explanation:
    """Lines of ns-3 that may make figures differ: they do where figures agree once they are mended."""

    name: str
    where: dict[str, list[str]]
    """Attributes and arguments of ns-3, each with the values without one of which the lines do nothing."""
    mend: str
    """Name in `mends.MENDS`."""
    text: str

    def applies(self, case: Case) -> bool:
        """Whether a case comes past these lines, and mending them is another thing to do."""
        found = case.document(1).ns3_arguments() | case.ns3
        there = all(found.get(key, found.get(f"ns3::{key}")) in values for key, values in self.where.items())
        return there and mends.mended(found, [self.mend]) != found


@dataclass(frozen=True)
class Cause:
    """The figures of ns-3 once it is mended."""

    explanations: tuple[Explanation, ...]
    ns3: Estimate

    @property
    def name(self) -> str:
        """All explanations that it takes."""
        return " + ".join(one.name for one in self.explanations)

    @property
    def mends(self) -> list[str]:
        """All mends that it takes."""
        return [one.mend for one in self.explanations]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    case: Case
    metric: str
    ns3: Estimate
    ours: Estimate
    cause: Cause | None = None

    @property
    def agreement(self) -> str | None:
        """How the figures agree; None if they do not."""
        return agreement(self.ns3, self.ours)

    @property
    def verdict(self) -> str:
        """The words of the table."""
        return self.agreement or (f"explained: {self.cause.name}" if self.cause else UNEXPLAINED)


def ratio(ns3: Estimate, ours: Estimate) -> float:
    """Ours over that of ns-3."""
    return ours.mean / ns3.mean if ns3.mean else float("nan")


def agreement(ns3: Estimate, ours: Estimate) -> str | None:
    """How two figures agree; None if they do not."""
    if abs(ratio(ns3, ours) - 1) <= CLOSE:
        return "within 5 %"
    distance = abs(ours.mean - ns3.mean)
    return "intervals overlap" if distance <= (ours.ci95 or 0) + (ns3.ci95 or 0) else None


def explain(row: Row, mended: Callable[[list[str]], Estimate]) -> Row:
    """Finds the smallest set of explanations that makes figures close, or else overlap closest."""
    if row.agreement:
        return row
    overlapping = []
    for together in _sets([one for one in explanations() if one.applies(row.case)]):
        cause = Cause(together, mended([one.mend for one in together]))
        distance = abs(ratio(cause.ns3, row.ours) - 1)
        if distance <= CLOSE:
            return dataclasses.replace(row, cause=cause)
        if agreement(cause.ns3, row.ours):
            overlapping.append((distance, cause))
    if not overlapping:
        return row
    return dataclasses.replace(row, cause=min(overlapping, key=lambda found: found[0])[1])


def _sets(among: list[Explanation]) -> Iterator[tuple[Explanation, ...]]:
    """Each alone, then two together, and so on."""
    for size in range(1, len(among) + 1):
        yield from itertools.combinations(among, size)


def explanations(path: Path = HERE / "explanations.toml") -> list[Explanation]:
    """All explanations, in order."""
    with path.open("rb") as file:
        return [Explanation(**entry) for entry in tomllib.load(file)["explanation"]]


def figure(case: Case, metric: str, simulator: str, values: Iterable[float | None]) -> Estimate:
    """Statistics of a figure of all runs of a case.

    Raises:
        ValueError: a run has not got the figure; the others alone would be a choice of the quicker ones.
    """
    figures = list(values)
    found = estimate(figures)
    if found is None or None in figures:
        runs = f"{figures.count(None)} of {len(figures)} runs of {simulator}"
        raise ValueError(f"{case.name}: {runs} end without {metric}; more time: --set duration=...")
    return found


def written(value: Estimate) -> str:
    """Mean and half width with three significant digits of the mean."""
    digits = max(0, 2 - _order(value.mean))
    if value.ci95 is None:
        return f"{value.mean:.{digits}f}"
    return f"{value.mean:.{digits}f} ± {value.ci95:.{digits}f}"


def _order(value: float) -> int:
    """Power of ten of the first digit."""
    return int(f"{value:e}".partition("e")[2])
