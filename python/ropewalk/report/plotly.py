"""Charts as what plotly.js draws: one plot for each panel, with a legend that the page makes of buttons."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import singledispatch
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ropewalk.numbers import figure
from ropewalk.plots.apart import apart, labels
from ropewalk.plots.model import INK, QUIET, Axis, Band, Bars, Boxes, Cells, Line, Points, Stack
from ropewalk.plots.palette import LIMITS
from ropewalk.plots.scales import extremes, own_scales
from ropewalk.report.thin import thin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ropewalk.plots.model import Chart, Mark, Panel

DIGITS = 5
COLOURS = {INK: "@ink", QUIET: "@quiet"}
"""The page puts in what its theme has."""
HEIGHT, MARGIN = 300, 60
ROW = 16
"""Height of one row of the ribbon."""
CELL_HEIGHT = 46
MANY_DECADES = 4
SMALL_SHARE = 0.5
"""Cells brighter than this share of the range have dark text."""


@dataclass(slots=True)
class Budget:
    """How many points each curve may have, and how many were drawn."""

    points: int
    drawn: int = 0
    recorded: int = 0


@dataclass(slots=True)
class _Made:
    """One plot on its way."""

    budget: Budget
    traces: list[dict[str, Any]] = field(default_factory=list)
    legend: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)


def plot(chart: Chart, panel: Panel, budget: Budget) -> dict[str, Any]:
    """Data, layout and legend of one panel of a chart."""
    made = _Made(budget)
    for mark in apart(panel.marks):
        _add(mark, made, chart)
    rows = _ribbon(chart, panel, made)
    cells = any(isinstance(mark, Cells) for mark in panel.marks)
    layout = _layout(chart, panel, rows, cells=cells)
    layout["annotations"] = made.annotations + _names(panel, layout)
    layout["shapes"] += made.shapes
    legend = [
        {"name": name, "colour": COLOURS.get(tone, tone), "shape": shape} for name, tone, shape in chart.keys
    ]
    return {
        "data": made.traces,
        "layout": layout,
        "legend": [] if cells else legend or made.legend,
        "cells": cells,
    }


def numbers(values: Iterable[float]) -> list[float | None]:
    """A few significant digits; NaN and infinity become null."""
    return [_number(float(value)) for value in values]


def _number(value: float) -> float | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short  # noqa: PLR2004


def _colour(name: str) -> str:
    return COLOURS.get(name, name)


def _entry(made: _Made, name: str, colour: str, shape: str, traces: list[int]) -> None:
    made.legend.append({"name": name, "colour": _colour(colour), "shape": shape, "traces": traces})


def _faint(colour: str) -> str:
    """A tenth of it: what lies behind stays visible."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.1)"


@singledispatch
def _add(mark: Mark, made: _Made, chart: Chart) -> None:
    del made, chart
    raise TypeError(f"nothing draws {type(mark).__name__}")


@_add.register(Line)
def _line(mark: Line, made: _Made, chart: Chart) -> None:
    if not len(mark.x):
        _entry(made, mark.name, mark.colour, mark.dash, [])
        return
    x, y = thin(mark.x, mark.y, made.budget.points)
    made.budget.recorded += len(mark.x)
    made.budget.drawn += len(x)
    trace = {
        "type": "scatter",
        "mode": "lines",
        "name": mark.name,
        **_abscissae(x),
        "y": numbers(y),
        "line": {
            "color": _colour(mark.colour),
            "dash": mark.dash,
            "width": 1.4 * mark.width,
            "shape": "hv" if mark.steps else "linear",
        },
        "meta": {"case": mark.case},
    }
    if chart.events is None:
        trace["hovertemplate"] = "%{x:.4g}, %{y:.3g}"
    made.traces.append(trace)
    if mark.legend and not chart.keys:
        _entry(made, mark.name, mark.colour, mark.dash, [len(made.traces) - 1])
    elif not chart.keys:
        # A trace without a legend entry belongs to the entry before.
        made.legend[-1]["traces"].append(len(made.traces) - 1)


def _abscissae(x: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    """Equal steps are said in two numbers."""
    steps = np.diff(x)
    if len(steps) > 1 and np.allclose(steps, steps[0], rtol=1e-6, atol=0.0) and steps[0] > 0:
        return {"x0": _number(float(x[0])), "dx": float(f"{steps[0]:.9g}")}
    return {"x": numbers(x)}


@_add.register(Band)
def _band(mark: Band, made: _Made, chart: Chart) -> None:
    del chart
    (x, low), (there, high) = (thin(mark.x, values, made.budget.points) for values in (mark.low, mark.high))
    line = {"width": 0}
    common = {"type": "scatter", "mode": "lines", "line": line, "hoverinfo": "skip", "meta": {"case": ""}}
    made.traces.append({**common, "name": mark.name, "x": numbers(x), "y": numbers(low)})
    fill = {"fill": "tonexty", "fillcolor": _colour(mark.colour)}
    made.traces.append({**common, **fill, "name": mark.name, "x": numbers(there), "y": numbers(high)})
    _entry(made, mark.name, mark.colour, "area", [len(made.traces) - 2, len(made.traces) - 1])


@_add.register(Stack)
def _stack(mark: Stack, made: _Made, chart: Chart) -> None:
    del chart
    looks = zip(mark.colours, mark.patterns, strict=True)
    for name, (colour, pattern), layer in zip(mark.names, looks, mark.layers, strict=True):
        area = {"shape": pattern, "size": 7, "solidity": 0.25, "fgcolor": "#ffffff", "bgcolor": colour}
        made.traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": numbers(mark.edges),
                "y": numbers(layer),
                "stackgroup": "one",
                "line": {"width": 0, "shape": "hv", "color": colour},
                "fillcolor": colour,
                **({"fillpattern": area} if pattern else {}),
                "meta": {"case": ""},
            }
        )
        _entry(made, name, colour, f"area{pattern}", [len(made.traces) - 1])


@_add.register(Boxes)
def _boxes(mark: Boxes, made: _Made, chart: Chart) -> None:
    for level, box, case in zip(mark.at, mark.boxes, mark.cases, strict=True):
        made.traces.append(
            {
                "type": "box",
                "name": case,
                "x": [level],
                "q1": [_number(box.p25)],
                "median": [_number(box.median)],
                "q3": [_number(box.p75)],
                "lowerfence": [_number(box.low)],
                "upperfence": [_number(box.high)],
                # An empty list of outliers would take the box with it.
                **({"y": [numbers(box.fliers)], "boxpoints": "all"} if box.fliers else {"boxpoints": False}),
                "jitter": 0,
                "pointpos": 0,
                "offsetgroup": mark.name,
                "alignmentgroup": "one",
                "marker": {"color": _colour(mark.colour), "size": 4},
                "line": {"width": 1.2},
                "meta": {"case": case},
            }
        )
    del chart


@_add.register(Points)
def _points(mark: Points, made: _Made, chart: Chart) -> None:
    colour = _colour(mark.colour)
    meta = {"case": mark.case}
    if mark.ellipse is not None:
        made.traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": numbers(mark.ellipse[0]),
                "y": numbers(mark.ellipse[1]),
                "fill": "toself",
                "fillcolor": _faint(colour),
                "line": {"color": colour, "width": 1},
                "hoverinfo": "skip",
                "name": f"{mark.name}, ellipse",
                "meta": meta,
            }
        )
    made.traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": mark.name,
            "x": numbers([mark.x]),
            "y": numbers([mark.y]),
            "marker": {
                "color": colour,
                "symbol": mark.symbol,
                "size": 9 * mark.size,
                "line": {"color": "@paper", "width": 1},
            },
            "hovertemplate": mark.text + "<extra></extra>",
            "meta": meta,
        }
    )
    del chart


@_add.register(Cells)
def _cells(mark: Cells, made: _Made, chart: Chart) -> None:
    every = [one.values for panel in chart.panels for one in panel.marks if isinstance(one, Cells)]
    low = min(float(np.nanmin(values)) for values in every)
    high = max(float(np.nanmax(values)) for values in every)
    made.traces.append(
        {
            "type": "heatmap",
            "x": mark.columns,
            "y": mark.rows,
            "z": [numbers(row) for row in mark.values],
            "text": [
                [f"{case}: {text} {mark.unit}" for case, text in zip(*pair, strict=True)]
                for pair in zip(mark.cases, mark.texts, strict=True)
            ],
            "hovertemplate": "%{text}<extra></extra>",
            "colorscale": "Cividis",
            # Bright is good.
            "reversescale": mark.reverse,
            "zmin": _number(low),
            "zmax": _number(high),
            "showscale": True,
            "colorbar": {"thickness": 12, "outlinewidth": 0, "title": {"text": mark.unit, "side": "top"}},
            "xgap": 2,
            "ygap": 2,
            "meta": {"cases": mark.cases},
        }
    )
    for row, texts in enumerate(mark.texts):
        for column, text in enumerate(texts):
            value = float(mark.values[row, column])
            if not math.isfinite(value):
                continue
            share = (value - low) / (high - low) if high > low else 0.0
            bright = share < SMALL_SHARE if mark.reverse else share >= SMALL_SHARE
            letters = mark.groups[row][column]
            made.annotations.append(
                {
                    "x": column,
                    "y": row,
                    "text": f"{text}<br><b>{letters}</b>" if letters else text,
                    "showarrow": False,
                    "font": {"size": 11, "color": "#101010" if bright else "#ffffff"},
                    "name": mark.cases[row][column],
                }
            )


@_add.register(Bars)
def _bars(mark: Bars, made: _Made, chart: Chart) -> None:
    del chart
    made.traces.append(
        {
            "type": "bar",
            "name": "mean",
            "x": mark.at,
            "y": numbers(mark.means),
            "width": 0.55,
            "text": [figure(mean) for mean in mark.means],
            "textposition": "inside",
            "insidetextanchor": "start",
            "marker": {"color": [_colour(colour) for colour in mark.colours]},
            "error_y": {
                "type": "data",
                "array": numbers(mark.half_widths),
                "color": "@ink",
                "thickness": 1.5,
            },
            "hovertemplate": "%{x}: %{y:.4g}<extra></extra>",
            "meta": {"case": ""},
        }
    )
    at = [(level, value) for level, values in zip(mark.at, mark.samples, strict=True) for value in values]
    made.traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "replications",
            "x": [level for level, _ in at],
            "y": numbers(value for _, value in at),
            "marker": {"color": "@ink", "size": 5, "opacity": 0.45},
            "hovertemplate": "%{x}: %{y:.4g}<extra></extra>",
            "meta": {"case": ""},
        }
    )
    for name, value, dash in mark.levels:
        place = {"x0": 0, "x1": 1, "xref": "paper", "y0": _number(value), "y1": _number(value)}
        made.shapes.append({"type": "line", **place, "line": {"color": "@ink", "width": 1.4, "dash": dash}})
        _entry(made, name, INK, dash, [])


def _ribbon(chart: Chart, panel: Panel, made: _Made) -> list[str]:
    """Traces of the ribbon on the second y axis; its rows from top to bottom."""
    if chart.events is None:
        return []
    rows = ["links", *(strip.name for strip in panel.strips)]
    made.traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "links",
            "x": numbers(at for at, _, _ in chart.events),
            "y": [0] * len(chart.events),
            "yaxis": "y2",
            "text": [f"{links} {what}" for _, links, what in chart.events],
            "hovertemplate": "%{x:.4g} s: %{text}<extra></extra>",
            "marker": {"symbol": "triangle-down", "size": 10, "color": "@ink"},
            "meta": {"case": "", "ribbon": True},
        }
    )
    for state, colour in LIMITS.items():
        x: list[float | None] = []
        y: list[int | None] = []
        for row, strip in enumerate(panel.strips, 1):
            for start, end, what in strip.spans:
                if what == state:
                    x += [*numbers([start, end]), None]
                    y += [row, row, None]
        if x:
            made.traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": state,
                    "x": x,
                    "y": y,
                    "yaxis": "y2",
                    "line": {"color": colour, "width": 7},
                    "hovertemplate": f"%{{x:.4g}} s: {state}<extra></extra>",
                    "meta": {"case": "", "ribbon": True},
                }
            )
    return rows


def _layout(chart: Chart, panel: Panel, rows: list[str], *, cells: bool) -> dict[str, Any]:
    x, y = _axis(chart.x), _axis(chart.y)
    height = HEIGHT + ROW * len(rows)
    if cells:
        x |= {"showgrid": False, "side": "bottom"}
        y |= {"autorange": "reversed", "showgrid": False}
        height = 90 + CELL_HEIGHT * len(chart.y.levels)
    layout: dict[str, Any] = {
        "height": height,
        "xaxis": x,
        "yaxis": y,
        "hovermode": "x unified" if rows else "closest",
        "boxmode": "group",
        "shapes": [],
    }
    ranges = _ranges(chart, panel)
    for axis, found in zip(("xaxis", "yaxis"), ranges, strict=True):
        if found is not None and not cells:
            layout[axis]["range"] = found
            if layout[axis].get("type") == "log":
                layout[axis] |= {"tickvals": _ticks(*found), "tickformat": ",~g"}
    if rows:
        share = ROW * len(rows) / (height - MARGIN)
        layout["yaxis"]["domain"] = [share + 0.04, 1.0]
        layout["xaxis"]["anchor"] = "y2"
        layout["yaxis2"] = {
            "domain": [0.0, share],
            "range": [len(rows) - 0.5, -0.5],
            "tickvals": list(range(len(rows))),
            "ticktext": rows,
            "tickfont": {"size": 10},
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        }
        layout["shapes"] = [
            {
                "type": "line",
                "x0": _number(at),
                "x1": _number(at),
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "line": {"color": "@ink", "width": 1, "dash": "dot"},
            }
            for at, _, _ in chart.events or []
        ]
    if not panel.marks:
        layout["xaxis"]["visible"] = layout["yaxis"]["visible"] = False
    return layout


def _names(panel: Panel, layout: dict[str, Any]) -> list[dict[str, Any]]:
    """Names beside points."""
    points = [mark for mark in panel.marks if isinstance(mark, Points) and mark.label]
    if not points:
        return []
    ranges = [layout[axis]["range"] for axis in ("xaxis", "yaxis")]
    (left, right), (bottom, top) = ranges
    places = [((mark.x - left) / (right - left), (mark.y - bottom) / (top - bottom)) for mark in points]
    height = layout["height"] - MARGIN
    return [
        {
            "x": _number(mark.x),
            "y": _number(mark.y),
            "text": escape(mark.label),
            "ax": -14 if flip else 14,
            "ay": round((y - at) * height),
            "xanchor": "right" if flip else "left",
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 0.8,
            "arrowcolor": _colour(mark.colour),
            "standoff": 4,
            "font": {"size": 11, "color": "@ink"},
            "name": mark.case,
        }
        for mark, (_, y), (at, flip) in zip(points, places, labels(places), strict=True)
    ]


def _axis(spec: Axis) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": spec.title}, "zeroline": False, "exponentformat": "none"}
    if spec.levels:
        axis |= {"type": "category", "categoryorder": "array", "categoryarray": list(spec.levels)}
    if spec.log:
        axis |= {"type": "log"}
    return axis


def _ranges(chart: Chart, panel: Panel) -> tuple[list[float] | None, list[float] | None]:
    """Limits that all panels share as far as possible, so that they can be compared with the eye."""
    found: list[list[float] | None] = []
    across, up = extremes(chart.panels)
    if own_scales(chart):
        _, up = extremes([panel])
    for spec, reach in ((chart.x, across), (chart.y, up)):
        if spec.levels or reach is None:
            found.append(None)
            continue
        low, high = reach
        low = low if spec.low is None else spec.low
        if spec.log:
            found.append([math.log10(low) - 0.03, math.log10(high) + 0.03])
            continue
        slack = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        start = low if spec.low is not None else low - slack
        found.append([start, high + slack if spec.high is None else spec.high])
    first, second = found
    return first, second


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two logarithms; without the 2 and 5 if that would be many."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    digits = (1, 2, 5) if high - low < MANY_DECADES else (1,)
    found = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
    return [value for value in found if low <= math.log10(value) <= high]
