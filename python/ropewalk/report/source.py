"""Results read from a directory, of a run or a study, in the form that reports, figures and exports need."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ropewalk import numbers, plots, provenance, store, toml, written
from ropewalk.limits import Limited, limits, of_capture
from ropewalk.plots import study as study_plots
from ropewalk.plots import words
from ropewalk.report import verdicts
from ropewalk.results import Origin, Results, Totals
from ropewalk.scenario import Scenario
from ropewalk.study import manifest
from ropewalk.study.results import StudyResults
from ropewalk.why import kept
from ropewalk.why.hint import hints

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ropewalk.plots.model import Chart

MAX_CASES = 8
"""Cases of a study that are shown over time, unless one is named."""
MAX_FLOWS = 12
"""Flows of a study whose throughput is drawn against their delay."""


OF_ALL_STUDIES = ("finished", "command", "host", "python", "ropewalk", "model_version", "build", "executor")
"""The entries that the notes of all studies of a reproduction share."""


class ReportError(ValueError):
    """A directory from which no report can be made; `cure` says what to do."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(f"{message}\n  fix: {cure}")
        self.cure = cure


@dataclass(frozen=True, slots=True)
class Section:
    """Charts under one heading."""

    heading: str
    charts: list[Chart]
    note: str = ""
    metric: int | None = None
    """Metric of a study with which this is shown."""
    case: str | None = None
    """Case of a study with which this is shown."""


@dataclass(frozen=True, slots=True)
class Image:
    """A figure of a reproduction, drawn already (PNG)."""

    id: str
    title: str
    content: bytes = field(repr=False)


@dataclass(slots=True)
class Source:
    """A directory of results."""

    directory: Path
    kind: str
    """`study`, `run` or `reproduction`."""
    title: str
    subtitle: str
    table: verdicts.Table
    description: str = ""
    limits: list[Limited] = field(default_factory=list)
    """Limits of the flows of a run, by share of the time."""
    hints: list[str] = field(default_factory=list)
    """Flows of a run that are held up, in words."""
    diagnosis: kept.Kept | None = None
    """Diagnosis that `ropewalk why` has left beside a run."""
    scenario: Scenario | None = None
    scenario_of: str = ""
    """The case of a study that it is."""
    study_text: str = ""
    """The study file."""
    factors: dict[str, list[str]] = field(default_factory=dict)
    cases: dict[str, dict[str, str]] = field(default_factory=dict)
    """Case to factor to level."""
    overrides: dict[str, list[list[str]]] = field(default_factory=dict)
    """Case to keys and values."""
    metrics: list[str] = field(default_factory=list)
    """In words."""
    sections: list[Section] = field(default_factory=list)
    failures: list[manifest.FailureEntry] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    """Where it comes from."""
    parts: list[str] = field(default_factory=list)
    """Studies of a reproduction."""
    images: list[Image] = field(default_factory=list)
    """Figures of the document of a reproduction."""

    def charts(self) -> list[Chart]:
        """All of them."""
        return [chart for section in self.sections for chart in section.charts]


def open_source(directory: Path, *, run: int | None = None, case: str | None = None) -> Source:
    """Looks what is in `directory` and prepares its charts.

    Raises:
        ReportError: it has no results, or no such seed or case.
        OSError: a file cannot be read.
    """
    if (directory / verdicts.REPRODUCTION).exists():
        if (run, case) != (None, None):
            raise ReportError(
                f"{directory}: a reproduction shows nothing over time",
                f"leave --seed and --case out, or name one of its studies: {directory / 'studies' / 'STUDY'}",
            )
        return _reproduction(directory)
    found = results_of(directory)
    if isinstance(found, StudyResults):
        return _study(directory, found, run, case)
    if case is not None:
        raise ReportError(f"{directory} has no cases: it is no study", "leave --case out")
    return _run(directory, found, run)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Name to what a file or folder can be called for it; no two are called the same."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.@-]+", "_", name).strip("._") or "_"
        taken = {other.casefold() for other in found.values()}
        more = (f"{plain}_{number}" for number in itertools.count(2))
        found[name] = next(one for one in itertools.chain([plain], more) if one.casefold() not in taken)
    return found


def results_of(directory: Path) -> Results | StudyResults:
    """The tables of a run or of a study.

    Raises:
        ReportError: there are none, or they are damaged.
        OSError: a file cannot be read.
    """
    try:
        if (directory / manifest.FILE).exists():
            return StudyResults.read(directory)
        if (directory / store.SUMMARY).exists():
            return Results.read(directory)
    except provenance.NoteError as error:
        raise ReportError(str(error), error.cure) from error
    except ValueError as error:
        raise ReportError(f"{directory}: cannot be read as results: {error}", "run it again") from error
    if (directory / "runs.parquet").exists():
        # The list of the files, of a run or of a study, is written last.
        raise ReportError(f"{directory}: unfinished: what wrote there was ended", "run it again")
    raise ReportError(
        f"{directory}: found no results there",
        "name a directory that ropewalk study or ropewalk run --out has written; "
        "those of a reproduction are in studies/ of its directory",
    )


def _run(directory: Path, results: Results, run: int | None) -> Source:
    scenario = results.origin.scenario
    _check_seed(run, results.origin.seeds)
    count = len(results.origin.seeds)
    replications = numbers.count(count, "replication")
    facts = _facts(directory)
    facts.setdefault("model_version", results.origin.model_version)
    facts.setdefault("backend", results.origin.backend)
    drawn = plots.charts(results, run)
    over_time = [chart for chart in drawn if chart.events is not None]
    others = [chart for chart in drawn if chart.events is None]
    seed = results.origin.seeds[0] if run is None else run
    note = f"Seed {seed} of {count}." if over_time else "No time series were recorded."
    if not results.origin.simulated:
        return _capture(directory, results, facts, Section("Over time", over_time))
    return Source(
        directory,
        "run",
        scenario.name,
        f"{replications} of {scenario.duration_s:g} s simulated time",
        verdicts.of_run(results),
        description=_description(scenario),
        limits=limits(results),
        hints=hints(results),
        diagnosis=_diagnosis(directory),
        scenario=scenario,
        sections=[Section("Over time", over_time, note), Section("Distributions", others)],
        facts=facts,
    )


def _capture(directory: Path, results: Results, facts: dict[str, Any], over_time: Section) -> Source:
    """The results of `ropewalk read --out`: the scenario is fitted, and says how."""
    scenario = results.origin.scenario
    return Source(
        directory,
        "capture",
        scenario.name,
        f"{numbers.count(results.flows.height, 'connection')} in captures",
        verdicts.of_run(results),
        description=f"Connections read from captures. The scenario below: {_description(scenario)}.",
        limits=of_capture(results),
        diagnosis=_diagnosis(directory),
        scenario=scenario,
        sections=[over_time],
        facts=facts,
    )


def _facts(directory: Path) -> dict[str, Any]:
    try:
        return provenance.read(directory)
    except provenance.NoteError as error:
        raise ReportError(str(error), error.cure) from error


def _diagnosis(directory: Path) -> kept.Kept | None:
    try:
        return kept.read(directory)
    except ValueError as error:
        raise ReportError(str(error), f"ropewalk why {directory} writes it again") from error


def _check_seed(run: int | None, seeds: list[int]) -> None:
    if run is not None and run not in seeds:
        raise ReportError(
            f"there is no seed {run} with time series", f"seeds: {_some(seeds)}" if seeds else "none has"
        )


def _some(names: Sequence[object], most: int = 10) -> str:
    return ", ".join([*map(str, names[:most]), *["…"] * (len(names) > most)])


def _description(scenario: Scenario) -> str:
    return str(scenario.expanded().get("description", ""))


def _study(directory: Path, results: StudyResults, run: int | None, case: str | None) -> Source:
    m = results.manifest
    names = [entry.case for entry in m.cases]
    if case is not None and case not in names:
        raise ReportError(f'there is no case "{case}"', f"cases: {_some(names)}; cases.csv has all of them")
    last = max(entry.replications for entry in m.cases if case in {None, entry.case})
    _check_seed(run, list(range(1, min(m.series, last) + 1)))
    sections = [
        Section(words.metric(metric), study_plots.of_metric(results, metric), metric=index)
        for index, metric in enumerate(m.metrics)
    ]
    flows = study_plots.flows(results)
    if flows:
        few = flows[:MAX_FLOWS]
        note = f"The first {MAX_FLOWS} of {len(flows)} flows." if len(few) < len(flows) else ""
        drawn = [study_plots.tradeoff(results, flow) for flow in few]
        sections.append(Section("Throughput against delay", drawn, note))
    sections += over_time(results, run, case)
    document = toml.values(m.text, m.name)
    runs = sum(entry.replications for entry in m.cases)
    facts = _facts(directory)
    facts.setdefault("model_version", m.model_version)
    facts.setdefault("ropewalk", m.version)
    # The store has nothing of cases that failed.
    shown = next((name for name in names if results.seeds(name)), "")
    return Source(
        directory,
        "study",
        m.name,
        f"{numbers.count(len(m.cases), 'case')}, {numbers.count(runs, 'replication')}",
        verdicts.of_study(results),
        description=str(document.get("description", "")),
        scenario=scenario_of(results, shown) if shown else None,
        scenario_of=shown,
        study_text=m.text,
        factors=m.factors,
        cases={entry.case: entry.levels for entry in m.cases},
        overrides={entry.case: entry.overrides for entry in m.cases},
        metrics=[words.metric(metric) for metric in m.metrics],
        sections=sections,
        failures=m.failures,
        facts=facts,
    )


def over_time(results: StudyResults, run: int | None, case: str | None) -> list[Section]:
    """Plots over time of the cases that have time series."""
    m = results.manifest
    if m.series == 0:
        return []
    with_series = [entry.case for entry in m.cases]
    chosen = with_series[:MAX_CASES] if case is None else [case]
    left_out = f" The first {MAX_CASES} of {len(with_series)} cases; --case NAME shows another one."
    sections, lacking = [], []
    for name in chosen:
        there = [seed for seed in results.seeds(name) if seed <= m.series]
        if case is not None:
            _check_seed(run, there)
        if not there or (run is not None and run not in there):
            lacking.append(name)
            continue
        of_case = case_results(results, name)
        if of_case.series.is_empty():
            continue
        seed = there[0] if run is None else run
        drawn = plots.charts(of_case, seed)
        note = f"Seed {seed}." + (left_out if case is None and len(with_series) > MAX_CASES else "")
        sections.append(Section(f"Over time: {name}", drawn, note, case=name))
    if lacking and not sections and (run, case) != (None, None):
        raise ReportError(f"the runs to show have failed: {_some(lacking)}", "choose others, or run it again")
    more = f" Failed, so that nothing can be shown: {', '.join(lacking)}." if lacking else ""
    return [replace(section, note=section.note + more) for section in sections]


def scenario_of(results: StudyResults, case: str) -> Scenario:
    """The scenario of a case, as the store has it, under the name of the case.

    Raises:
        OSError: the store has gone.
    """
    return Scenario.parse(results.scenario(case), case).set("name", case)


def case_results(results: StudyResults, case: str) -> Results:
    """One case of a study as the results of a run: one of which not all replications have failed.

    Raises:
        OSError: the store has gone.
    """
    from ropewalk.results import TABLES

    tables = {}
    for name in TABLES:
        table = results.rows(name, case)
        tables[name] = table.drop("case") if table.width else table
    runs = tables["runs"]
    totals = Totals(int(runs["events"].sum()), int(runs["packet_hops"].sum()), 0.0)
    version = results.manifest.model_version
    origin = Origin(scenario_of(results, case), results.seeds(case), version, totals)
    return Results(origin, tables, {})


def _reproduction(directory: Path) -> Source:
    listing = directory / verdicts.REPRODUCTION
    try:
        found = verdicts.Verdicts.read(directory)
        pictures = [written.checked(listing, one.file, found.files) for one in found.figures]
    except ValueError as error:
        raise ReportError(str(error), "reproduce it again") from error
    # The command that reproduces leaves its note in each study; an earlier one may have run more of them.
    notes = [_facts(directory / "studies" / name) for name in found.studies]
    facts = max(notes, key=lambda note: str(note.get("finished", "")), default={})
    facts = {key: value for key, value in facts.items() if key in OF_ALL_STUDIES}
    facts = {"model_version": found.model_version, "ropewalk": found.version, **facts}
    return Source(
        directory,
        "reproduction",
        f"Reproduction of {found.reproduction}",
        numbers.count(len(found.claims), "claim"),
        verdicts.of_reproduction(found),
        description=found.title,
        facts=facts,
        parts=sorted(found.studies),
        images=[
            Image(one.id, one.title, content) for one, content in zip(found.figures, pictures, strict=True)
        ],
    )
