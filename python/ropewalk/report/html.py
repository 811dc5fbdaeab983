"""The page: sections in the order in which a reader asks for them."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from ropewalk import catalogue, numbers
from ropewalk.limits import LEAST
from ropewalk.plots.palette import LIMITS
from ropewalk.plots.scales import OWN_SCALES, own_scales
from ropewalk.report import topology
from ropewalk.report.plotly import Budget, plot
from ropewalk.visible import json_in_html, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from ropewalk.limits import Limited
    from ropewalk.plots.model import Chart
    from ropewalk.report.source import Image, Section, Source
    from ropewalk.report.verdicts import Row
    from ropewalk.why.kept import KeptCure, KeptFlow

SIGNS = {"good": "▲", "bad": "▼", "even": "=", "open": "·"}
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""Nothing may be loaded: the file is all there is."""
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


class _Page:
    """Plots are numbered as they come."""

    def __init__(self, points: int) -> None:
        self.points = points
        self.plots: list[dict[str, Any]] = []


def page(source: Source, points: int) -> str:
    """The whole file.

    Args:
        source: what to tell.
        points: most points of one curve.
    """
    made = _Page(points)
    sections: list[tuple[str, str, str]] = [
        ("verdicts", "Verdicts", _verdicts(source)),
        ("what", "What was run", _what(source)),
    ]
    if source.limits:
        sections.insert(1, ("limits", "What limits the flows", _held(source) + _limits(source.limits)))
    if text := _drawn(source, made, lambda one: one.metric is not None):
        sections.append(("figures", "Figures", text))
    if text := _drawn(source, made, lambda one: one.metric is None and one.case is None):
        sections.append(("more", "Trade-off" if source.kind == "study" else "Figures", text))
    if source.images:
        sections.append(("figures", "Figures", "".join(map(_image, source.images))))
    if text := _drawn(source, made, lambda one: one.case is not None):
        sections.append(("time", "Over time", _choose_case(source) + text))
    if source.failures:
        sections.append(("failures", "Runs that failed", _failures(source)))
    sections = [(key, name, visible(text)) for key, name, text in sections]
    data = json_in_html({"plots": made.plots, "cases": source.cases})
    digest = hashlib.sha256(data.encode() + "".join(body for _, _, body in sections).encode()).hexdigest()
    sections.append(("provenance", "Provenance", visible(_provenance(source, digest))))
    title, subtitle = (escape(visible(text)) for text in (source.title, source.subtitle))
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name, _ in sections)
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title">'
        f'<h2 id="{key}-title">{escape(name)}</h2>{text}</section>'
        for key, name, text in sections
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="ropewalk-content" content="sha256:{digest}">'
        f'<title>{title} · Ropewalk</title><link rel="icon" href="data:,">'
        f"<style>{_asset('report.css')}</style></head>\n<body>"
        '<a class="skip" href="#main">Skip to the verdicts</a>'
        f"<header><div><h1>{title}</h1>"
        f'<p class="soft">{subtitle}</p></div>'
        '<button type="button" id="theme">Dark colours</button></header>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main id="main" tabindex="-1">{body}</main>'
        f'<footer class="soft">Made by Ropewalk. {_noscript()}</footer>\n'
        f'<script type="application/json" id="data">{data}</script>\n'
        # Five megabytes that pages with finished pictures alone do not need.
        f"<script>{_plotly() if made.plots else ''}</script>\n"
        f"<script>{_asset('report.js')}</script>\n</body></html>\n"
    )


def _noscript() -> str:
    return "<noscript>Without JavaScript the tables are here, the figures are not.</noscript>"


def _asset(name: str) -> str:
    return (resources.files("ropewalk.report") / "assets" / name).read_text(encoding="utf-8")


def _plotly() -> str:
    """The library, without the end of a script element in it."""
    text = (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script")


def _drawn(source: Source, made: _Page, wanted: Callable[[Section], bool]) -> str:
    """All sections of a kind; empty if there are none."""
    chosen = [section for section in source.sections if wanted(section) and section.charts]
    return "".join(_section(section, made, first=number == 0) for number, section in enumerate(chosen))


def _section(section: Section, made: _Page, *, first: bool) -> str:
    marks = ""
    if section.metric is not None:
        marks = f' data-metric="{section.metric}"'
    elif section.case is not None:
        marks = f' data-of-case="{escape(section.case)}"'
    hidden = "" if first or not marks else " hidden"
    note = f'<p class="caption">{escape(section.note)}</p>' if section.note else ""
    charts = "".join(_chart(chart, made) for chart in section.charts)
    return f"<div{marks}{hidden}>{note}{charts}</div>"


def _chart(chart: Chart, made: _Page) -> str:
    budget = Budget(made.points)
    figures = []
    keys = ""
    for panel in chart.panels:
        number = len(made.plots)
        made.plots.append(plot(chart, panel, budget))
        label = f"{chart.heading}{': ' if panel.title else ''}{panel.title}"
        legend = f'<ul class="legend" data-legend="{number}" aria-label="Legend"></ul>'
        if chart.keys:
            # The same for all panels, so it stands once.
            keys, legend = keys or legend, ""
        figures.append(_figure(number, panel.title, label, legend, panel.empty if not panel.marks else ""))
    thinned = (
        f" {budget.drawn:,} of {budget.recorded:,} samples are drawn: the extremes of equal spans."
        if budget.drawn < budget.recorded
        else ""
    )
    scales = f" {OWN_SCALES}" if own_scales(chart) else ""
    named = chart.keys and chart.legend_title
    above = f'<div class="caption"><strong>{escape(chart.legend_title or "")}</strong></div>' if named else ""
    return (
        f'<div class="chart"><h3>{escape(chart.heading)}</h3>'
        f'<p class="caption">{escape(chart.caption + scales + thinned)}</p>'
        f"{_ribbon_key(chart) if chart.events is not None else ''}"
        f'{above}{keys}<div class="panels">{"".join(figures)}</div></div>'
    )


def _ribbon_key(chart: Chart) -> str:
    """The legend of the ribbon."""
    found = {what for panel in chart.panels for strip in panel.strips for _, _, what in strip.spans}
    limits = {name: colour for name, colour in LIMITS.items() if name in found}
    swatches = "".join(
        '<li><svg width="22" height="8" aria-hidden="true">'
        f'<rect width="22" height="8" fill="{colour}"/></svg>'
        f"{state}</li>"
        for state, colour in limits.items()
    )
    what = "ribbon: ▼ change of a link" + ("; limited by" if limits else "")
    return f'<ul class="legend" aria-label="Ribbon"><li>{what}</li>{swatches}</ul>'


def _figure(number: int, title: str, label: str, legend: str, empty: str) -> str:
    heading = f"<h4>{escape(title)}</h4>" if title else ""
    if empty:
        return f'<figure id="plot-{number}">{heading}<p class="empty">{escape(empty)}</p></figure>'
    tools = "".join(
        [
            _button("values", "Values", f"Values of {label}", ' aria-expanded="false"'),
            _button("reset", "Whole range", f"Whole range of {label}"),
            _button("image", "Save as SVG", f"Save {label} as SVG"),
        ]
    )
    return (
        f'<figure id="plot-{number}">{heading}{legend}'
        f'<div class="canvas" data-plot="{number}" role="img" aria-label="{escape(label)}"></div>'
        f'<div class="tools">{tools}</div><div class="values" tabindex="0" hidden></div></figure>'
    )


def _button(act: str, text: str, label: str, more: str = "") -> str:
    return f'<button type="button" data-act="{act}" aria-label="{escape(label)}"{more}>{text}</button>'


def _image(image: Image) -> str:
    """A figure as the command that reproduces has drawn it."""
    data = base64.b64encode(image.content).decode("ascii")
    title = escape(image.title)
    return (
        f'<figure id="{escape(image.id)}"><img loading="lazy" alt="{title}" '
        f'src="data:image/png;base64,{data}"><figcaption class="caption">{title}. '
        "Hollow marks and dashes: published.</figcaption></figure>"
    )


def _verdicts(source: Source) -> str:
    table = source.table
    warnings = "".join(f'<p class="warning">{escape(text)}</p>' for text in table.warnings)
    counts: dict[tuple[str, str], int] = {}
    for row in table.rows:
        counts[row.mood, row.verdict] = counts.get((row.mood, row.verdict), 0) + 1
    tally = "".join(
        f'<li class="mood-{mood}"><span class="verdict">{SIGNS[mood]} {escape(verdict)}</span>: '
        f'<span data-tally="{escape(verdict)}">{number}</span></li>'
        for (mood, verdict), number in sorted(counts.items())
    )
    first, second, third = table.headings
    heads = "".join(
        f'<th scope="col">{name}</th>' for name in (first, second, third, "measured", "verdict", "reason")
    )
    rows = "".join(_row(row, source, table.headings) for row in table.rows)
    return (
        f'<p class="soft">{escape(table.title)}. {escape(table.note)}</p>'
        f'{warnings}<ul class="counts">{tally}</ul>'
        f"{_controls(source)}"
        f'<div class="tall" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f'<table class="cards"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(row: Row, source: Source, headings: tuple[str, str, str]) -> str:
    of = f' data-of="{row.metric}"' if source.kind == "study" else ""
    cells = [
        f'<th scope="row" data-label="{headings[0]}">{escape(row.id)}</th>',
        f'<td data-label="{headings[1]}">{escape(row.what)}</td>',
        f'<td{_short(row.reference)} data-label="{headings[2]}">{escape(row.reference)}</td>',
        f'<td{_short(row.measured)} data-label="measured">{escape(row.measured)}</td>',
        f'<td data-label="verdict"><span class="verdict">{SIGNS[row.mood]} {escape(row.verdict)}</span></td>',
        f'<td data-label="reason">{escape(row.reason)}</td>',
    ]
    marks = f'data-case="{escape(row.case)}" data-verdict="{escape(row.verdict)}"{of}'
    return f'<tr class="mood-{row.mood}" {marks}>{"".join(cells)}</tr>'


def _short(text: str) -> str:
    """Figures stay on one line; sentences do not."""
    return ' class="figure"' if len(text) < 28 else ""  # noqa: PLR2004


def _controls(source: Source) -> str:
    """Selector of the metric, filters of cases and verdicts: for the whole page."""
    parts = []
    if len(source.metrics) > 0:
        options = "".join(
            f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(source.metrics)
        )
        parts.append(f'<label>Metric <select id="metric">{options}</select></label>')
    found = sorted({row.verdict for row in source.table.rows})
    if len(found) > 1:
        options = "".join(f"<option>{escape(name)}</option>" for name in found)
        parts.append(
            f'<label>Verdict <select id="verdict"><option value="">all</option>{options}</select></label>'
        )
    for name, levels in source.factors.items():
        boxes = "".join(
            f'<label><input type="checkbox" data-factor="{escape(name)}" value="{escape(level)}" checked> '
            f"{escape(level)}</label>"
            for level in levels
        )
        parts.append(f"<fieldset><legend>{escape(name)}</legend>{boxes}</fieldset>")
    if not parts:
        return ""
    clear = '<button type="button" id="clear">Show all</button>'
    status = '<span id="status" role="status" class="soft"></span>'
    return f'<div class="controls" role="group" aria-label="Choose">{"".join(parts)}{clear}{status}</div>'


def _what(source: Source) -> str:
    parts = [f"<p>{escape(source.description)}</p>" if source.description else ""]
    if source.parts:
        parts.append(
            "<p>Each study has a report of its own: <code>ropewalk report DIR/studies/STUDY</code>.</p>"
        )
        listed = "".join(f"<li>{escape(name)}</li>" for name in source.parts)
        parts.append(_details(f"The {len(source.parts)} studies behind the claims", f"<ul>{listed}</ul>"))
    if source.scenario is not None:
        first = source.scenario_of
        of = f" As in the case {first}." if len(source.cases) > 1 else ""
        network = topology.Network.of(source.scenario)
        parts += [
            f"<p>{source.scenario.duration_s:g} s simulated.{escape(of)}</p>",
            '<div class="scroll" tabindex="0" role="region" aria-label="Drawing of the network">',
            topology.svg(source.scenario),
            "</div>",
            _details("Links", _links(network)),
            _details("Flows", _flows(network), is_open=True),
        ]
        if source.factors:
            parts.append(_details("What was varied", _factors(source), is_open=True))
        if source.study_text:
            parts.append(_details("Study file", f'<pre tabindex="0">{escape(source.study_text)}</pre>'))
        name = "Scenario, every default filled in" + (f": {first}" if first else "")
        parts.append(_details(name, f'<pre tabindex="0">{escape(source.scenario.show())}</pre>'))
    return "".join(parts)


def _details(title: str, body: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{body}</details>"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{escape(name)}">{escape(cell)}</td>'
            for name, cell in zip(heads, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    table = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table class="cards">{table}</table></div>'


def _links(network: topology.Network) -> str:
    rows = []
    for link in network.links:
        for way, direction in zip(link.directions, (link.forward, link.reverse), strict=True):
            facts = [topology.value(direction.get(key), key) for key in ("rate", "delay", "queue", "loss")]
            ends = link.ends if way == link.directions[0] else link.ends[::-1]
            rows.append([f"{link.name}.{way}", " → ".join(ends), *facts])
    return _table(["link", "from, to", "rate", "delay", "queue", "loss"], rows)


def _flows(network: topology.Network) -> str:
    rows = []
    for flow in network.flows:
        transport = flow["transport"]
        kinds = [topology.value(transport.get(key)) for key in ("kind", "congestion", "scheduler")]
        words = ", ".join(kind for kind in kinds if kind not in {"-", ""})
        name = topology.several(flow["name"], flow["count"])
        rows.append([name, f"{flow['from']} → {flow['to']}", topology.value(flow["app"]), words])
    return _table(["flow", "from, to", "application", "transport"], rows)


def _held(source: Source) -> str:
    """The limits of the flows: the diagnosis if there is one, otherwise the shares of time."""
    if source.diagnosis is None:
        if not source.hints:
            return ""
        command = "<code>ropewalk why DIR</code> tries what helps; its answer then stands here."
        return "".join(f"<p>{escape(text)}</p>" for text in source.hints) + f'<p class="soft">{command}</p>'
    return "".join(_flow_held(flow) for flow in source.diagnosis.flows)


def _flow_held(flow: KeptFlow) -> str:
    reasons = "".join(
        f"<li><strong>{escape(reason.cause)}</strong> ({numbers.percent(reason.share)}): "
        f"{escape(reason.evidence)}."
        f"{_cures(reason.cures)}</li>"
        for reason in flow.reasons
    )
    told = f"<ol>{reasons}</ol>" if reasons else "<p>No change that was tried makes a difference.</p>"
    return f"<h3>Why: {escape(flow.flow)}</h3>{told}"


def _cures(cures: list[KeptCure]) -> str:
    told = "".join(
        f"<li><code>{escape(' '.join(f'--set {text}' for text in cure.set))}</code>: "
        f"{escape(numbers.interval(cure.goodput_ratio.mean, cure.goodput_ratio.ci95))} times the goodput</li>"
        for cure in cures
    )
    return f"<ul>{told}</ul>" if told else ""


def _limits(found: list[Limited]) -> str:
    shown = [name for name in catalogue.limits().values() if any(row.shares[name] >= LEAST for row in found)]
    rows = [
        [row.flow, row.path or "-", *(_percent(row.shares[name]) for name in shown)]
        for row in found[:MOST_LIMITED]
    ]
    left_out = f" The first {MOST_LIMITED} of {len(found)} rows." if len(found) > MOST_LIMITED else ""
    return (
        '<p class="caption">Share of the time in which each limit kept the flow from sending more, over all '
        f"replications, in percent. At any instant one limit applies.{left_out}</p>"
        + _table(["flow", "path", *shown], rows)
    )


def _percent(share: float) -> str:
    return "-" if share < LEAST else f"{100 * share:.1f}"


def _factors(source: Source) -> str:
    rows = [[name, ", ".join(levels)] for name, levels in source.factors.items()]
    return _table(["factor", "levels"], rows)


def _choose_case(source: Source) -> str:
    names = [section.case for section in source.sections if section.case is not None]
    options = "".join(f'<option value="{escape(name)}">{escape(name)}</option>' for name in names)
    return f'<div class="controls"><label>Case <select id="case">{options}</select></label></div>'


def _failures(source: Source) -> str:
    rows = [[f.case, str(f.seed), f.message, f.command] for f in source.failures]
    return _table(["case", "seed", "message", "command that repeats it"], rows)


def _provenance(source: Source, digest: str) -> str:
    facts = {NAMES.get(key, key): value for key, value in source.facts.items()}
    facts["content of this report"] = f"sha256:{digest}"
    shown = "".join(f"<dt>{escape(key)}</dt><dd>{escape(_fact(value))}</dd>" for key, value in facts.items())
    missing = (
        "" if "command" in source.facts else "<p>No note on host and command was left in the directory.</p>"
    )
    return f"{missing}<dl>{shown}</dl>"


def _fact(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
