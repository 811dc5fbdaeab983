"""One HTML file with the verdicts and the figures of a reproduction; it loads nothing else."""

from __future__ import annotations

import base64
import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.pages import render
from ropewalk.reproduce.counting import told
from ropewalk.reproduce.verdicts import DIFFERING, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ropewalk.reproduce.conduct import Reproduced
    from ropewalk.reproduce.figures import Drawing
    from ropewalk.reproduce.model import Claim, Reproduction
    from ropewalk.reproduce.verdicts import VerdictRow

TEMPLATE = "verdicts.html"
SIGNS = {
    Verdict.AGREES: "✓",
    Verdict.CALIBRATED: "≈",
    Verdict.EXPLAINED: "✗",
    Verdict.FITTED: "✗",
    Verdict.CHANCE: "✗",
    Verdict.CARRIED: "✗",
    Verdict.UNEXPLAINED: "✗",
    Verdict.CANNOT: "?",
    Verdict.SET_UP: "=",
    Verdict.SET_UP_OTHERWISE: "≠",
}
NAMES = {
    Verdict.AGREES: "agrees",
    Verdict.CALIBRATED: "calibrated",
    Verdict.EXPLAINED: "explained",
    Verdict.FITTED: "fitted",
    Verdict.CHANCE: "chance",
    Verdict.CARRIED: "carried",
    Verdict.UNEXPLAINED: "unexplained",
    Verdict.CANNOT: "cannot",
    Verdict.SET_UP: "set-up",
    Verdict.SET_UP_OTHERWISE: "otherwise",
}
"""For classes and filters."""
BRIEF = 600
"""Characters of a reason that is shown at once where nothing else says why."""
EMPTY = ("", "-")
"""No conditions, in words of a claims file."""
UNASKED = (Verdict.AGREES, Verdict.SET_UP)
"""Verdicts whose reason is closed at first."""
PARTS = {"F": "Figure", "T": "Table", "S": "Section"}
_PART = re.compile(r"^([FTS])(\d\w*)$")
_DRAWN = re.compile(r"^(Figure|Table)s? (\d[\d.]*\d|\d)")
_SENTENCE = re.compile(r"; (?=measured |not \(|only |as-|with \d|the runs cannot tell|nothing was measured)")
_NUMERIC = re.compile(r"^(up to |about |just under |just above |almost |[~<>=≥≤ ]|\d|[.,/()+-]|e-?\d)+$")


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure as the page has it."""

    id: str
    title: str
    data: str
    """PNG in base64."""
    published: bool
    """It has published points."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table of claims."""

    row: VerdictRow
    name: str
    """The id without that of the document."""
    anchor: str
    published: str
    """With unit where it is a number."""
    details: tuple[str, ...]
    reasons: tuple[str, ...]
    """Sentence by sentence."""
    open: bool
    """Whether the reason is shown at once: nothing else says why, and it is brief."""
    readings: tuple[tuple[str, bool], ...]
    """Whether it holds under each reading, where that makes a difference."""
    cause_of: str
    """The claim whose cause is the same and has been said already."""
    studies: tuple[tuple[str, str], ...]
    """Name and place of the studies that its check looks at."""
    tables: tuple[tuple[str, str], ...]
    """Name and place of the published tables."""


@dataclass(frozen=True, slots=True)
class Part:
    """The claims of a figure, table or section of the document."""

    name: str
    figures: tuple[str, ...]
    """Ids of the figures that show it again."""
    lines: tuple[Line, ...]
    tally: tuple[tuple[Verdict, int], ...]

    @property
    def differs(self) -> bool:
        """Whether one of its claims does."""
        return any(verdict in (*DIFFERING, Verdict.SET_UP_OTHERWISE) for verdict, _ in self.tally)


def page(
    made: Reproduced,
    drawings: Sequence[Drawing],
    figures: Sequence[Path],
    directory: Path | None = None,
) -> str:
    """The whole file.

    Args:
        made: what came out.
        drawings: the figures as they were described.
        figures: their files (PNG), in the same order.
        directory: where the page will be, for links to published tables; without it there are none.

    Raises:
        OSError: a figure cannot be read.
    """
    pictures = [picture_of(drawing, path) for drawing, path in zip(drawings, figures, strict=True)]
    counted = made.counted
    return render(
        TEMPLATE,
        {"sign": SIGNS.__getitem__, "kind": NAMES.__getitem__, "short": _short},
        reproduction=made.reproduction,
        title=f"{made.reproduction.name}: {made.reproduction.title}",
        quick=made.quick,
        told=told(counted),
        readings=[reading for reading in counted.readings if reading.name],
        roots=made.roots,
        rows={row.id: row for row in made.rows},
        verdicts=[(verdict, NAMES[verdict], counted.verdicts[verdict]) for verdict in Verdict],
        parts=_parts(made, pictures, directory),
        titles={root.name: root.title for root in made.reproduction.roots},
        pictures=pictures,
        unexplained=Verdict.UNEXPLAINED,
        cannot=Verdict.CANNOT,
    )


def _short(claim: str) -> str:
    return claim.partition(".")[2] or claim


def picture_of(drawing: Drawing, path: Path) -> Picture:
    """The file of a figure.

    Raises:
        OSError: it cannot be read.
    """
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return Picture(drawing.id, drawing.title, data, any(curve.points for curve in drawing.curves))


def _parts(made: Reproduced, pictures: Sequence[Picture], directory: Path | None) -> list[Part]:
    rows: dict[str, list[VerdictRow]] = {}
    for row in made.rows:
        rows.setdefault(_part(row), []).append(row)
    claims = {claim.id: claim for claim in made.reproduction.claims}
    causes: dict[str, str] = {}
    found = []
    for name, own in rows.items():
        drawn = (picture.id for picture in pictures if _drawn(picture.title) == name)
        lines = tuple(_line(made.reproduction, row, claims, causes, directory) for row in own)
        numbers = Counter(row.verdict for row in own)
        tally = tuple((verdict, numbers[verdict]) for verdict in Verdict if numbers[verdict])
        found.append(Part(_title(name, own), tuple(drawn), lines, tally))
    return found


def _title(name: str, rows: Sequence[VerdictRow]) -> str:
    """A part that is no figure, table or section says where in the document its claims are."""
    if name.partition(" ")[0] in PARTS.values():
        return name
    return f"{name}: {'; '.join(dict.fromkeys(row.locator for row in rows))}"


def _part(row: VerdictRow) -> str:
    """Figure, table or section of the document: `NAME.F5_1.c2` is of figure 5.1."""
    part = row.id.split(".")[1] if row.id.count(".") > 1 else row.id
    found = _PART.match(part)
    return f"{PARTS[found[1]]} {found[2].replace('_', '.')}" if found else part


def _drawn(title: str) -> str:
    """The part of the document that a figure shows again, by its title."""
    found = _DRAWN.match(title)
    return f"{found[1]} {found[2]}" if found else ""


def _line(
    reproduction: Reproduction,
    row: VerdictRow,
    claims: Mapping[str, Claim],
    causes: dict[str, str],
    directory: Path | None,
) -> Line:
    under = row.agrees_under.split(", ")
    profiles = reproduction.profiles if row.profile else ()
    unit = f" {row.unit}" if row.unit not in {"", "1", "-"} and _NUMERIC.match(row.published) else ""
    first = causes.setdefault(row.cause, row.id) if row.cause else row.id
    return Line(
        row=row,
        name=_short(row.id),
        anchor=f"claim-{row.id}",
        published=row.published + unit,
        details=tuple(
            part for part in (*row.conditions.split(";"), row.locator, row.note) if part not in EMPTY
        ),
        reasons=tuple(_SENTENCE.split(row.reason)),
        open=row.verdict not in UNASKED and not row.root and not row.cause and len(row.reason) <= BRIEF,
        readings=tuple((profile, profile in under) for profile in profiles),
        cause_of="" if first == row.id else first,
        studies=_studies(reproduction, claims.get(row.id), row.profile),
        tables=_tables(reproduction, claims.get(row.id), directory),
    )


def _studies(reproduction: Reproduction, claim: Claim | None, profile: str) -> tuple[tuple[str, str], ...]:
    """The studies whose figures decide, and where their tables are, seen from the page."""
    if claim is None:
        return ()
    profiles = (profile,) if profile else (reproduction.profiles or ("",))[:1]
    return tuple((name, f"studies/{name}/") for name in reproduction.studies_of(claim, profiles))


def _tables(
    reproduction: Reproduction, claim: Claim | None, directory: Path | None
) -> tuple[tuple[str, str], ...]:
    """The published tables that a check names."""
    if claim is None or directory is None:
        return ()
    checks = filter(None, (claim.check, claim.cause_check))
    named = {use.quantity for check in checks for use in check.uses}
    paths = dict.fromkeys(table.path for name, table in reproduction.published.items() if name in named)
    return tuple((path.name, os.path.relpath(path, directory)) for path in paths)
