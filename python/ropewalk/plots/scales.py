"""How far the marks of a chart reach, and whether its panels can share a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ropewalk.plots.model import Band, Bars, Boxes, Line, Points, Stack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ropewalk.plots.model import Chart, Mark, Panel, Reals

LOG_FROM = 8.0
"""Values that differ by more than this factor are shown on a logarithmic scale, or on scales of their own."""
OWN_SCALES = "Each panel has a scale of its own."


def own_scales(chart: Chart) -> bool:
    """On the scale of the largest, the smallest panel over time would show nothing."""
    if chart.events is None or chart.y.log:
        return False
    reach = (extremes([panel])[1] for panel in chart.panels)
    tops = [high for _, high in filter(None, reach) if high > 0]
    return bool(tops) and max(tops) > LOG_FROM * min(tops)


def extremes(panels: Iterable[Panel]) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Smallest and largest numbers along both axes."""
    x: list[float] = []
    y: list[float] = []
    for mark in (mark for panel in panels for mark in panel.marks):
        for values, into in ((_along(mark), x), (_up(mark), y)):
            finite = values[np.isfinite(values)]
            if len(finite):
                into += [float(finite.min()), float(finite.max())]
    return (min(x), max(x)) if x else None, (min(y), max(y)) if y else None


def _along(mark: Mark) -> Reals:
    match mark:
        case Line() | Band():
            return mark.x
        case Stack():
            return mark.edges
        case Points():
            return np.append(mark.ellipse[0], mark.x) if mark.ellipse is not None else np.array([mark.x])
    return np.array([])


def _up(mark: Mark) -> Reals:
    match mark:
        case Line():
            return mark.y
        case Band():
            return np.append(mark.low, mark.high)
        case Stack():
            return np.asarray(np.sum(mark.layers, axis=0), dtype=np.float64)
        case Points():
            return np.append(mark.ellipse[1], mark.y) if mark.ellipse is not None else np.array([mark.y])
        case Boxes():
            return np.array([v for box in mark.boxes for v in (box.low, box.high, *box.fliers)])
    return _tops(mark) if isinstance(mark, Bars) else np.array([])


def _tops(mark: Bars) -> Reals:
    """Ends of intervals, samples and lines."""
    ends = np.add(mark.means, mark.half_widths)
    return np.concatenate([ends, *map(np.asarray, mark.samples), [value for _, value, _ in mark.levels]])
