"""Metrics in words, and figures as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk import numbers

if TYPE_CHECKING:
    from ropewalk.study.metrics import Metric

COLUMNS = {
    "goodput_bit_s": "goodput",
    "delay_mean_s": "mean delay",
    "delay_p50_s": "median delay",
    "delay_p95_s": "95 % delay",
    "delay_p99_s": "99 % delay",
    "completion_s": "completion time",
    "load_time_s": "load time",
    "ofo_mean_bytes": "mean out-of-order memory",
    "ofo_max_bytes": "largest out-of-order memory",
    "srtt_mean_s": "mean round-trip time",
    "cwnd_mean_bytes": "mean congestion window",
    "queue_delay_mean_s": "mean queueing delay",
    "queue_delay_max_s": "largest queueing delay",
    "benefit_vs_best": "aggregation benefit over the best path",
    "benefit_vs_sum": "aggregation benefit over the sum of paths",
}
"""Columns whose names say too little; of the others the name is the word."""


def column(name: str) -> str:
    """What a column is, without its unit."""
    if name in COLUMNS:
        return COLUMNS[name]
    ends = [name.removesuffix(end) for end in ("_bit_s", "_bytes", "_s") if name.endswith(end)]
    return (ends[0] if ends else name).replace("_", " ")


def metric(of: Metric) -> str:
    """As in `goodput of upload`."""
    what = column(of.column)
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
