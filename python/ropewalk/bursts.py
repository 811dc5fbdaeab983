"""Losses in bursts, as the numbers of the lost packets show them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

LAGS = 20
"""Distances between two lost packets that are compared."""
SURE = 4.0
"""Standard deviations above the pairs of independent losses, from which losses come in bursts."""
MEMORIES = np.linspace(0.02, 0.98, 49)
"""Correlations of the states of two successive packets that are tried."""


@dataclass(frozen=True, slots=True)
class Bursts:
    """A good state without losses and a bad one: the model `gilbert_elliott`."""

    into: float
    """Probability that a packet in the good state is followed by one in the bad state."""
    out: float
    """Probability that a packet in the bad state is followed by one in the good state."""
    bad: float
    """Probability that a packet is lost in the bad state."""


def bursts(lost: Sequence[int], sent: int) -> Bursts | None:
    """The model of lost packets, whose numbers count from 1, of all that were sent; None: independent losses.

    In this model a packet is lost at a distance k behind another lost one with the probability
    m + (e - m) c^k: m is the mean loss, e the loss in the bad state, c = 1 - p - r (Gilbert 1960).
    """
    numbers = np.asarray(lost)
    mean = len(numbers) / max(sent, 1)
    pairs = np.array([np.isin(numbers + lag, numbers).sum() for lag in range(1, LAGS + 1)], dtype=float)
    independent = LAGS * mean * len(numbers)
    if not 0.0 < mean < 1.0 or pairs.sum() <= independent + SURE * math.sqrt(max(independent, 1.0)):
        return None
    above = pairs / len(numbers) - mean
    powers = MEMORIES[:, None] ** np.arange(1, LAGS + 1)
    heights = np.maximum((powers @ above) / (powers**2).sum(axis=1), 0.0)
    errors = ((above - heights[:, None] * powers) ** 2).sum(axis=1)
    best = int(np.argmin(errors))
    memory, bad = float(MEMORIES[best]), min(mean + float(heights[best]), 1.0)
    if bad <= mean:
        return None
    share = mean / bad
    return Bursts((1.0 - memory) * share, (1.0 - memory) * (1.0 - share), bad)
