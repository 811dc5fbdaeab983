"""Verdicts: computed from results each time, never written down."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ropewalk.errors import StudyError
from ropewalk.reproduce import wording
from ropewalk.reproduce.expressions import Evaluator
from ropewalk.reproduce.model import EXPLAINING, Kind
from ropewalk.reproduce.predicates import WrongUse
from ropewalk.reproduce.values import NoValue
from ropewalk.reproduce.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ropewalk.reproduce.expressions import Expression, Source
    from ropewalk.reproduce.model import Claim, Reproduction
    from ropewalk.reproduce.predicates import Outcome, Reading

MAX_READINGS = 4
"""Longer rows of figures are cut in the column of measured values; the reason has all of them."""


UNCLEAR = "the runs cannot tell"
"""In front of the reason of what differs only because intervals are too wide."""


class Verdict(enum.StrEnum):
    """The verdict on a claim."""

    AGREES = "agrees"
    CALIBRATED = "agrees by calibration"
    """The claim repeats a number to which something was set."""
    EXPLAINED = "differs, explained"
    FITTED = "differs, fitted"
    """One stated value of one parameter gives all claims of its root."""
    CHANCE = "within chance"
    CARRIED = "cannot be carried by the published figures"
    UNEXPLAINED = "differs, unexplained"
    CANNOT = "cannot be checked"
    SET_UP = "set up as published"
    """About our own files; listed and not counted."""
    SET_UP_OTHERWISE = "set up otherwise"


AGREEING = (Verdict.AGREES, Verdict.CALIBRATED)
DIFFERING = (
    *(Verdict.EXPLAINED, Verdict.FITTED, Verdict.CHANCE, Verdict.CARRIED),
    Verdict.UNEXPLAINED,
)
LISTED = (Verdict.SET_UP, Verdict.SET_UP_OTHERWISE)
OF_KIND = {
    **dict.fromkeys(EXPLAINING, Verdict.EXPLAINED),
    Kind.FITTED: Verdict.FITTED,
    Kind.CHANCE: Verdict.CHANCE,
    Kind.CARRIED: Verdict.CARRIED,
}


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One line of a table of verdicts: of a claim, or of another comparison with what is wanted."""

    id: str
    what: str
    """The quantity and its conditions."""
    published: str
    """Or the baseline."""
    unit: str
    measured: str
    """With interval, in words, or what keys of scenarios are; empty if nothing was looked at."""
    verdict: Verdict
    reason: str
    value: float | None = None
    """Mean, where one figure was measured."""
    ci95: float | None = None
    n: int | None = None
    """Replications."""
    locator: str = ""
    experiment: str = ""
    conditions: str = ""
    tolerance: str = ""
    check: str = ""
    root: str = ""
    """The root that it shares with other differences."""
    kind: str = ""
    """The grounds of the cause."""
    cause: str = ""
    """Its own; the root may have another."""
    shown: str = ""
    """The evidence for the cause, or that there is none."""
    calibrated: str = ""
    """The key that was set to the number that it repeats."""
    expected: str = ""
    note: str = ""
    profile: str = ""
    """Under which the verdict was reached, where that makes a difference."""
    agrees_under: str = ""
    """The profiles under which the claim holds, where it was judged under several."""
    calibrated_under: str = ""
    """Readings in which it repeats a number to which a value was set."""
    unclear: bool = False
    """It differs because the runs cannot tell: they show neither what was published nor its contrary."""


@dataclass(frozen=True, slots=True)
class Case:
    """A claim as the readings have it."""

    claim: Claim
    row: VerdictRow
    borne_out: frozenset[str]
    """The profiles under which the check of its cause holds."""
    asked: bool
    """Whether the cause has a check."""
    depends: bool
    """Whether that check is another one under another profile."""


def judge(
    reproduction: Reproduction, claims: Sequence[Claim], sources: Mapping[str, Source]
) -> list[VerdictRow]:
    """A row for each claim.

    Args:
        reproduction: whose claims they are.
        claims: those to judge.
        sources: of the quantities, by profile; `""` where there are none.

    Raises:
        StudyError: a predicate is used wrongly.
    """
    evaluators = {
        profile: Evaluator(source, reproduction.names(profile), None, reproduction.published)
        for profile, source in sources.items()
    }
    cases = [_case(reproduction, claim, evaluators) for claim in claims]
    return [_explained(reproduction, case, cases) for case in cases]


def _case(reproduction: Reproduction, claim: Claim, evaluators: Mapping[str, Evaluator]) -> Case:
    if claim.check is None:
        row = _as_row(claim, Verdict.CANNOT, claim.cannot, None, "")
        return Case(claim, row, frozenset(), asked=False, depends=False)
    found: list[tuple[str, Outcome | None, str]] = []
    causes: list[tuple[str, bool, str]] = []
    for profile in reproduction.profiles_of(claim, tuple(evaluators)):
        evaluator = evaluators[profile].with_published(claim.published_number)
        try:
            found.append((profile, *_outcome(evaluator, claim.check)))
            causes.append((profile, *_cause(evaluator, claim)))
        except WrongUse as error:
            raise StudyError(f"{reproduction.directory}/claims.toml: {claim.id}: {error}") from None
    set_up = reproduction.is_set_up(claim)
    deciding = reproduction.deciding([profile for profile, *_ in found])
    causes = [entry for entry in causes if entry[0] in deciding]
    row = _of_profiles(claim, found, deciding, (Verdict.SET_UP, Verdict.SET_UP_OTHERWISE) if set_up else None)
    # The reading that bears it out is shown.
    shown_under, _, words = next((entry for entry in causes if entry[1]), causes[0])
    cause = wording.filled(claim.cause, reproduction, evaluators[shown_under])
    calibrated = wording.filled(row.calibrated, reproduction, evaluators[row.profile or found[0][0]])
    return Case(
        claim,
        replace(row, shown=words, cause=cause, calibrated=calibrated),
        frozenset(profile for profile, holds, _ in causes if holds),
        asked=claim.cause_check is not None,
        depends=reproduction.depends(claim.cause_check),
    )


def _outcome(evaluator: Evaluator, check: Expression) -> tuple[Outcome | None, str]:
    try:
        outcome = evaluator.outcome(check.tree)
    except NoValue as error:
        return None, f"nothing was measured: {error}"
    return outcome, f"{UNCLEAR}: {outcome.words}" if outcome.unclear else outcome.words


def _cause(evaluator: Evaluator, claim: Claim) -> tuple[bool, str]:
    """Whether it is borne out, and by what."""
    if claim.cause_check is None:
        return False, ""
    outcome, words = _outcome(evaluator, claim.cause_check)
    holds = outcome is not None and outcome.holds
    return holds, words if holds else f"NOT borne out by: {words}"


def _explained(reproduction: Reproduction, case: Case, cases: Sequence[Case]) -> VerdictRow:
    """The differences, with the grounds of their causes; a fitted value must give all claims of its root."""
    row = case.row
    if row.verdict is not Verdict.UNEXPLAINED:
        return replace(row, shown="", cause="")
    kind = reproduction.kind_of(case.claim) if case.asked else None
    row = replace(row, kind=kind or "", root=case.claim.root)
    if kind is None or not case.borne_out:
        return row
    if kind is Kind.FITTED and (missed := _missed(reproduction, case.claim.root, cases)):
        said = f"given by the value of its root, which does not give {', '.join(missed)}: {row.shown}"
        return replace(row, shown=said)
    return replace(row, verdict=OF_KIND[kind])


def _missed(reproduction: Reproduction, root: str, cases: Sequence[Case]) -> list[str]:
    """The claims of a root that its value does not give under the reading that gives most of them."""
    fitted = [
        case
        for case in cases
        if case.claim.root == root and case.asked and reproduction.kind_of(case.claim) is Kind.FITTED
    ]
    profiles = {profile for case in fitted if case.depends for profile in case.borne_out} or {""}

    def missed(profile: str) -> list[str]:
        return [
            case.claim.id.partition(".")[2] or case.claim.id
            for case in fitted
            if not (profile in case.borne_out if case.depends else case.borne_out)
        ]

    return min(map(missed, sorted(profiles)), key=len)


def _of_profiles(
    claim: Claim,
    found: Sequence[tuple[str, Outcome | None, str]],
    deciding: Sequence[str],
    set_up: tuple[Verdict, Verdict] | None,
) -> VerdictRow:
    """The first profile in which a claim holds decides; if it is not the first of all, that is said.

    One in which the claim is no repetition of a number that was put in comes before one in which it is.
    """
    holding = [entry for entry in found if entry[1] is not None and entry[1].holds]
    repeating = [entry for entry in holding if _calibration(claim, entry[0])]
    asked = [entry for entry in found if entry[0] in deciding]
    agreeing = [entry for entry in holding if entry in asked]
    free = [entry for entry in agreeing if entry not in repeating]
    profile, outcome, words = (free or agreeing or asked)[0]
    calibrated = _calibration(claim, profile)
    reason = words
    if len(found) > 1:
        others = [f"{name}: {text}" for name, _, text in found if name != profile]
        only = f"only {profile}: " if agreeing and profile != found[0][0] else f"{profile}: "
        reason = "; ".join([only + words, *others])
    else:
        profile = ""
    if set_up is not None:
        verdict = set_up[0] if agreeing else set_up[1]
    elif agreeing:
        verdict = Verdict.AGREES if free else Verdict.CALIBRATED
    else:
        verdict = Verdict.UNEXPLAINED
    several = len(found) > 1
    return replace(
        _as_row(claim, verdict, reason, outcome, profile),
        agrees_under=", ".join(name for name, *_ in holding) if several else "",
        calibrated_under=", ".join(name for name, *_ in repeating) if several else "",
        calibrated=calibrated if verdict is Verdict.CALIBRATED else "",
        unclear=not agreeing and any(entry[1] is not None and entry[1].unclear for entry in asked),
    )


def _calibration(claim: Claim, profile: str) -> str:
    """The key that was set to the number that the claim repeats, under a profile."""
    return claim.calibrated.get(profile) or claim.calibrated.get("", "")


def _as_row(claim: Claim, verdict: Verdict, reason: str, outcome: Outcome | None, profile: str) -> VerdictRow:
    readings = outcome.readings if outcome is not None else ()
    one = readings[0].estimate if len(readings) == 1 else None
    return VerdictRow(
        id=claim.id,
        what=claim.metric,
        published=claim.published,
        unit=claim.unit,
        measured=_measured(readings) or _cut(outcome.found if outcome is not None else ()),
        verdict=verdict,
        reason=reason,
        value=one.mean if one else None,
        ci95=one.ci95 if one else None,
        n=one.n if one else None,
        locator=claim.locator,
        experiment=claim.experiment,
        conditions=claim.conditions,
        tolerance=claim.tolerance,
        check=claim.check.text if claim.check else "",
        expected=claim.expected,
        note=claim.note,
        profile=profile,
    )


def _measured(readings: Sequence[Reading]) -> str:
    texts = list(dict.fromkeys(shown(reading.estimate, reading.unit, reading.name) for reading in readings))
    return _cut(texts)


def _cut(texts: Sequence[str]) -> str:
    more = ["…"] if len(texts) > MAX_READINGS else []
    return "; ".join([*texts[:MAX_READINGS], *more])
