"""Fewer points for long curves: the extremes of equal spans, so that no peak is lost."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ropewalk.plots.model import Reals


def thin(x: Reals, y: Reals, points: int) -> tuple[Reals, Reals]:
    """At most `points` of the samples: first, last, and the extremes of equal numbers of samples.

    `x` ascends. A curve that is short enough stays as it is.
    """
    if len(x) <= points:
        return x, y
    bins = max(1, (points - 2) // 2)
    edges = np.linspace(1, len(x) - 1, bins + 1).astype(int)
    kept = [0]
    for start, end in pairwise(edges):
        part = y[start:end]
        kept += sorted({start + int(np.argmin(part)), start + int(np.argmax(part))})
    kept.append(len(x) - 1)
    return x[kept], y[kept]
