"""Charts as matplotlib figures."""

from __future__ import annotations

import io
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, ScalarFormatter

from ropewalk.disk import write_whole
from ropewalk.plots.apart import apart
from ropewalk.plots.model import INK, QUIET, Band, Boxes, Cells, Line, Points, Stack
from ropewalk.plots.palette import STATES
from ropewalk.plots.scales import OWN_SCALES, own_scales
from ropewalk.plots.style import (
    BLACK,
    GREY,
    PANEL_HEIGHT,
    STRIP_HEIGHT,
    WIDTH,
    Figure,
    laid_out,
    legend,
    mark_events,
    name_levels,
    say_empty,
    styled,
    title,
)

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from ropewalk.plots.model import Axis, Chart, Mark, Panel

MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "cross": "P", "x": "X"}
DASHES = {
    "solid": "solid",
    "dash": "dashed",
    "dot": "dotted",
    "dashdot": "dashdot",
    "longdash": (0, (8, 2)),
}
DATED: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Metadata without which the same figure would be another file each time."""
CELL_HEIGHT = 0.42
DARK = 0.5
"""Where more than this share of the range makes a cell dark, its text is white."""


@styled
# Names are what users call things: a dollar in them begins no formula.
@mpl.rc_context({"text.parse_math": False})
def draw(chart: Chart) -> Figure:
    """The chart on paper."""
    rows = sum(len(panel.strips) for panel in chart.panels if _has_ribbon(chart, panel))
    height = 0.7 + sum(_height(chart, panel) for panel in chart.panels) + STRIP_HEIGHT * rows
    figure = Figure(figsize=(WIDTH, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    own = own_scales(chart)
    title(figure, f"{chart.title}\n{OWN_SCALES}" if own else chart.title)
    axes, under = _axes(figure, chart, own)
    for panel, here in zip(chart.panels, axes, strict=True):
        here.set_title(panel.title)
        here.set_ylabel(chart.y.title)
        for mark in apart(panel.marks):
            _draw(mark, here, chart)
        if not panel.marks:
            say_empty(here, panel.empty)
    _scale(axes, chart)
    for here in axes:
        legend(here, chart.legend_title)
    if chart.keys:
        _keys(axes[0], chart)
    if chart.events:
        mark_events(axes, chart.events)
    max([*axes, *under], key=_row).set_xlabel(chart.x.title)
    if not under and any(isinstance(mark, Cells) for panel in chart.panels for mark in panel.marks):
        figure.set_size_inches(WIDTH, 0.7 + sum(_height(chart, panel) for panel in chart.panels))
    return figure


@styled
def save(chart: Chart, directory: Path, formats: tuple[str, ...]) -> list[Path]:
    """Draws the chart once and writes it in each of the formats; each file appears whole.

    Raises:
        OSError: a file cannot be written.
    """
    figure = draw(chart)
    files = [directory / f"{chart.key}.{suffix}" for suffix in formats]
    with laid_out(figure):
        for file, suffix in zip(files, formats, strict=True):
            content = io.BytesIO()
            figure.savefig(content, format=suffix, metadata=DATED.get(suffix))
            write_whole(file, content.getvalue(), lasting=False)
    return files


def _has_ribbon(chart: Chart, panel: Panel) -> bool:
    return chart.events is not None and any(strip.spans for strip in panel.strips)


def _height(chart: Chart, panel: Panel) -> float:
    del chart
    cells = [mark for mark in panel.marks if isinstance(mark, Cells)]
    return 0.9 + CELL_HEIGHT * len(cells[0].rows) if cells else PANEL_HEIGHT


def _axes(figure: Figure, chart: Chart, own: bool) -> tuple[list[Axes], list[Axes]]:
    """The axes of the panels, and those of the ribbons under them."""
    ratios: list[float] = []
    for panel in chart.panels:
        ratios.append(_height(chart, panel))
        if _has_ribbon(chart, panel):
            ratios.append(STRIP_HEIGHT * len(panel.strips))
    grid = figure.add_gridspec(len(ratios), 1, height_ratios=ratios)
    shared = not any(isinstance(mark, Cells) for panel in chart.panels for mark in panel.marks)
    axes: list[Axes] = []
    ribbons: list[tuple[int, Panel]] = []
    row = 0
    for panel in chart.panels:
        first = axes[0] if axes and shared else None
        axes.append(figure.add_subplot(grid[row], sharex=first, sharey=None if own else first))
        row += 1
        if _has_ribbon(chart, panel):
            ribbons.append((row, panel))
            row += 1
    under = [_ribbon(figure.add_subplot(grid[row], sharex=axes[0]), panel) for row, panel in ribbons]
    lowest = max([*axes, *under], key=_row)
    for here in [*axes, *under] if shared else []:
        here.tick_params(labelbottom=here is lowest)
    return axes, under


def _row(here: Axes) -> int:
    """Its place in the grid, from the top."""
    spec = here.get_subplotspec()
    return spec.rowspan.start if spec is not None else 0


def _ribbon(here: Axes, panel: Panel) -> Axes:
    for row, strip in enumerate(panel.strips):
        for state, colour in STATES.items():
            spans = [(start, end - start) for start, end, what in strip.spans if what == state]
            here.broken_barh(spans, (row - 0.35, 0.7), facecolors=colour)
    here.set_yticks(range(len(panel.strips)), [strip.name for strip in panel.strips], fontsize=6)
    here.set_ylim(len(panel.strips) - 0.5, -0.5)
    here.tick_params(axis="y", length=0)
    here.grid(visible=False)
    for side in ("left", "bottom"):
        here.spines[side].set_visible(False)
    handles = [
        here.plot([], [], color=colour, linewidth=4, label=state)[0] for state, colour in STATES.items()
    ]
    here.legend(handles=handles, loc="lower left", bbox_to_anchor=(1.005, 0.0), fontsize=6, handlelength=0.8)
    return here


def _colour(name: str) -> str:
    return {INK: BLACK, QUIET: GREY}.get(name, name)


@singledispatch
def _draw(mark: Mark, here: Axes, chart: Chart) -> None:
    del here, chart
    raise TypeError(f"nothing draws {type(mark).__name__}")


@_draw.register(Line)
def _line(mark: Line, here: Axes, chart: Chart) -> None:
    style: dict[str, Any] = {
        "color": _colour(mark.colour),
        "linestyle": DASHES[mark.dash],
        "linewidth": mark.width,
    }
    named = mark.legend and not chart.keys
    (curve,) = here.plot(mark.x, mark.y, label=mark.name if named else "_", **style)
    if mark.steps:
        curve.set_drawstyle("steps-post")


@_draw.register(Band)
def _band(mark: Band, here: Axes, chart: Chart) -> None:
    del chart
    colour = _colour(mark.colour)
    here.fill_between(mark.x, mark.low, mark.high, color=colour, linewidth=0, label=mark.name, zorder=0)


@_draw.register(Stack)
def _stack(mark: Stack, here: Axes, chart: Chart) -> None:
    del chart
    areas = here.stackplot(
        mark.edges, mark.layers, step="post", labels=mark.names, colors=mark.colours, linewidth=0
    )
    for area, pattern in zip(areas, mark.patterns, strict=True):
        area.set_hatch(pattern * 3)
        area.set_edgecolor("white")


@_draw.register(Boxes)
def _boxes(mark: Boxes, here: Axes, chart: Chart) -> None:
    others = [one.name for panel in chart.panels for one in panel.marks if isinstance(one, Boxes)]
    names = list(dict.fromkeys(others))
    width = 0.8 / len(names)
    shift = (names.index(mark.name) + 0.5) * width - 0.4
    stats = [
        {
            "whislo": box.low,
            "q1": box.p25,
            "med": box.median,
            "q3": box.p75,
            "whishi": box.high,
            "fliers": box.fliers,
        }
        for box in mark.boxes
    ]
    colour = _colour(mark.colour)
    here.bxp(
        stats,
        positions=[chart.x.levels.index(level) + shift for level in mark.at],
        widths=width * 0.8,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.75},
        medianprops={"color": BLACK},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        flierprops={"markersize": 3, "markeredgecolor": colour},
    )


@_draw.register(Points)
def _points(mark: Points, here: Axes, chart: Chart) -> None:
    colour = _colour(mark.colour)
    if mark.ellipse is not None:
        here.fill(*mark.ellipse, facecolor=colour, edgecolor=colour, alpha=0.2, linewidth=0.8)
    label = "_" if chart.keys else mark.name
    style: dict[str, Any] = {"color": colour, "marker": MARKERS[mark.symbol], "markersize": 4 * mark.size}
    here.plot([mark.x], [mark.y], linestyle="", label=label, **style)


@_draw.register(Cells)
def _cells(mark: Cells, here: Axes, chart: Chart) -> None:
    values = np.ma.masked_invalid(mark.values)
    low, high = _range(chart)
    name = "cividis" if mark.reverse else "cividis_r"
    here.imshow(values, aspect="auto", cmap=name, vmin=low, vmax=high)
    here.grid(visible=False)
    name_levels(here, mark.columns)
    here.set_yticks(range(len(mark.rows)), mark.rows)
    for row, texts in enumerate(mark.texts):
        for column, text in enumerate(texts):
            value = mark.values[row, column]
            if np.isnan(value):
                continue
            share = (value - low) / (high - low) if high > low else 0.0
            dark = (1.0 - share if mark.reverse else share) > DARK
            letters = mark.groups[row][column]
            here.text(
                column,
                row,
                f"{text}\n{letters}" if letters else text,
                ha="center",
                va="center",
                fontsize=7,
                color="white" if dark else BLACK,
            )


def _range(chart: Chart) -> tuple[float, float]:
    """Smallest and largest value of all heat maps of a chart."""
    found = [mark.values for panel in chart.panels for mark in panel.marks if isinstance(mark, Cells)]
    every = np.concatenate([values.ravel() for values in found])
    return float(np.nanmin(every)), float(np.nanmax(every))


def _scale(axes: list[Axes], chart: Chart) -> None:
    here = axes[0]
    for axis, spec, limits in ((here.xaxis, chart.x, here.set_xlim), (here.yaxis, chart.y, here.set_ylim)):
        if spec.levels and not any(isinstance(m, Cells) for panel in chart.panels for m in panel.marks):
            for each in axes:
                name_levels(each, spec.levels)
        if spec.log:
            (here.set_xscale if axis is here.xaxis else here.set_yscale)("log")
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(ScalarFormatter())
            axis.set_minor_formatter("")
        _limit(limits, spec)
    for other in axes[1:]:
        _limit(other.set_ylim, chart.y)


def _limit(limits: object, spec: Axis) -> None:
    if callable(limits) and (spec.low is not None or spec.high is not None):
        limits(spec.low, spec.high)


def _keys(here: Axes, chart: Chart) -> None:
    """A legend of colours and of dashes or symbols."""
    entries = []
    for name, colour, shape in chart.keys:
        style: dict[str, Any] = {"linestyle": DASHES.get(shape, "solid")}
        if shape in MARKERS:
            style = {"marker": MARKERS[shape], "linestyle": ""}
        entries.append(Line2D([], [], color=_colour(colour), label=name, **style))
    legend(here, chart.legend_title, entries)
