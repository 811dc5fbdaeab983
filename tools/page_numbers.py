"""Computes the numbers on the pages of reproductions: typed numbers go stale.

A number that is followed by a comment with an expression, written as in claims, is computed:

    4.51 s<!-- = time["10 MB", "both"] --> or 1.29 ± 0.03<!-- as-published = plt["viveris", "mptcp 8+8"] -->

`tools/counts.py` writes the numbers anew after a whole run, runs the studies that no claim needs and a number
does, and records all of them in `counts.json`.
`tests/test_counts.py` compares both: a number that was typed over, and one whose expression has changed, is
found without a run. Without results:

    .venv/bin/python tools/page_numbers.py cnes2019 ...     lists the numbers that nothing computes
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import reproduce as rep
from ropewalk.reproduce.expressions import Evaluator, Expression, parse
from ropewalk.reproduce.sources import StudySource
from ropewalk.reproduce.values import Row, estimate_of
from ropewalk.study import Study
from ropewalk.study.plan import plan
from ropewalk.study.results import StudyResults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ropewalk.reproduce.model import Reproduction
    from ropewalk.statistics import Estimate

COMPUTED = re.compile(
    r"(?P<mean>-?\d+(?:\.\d+)?)(?: ± (?P<half>\d+(?:\.\d+)?))?(?P<unit>[  ]?[%A-Za-z/]*)"
    r"<!-- (?P<profile>[\w-]+ )?= (?P<value>.+?) -->"
)
TYPED = re.compile(r"(?<![\w.#-])\d+(?:\.\d+)?(?![\w.]*\d)")
"""A number by itself, and not the end of a name."""
NOT_PROSE = re.compile(
    r"<!-- counts -->.*?<!-- end of counts -->|<!--.*?-->|`[^`]*`|^    [^\n]*$|\]\([^)]*\)", re.S | re.M
)


@dataclass(frozen=True, slots=True)
class Number:
    """A computed number of a page."""

    shown: str
    mean: str
    half: str | None
    profile: str
    """Reading; empty: the first."""
    value: str
    """Expression."""

    @property
    def key(self) -> str:
        """Reading, expression, and whether the interval is shown."""
        return f"{self.profile}= {self.value}{'' if self.half is None else ' ±'}"

    def text(self, found: Estimate) -> str:
        """The number in the form that it has on the page."""
        mean = _rounded(found.mean, self.mean)
        if self.half is None:
            return mean
        return f"{mean} ± {_rounded(found.ci95 or 0.0, self.half)}"


def _rounded(value: float, form: str) -> str:
    """With as many decimals as `form` has."""
    return f"{value:.{len(form.partition('.')[2])}f}"


def numbers(text: str) -> list[Number]:
    """The computed numbers of a page, in its order."""
    found = []
    for match in COMPUTED.finditer(text):
        half = match["half"]
        shown = match["mean"] if half is None else f"{match['mean']} ± {half}"
        profile = (match["profile"] or "").strip()
        found.append(Number(shown, match["mean"], half, f"{profile} " if profile else "", match["value"]))
    return found


def expression(reproduction: Reproduction, number: Number) -> Expression:
    """The value of a number, read.

    Raises:
        ExpressionError: it has a mistake.
    """
    profile = _profile(reproduction, number)
    return parse(number.value, reproduction.names(profile), check=False)


def computed(name: str, results: Path, text: str) -> dict[str, str]:
    """The text of each number of the page, by its key, in the form that it has there."""
    reproduction = rep.load(name)
    wanted = numbers(text)
    studies = {study: _results(reproduction, study, results) for study in _studies(reproduction, wanted)}
    found: dict[str, str] = {}
    for number in wanted:
        profile = _profile(reproduction, number)
        source = StudySource(reproduction, profile, studies)
        evaluator = Evaluator(source, reproduction.names(profile), None, reproduction.published)
        value = evaluator.value(expression(reproduction, number).tree)
        if isinstance(value, Row):
            sys.exit(f"{name}: {number.key} is {len(value.items)} numbers; name one level of each factor")
        told = number.text(estimate_of(value))
        if found.setdefault(number.key, told) != told:
            sys.exit(f"{name}: {number.key} has {found[number.key]} and {told}; give both as many decimals")
    return found


def _profile(reproduction: Reproduction, number: Number) -> str:
    return number.profile.strip() or (reproduction.profiles or ("",))[0]


def _studies(reproduction: Reproduction, wanted: list[Number]) -> list[str]:
    """The studies that numbers come from."""
    return sorted(
        {
            reproduction.study_of(use.quantity, _profile(reproduction, number))
            for number in wanted
            for use in expression(reproduction, number).uses
            if use.quantity in reproduction.quantities
        }
    )


def _results(reproduction: Reproduction, study: str, results: Path) -> StudyResults:
    """The results of the reproduction, or those of a study that it does not need and that is run now."""
    place = results / "studies" / study
    if not (place / "study.json").exists():
        Study(plan(reproduction.studies[study])).run(place, store=results / "store")
    return StudyResults.read(place)


def rewritten(text: str, told: Callable[[Number], str]) -> str:
    """The page with the numbers that `told` has."""

    def put(match: re.Match[str]) -> str:
        (number,) = numbers(match[0])
        return told(number) + match[0].removeprefix(number.shown)

    return COMPUTED.sub(put, text)


def typed(text: str) -> list[str]:
    """Numbers of the prose that nothing computes: settings, published figures, and what may be stale."""
    return TYPED.findall(NOT_PROSE.sub(" ", COMPUTED.sub(" ", text)))


def main() -> None:
    """For each page."""
    from counts import page

    for name in sys.argv[1:] or rep.names():
        text = page(name).read_text(encoding="utf-8")
        others = typed(text)
        print(f"{name}: {len(numbers(text))} numbers are computed, {len(others)} are not: {' '.join(others)}")


if __name__ == "__main__":
    main()
