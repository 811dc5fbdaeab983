"""Scenarios and results as notebooks show them: HTML that needs no style sheet."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ropewalk import numbers
from ropewalk.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.results import Results
    from ropewalk.scenario import Scenario

MAX_ROWS = 20


def of_scenario(scenario: Scenario) -> str:
    """Links and flows."""
    from ropewalk.report.topology import Network, value

    network = Network.of(scenario)
    links = [
        [
            f"{link.name}.{way}",
            *(value(direction.get(key), key) for key in ("rate", "delay", "queue", "loss")),
        ]
        for link in network.links
        for way, direction in zip(link.directions, (link.forward, link.reverse), strict=True)
    ]
    flows = []
    for flow in network.flows:
        transport = [value(flow["transport"].get(key)) for key in ("kind", "congestion", "scheduler")]
        words = ", ".join(word for word in transport if word not in {"-", ""})
        flows.append([flow["name"], f"{flow['from']} → {flow['to']}", value(flow["app"]), words])
    runs = numbers.count(len(scenario.seeds), "replication")
    return (
        _heading(scenario.name, f"{scenario.duration_s:g} s simulated, {runs}")
        + _table(["link", "rate", "delay", "queue", "loss"], links)
        + _table(["flow", "from, to", "application", "transport"], flows)
    )


def of_results(results: Results) -> str:
    """The table of flows that the command line prints, and what to know before believing it."""
    from ropewalk.cli.tables import FLOWS, NONE, problems

    rows = results.summary()["flows"]
    filled = {header: [cell(row) for row in rows] for header, cell in FLOWS.items()}
    shown = {header: cells for header, cells in filled.items() if set(cells) != {NONE}}
    runs = numbers.count(len(results.origin.seeds), "replication")
    told = "".join(f"<p><b>{_text(line)}</b></p>" for line in problems(results))
    heads = [header.replace("-\n", "").replace("\n", " ") for header in shown]
    return (
        _heading(results.origin.scenario.name, f"{runs}; mean ± half width of the 95 % interval")
        + _table(heads, [list(row) for row in zip(*shown.values(), strict=True)])
        + told
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _heading(name: str, about: str) -> str:
    return f"<p><b>{_text(name)}</b>: {_text(about)}</p>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """At most `MAX_ROWS` rows; the number of the others below."""
    head = "".join(f"<th>{_text(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows[:MAX_ROWS]
    )
    left = f"<p>and {len(rows) - MAX_ROWS} more</p>" if len(rows) > MAX_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{left}"
