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
from ropewalk.numbers import figure as figure_of
from ropewalk.plots.apart import apart, labels
from ropewalk.plots.model import INK, QUIET, Band, Bars, Boxes, Cells, Line, Points, Stack
from ropewalk.plots.palette import LIMITS
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
RIBBON_COLUMNS = 6
"""Columns of the legend below the ribbon."""
RIBBON_KEY = 0.4
"""Height of it."""
LETTERS = "cells with a letter in common do not differ beyond chance"
"""Below the title of a heat map, whose caption is not in the picture."""
DARK = 0.5
"""Cells darker than this share of the range have white text."""


@styled
# Names are what users call things: a dollar in them begins no formula.
@mpl.rc_context({"text.parse_math": False})
def draw(chart: Chart) -> Figure:
    """The chart on paper."""
    rows = sum(len(panel.strips) for panel in chart.panels if _has_ribbon(chart, panel))
    height = 0.7 + sum(_height(chart, panel) for panel in chart.panels) + STRIP_HEIGHT * rows
    height += RIBBON_KEY if rows else 0.0
    figure = Figure(figsize=(WIDTH, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    own = own_scales(chart)
    told = [chart.title, *([OWN_SCALES] if own else []), *([LETTERS] if _has_letters(chart) else [])]
    title(figure, "\n".join(told))
    axes, under = _axes(figure, chart, own)
    for panel, here in zip(chart.panels, axes, strict=True):
        here.set_title(panel.title)
        here.set_ylabel(chart.y.title)
        for mark in apart(panel.marks):
            _draw(mark, here, chart)
        if not panel.marks:
            say_empty(here, panel.empty)
    _scale(axes, chart)
    for panel, here in zip(chart.panels, axes, strict=True):
        _name_points(here, panel)
        legend(here, chart.legend_title)
    if chart.keys:
        _keys(axes[0], chart)
    if chart.events:
        mark_events(axes, chart.events)
    _colour_bar(figure, axes, chart)
    _ribbon_key(figure, chart)
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
    """A row for each strip, in the colours of what it shows."""
    for row, strip in enumerate(panel.strips):
        for what, colour in LIMITS.items():
            spans = [(start, end - start) for start, end, found in strip.spans if found == what]
            here.broken_barh(spans, (row - 0.35, 0.7), facecolors=colour)
    here.set_yticks(range(len(panel.strips)), [strip.name for strip in panel.strips], fontsize=6)
    here.set_ylim(len(panel.strips) - 0.5, -0.5)
    here.tick_params(axis="y", length=0)
    here.grid(visible=False)
    for side in ("left", "bottom"):
        here.spines[side].set_visible(False)
    return here


def _ribbon_key(figure: Figure, chart: Chart) -> None:
    """The legend of the ribbons, at the bottom."""
    if chart.events is None:
        return
    found = {what for panel in chart.panels for strip in panel.strips for _, _, what in strip.spans}
    shades = [(name, colour) for name, colour in LIMITS.items() if name in found]
    if shades:
        figure.legend(
            handles=[Line2D([], [], color=colour, linewidth=4, label=name) for name, colour in shades],
            loc="outside lower left",
            ncols=RIBBON_COLUMNS,
            fontsize=7,
            handlelength=1.0,
            columnspacing=1.4,
            title="limited by",
            title_fontsize=7,
            alignment="left",
        )


def _colour_bar(figure: Figure, axes: list[Axes], chart: Chart) -> None:
    """One for all heat maps of the chart."""
    labels = [mark.label for panel in chart.panels for mark in panel.marks if isinstance(mark, Cells)]
    images = [image for here in axes for image in here.images]
    if images:
        figure.colorbar(images[0], ax=axes, label=labels[0], fraction=0.04, pad=0.02, aspect=30)


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
        here.fill(*mark.ellipse, color=(colour, 0.06), linewidth=0)
        here.plot(*mark.ellipse, color=(colour, 0.7), linewidth=0.7)
    label = "_" if chart.keys or mark.label else mark.name
    style: dict[str, Any] = {"color": colour, "marker": MARKERS[mark.symbol], "markersize": 4 * mark.size}
    here.plot([mark.x], [mark.y], linestyle="", label=label, **style)


def _name_points(here: Axes, panel: Panel) -> None:
    """Names beside points, with a line to those that had to move."""
    points = [mark for mark in panel.marks if isinstance(mark, Points) and mark.label]
    if not points:
        return
    (left, right), (bottom, top) = here.get_xlim(), here.get_ylim()
    places = [((mark.x - left) / (right - left), (mark.y - bottom) / (top - bottom)) for mark in points]
    for mark, (x, _), (height, flip) in zip(points, places, labels(places), strict=True):
        here.annotate(
            mark.label,
            (mark.x, mark.y),
            (x - 0.025 if flip else x + 0.025, height),
            textcoords="axes fraction",
            ha="right" if flip else "left",
            va="center",
            fontsize=8,
            color=_colour(mark.colour),
            arrowprops={"arrowstyle": "-", "color": _colour(mark.colour), "linewidth": 0.6, "shrinkB": 3},
        )


def _has_letters(chart: Chart) -> bool:
    cells = (mark for panel in chart.panels for mark in panel.marks if isinstance(mark, Cells))
    return any(letters for mark in cells for row in mark.groups for letters in row)


@_draw.register(Cells)
def _cells(mark: Cells, here: Axes, chart: Chart) -> None:
    values = np.ma.masked_invalid(mark.values)
    low, high = _range(chart)
    # Bright is good.
    name = "cividis_r" if mark.reverse else "cividis"
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
            dark = (share if mark.reverse else 1.0 - share) > DARK
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


@_draw.register(Bars)
def _bars(mark: Bars, here: Axes, chart: Chart) -> None:
    places = [chart.x.levels.index(level) for level in mark.at]
    bars = here.bar(places, mark.means, width=0.55, color=[_colour(colour) for colour in mark.colours])
    widths = [width or np.nan for width in mark.half_widths]
    here.errorbar(places, mark.means, yerr=widths, fmt="none", ecolor=BLACK, capsize=4, linewidth=1.2)
    for place, values in zip(places, mark.samples, strict=True):
        # Beside the interval, so that both can be seen.
        here.plot([place + 0.17] * len(values), values, "o", color=BLACK, markersize=2.5, alpha=0.5)
    for bar, mean in zip(bars, mark.means, strict=True):
        here.annotate(
            figure_of(mean), (bar.get_x() + 0.03, 0.0), (0, 3), textcoords="offset points", fontsize=8
        )
    for name, value, dash in mark.levels:
        here.axhline(value, color=BLACK, linestyle=DASHES[dash], linewidth=1.1, label=name)
    here.grid(visible=False, axis="x")


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
