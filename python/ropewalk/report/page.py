"""The page: sections in the order in which a reader asks for them; `templates/report` has a file for each."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ropewalk import numbers
from ropewalk.limits import LEAST
from ropewalk.limits import NAMES as LIMIT_NAMES
from ropewalk.pages import render
from ropewalk.plots.palette import LIMITS
from ropewalk.plots.scales import OWN_SCALES, own_scales
from ropewalk.report import topology
from ropewalk.report.plotly import Budget, plot
from ropewalk.visible import json_in_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from ropewalk.limits import Limited
    from ropewalk.plots.model import Chart
    from ropewalk.report.source import Image, Section, Source
    from ropewalk.why.kept import KeptRatio

SIGNS = {"good": "▲", "bad": "▼", "even": "=", "open": "·"}
NAMES = {
    "finished": "finished",
    "command": "command",
    "host": "host",
    "python": "Python",
    "ropewalk": "Ropewalk",
    "model_version": "model version",
    "backend": "back end",
    "build": "build of the simulator",
    "executor": "executor",
    "computed": "replications computed",
    "found": "replications that were stored before",
    "failed": "runs that failed",
    "cpu_s": "CPU time in the engine (s)",
    "elapsed_s": "time in all (s)",
    "damaged": "damaged files, computed again",
}


MOST_LIMITED = 200
"""Rows of the table of limits."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A section of the page."""

    key: str
    """Its anchor."""
    name: str
    body: Markup


@dataclass(frozen=True, slots=True)
class _Panel:
    """One plot of a chart."""

    number: int
    title: str
    label: str
    """Text for screen readers."""
    empty: str
    """Text in the place of a plot that has no marks."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A chart as the page has it."""

    heading: str
    caption: str
    legend_title: str
    shared_legend: int | None
    """The plot whose legend is that of all panels."""
    ribbon: list[tuple[str, str]] | None
    """Limits that the ribbon shows, and their colours."""
    panels: list[_Panel]


class _Plots:
    """Plots are numbered as they come."""

    def __init__(self, points: int) -> None:
        self.points = points
        self.made: list[dict[str, Any]] = []

    def add(self, chart: Chart) -> _Drawn:
        """A chart, its plots numbered."""
        budget = Budget(self.points)
        first = len(self.made)
        panels = []
        for number, panel in enumerate(chart.panels, first):
            self.made.append(plot(chart, panel, budget))
            label = f"{chart.heading}{': ' if panel.title else ''}{panel.title}"
            panels.append(_Panel(number, panel.title, label, "" if panel.marks else panel.empty))
        thinned = (
            f" {budget.drawn:,} of {budget.recorded:,} samples are drawn: the extremes of equal spans."
            if budget.drawn < budget.recorded
            else ""
        )
        scales = f" {OWN_SCALES}" if own_scales(chart) else ""
        return _Drawn(
            chart.heading,
            chart.caption + scales + thinned,
            (chart.legend_title or "") if chart.keys else "",
            first if chart.keys else None,
            None if chart.events is None else _ribbon(chart),
            panels,
        )


def page(source: Source, points: int) -> str:
    """The whole file.

    Args:
        source: what to tell.
        points: most points of one curve.
    """
    plots = _Plots(points)
    parts = [_Part("verdicts", "Verdicts", _verdicts(source))]
    if source.limits:
        parts.append(_Part("limits", "What limits the flows", _limits(source)))
    parts.append(_Part("what", "What was run", _what(source)))
    if body := _charts(source, plots, lambda one: one.metric is not None):
        parts.append(_Part("figures", "Figures", body))
    if body := _charts(source, plots, lambda one: one.metric is None and one.case is None):
        parts.append(_Part("more", "Trade-off" if source.kind == "study" else "Figures", body))
    if source.images:
        pictures = [_picture(image) for image in source.images]
        parts.append(_Part("figures", "Figures", _made("images", pictures=pictures)))
    if body := _charts(source, plots, lambda one: one.case is not None, choose=True):
        parts.append(_Part("time", "Over time", body))
    if source.failures:
        rows = [[f.case, str(f.seed), f.message, f.command] for f in source.failures]
        parts.append(_Part("failures", "Runs that failed", _made("failures", rows=rows)))
    data = json_in_html({"plots": plots.made, "cases": source.cases})
    digest = hashlib.sha256(data.encode() + "".join(part.body for part in parts).encode()).hexdigest()
    parts.append(_Part("provenance", "Provenance", _provenance(source, digest)))
    return render(
        "report/page.html",
        title=f"{source.title} · Ropewalk",
        heading=source.title,
        subtitle=source.subtitle,
        sections=parts,
        digest=digest,
        data=Markup(data),  # noqa: S704
        # Five megabytes that pages with finished pictures alone do not need.
        library=_plotly() if plots.made else "",
    )


def _made(template: str, **values: Any) -> Markup:  # noqa: ANN401
    """A section by its template."""
    filters: dict[str, Callable[..., object]] = {
        "is_short": _is_short,
        "px": "{:.1f}".format,
        "percent": numbers.percent,
        "interval": _interval,
    }
    return Markup(render(f"report/{template}.html", filters, **values))  # noqa: S704


def _plotly() -> Markup:
    """The library, without the end of a script element in it."""
    text = (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return Markup(text.replace("</script", "<\\/script"))  # noqa: S704


def _charts(
    source: Source, plots: _Plots, wanted: Callable[[Section], bool], *, choose: bool = False
) -> Markup:
    """All sections of a kind, with a selector of the case to `choose`; empty if there are none."""
    chosen = [section for section in source.sections if wanted(section) and section.charts]
    groups = [
        {
            "metric": section.metric,
            "case": section.case,
            "note": section.note,
            "hidden": place > 0 and (section.metric is not None or section.case is not None),
            "charts": [plots.add(chart) for chart in section.charts],
        }
        for place, section in enumerate(chosen)
    ]
    cases = [section.case for section in source.sections if section.case is not None] if choose else []
    return _made("charts", groups=groups, cases=cases) if groups else Markup()


def _ribbon(chart: Chart) -> list[tuple[str, str]]:
    """The legend of the ribbon: limits that occur, and their colours."""
    found = {what for panel in chart.panels for strip in panel.strips for _, _, what in strip.spans}
    return [(name, colour) for name, colour in LIMITS.items() if name in found]


def _picture(image: Image) -> dict[str, str]:
    """A figure as the command that reproduces has drawn it."""
    data = base64.b64encode(image.content).decode("ascii")
    return {"id": image.id, "title": image.title, "data": data}


def _verdicts(source: Source) -> Markup:
    """The table, with filters of metrics, verdicts and levels for the whole page."""
    rows = source.table.rows
    tally = Counter((row.mood, row.verdict) for row in rows)
    return _made(
        "verdicts",
        table=source.table,
        heads=(*source.table.headings, "measured", "verdict", "reason"),
        tally=[(mood, verdict, number) for (mood, verdict), number in sorted(tally.items())],
        verdicts=sorted({row.verdict for row in rows}),
        metrics=source.metrics,
        factors=source.factors,
        signs=SIGNS,
        of_study=source.kind == "study",
    )


def _is_short(text: str) -> bool:
    """Figures stay on one line; sentences do not."""
    return len(text) < 28  # noqa: PLR2004


def _interval(ratio: KeptRatio) -> str:
    return numbers.interval(ratio.mean, ratio.ci95)


def _what(source: Source) -> Markup:
    values: dict[str, Any] = {"description": source.description, "parts": source.parts}
    if source.scenario is None:
        return _made("what", scenario=None, **values)
    network = topology.Network.of(source.scenario)
    several = len(source.cases) > 1
    return _made(
        "what",
        scenario=source.scenario.show(),
        scenario_of=source.scenario_of,
        duration=f"{source.scenario.duration_s:g}",
        of=f" As in the case {source.scenario_of}." if several else "",
        drawing=topology.drawing(network, source.scenario.name),
        links=topology.link_rows(network),
        flows=topology.flow_rows(network),
        factors=[[name, ", ".join(levels)] for name, levels in source.factors.items()],
        study_text=source.study_text,
        **values,
    )


def _limits(source: Source) -> Markup:
    """The limits of the flows: the diagnosis if there is one, and the shares of time."""
    shown = [name for name in LIMIT_NAMES if any(row.shares[name] >= LEAST for row in source.limits)]
    left_out = (
        f"The first {MOST_LIMITED} of {len(source.limits)} rows." if len(source.limits) > MOST_LIMITED else ""
    )
    return _made(
        "limits",
        why=[] if source.diagnosis is None else source.diagnosis.flows,
        hints=source.hints if source.diagnosis is None else [],
        left_out=left_out,
        heads=["flow", "path", *shown],
        rows=[_limited(row, shown) for row in source.limits[:MOST_LIMITED]],
    )


def _limited(row: Limited, shown: list[str]) -> list[str]:
    shares = (row.shares[name] for name in shown)
    return [row.flow, row.path or "-", *("-" if share < LEAST else f"{100 * share:.1f}" for share in shares)]


def _provenance(source: Source, digest: str) -> Markup:
    facts = {NAMES.get(key, key): _fact(value) for key, value in source.facts.items()}
    facts["content of this report"] = f"sha256:{digest}"
    return _made("provenance", facts=facts.items(), noted="command" in source.facts)


def _fact(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
