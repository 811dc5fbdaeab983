"""Writes what came out: the page of the documentation and the figures of ns-3 that the tests use."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ropewalk as rw
import verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cases import Case

HERE = Path(__file__).resolve().parent
PAGE = Path("docs/explanation/validation.md")
RECORD = HERE / "recorded.toml"
RECORD_HEAD = """\
# Figures of ns-3 that the tests compare with: mean and half width of the 95 % interval. Written by
# `make validate`.
"""


@dataclass(frozen=True)
class Made:
    """When and with what."""

    date: str
    ns3: str


def line(row: verdicts.Row, why: Iterable[verdicts.Explanation]) -> str:
    """One row on the terminal."""
    ns3, ours = verdicts.figure(row.ns3), verdicts.figure(row.ours)
    return f"{row.name:<40} {ns3:>18} {ours:>18} {row.ratio:>7.3f}  {row.verdict(why)}"


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
    text.append(_summary(rows, why))
    text.append("## Why figures differ")
    text += [f"### {one.name}\n\n{one.text.strip()}" for one in why]
    for family in families:
        mine = [row for row in rows if row.case.partition("/")[0] == family["name"]]
        text.append(f"## {family['title']}\n\n{family['text'].strip()}")
        text.append(_table(family, mine, why))
    return "\n\n".join(text) + "\n"


def _summary(rows: list[verdicts.Row], why: list[verdicts.Explanation]) -> str:
    """How many figures have which verdict."""
    counts: dict[str, int] = {}
    for row in rows:
        said = row.verdict(why)
        counts[said] = counts.get(said, 0) + 1
    order = sorted(counts, key=lambda said: (said.startswith("differs"), said))
    table = ["| Verdict | Figures |", "|---|---|", *(f"| {said} | {counts[said]} |" for said in order)]
    return "\n".join(table)


def _table(family: dict[str, object], rows: list[verdicts.Row], why: list[verdicts.Explanation]) -> str:
    axes = family["axis"]
    assert isinstance(axes, list)  # noqa: S101
    heads = [axis["title"] for axis in axes]
    table = ["| " + " | ".join([*heads, "Metric", "ns-3", "Ropewalk", "Ratio", "Verdict"]) + " |"]
    table.append("|---" * (len(heads) + 5) + "|")
    for row in rows:
        cells = [*row.case.split("/")[1:], row.metric, verdicts.figure(row.ns3), verdicts.figure(row.ours)]
        table.append("| " + " | ".join([*cells, f"{row.ratio:.3f}", row.verdict(why)]) + " |")
    return "\n".join(table)


def record(rows: list[verdicts.Row], kept: list[Case], made: Made) -> None:
    """Keeps the figures of ns-3 of some cases."""
    names = {case.name for case in kept}
    text = RECORD_HEAD + f'date = "{made.date}"\nns3  = "{made.ns3}"\n'
    for row in rows:
        if row.case in names:
            text += (
                f'\n[[figure]]\ncase   = "{row.case}"\nmetric = "{row.metric}"\nmean   = {row.ns3.mean:.6g}\n'
            )
            text += f"ci95   = {row.ns3.ci95:.6g}\n" if row.ns3.ci95 is not None else ""
    RECORD.write_text(text, encoding="utf-8")
