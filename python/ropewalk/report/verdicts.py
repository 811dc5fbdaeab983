"""The table at the top of a report: comparisons of cases or paths, or verdicts of claims."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from ropewalk import numbers, written
from ropewalk.plots import words
from ropewalk.plots.study import best
from ropewalk.problems import problems
from ropewalk.statistics import estimate
from ropewalk.study.summary import reservations

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.results import Results
    from ropewalk.statistics import Estimate
    from ropewalk.study.metrics import Metric
    from ropewalk.study.results import StudyResults

REPRODUCTION = "verdicts.json"
FORM = 2
GOOD, BAD, EVEN, OPEN = "good", "bad", "even", "open"
"""The meaning of a verdict: for colour and sign, never alone."""
MAX_FLOWS = 500
"""Rows of a run; thousands of flows would fill the page."""
MAX_PROBLEMS = 20
"""Sentences about flows of a run that went wrong."""
OF_CLAIMS = {
    "agrees": GOOD,
    "agrees by calibration": EVEN,
    "differs, explained": BAD,
    "differs, fitted": BAD,
    "within chance": BAD,
    "cannot be carried by the published figures": BAD,
    "differs, unexplained": BAD,
    "set up otherwise": BAD,
}
"""The others are open."""


@dataclass(frozen=True, slots=True)
class Row:
    """One verdict."""

    id: str
    """Case, flow, or number of a claim."""
    what: str
    reference: str
    """Published, or of the baseline; with unit."""
    measured: str
    """Mean ± half width of the 95 % interval; with unit."""
    verdict: str
    reason: str
    mood: str
    """`good`, `bad`, `even` or `open`."""
    case: str = ""
    """Case of a study, for filters."""
    metric: int = 0
    """Its place in the list of metrics of a study, for the selector."""


@dataclass(frozen=True, slots=True)
class Table:
    """Verdicts and what the columns mean."""

    title: str
    headings: tuple[str, str, str]
    """Headings of `id`, `what` and `reference`."""
    rows: list[Row]
    note: str = ""
    warnings: list[str] = field(default_factory=list)
    """Warnings about the results."""


def of_study(results: StudyResults) -> Table:
    """Each case against its baseline; without one, against the best case."""
    m = results.manifest
    if results.comparisons is not None and results.comparisons.height:
        rows = [row for index, metric in enumerate(m.metrics) for row in _compared(results, metric, index)]
        baseline = ", ".join(f"{name} {level}" for name, level in (m.baseline or {}).items())
        t = m.treatment
        test = "signed ranks" if t.test == "wilcoxon" else "t test"
        correction = (
            ", after Holm's correction for all comparisons of a metric" if t.correction == "holm" else ""
        )
        note = (
            f"Compared with the case that has {baseline} and is otherwise the same, seed by seed. A "
            f"difference counts if p < {t.alpha:g} ({test}{correction}); no difference means that these "
            "replications show none."
        )
        title, third = "Verdicts: against the baseline", "baseline"
    else:
        rows = [row for index, metric in enumerate(m.metrics) for row in _ranked(results, metric, index)]
        title, third = "Verdicts: against the best case", "best case"
        note = "The study names no baseline: each case is compared with the best one, seed by seed."
    return Table(title, ("case", "metric", third), rows, note, _missing(results))


def _estimates(results: StudyResults, metric: Metric) -> dict[str, Estimate]:
    found = {case: estimate(sample.values()) for case, sample in results.samples(metric.text).items()}
    return {case: one for case, one in found.items() if one is not None}


def _shown(found: Estimate | None, metric: Metric) -> str:
    if found is None:
        return "no value"
    unit, scale = metric.unit
    return words.interval(found.mean / scale, None if found.ci95 is None else found.ci95 / scale, unit)


def _compared(results: StudyResults, metric: Metric, index: int) -> list[Row]:
    assert results.comparisons is not None  # noqa: S101
    unit, scale = metric.unit
    of_case = _estimates(results, metric)
    rows = []
    for row in results.comparisons.filter(pl.col("metric") == metric.text).iter_rows(named=True):
        verdict, mood = _direction(row["difference"], metric) if row["differs"] else ("no difference", EVEN)
        if row["differs"] is None:
            verdict, mood = "not tested", OPEN
        rows.append(
            Row(
                id=row["case"],
                what=words.metric(metric),
                reference=_shown(of_case.get(row["baseline"]), metric),
                measured=_shown(of_case.get(row["case"]), metric),
                verdict=verdict,
                reason=_difference(row, unit, scale),
                mood=mood,
                case=row["case"],
                metric=index,
            )
        )
    return rows


def _direction(difference: float, metric: Metric) -> tuple[str, str]:
    if metric.wanted == 0:
        return ("higher" if difference > 0 else "lower"), EVEN
    return ("better", GOOD) if difference * metric.wanted > 0 else ("worse", BAD)


def _difference(row: dict[str, Any], unit: str, scale: float) -> str:
    """In words, with the interval."""
    width = None if row["ci95"] is None else row["ci95"] / scale
    parts = [f"difference {words.interval(row['difference'] / scale, width, unit)}"]
    if row["relative"] is not None:
        parts.insert(0, f"{100 * row['relative']:+.1f} %")
    if row["p_adjusted"] is not None:
        parts.append(f"p {_p(row['p_adjusted'])}")
    parts.append(f"{row['pairs']} pairs" if row["pairs"] > 1 else "1 pair: no interval")
    return ", ".join(parts)


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"  # noqa: PLR2004


def _ranked(results: StudyResults, metric: Metric, index: int) -> list[Row]:
    """The best case, those that do not differ from it, and the rest."""
    of_case = _estimates(results, metric)
    names = list(of_case)
    ahead = best(results, metric, names) if metric.wanted and len(names) > 1 else []
    rows = []
    for case, found in of_case.items():
        if not ahead:
            verdict, mood, reason = "measured", OPEN, numbers.count(found.n, "replication")
        elif case == ahead[0]:
            verdict, mood, reason = "best", GOOD, numbers.count(found.n, "replication")
        elif case in ahead:
            verdict, mood, reason = (
                "no difference",
                EVEN,
                f"from {ahead[0]}; {numbers.count(found.n, 'replication')}",
            )
        else:
            verdict, mood, reason = "worse", BAD, f"than {ahead[0]}; {numbers.count(found.n, 'replication')}"
        reference = _shown(of_case[ahead[0]], metric) if ahead else "none"
        rows.append(
            Row(
                case,
                words.metric(metric),
                reference,
                _shown(found, metric),
                verdict,
                reason,
                mood,
                case,
                index,
            )
        )
    return rows


def _missing(results: StudyResults) -> list[str]:
    """Runs that failed or have no value."""
    failed = numbers.count(len(results.manifest.failures), "run")
    told = [f"{failed} failed; all figures are those of the others"] if results.manifest.failures else []
    return told + reservations(results)


def of_run(results: Results) -> Table:
    """Flows with baselines against their paths alone; the others as they are."""
    names = results.flows["flow"].unique(maintain_order=True).cast(pl.String)
    own = [name for name in names if "@" not in name]
    listed = results.flows.filter(pl.col("flow").cast(pl.String).is_in(own[:MAX_FLOWS]))
    rows = []
    for group in listed.partition_by("flow", maintain_order=True):
        name = group["flow"][0]
        goodput = estimate(group["goodput_bit_s"].to_list())
        measured = "nothing" if goodput is None else _mbit(goodput)
        benefit, total = (estimate(group[key].to_list()) for key in ("benefit_vs_best", "benefit_vs_sum"))
        failures = group["failure"].drop_nulls()
        if len(failures):
            reason = f"{failures[0]} ({len(failures)} of {group.height} replications)"
            rows.append(Row(name, "goodput", "none", measured, "failed", reason, BAD))
        elif benefit is None or total is None:
            reason = f"{numbers.count(group.height, 'replication')}; no baseline was asked for"
            if not results.origin.simulated:
                reason = f"captured at: {group['side'][0]}"
            rows.append(Row(name, "goodput", "none", measured, "measured", reason, OPEN))
        else:
            rows.append(_benefit(results, name, measured, benefit, total))
    note = (
        "A flow is better than the paths one by one if the 95 % interval of its goodput over that of the "
        "best of them under the same seed lies above 1."
    )
    left_out = f"the first {MAX_FLOWS} of {len(own)} flows are listed; the tables have all of them"
    warnings = [left_out] if len(own) > MAX_FLOWS else []
    told = problems(results)
    warnings += told[:MAX_PROBLEMS]
    if len(told) > MAX_PROBLEMS:
        warnings.append(f"and {len(told) - MAX_PROBLEMS} more of this kind")
    title, headings = "Verdicts: against each path alone", ("flow", "metric", "best path alone")
    return Table(title, headings, rows, note, warnings)


def _mbit(found: Estimate) -> str:
    return words.interval(found.mean / 1e6, None if found.ci95 is None else found.ci95 / 1e6, "Mbit/s")


def _benefit(results: Results, name: str, measured: str, benefit: Estimate, total: Estimate) -> Row:
    alone = results.flows.filter(pl.col("flow").cast(pl.String).str.starts_with(f"{name}@"))
    means = [(one["flow"][0], estimate(one["goodput_bit_s"].to_list())) for one in alone.partition_by("flow")]
    there = [(flow, found) for flow, found in means if found is not None]
    reference = "nothing"
    if there:
        flow, found = max(there, key=lambda pair: (pair[1].mean, pair[0]))
        reference = f"{_mbit(found)} ({flow.partition('@')[2]})"
    times = words.interval(benefit.mean, benefit.ci95)
    reason = f"{times} times the best path, {words.interval(total.mean, total.ci95)} of the sum of all"
    if benefit.ci95 is None:
        return Row(name, "goodput", reference, measured, "not tested", f"{reason}; one replication", OPEN)
    low, high = benefit.mean - benefit.ci95, benefit.mean + benefit.ci95
    verdict, mood = ("better", GOOD) if low > 1 else ("worse", BAD) if high < 1 else ("no difference", EVEN)
    return Row(name, "goodput", reference, measured, verdict, reason, mood)


@dataclass(frozen=True, slots=True)
class Claim:
    """The part of a claim that is shown."""

    id: str
    what: str
    conditions: str
    published: str
    unit: str
    measured: str
    verdict: str
    reason: str
    root: str
    cause: str
    shown: str
    calibrated: str
    expected: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of the document, and what agrees under it alone."""

    name: str
    says: str
    agrees: int
    calibrated: int
    checked: int


@dataclass(frozen=True, slots=True)
class Root:
    """The roots that differences share."""

    name: str
    title: str
    value: str
    cause: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that has been drawn."""

    id: str
    title: str
    file: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The part of `verdicts.json` that is shown."""

    reproduction: str
    title: str
    source: str
    quick: bool
    version: str
    model_version: int
    studies: list[str]
    counts: dict[str, int]
    readings: list[Reading]
    roots: list[Root]
    unexplained: list[str]
    claims: list[Claim]
    figures: list[Figure]
    files: dict[str, str]
    """The others and their checksums."""

    @classmethod
    def read(cls, directory: Path) -> Verdicts:
        """The files that `ropewalk reproduce` left.

        The other files that are there must be what was written, too.

        Raises:
            OSError: there is no such file.
            ValueError: it is of another form, or a file is not what was written.
        """
        path = directory / REPRODUCTION
        if written.parse(path).get("form") != FORM:
            raise ValueError(f"{path}: not the verdicts of a reproduction, or of another version of Ropewalk")
        found = written.load(path, cls)
        written.check_all(path, found.files)
        return found


def of_reproduction(found: Verdicts) -> Table:
    """The claims of a published document."""
    readings = "; ".join(
        f"{reading.name}: {reading.agrees} of {reading.checked} agree".removeprefix(": ")
        for reading in found.readings
    )
    counts = ", ".join(f"{number} {verdict}" for verdict, number in found.counts.items() if number)
    quick = " The quick part only: few replications, some of the claims." if found.quick else ""
    note = f"{found.source}. {readings}. Under one reading or another: {counts}.{quick}"
    of_name = {root.name: root for root in found.roots}
    said: dict[str, str] = {}
    rows = [_claim(claim, of_name, said) for claim in found.claims]
    return Table(f"Claims: {found.title}", ("claim", "quantity and conditions", "published"), rows, note)


def _claim(claim: Claim, roots: dict[str, Root], said: dict[str, str]) -> Row:
    unit = f" {claim.unit}" if claim.unit else ""
    conditions = claim.conditions.replace(";", ", ")
    what = claim.what + (f"; {conditions}" if conditions else "")
    root = roots.get(claim.root)
    cause = claim.cause or (root.cause if root else "")
    first = said.setdefault(cause, claim.id)
    cause = cause if first == claim.id else f"as for {first}"
    parts = [
        claim.reason,
        f"Set to it: {claim.calibrated}" if claim.calibrated else "",
        f"Root: {root.title}" if root else "",
        f"Cause: {cause}" if claim.cause or (root and root.cause) else "",
        claim.shown,
        "Expected: the document contradicts itself here" if claim.expected else "",
    ]
    reason = ". ".join(part.rstrip(".") for part in parts if part)
    mood = OF_CLAIMS.get(claim.verdict, OPEN)
    published = f"{claim.published}{unit}" if _is_number(claim.published) else claim.published
    return Row(claim.id, what, published, claim.measured, claim.verdict, reason, mood)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
