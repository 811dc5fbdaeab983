"""Verdicts: computed from results each time, never written down."""

from __future__ import annotations

import csv
import enum
import io
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ropewalk.errors import StudyError
from ropewalk.reproduce.expressions import CHANCE, Evaluator
from ropewalk.reproduce.predicates import WrongUse
from ropewalk.reproduce.values import NoValue
from ropewalk.reproduce.words import shown
from ropewalk.visible import cell

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
    """What became of a claim."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CANNOT = "cannot be checked"


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
    cause: str = ""
    demonstrated: bool = False
    """The cause is borne out by its check."""
    expected: str = ""
    note: str = ""
    profile: str = ""
    """Under which the verdict was reached, where that makes a difference."""
    agrees_under: str = ""
    """The profiles under which the claim holds, where it was judged under several."""
    unclear: bool = False
    """It differs because the runs cannot tell: they show neither what was published nor its contrary."""
    chance: bool = False
    """The cause that is demonstrated is that it may be chance."""


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
    levels = {profile: reproduction.names(profile) for profile in sources}
    return [_row(reproduction, claim, sources, levels) for claim in claims]


def _row(
    reproduction: Reproduction,
    claim: Claim,
    sources: Mapping[str, Source],
    levels: Mapping[str, Mapping[str, Sequence[Sequence[str]]]],
) -> VerdictRow:
    if claim.check is None:
        return _as_row(claim, Verdict.CANNOT, claim.cannot, None, "")
    profiles = reproduction.profiles_of(claim, tuple(sources))
    found: list[tuple[str, Outcome | None, str]] = []
    causes = []
    for profile in profiles:
        evaluator = Evaluator(
            sources[profile], levels[profile], claim.published_number, reproduction.published
        )
        try:
            found.append((profile, *_outcome(evaluator, claim.check)))
            causes.append(_cause(evaluator, claim))
        except WrongUse as error:
            raise StudyError(f"{reproduction.directory}/claims.toml: {claim.id}: {error}") from None
    row = _of_profiles(claim, found)
    if row.verdict is not Verdict.DIFFERS:
        return row
    # What one reading bears out is shown.
    demonstrated, cause = next((entry for entry in causes if entry[0]), causes[0])
    chance = demonstrated and claim.cause_check is not None and CHANCE in claim.cause_check.text
    return replace(row, cause=cause, demonstrated=demonstrated, chance=chance)


def _outcome(evaluator: Evaluator, check: Expression) -> tuple[Outcome | None, str]:
    try:
        outcome = evaluator.outcome(check.tree)
    except NoValue as error:
        return None, f"nothing was measured: {error}"
    return outcome, f"{UNCLEAR}: {outcome.words}" if outcome.unclear else outcome.words


def _cause(evaluator: Evaluator, claim: Claim) -> tuple[bool, str]:
    """Whether it is demonstrated, and the cause with what does so, or with the word that nothing does."""
    if claim.cause_check is None:
        return False, claim.cause
    outcome, words = _outcome(evaluator, claim.cause_check)
    holds = outcome is not None and outcome.holds
    return holds, f"{claim.cause} ({'shown by' if holds else 'NOT borne out by'}: {words})"


def _of_profiles(claim: Claim, found: Sequence[tuple[str, Outcome | None, str]]) -> VerdictRow:
    """The first profile in which a claim holds decides; if it is not the first of all, that is said."""
    agreeing = [entry for entry in found if entry[1] is not None and entry[1].holds]
    profile, outcome, words = agreeing[0] if agreeing else found[0]
    reason = words
    if len(found) > 1:
        others = [f"{name}: {text}" for name, _, text in found if name != profile]
        only = f"only {profile}: " if agreeing and profile != found[0][0] else f"{profile}: "
        reason = "; ".join([only + words, *others])
    else:
        profile = ""
    verdict = Verdict.AGREES if agreeing else Verdict.DIFFERS
    under = ", ".join(name for name, *_ in agreeing) if len(found) > 1 else ""
    unclear = not agreeing and any(entry[1] is not None and entry[1].unclear for entry in found)
    row = _as_row(claim, verdict, reason, outcome, profile)
    return replace(row, agrees_under=under, unclear=unclear)


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


def counts(rows: Sequence[VerdictRow]) -> dict[str, int]:
    """How many claims got each verdict."""
    return {verdict.value: sum(row.verdict is verdict for row in rows) for verdict in Verdict}


def share_agreeing(rows: Sequence[VerdictRow]) -> float | None:
    """Of the claims that can be checked."""
    checked = [row for row in rows if row.verdict is not Verdict.CANNOT]
    return sum(row.verdict is Verdict.AGREES for row in checked) / len(checked) if checked else None


def readings_told(rows: Sequence[VerdictRow], profiles: Sequence[str]) -> str:
    """How many claims agree under each profile taken alone; empty if there is but one."""
    if len(profiles) == 1:
        return ""
    agreeing = [row for row in rows if row.verdict is Verdict.AGREES]

    def alone(profile: str) -> int:
        return sum(not row.agrees_under or profile in row.agrees_under.split(", ") for row in agreeing)

    told = ", ".join(f"{alone(profile)} {profile}" for profile in profiles)
    return f"agreeing under one reading alone: {told}"


def causes_told(rows: Sequence[VerdictRow]) -> str:
    """How many of the differences have a cause that is demonstrated; empty if nothing differs."""
    differing = [row for row in rows if row.verdict is Verdict.DIFFERS]
    if not differing:
        return ""
    shown, unclear = sum(row.demonstrated for row in differing), sum(row.unclear for row in differing)
    chance = sum(row.chance for row in differing)
    told = f"the causes of {shown} of {len(differing)} differences are demonstrated"
    return (
        told + (f", {chance} as chance" if chance else "") + (f"; of {unclear} {UNCLEAR}" if unclear else "")
    )


def unexplained(rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """What differs without a cause that is demonstrated."""
    return [row for row in rows if row.verdict is Verdict.DIFFERS and not row.demonstrated]


def to_csv(rows: Sequence[VerdictRow]) -> str:
    """A header, then one line per row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, VerdictRow.__slots__, lineterminator="\n")
    writer.writeheader()
    for row in to_dicts(rows):
        writer.writerow({key: cell(value) if isinstance(value, str) else value for key, value in row.items()})
    return text.getvalue()


def to_dicts(rows: Sequence[VerdictRow]) -> list[dict[str, Any]]:
    """For JSON and CSV."""
    return [{**asdict(row), "verdict": row.verdict.value} for row in rows]
