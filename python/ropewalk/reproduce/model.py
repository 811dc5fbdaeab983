"""A reproduction as its files describe it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ropewalk.reproduce import wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
    """The metric times this is in `unit`."""
    unit: str
    pool: tuple[str, ...] = ()
    """Factors of the study over whose levels it is averaged, seed by seed."""
    over: Metric | None = None
    """The divisor of the metric, seed by seed."""
    under: Mapping[str, Quantity] = field(default_factory=dict)
    """The quantity in its place under some profiles."""


class Kind(enum.StrEnum):
    """The grounds of a cause. Only the first three explain."""

    PREDICTION = "prediction"
    """From other evidence: another table, figure or source gave the value."""
    ARITHMETIC = "arithmetic"
    """On the document: its own figures say otherwise."""
    DOCUMENTED = "documented"
    """A documented behaviour of the document's tool, or what it says of itself elsewhere."""
    FITTED = "fitted"
    """A value was set so that claims come out."""
    CHANCE = "chance"
    """Computed: other runs of the same experiment show what was published."""
    CARRIED = "not carried"
    """The published errors are larger than what is claimed."""


EXPLAINING = (Kind.PREDICTION, Kind.ARITHMETIC, Kind.DOCUMENTED)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A consequence of the value of a root."""

    what: str
    check: Expression


@dataclass(frozen=True, slots=True)
class Root:
    """The root that several differences share."""

    name: str
    title: str
    value: str
    """The one value that is used for all of its claims; empty if there is none."""
    cause: str
    """In the place of the causes of its claims."""
    kind: Kind | None
    """Kind of its claims that name no other."""
    predicts: tuple[Prediction, ...] = ()


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
    """The criterion of agreement in words; `check` has it in symbols."""
    note: str
    check: Expression | None
    cannot: str
    """Why it cannot be checked; empty if it can."""
    cause: str
    """Why the check fails, if it does."""
    cause_check: Expression | None
    """The demonstration of the cause: a check that must hold."""
    expected: str
    """`differs`: the document contradicts itself here."""
    quick: bool
    kind: Kind | None = None
    """The grounds of the cause; those of the root if it has one and states none of its own."""
    root: str = ""
    """Name of the root that it belongs to."""
    calibrated: Mapping[str, str] = field(default_factory=dict)
    """By reading (`""`: all), the key that was set to the number that it repeats."""
    set_up: bool = False
    """It reads a setting although it looks at figures."""

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
    """The kind of document, in a few words."""
    source: str
    """Authors, title, where and when it was published."""
    profiles: tuple[str, ...]
    """Readings of the document under which everything is run; empty: there is one."""
    apart: tuple[str, ...]
    """Profiles that were inferred from figures of the document: no claim agrees because of them."""
    readings: Mapping[str, str]
    """A description of each, in two sentences."""
    quick_replications: int | None
    """Most replications of each case with `--quick`."""
    quantities: Mapping[str, Quantity]
    published: Mapping[str, Published]
    """Further names for checks: columns of tables of the document."""
    roots: tuple[Root, ...]
    claims: tuple[Claim, ...]
    studies: Mapping[str, StudyFile] = field(repr=False)
    """By name, `{profile}` filled in."""
    told: Mapping[str, Expression] = field(default_factory=dict)
    """Values in the sentences of claims and roots, by their text."""

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
        return wanted if self.depends(claim.check) else wanted[:1]

    def deciding(self, profiles: Sequence[str]) -> list[str]:
        """Profiles that decide about verdicts: those not apart, or all if there is no other."""
        return [profile for profile in profiles if profile not in self.apart] or list(profiles)

    def depends(self, check: Expression | None) -> bool:
        """Whether a check is another one under another profile."""
        if check is None:
            return False
        studies = {self.quantities[name].study for name in self.measured_in(check)}
        return any(PROFILE in study for study in studies | {place for place, *_ in check.configs})

    def is_set_up(self, claim: Claim) -> bool:
        """Whether a claim is about our own files: it cannot fail once they are written."""
        if claim.check is None:
            return False
        return claim.set_up or not self.looked_at(claim.check)

    def looked_at(self, check: Expression) -> list[str]:
        """The quantities whose values decide, and not only how many there are."""
        return [name for name in self.measured_in(check) if name not in check.counted]

    def root_of(self, claim: Claim) -> Root | None:
        """The root that the claim shares with others."""
        return next((root for root in self.roots if root.name == claim.root), None)

    def kind_of(self, claim: Claim) -> Kind | None:
        """The grounds of its cause."""
        root = self.root_of(claim)
        return claim.kind or (root.kind if root is not None else None)

    def studies_of(self, claim: Claim, profiles: tuple[str, ...]) -> list[str]:
        """The studies that must have been run to judge a claim."""
        if claim.check is None:
            return []
        chosen = self.profiles_of(claim, profiles)
        root = self.root_of(claim)
        checks = [claim.check, claim.cause_check, *(each.check for each in (root.predicts if root else ()))]
        sentences = (*wording.of_claim(claim), *(wording.of_root(root) if root else ()))
        checks += [self.told[value] for sentence in sentences for value in wording.values(sentence)]
        names = [name for check in checks if check for name in self.measured_in(check)]
        return list(dict.fromkeys(self.study_of(name, profile) for name in names for profile in chosen))

    def measured_in(self, check: Expression) -> list[str]:
        """The quantities in a check that are not published ones."""
        return [use.quantity for use in check.uses if use.quantity in self.quantities]
