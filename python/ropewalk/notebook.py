"""Scenarios and results as notebooks show them: HTML that needs no style sheet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.results import Results
    from ropewalk.scenario import Scenario
    from ropewalk.why.model import Diagnosis

MAX_ROWS = 20


def of_scenario(scenario: Scenario) -> str:
    """Links and flows."""
    from ropewalk.report.topology import Network, flow_rows, link_rows

    network = Network.of(scenario)
    links = [[name, *facts] for name, _, *facts in link_rows(network)]
    runs = numbers.count(len(scenario.seeds), "replication")
    tables = [
        _Table(["link", "rate", "delay", "queue", "loss"], links),
        _Table(["flow", "from, to", "application", "transport"], flow_rows(network)),
    ]
    return _shown(scenario.name, f"{scenario.duration_s:g} s simulated, {runs}", tables)


def of_results(results: Results) -> str:
    """The table of flows that the command line prints, and what to know before believing it."""
    from ropewalk.cli.tables import FLOWS, NONE
    from ropewalk.problems import problems

    rows = results.summary()["flows"]
    filled = {header: [cell(row) for row in rows] for header, cell in FLOWS.items()}
    shown = {header: cells for header, cells in filled.items() if set(cells) != {NONE}}
    runs = numbers.count(len(results.origin.seeds), "replication")
    heads = [header.replace("-\n", "").replace("\n", " ") for header in shown]
    table = _Table(heads, [list(row) for row in zip(*shown.values(), strict=True)])
    about = f"{runs}; mean ± half width of the 95 % interval"
    return _shown(results.origin.scenario.name, about, [table], problems(results))


def of_diagnosis(diagnosis: Diagnosis) -> str:
    """The reasons of each flow, each with its best change."""
    from ropewalk.why.model import typed
    from ropewalk.why.text import headline, spent, told

    tables, notes = [], []
    for flow in diagnosis.flows:
        rows = []
        for reason in flow.reasons:
            best = next(iter(reason.cures), reason.without)
            change = "" if best is None else " ".join(typed(best.settings))
            gain = "" if best is None else told(best)
            rows.append([reason.cause, numbers.percent(reason.share), reason.evidence, change, gain])
        notes.append(headline(flow))
        if limits := spent(flow.budget, failed=flow.failed):
            notes[-1] += f"; limits, by time: {limits}"
        notes += [f"not proven: {one}" for one in flow.unproven]
        tables.append(_Table([flow.flow, "of the time", "evidence", "change", "gives"], rows))
    seeds = numbers.count(len(diagnosis.seeds), "seed")
    about = f"{numbers.count(diagnosis.tried, 'change')} tried, paired by up to {seeds}"
    return _shown(diagnosis.scenario, about, tables, notes)


@dataclass(frozen=True, slots=True)
class _Table:
    """At most `MAX_ROWS` rows are shown; the number of the others stands below."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def _shown(name: str, about: str, tables: list[_Table], told: Sequence[str] = ()) -> str:
    from ropewalk.pages import render

    return render("notebook.html", name=name, about=about, tables=tables, told=told, most=MAX_ROWS)
