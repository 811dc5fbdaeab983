"""How many claims agree, reading by reading first; and what differences have in common."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ropewalk.reproduce import wording
from ropewalk.reproduce.expressions import Evaluator
from ropewalk.reproduce.values import NoValue
from ropewalk.reproduce.verdicts import AGREEING, DIFFERING, LISTED, UNCLEAR, Verdict, VerdictRow
from ropewalk.visible import cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ropewalk.reproduce.expressions import Source
    from ropewalk.reproduce.model import Reproduction, Root


@dataclass(frozen=True, slots=True)
class ReadingCount:
    """Claims that agree under one reading of the document alone."""

    name: str
    """Empty if there is but one."""
    says: str
    """A description of the reading."""
    agrees: int
    """Without those that repeat a number to which something was set."""
    calibrated: int
    checked: int
    """Claims that can be checked and are not about our own files."""
    apart: bool
    """It was inferred from figures of the document: what agrees under it alone does not agree."""


@dataclass(frozen=True, slots=True)
class Counted:
    """All counts of a table of verdicts."""

    readings: list[ReadingCount]
    verdicts: dict[str, int]
    """By verdict, over all readings: a claim agrees if it does so under one of them."""
    checked: int
    unclear: int
    """Number of differing claims that the runs cannot decide."""

    @property
    def agrees(self) -> int:
        """Under one reading or another."""
        return self.verdicts[Verdict.AGREES]


@dataclass(frozen=True, slots=True)
class Predicted:
    """Consequences of the value of a root, and whether they hold."""

    what: str
    holds: bool
    words: str


@dataclass(frozen=True, slots=True)
class RootRow:
    """A root of differences."""

    name: str
    title: str
    value: str
    cause: str
    claims: list[str]
    """Claims of this root that differ."""
    given: list[str]
    """Claims among them that the value, or the cause, gives."""
    predicted: list[Predicted]


def count(rows: Sequence[VerdictRow], readings: Mapping[str, str], apart: Sequence[str] = ()) -> Counted:
    """Counts of all verdicts.

    Args:
        rows: the verdicts.
        readings: what each profile is that they were reached under.
        apart: those of them that are counted by themselves.
    """
    checked = [row for row in rows if row.verdict not in {Verdict.CANNOT, *LISTED}]
    return Counted(
        [_alone(checked, name, says, apart=name in apart) for name, says in readings.items()],
        {verdict.value: sum(row.verdict is verdict for row in rows) for verdict in Verdict},
        len(checked),
        sum(row.unclear for row in checked),
    )


def _alone(checked: Sequence[VerdictRow], profile: str, says: str, *, apart: bool) -> ReadingCount:
    agreeing = [
        row
        for row in checked
        if (profile in row.agrees_under.split(", ") if row.agrees_under else row.verdict in AGREEING)
    ]
    calibrated = sum(
        profile in row.calibrated_under.split(", ") if row.agrees_under else row.verdict is Verdict.CALIBRATED
        for row in agreeing
    )
    return ReadingCount(profile, says, len(agreeing) - calibrated, calibrated, len(checked), apart)


def told(counted: Counted) -> list[str]:
    """The counts in sentences: readings first, what agrees in one or another of them last."""
    lines = [
        (f"{reading.name}: " if reading.name else "")
        + f"{reading.agrees} of {reading.checked} agree"
        + (f", {reading.calibrated} more by calibration" if reading.calibrated else "")
        + ("; counted apart" if reading.apart else "")
        for reading in counted.readings
    ]
    if sum(not reading.apart for reading in counted.readings) > 1:
        more = counted.verdicts[Verdict.CALIBRATED]
        lines.append(
            f"under one reading or another: {counted.agrees} of {counted.checked}"
            + (f", {more} more by calibration" if more else "")
        )
    different = [f"{number} {_short(verdict)}" for verdict, number in _some(counted, DIFFERING)]
    if different:
        unclear = f" (of {counted.unclear} {UNCLEAR})" if counted.unclear else ""
        lines.append(f"the others: {', '.join(different)}{unclear}")
    set_up = [counted.verdicts[verdict] for verdict in LISTED]
    if sum(set_up):
        lines.append(f"{Verdict.SET_UP}: {set_up[0]} of {sum(set_up)}, not counted")
    if cannot := counted.verdicts[Verdict.CANNOT]:
        lines.append(f"{Verdict.CANNOT}: {cannot}")
    return lines


def _some(counted: Counted, verdicts: Sequence[Verdict]) -> list[tuple[Verdict, int]]:
    return [(verdict, counted.verdicts[verdict]) for verdict in verdicts if counted.verdicts[verdict]]


def _short(verdict: Verdict) -> str:
    return verdict.value.removeprefix("differs, ")


def roots(
    reproduction: Reproduction, rows: Sequence[VerdictRow], sources: Mapping[str, Source]
) -> list[RootRow]:
    """The roots that the differences share; those of most claims first."""
    evaluators = {
        profile: Evaluator(sources[profile], reproduction.names(profile), None, reproduction.published)
        for profile in reproduction.deciding(list(sources))
    }
    first = next(iter(evaluators.values()))
    found = []
    for root in reproduction.roots:
        own = [row for row in rows if row.root == root.name and row.verdict in DIFFERING]
        if own:
            given = [row.id for row in own if row.verdict is not Verdict.UNEXPLAINED]
            predicted = list(_predicted(reproduction, root, evaluators))
            claims = [row.id for row in own]
            value, cause = (wording.filled(text, reproduction, first) for text in (root.value, root.cause))
            found.append(RootRow(root.name, root.title, value, cause, claims, given, predicted))
    return sorted(found, key=lambda root: -len(root.claims))


def _predicted(
    reproduction: Reproduction, root: Root, evaluators: Mapping[str, Evaluator]
) -> Iterator[Predicted]:
    for each in root.predicts:
        outcomes = []
        for evaluator in evaluators.values():
            try:
                outcome = evaluator.outcome(each.check.tree)
            except NoValue as error:
                outcomes.append((False, f"nothing was measured: {error}"))
            else:
                outcomes.append((outcome.holds, outcome.words))
            if not reproduction.depends(each.check):
                break
        holds, words = next((entry for entry in outcomes if entry[0]), outcomes[0])
        what = wording.filled(each.what, reproduction, next(iter(evaluators.values())))
        yield Predicted(what, holds, words)


def unexplained(rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Differences that nothing accounts for."""
    return [row for row in rows if row.verdict is Verdict.UNEXPLAINED]


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
