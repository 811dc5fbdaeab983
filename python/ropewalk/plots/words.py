"""Metrics in words, and figures as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk import numbers

if TYPE_CHECKING:
    from ropewalk.study.metrics import Metric


def metric(of: Metric) -> str:
    """As in `goodput of upload`."""
    what = of.label
    if of.function == "jain":
        what = f"fairness (Jain) of the {what}"
    elif of.function is not None:
        what = f"{of.function} of the {what}"
    return f"{what} of {of.name}" if of.name else what


def axis(of: Metric) -> str:
    """The same with the unit, for an axis."""
    unit = of.unit[0]
    return f"{metric(of)} ({unit})" if unit else metric(of)


def interval(mean: float, half_width: float | None, unit: str = "") -> str:
    """Mean ± half width of the interval, and the unit."""
    return f"{numbers.interval(mean, half_width)} {unit}".rstrip()
