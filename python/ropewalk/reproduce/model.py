"""A reproduction as its files describe it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ropewalk.reproduce.expressions import Expression
    from ropewalk.reproduce.series import SeriesMetric
    from ropewalk.study.metrics import Metric
    from ropewalk.study.model import StudyFile

PROFILE = "{profile}"
"""Stands for the profile in the name of a study."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of each replication of each case of a study."""

    name: str
    study: str
    """May contain `{profile}`."""
    metric: Metric | SeriesMetric
    scale: float
    """What to multiply the metric by, to have it in `unit`."""
    unit: str
    pool: tuple[str, ...] = ()
    """Factors of the study over whose levels it is averaged, seed by seed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A published statement that can be checked, or of which is said why it cannot."""

    id: str
    locator: str
    """Where it stands in the document."""
    experiment: str
    metric: str
    unit: str
    conditions: str
    published: str
    """A number, a range, a relation, a trend, in words."""
    tolerance: str
    """What counts as agreement, in words; `check` is that in symbols."""
    note: str
    check: Expression | None
    cannot: str
    """Why it cannot be checked; empty if it can."""
    cause: str
    """Why the check fails, if it does."""
    cause_check: Expression | None
    """What the cause is demonstrated by: a check that must hold."""
    expected: str
    """`differs`: the document contradicts itself here."""
    quick: bool

    @property
    def published_number(self) -> float | None:
        """The published value, where it is one number."""
        try:
            return float(self.published)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One published document, and what is run to check it."""

    directory: Path
    name: str
    title: str
    """What the document is, in a few words."""
    source: str
    """Authors, title, where and when it was published."""
    profiles: tuple[str, ...]
    """Readings of the document under which everything is run; empty: there is one."""
    quick_replications: int | None
    """At most so many replications of each case with `--quick`."""
    quantities: Mapping[str, Quantity]
    claims: tuple[Claim, ...]
    studies: Mapping[str, StudyFile] = field(repr=False)
    """By name, `{profile}` filled in."""

    def study_of(self, quantity: str, profile: str) -> str:
        """The study that has a quantity under a profile."""
        return self.quantities[quantity].study.replace(PROFILE, profile)

    def levels(self, profile: str) -> dict[str, list[list[str]]]:
        """The levels of each factor of each quantity."""
        return {
            name: [
                [level.label for level in factor.levels]
                for factor in self.studies[self.study_of(name, profile)].factors
                if factor.name not in quantity.pool
            ]
            for name, quantity in self.quantities.items()
        }

    def profiles_of(self, claim: Claim, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """The profiles under which a claim is judged: those that make a difference to it."""
        if claim.check is None:
            return wanted[:1]
        studies = {self.quantities[use.quantity].study for use in claim.check.uses}
        studies |= {place for place, *_ in claim.check.configs}
        return wanted if any(PROFILE in study for study in studies) else wanted[:1]

    def studies_of(self, claim: Claim, profiles: tuple[str, ...]) -> list[str]:
        """The studies that must have been run to judge a claim."""
        if claim.check is None:
            return []
        chosen = self.profiles_of(claim, profiles)
        uses = [*claim.check.uses, *(claim.cause_check.uses if claim.cause_check else ())]
        return list(dict.fromkeys(self.study_of(use.quantity, p) for use in uses for p in chosen))
