"""Computes the numbers on the pages of reproductions: typed numbers go stale.

A number that is followed by a comment with an expression, written as in claims, is computed:

    4.51 s<!-- = time["10 MB", "both"] --> or 1.29 ± 0.03<!-- as-published = plt["viveris", "mptcp 8+8"] -->

So is arithmetic without quantities, `<!-- = 11.1 / 1.5 -->`, and what the verdicts have found:

    23 %<!-- = chance of F5_2.c2 -->     the share of experiments that show it, in the cause of a claim
    22 %<!-- = chance of outcomes like F5_4.c2 -->     with the outcomes that come out no more often
    17,158 runs<!-- = runs of all studies -->
    14<!-- = claims of T8 that agree --> of 18<!-- = claims of T8 -->

Any other number is published, a setting, or has its source beside it, `64<!-- source: section 6.1 -->`:
it must stand in the claims (but for their causes), in the scenarios and studies, or in a published table.
So must those of causes, which have computed ones in braces.

`tools/counts.py` writes the numbers anew after a whole run, runs the studies that no claim needs and a number
does, and records all of them in `counts.json`.
`tests/test_counts.py` compares both: a number that was typed over, and one whose expression has changed, is
found without a run; and one that is founded on nothing. Without results:

    .venv/bin/python tools/page_numbers.py cnes2019 ...     lists the numbers that nothing computes
"""

from __future__ import annotations

import ast
import csv
import json
import re
import sys
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import page_tables
from ropewalk import reproduce as rep
from ropewalk.reproduce.expressions import Evaluator, Expression, parse
from ropewalk.reproduce.sources import StudySource
from ropewalk.reproduce.values import Row, estimate_of
from ropewalk.reproduce.wording import PLACE
from ropewalk.study import Study
from ropewalk.study.plan import plan
from ropewalk.study.results import StudyResults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ropewalk.reproduce.model import Reproduction
    from ropewalk.statistics import Estimate

NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
UNIT = r"[  ]?[%A-Za-z/]*"
COMPUTED = re.compile(
    rf"(?P<mean>-?{NUMBER})(?: ± (?P<half>{NUMBER}))?(?P<unit>{UNIT})"
    r"<!-- (?P<profile>[\w-]+ )?= (?P<value>.+?) -->"
)
SOURCED = re.compile(rf"{NUMBER}{UNIT}\*{{0,2}}<!-- source: .+? -->")
TYPED = re.compile(rf"(?<![\w.#-]){NUMBER}(?![\w.]*\d)")
"""A number by itself, and not the end of a name."""
NOT_PROSE = re.compile(
    r"<!-- counts -->.*?<!-- end of counts -->|<!--.*?-->|`[^`]*`|^    [^\n]*$|\]\([^)]*\)"
    r"|RFC \d+|\d+ (?:January|February|March|April|May|June|July|August"
    r"|September|October|November|December)(?: \d{4})?"
    r"|(?:Tables?|Figures?|[Ss]ections?) [\d.]+(?:(?:, | and | to )\d[\d.]*\b(?! [%a-zA-Z]))*",
    re.S | re.M,
)
PLAIN = re.compile(r"\d+(?:\.\d+)?")
CHANCE = re.compile(r"chance of (?P<like>outcomes like )?(?P<claim>[\w.-]+)")
FOUND = {
    False: re.compile(r"([\d.]+) % of \d+ experiments show it"),
    True: re.compile(r"no more often ([\d.]+) %"),
}
RUNS = "runs of all studies"
CLAIMS = re.compile(r"claims of (?P<place>\w+)(?P<agree> that agree)?")
WORDS_OF_OURS = {"cause", "cause_check", "note", "calibrated", "cannot"}
"""Keys of claims and roots that may have figures of ours."""


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
    """With as many decimals as `form` has, and with its commas."""
    return f"{value:{',' if ',' in form else ''}.{len(form.partition('.')[2])}f}"


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


def is_of_verdicts(number: Number) -> bool:
    """Whether it is what verdicts have found, and not the value of an expression."""
    return number.value == RUNS or any(form.fullmatch(number.value) for form in (CHANCE, CLAIMS))


def is_arithmetic(number: Number) -> bool:
    """Whether it names no quantity."""
    return not any(isinstance(node, ast.Name) for node in ast.walk(ast.parse(number.value, mode="eval")))


def _of_verdicts(number: Number, results: Path) -> str:
    verdicts = json.loads((results / "verdicts.json").read_text(encoding="utf-8"))
    if number.value == RUNS:
        return _rounded(sum(_runs(results / "studies" / study) for study in verdicts["studies"]), number.mean)
    if wanted := CLAIMS.fullmatch(number.value):
        place = f"{verdicts['reproduction']}.{wanted['place']}."
        claims = [claim["verdict"] for claim in verdicts["claims"] if claim["id"].startswith(place)]
        return str(claims.count("agrees") if wanted["agree"] else len(claims))
    shown = {claim["id"].split(".", 1)[1]: claim["shown"] for claim in verdicts["claims"]}
    wanted = CHANCE.fullmatch(number.value)
    found = wanted and FOUND[wanted["like"] is not None].search(shown.get(wanted["claim"], ""))
    if not wanted or not found:
        sys.exit(f"{results}: no verdict has the {number.value}")
    return _rounded(float(found[1]), number.mean)


def _runs(study: Path) -> int:
    with (study / "cases.csv").open(encoding="utf-8", newline="") as file:
        return sum(int(row["replications"]) for row in csv.DictReader(file))


def computed(name: str, results: Path, text: str) -> dict[str, str]:
    """The text of each number of the page, by its key, in the form that it has there."""
    reproduction = rep.load(name)
    given = numbers(text)
    told_by_verdicts = [number for number in given if is_of_verdicts(number)]
    wanted = [number for number in given if not is_of_verdicts(number)]
    studies = _all_results(reproduction, _studies(reproduction, wanted), results)
    found = {number.key: _of_verdicts(number, results) for number in told_by_verdicts}
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


def with_tables(name: str, results: Path, text: str) -> str:
    """The page with its tables of claims computed."""
    reproduction = rep.load(name)
    studies = _all_results(reproduction, sorted(page_tables.studies(reproduction, text)), results)
    profile = (reproduction.profiles or ("",))[0]
    return page_tables.rewritten(reproduction, text, StudySource(reproduction, profile, studies))


def _all_results(reproduction: Reproduction, studies: list[str], results: Path) -> dict[str, StudyResults]:
    return {study: _results(reproduction, study, results) for study in studies}


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
    prose = NOT_PROSE.sub(" ", SOURCED.sub(" ", COMPUTED.sub(" ", page_tables.TABLE.sub(" ", text))))
    return TYPED.findall(prose)


def founded(name: str) -> set[str]:
    """The numbers of the document and of the settings: claims but for causes, scenarios, studies, tables.

    And the level of our intervals.
    """
    directory = rep.load(name).directory
    claims = tomllib.loads((directory / "claims.toml").read_text(encoding="utf-8"))
    texts = [str(value) for one in claims["claim"] for key, value in one.items() if key not in WORDS_OF_OURS]
    ours = {"claims.toml", "figures.toml", "counts.json"}
    files = (
        path for path in directory.rglob("*") if path.suffix in {".toml", ".csv"} and path.name not in ours
    )
    texts += [path.read_text(encoding="utf-8") for path in files]
    return {"95"} | {_plain(number) for text in texts for number in PLAIN.findall(text.replace("_", ""))}


def _plain(number: str) -> str:
    """One form for 0.951, 0.9510 and 0,951."""
    return f"{float(number.replace(',', '')):.12g}"


def sentences(name: str) -> list[tuple[str, str, str]]:
    """Claim or root, sentence of ours, and the checks beside it, in which its numbers may stand, too."""
    found = []
    claims = tomllib.loads((rep.load(name).directory / "claims.toml").read_text(encoding="utf-8"))
    for root in claims.get("root", []):
        predicted = root.get("predicts", [])
        checks = " ".join(each["check"] for each in predicted)
        texts = [root.get(key, "") for key in ("title", "value", "cause")]
        found += [(root["name"], text, checks) for text in [*texts, *(each["what"] for each in predicted)]]
    for claim in claims["claim"]:
        given = claim.get("calibrated", "")
        calibrated = given.values() if isinstance(given, dict) else [given]
        texts = [claim.get("cause", ""), claim.get("cannot", ""), *calibrated]
        found += [(claim["id"], text, claim.get("cause_check", "")) for text in texts]
    return found


def unfounded_in_sentences(name: str, told: list[tuple[str, str, str]]) -> list[str]:
    """Numbers of sentences that stand in no brace and are founded on nothing."""
    known = founded(name)
    return [
        f"{place}: {number}"
        for place, text, checks in told
        for number in typed(PLACE.sub(" ", text))
        if _plain(number) not in known | set(map(_plain, PLAIN.findall(checks)))
    ]


def unfounded(name: str, text: str) -> list[str]:
    """Typed numbers that stand neither in the document nor in our files, and have no source beside them."""
    known = founded(name)
    return [number for number in typed(text) if _plain(number) not in known]


def main() -> None:
    """For each page."""
    from counts import page

    for name in sys.argv[1:] or rep.names():
        text = page(name).read_text(encoding="utf-8")
        others, loose = typed(text), unfounded(name, text)
        print(f"{name}: {len(numbers(text))} numbers are computed, {len(others)} are not: {' '.join(others)}")
        print(f"{name}: founded on nothing: {' '.join(loose) or 'none'}")
        print(f"{name}: in causes: {', '.join(unfounded_in_sentences(name, sentences(name))) or 'none'}")


if __name__ == "__main__":
    main()
