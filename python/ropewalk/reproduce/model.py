"""A reproduction as its files describe it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ropewalk.reproduce.expressions import Expression
    from ropewalk.reproduce.published import Published
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
    over: Metric | None = None
    """What the metric is divided by, seed by seed."""
    under: Mapping[str, Quantity] = field(default_factory=dict)
    """What it is instead under some profiles."""


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
    published: Mapping[str, Published]
    """What checks may name beside them: columns of tables of the document."""
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
                if factor.name not in quantity.under.get(profile, quantity).pool
            ]
            for name, quantity in self.quantities.items()
        }

    def names(self, profile: str) -> dict[str, list[list[str]]]:
        """Quantities and published values, with what checks may put into their brackets."""
        return self.levels(profile) | {
            name: [list(values) for values in table.levels] for name, table in self.published.items()
        }

    def profiles_of(self, claim: Claim, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """The profiles under which a claim is judged: those that make a difference to it."""
        if claim.check is None:
            return wanted[:1]
        studies = {self.quantities[name].study for name in self.measured_in(claim.check)}
        studies |= {place for place, *_ in claim.check.configs}
        return wanted if any(PROFILE in study for study in studies) else wanted[:1]

    def studies_of(self, claim: Claim, profiles: tuple[str, ...]) -> list[str]:
        """The studies that must have been run to judge a claim."""
        if claim.check is None:
            return []
        chosen = self.profiles_of(claim, profiles)
        names = [
            name for check in (claim.check, claim.cause_check) if check for name in self.measured_in(check)
        ]
        return list(dict.fromkeys(self.study_of(name, profile) for name in names for profile in chosen))

    def measured_in(self, check: Expression) -> list[str]:
        """The quantities in a check that are not published ones."""
        return [use.quantity for use in check.uses if use.quantity in self.quantities]
