"""Metrics by name: one figure per replication out of its tables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import _core, catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

PARTS = {"subflows": "subflow", "legs": "leg", "measures": "what"}
"""Tables in which a name has a second part after the flow, and its column."""


class MetricError(ValueError):
    """A mistake in the name of a metric; `cure` says how to mend it."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure


@dataclass(frozen=True, slots=True)
class Metric:
    """`flow.upload.goodput_bit_s`, or `sum(flow.*.goodput_bit_s)` over the rows of a replication."""

    text: str
    function: str | None
    table: str
    """Name of the table, such as `flows`."""
    name: str
    """Flow, `FLOW.INDEX` of a subflow or a leg, `FLOW.WHAT` of measures, or link; with `*` and `?`.
    Empty for `runs`."""
    column: str

    @classmethod
    def parse(cls, text: str) -> Metric:
        """Reads the name of a metric.

        Raises:
            MetricError: there is no such metric.
        """
        try:
            return cls(**json.loads(_core.metric(text)))
        except ValueError as error:
            raise MetricError(*error.args) from None

    @property
    def unit(self) -> tuple[str, float]:
        """The unit in which it is shown, and the divisor that leads there."""
        if self.function in {"jain", "count"}:
            return "", 1.0
        return self._spec.unit, self._spec.scale

    @property
    def wanted(self) -> int:
        """1 if large values are good ones, -1 if small ones are, 0 if it depends on whom one asks."""
        if self.function == "count":
            return 0
        return 1 if self.function == "jain" else self._spec.wanted

    @property
    def label(self) -> str:
        """The name of the column in words, without its unit."""
        return self._spec.label

    @property
    def _spec(self) -> catalogue.Spec:
        return catalogue.tables()[self.table][self.column]

    def values(self, table: pl.DataFrame, by: Sequence[str] = ("run",)) -> pl.DataFrame:
        """Columns `by` and `value`: one row for each group of rows in which the metric exists."""
        import polars as pl

        rows = table.filter(self._selection()) if self.name else table
        values = rows.select(*by, pl.col(self.column).cast(pl.Float64).alias("value"))
        # Where none has a value their number is 0; of everything else there is none.
        there = values if self.function == "count" else values.drop_nulls("value")
        grouped = there.group_by(*by, maintain_order=True)
        made = grouped.agg(function_of(self.function)(pl.col("value")))
        # The fairness of nothing is no number.
        return made.filter(pl.col("value").is_finite())

    def _selection(self) -> pl.Expr:
        import polars as pl

        label = pl.col("link" if self.table == "links" else "flow").cast(pl.String)
        if self.table in PARTS:
            label = label + "." + pl.col(PARTS[self.table]).cast(pl.String)
        if not _is_pattern(self.name):
            return label == self.name
        chosen = label.str.contains(_expression(self.name))
        # Baselines are not flows of the scenario: a pattern must have the `@` to select them.
        return chosen if "@" in self.name else chosen & ~label.str.contains("@", literal=True)


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def _expression(pattern: str) -> str:
    """A pattern as a regular expression."""
    plain = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern)
    return f"^{plain}$"


def _jain(values: pl.Expr) -> pl.Expr:
    return values.sum() ** 2 / (values.len() * (values**2).sum())


FUNCTIONS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "sum": lambda values: values.sum(),
    "mean": lambda values: values.mean(),
    "median": lambda values: values.median(),
    "min": lambda values: values.min(),
    "max": lambda values: values.max(),
    "count": lambda values: values.count().cast(float),
    "jain": _jain,
}
"""The functions of several rows of a replication; besides these `p95` and the like."""


def function_of(name: str | None) -> Callable[[pl.Expr], pl.Expr]:
    """The value of a function of metrics for a column; None: its first value."""
    if name is None:
        return lambda values: values.first()
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    quantile = float(name[1:]) / 100
    return lambda values: values.quantile(quantile, "linear")
