"""Writes the outcome: the page of the documentation and the figures of ns-3 that the tests use."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ropewalk as rw
import verdicts

if TYPE_CHECKING:
    from cases import Case
    from ropewalk.statistics import Estimate

HERE = Path(__file__).resolve().parent
PAGE = Path("docs/explanation/validation.md")
RECORD = HERE / "recorded.toml"
COLUMNS = ("Metric", "Runs", "ns-3", "Ratio", "Ropewalk", "ns-3 mended", "Ratio", "Verdict")
RECORD_HEAD = """\
# Figures of ns-3 that the tests compare with, mended where only that agrees: mean and half width of the 95 %
# interval. Written by `make validate`.
"""


@dataclass(frozen=True)
class Made:
    """Date and versions of a comparison."""

    date: str
    ns3: str


HEADING = f"{'figure':<40} {'ns-3':>18} {'Ropewalk':>18} {'ratio':>7}  verdict"


def line(row: verdicts.Row, verdict: str) -> str:
    """One row on the terminal."""
    name = f"{row.case.name} {row.metric}"
    figures = f"{verdicts.written(row.ns3):>18} {verdicts.written(row.ours):>18}"
    text = f"{name:<40} {figures} {verdicts.ratio(row.ns3, row.ours):>7.3f}  {verdict}"
    if row.cause:
        mended = row.cause.ns3
        text += f"; mended {verdicts.written(mended)}, ratio {verdicts.ratio(mended, row.ours):.3f}"
    return text


def written(rows: list[verdicts.Row], made: Made) -> str:
    """The whole page."""
    why = verdicts.explanations()
    with (HERE / "cases.toml").open("rb") as file:
        families = tomllib.load(file)["family"]
    with (HERE / "explanations.toml").open("rb") as file:
        head = tomllib.load(file)["head"]
    text = [
        "# Ropewalk beside ns-3",
        head.strip(),
        f"Made on {made.date}: ns-3 {made.ns3}, Ropewalk {rw.__version__}.",
    ]
    text.append(_summary(rows))
    text.append("## Why figures differ")
    text += [_why(one, rows) for one in why]
    for family in families:
        mine = [row for row in rows if row.case.name.partition("/")[0] == family["name"]]
        text.append(f"## {family['title']}\n\n{family['text'].strip()}")
        text.append(_table(family, mine))
    return "\n\n".join(text) + "\n"


def _why(one: verdicts.Explanation, rows: list[verdicts.Row]) -> str:
    """An explanation, and how much it explains."""
    sets = [row.cause.explanations for row in rows if row.cause and one in row.cause.explanations]
    alone = sets.count((one,))
    explained = f"Mended: {one.mend}. Figures explained: {alone} alone, {len(sets) - alone} with others."
    return f"### {one.name[0].upper()}{one.name[1:]}\n\n{one.text.strip()}\n\n{explained}"


def _summary(rows: list[verdicts.Row]) -> str:
    """Number of figures by verdict."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    order = sorted(counts, key=lambda said: (said.startswith("explained"), said))
    table = ["| Verdict | Figures |", "|---|---|", *(f"| {said} | {counts[said]} |" for said in order)]
    return "\n".join(table)


def _table(family: dict[str, object], rows: list[verdicts.Row]) -> str:
    axes = family["axis"]
    assert isinstance(axes, list)  # noqa: S101
    heads = [axis["title"] for axis in axes]
    lines = [[*heads, *COLUMNS], ["---"] * (len(heads) + len(COLUMNS))]
    for row in rows:
        runs = f"{row.case.seeds}" if row.case.times == 1 else f"{row.case.seeds}, {row.case.runs}"
        cells = [*row.case.name.split("/")[1:], row.metric, runs]
        cells += [*_beside(row.ns3, row.ours), verdicts.written(row.ours)]
        cells += _beside(row.cause.ns3, row.ours) if row.cause else ["", ""]
        lines.append([*cells, row.verdict])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _beside(ns3: Estimate, ours: Estimate) -> list[str]:
    """A figure of ns-3, and the ratio of ours to it."""
    return [verdicts.written(ns3), f"{verdicts.ratio(ns3, ours):.3f}"]


def record(rows: list[verdicts.Row], kept: list[Case], made: Made) -> None:
    """Keeps the figures of ns-3 of some cases."""
    names = {case.name for case in kept}
    text = RECORD_HEAD + f'date = "{made.date}"\nns3  = "{made.ns3}"\n'
    for row in rows:
        if row.case.name in names:
            found = row.cause.ns3 if row.cause else row.ns3
            text += f'\n[[figure]]\ncase   = "{row.case.name}"\nmetric = "{row.metric}"\n'
            text += f"mends  = {json.dumps(row.cause.mends)}\n" if row.cause else ""
            text += f"mean   = {found.mean:.6g}\n"
            text += f"ci95   = {found.ci95:.6g}\n" if found.ci95 is not None else ""
    RECORD.write_text(text, encoding="utf-8")
