"""Lines on top of one another stay visible: the lower one is drawn wider."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ropewalk.plots.model import Line, Points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ropewalk.plots.model import Mark, Reals

NEAR = 0.005
"""Lines no further apart than this share of the plot look like one line."""
MUCH = 0.4
"""The share of its points in which a curve must lie on another to hide it."""
WIDER = 1.3
"""Points (1/72 inch) by which a curve is wider than the one on it, if that is as wide as curves are."""
GROWTH = 1.35
"""Times by which a symbol is larger than the one on it."""
MOST = 3
"""Most steps by which a mark is wider: with twenty marks on one place it would hide all others."""


def apart(marks: Sequence[Mark]) -> list[Mark]:
    """The same marks, with what others lie on drawn so that it can be seen below them."""
    found = list(marks)
    reach = _reach(found)
    for place, mark in enumerate(marks):
        if isinstance(mark, Line) and len(mark.x):
            above = sum(_same_line(mark, other, reach) for other in marks[place + 1 :])
            found[place] = replace(mark, width=mark.width + WIDER * min(above, MOST))
        elif isinstance(mark, Points):
            above = sum(_same_point(mark, other, reach) for other in marks[place + 1 :])
            found[place] = replace(mark, size=mark.size * GROWTH ** min(above, MOST))
    return found


def _reach(marks: Sequence[Mark]) -> tuple[float, float]:
    """Width and height of all that is drawn."""
    xs = [np.atleast_1d(mark.x) for mark in marks if isinstance(mark, Line | Points)]
    ys = [np.atleast_1d(mark.y) for mark in marks if isinstance(mark, Line | Points)]
    return _extent(xs), _extent(ys)


def _extent(parts: list[Reals]) -> float:
    every = np.concatenate(parts) if parts else np.array([])
    every = every[np.isfinite(every)]
    return float(np.ptp(every)) if len(every) else 0.0


def _same_line(mark: Line, other: Mark, reach: tuple[float, float]) -> bool:
    if not isinstance(other, Line) or mark.dash != other.dash or len(mark.x) != len(other.x):
        return False
    return bool((_near(mark.x, other.x, reach[0]) & _near(mark.y, other.y, reach[1])).mean() >= MUCH)


def _same_point(mark: Points, other: Mark, reach: tuple[float, float]) -> bool:
    if not isinstance(other, Points):
        return False
    return bool(_near(mark.x, other.x, reach[0]) & _near(mark.y, other.y, reach[1]))


def _near(one: Reals | float, other: Reals | float, reach: float) -> NDArray[np.bool_]:
    # isclose of numpy takes several times as long, and every curve is compared with every other one.
    return np.asarray(np.abs(one - other) <= NEAR * reach)


ROW = 0.06
"""Height of a label as a share of that of a panel."""
STEP, STEPS = 0.01, 100
"""Distance between two places that are tried for a label, and how many are tried on each side."""
BESIDE = 0.3
"""Labels nearer to each other than this share of the width could overlap."""
RIGHT = 0.72
"""Points further to the right have their labels on the left."""


def labels(points: Sequence[tuple[float, float]]) -> list[tuple[float, bool]]:
    """How high the labels of points stand so that none lies on another, and whether on the left.

    All in shares of the panel, from the lower left corner.
    """
    found: dict[int, float] = {}
    for place in sorted(range(len(points)), key=lambda place: -points[place][1]):
        x, y = points[place]
        near = [height for other, height in found.items() if abs(points[other][0] - x) < BESIDE]
        wanted = min(max(y, ROW / 2), 1.0 - ROW / 2)
        # The nearest free place, downwards first.
        tried = [wanted + sign * step * STEP for step in range(STEPS) for sign in (-1, 1)]
        inside = [height for height in tried if ROW / 2 <= height <= 1.0 - ROW / 2]
        free = (height for height in inside if all(abs(height - other) >= ROW for other in near))
        found[place] = next(free, wanted)
    return [(found[place], points[place][0] > RIGHT) for place in range(len(points))]
