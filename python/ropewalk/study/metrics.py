"""Metrics by name: one figure per replication out of its tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import catalogue
from ropewalk.study.mistakes import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

TABLES = {
    "run": "runs",
    "flow": "flows",
    "subflow": "subflows",
    "link": "links",
    "message": "messages",
    "measure": "measures",
    "page": "pages",
}
"""First word of a metric, and the table that it stands for."""

SEVERAL = ("messages", "pages")
"""Tables with any number of rows for one name in a replication."""
PARTS = {"subflows": "subflow", "measures": "what"}
"""Tables in which a name has a second part after the flow, and its column."""

_CALL = re.compile(r"^(?P<function>[a-z]+(?:\d+(?:\.\d+)?)?)\((?P<inside>[^()]+)\)$")
_PERCENTILE = re.compile(r"^p(\d+(?:\.\d+)?)$")


class MetricError(ValueError):
    """What is wrong with the name of a metric; `cure` says what to write instead."""

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
    """Flow, `FLOW.INDEX` of a subflow, `FLOW.WHAT` of measures, or link; with `*` and `?`.
    Empty for `runs`."""
    column: str

    @classmethod
    def parse(cls, text: str) -> Metric:
        """Reads the name of a metric.

        Raises:
            MetricError: there is no such metric.
        """
        call = _CALL.match(text)
        function, inside = (call["function"], call["inside"]) if call else (None, text)
        kind, _, rest = inside.partition(".")
        name, _, column = rest.rpartition(".")
        if kind not in TABLES or not column or (kind != "run" and not name) or (kind == "run" and name):
            raise MetricError(
                f'found "{text}", which does not name a metric',
                "write TABLE.NAME.COLUMN as in flow.upload.goodput_bit_s or subflow.upload.0.share, "
                f"or FUNCTION(..) around it; tables: {', '.join(TABLES)}",
            )
        if function is not None and function not in FUNCTIONS and not is_percentile(function):
            known = [*FUNCTIONS, "p50", "p95"]
            raise MetricError(f'"{function}" is not a function', did_you_mean(function, known))
        table = TABLES[kind]
        columns = catalogue.figures(table)
        if column not in columns:
            raise MetricError(
                f'"{column}" is not a column of figures in `{table}`', did_you_mean(column, columns)
            )
        if function is None and (table in SEVERAL or _is_pattern(name)):
            raise MetricError(
                f'"{text}" may stand for several rows of a replication',
                f"say what to make of them, as in mean({text}); functions: {', '.join(FUNCTIONS)}, p50, p95",
            )
        return cls(text, function, table, name, column)

    @property
    def unit(self) -> tuple[str, float]:
        """What to show it in, and what to divide it by for that."""
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
        """What the column is called in words, without its unit."""
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
        # Baselines are not flows of the scenario: whoever wants them writes the `@`.
        return chosen if "@" in self.name else chosen & ~label.str.contains("@", literal=True)

    def names(self, known: Sequence[str]) -> bool:
        """Whether one of the flows or links that there are is meant; of `runs` all are."""
        if self.table == "runs":
            return True
        name = self.name.rpartition(".")[0] if self.table in PARTS else self.name
        if not _is_pattern(name):
            return name in known
        return any(re.search(_expression(name), one) and ("@" in name or "@" not in one) for one in known)


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def _expression(pattern: str) -> str:
    """A pattern as a regular expression."""
    plain = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern)
    return f"^{plain}$"


def is_percentile(function: str) -> bool:
    """Whether it is `p` and a number up to 100."""
    found = _PERCENTILE.match(function)
    return found is not None and float(found[1]) <= 100  # noqa: PLR2004


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
"""What can be made of several rows of a replication; besides these `p95` and the like."""


def function_of(name: str | None) -> Callable[[pl.Expr], pl.Expr]:
    """What a function of metrics makes of a column; None: its first value."""
    if name is None:
        return lambda values: values.first()
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    quantile = float(name[1:]) / 100
    return lambda values: values.quantile(quantile, "linear")
