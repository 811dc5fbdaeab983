"""Figures out of time series: one per replication."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import _core, catalogue
from ropewalk.study.metrics import MetricError, function_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


@dataclass(frozen=True, slots=True)
class SeriesMetric:
    """`max` of `flow.download.goodput_bit_s` over bins of 10 s, and the like."""

    text: str
    kind: str
    """`flow` or `link`; the subflows of a flow are added up."""
    name: str
    column: str
    """Name of the metric in the table `series`."""
    function: str
    bin_s: float
    """Seconds over which it is averaged first; 0: not averaged."""
    from_s: float
    until_s: float | None

    @classmethod
    def parse(
        cls,
        text: str,
        function: str,
        *,
        bin_s: float = 0.0,
        from_s: float = 0.0,
        until_s: float | None = None,
    ) -> SeriesMetric:
        """Reads `flow.NAME.METRIC` or `link.NAME.METRIC`.

        Raises:
            MetricError: there is no such thing.
        """
        try:
            found = json.loads(_core.series(text, function))
        except ValueError as error:
            raise MetricError(*error.args) from None
        return cls(text, **found, function=function, bin_s=bin_s, from_s=from_s, until_s=until_s)

    @property
    def table(self) -> str:
        """Where it comes from."""
        return "series"

    @property
    def unit(self) -> tuple[str, float]:
        """The unit in which it is shown, and the divisor that leads there."""
        spec = catalogue.of_series(self.kind, self.column)
        # An algorithm of a user may report a series that is not declared; it has no unit.
        return (spec.unit, spec.scale) if spec else ("", 1.0)

    @property
    def wanted(self) -> pl.Expr:
        """The rows of `series` that it is made of."""
        import polars as pl

        label = pl.col(self.kind).cast(pl.String)
        chosen = (label == self.name) & (pl.col("metric").cast(pl.String) == self.column)
        # A sample belongs to the time before it.
        chosen &= pl.col("t_s") > self.from_s
        return chosen if self.until_s is None else chosen & (pl.col("t_s") <= self.until_s)

    def samples(self, table: pl.DataFrame, by: Sequence[str] = ("run",)) -> pl.DataFrame:
        """Columns `by`, `t_s` (start of the bin), `value` out of the rows wanted: the series itself."""
        import polars as pl

        summed = table.group_by(*by, "t_s", maintain_order=True).agg(pl.col("value").sum())
        if self.bin_s > 0.0:
            start = ((pl.col("t_s") - self.from_s) / self.bin_s - 1e-9).floor() * self.bin_s + self.from_s
            binned = summed.with_columns(start.alias("t_s"))
            summed = binned.group_by(*by, "t_s", maintain_order=True).agg(pl.col("value").mean())
        return summed

    def values(self, table: pl.DataFrame, by: Sequence[str] = ("run",)) -> pl.DataFrame:
        """Columns `by` and `value` out of the rows wanted: one row for each replication that has any."""
        import polars as pl

        if table.is_empty():
            return pl.DataFrame(schema={**dict.fromkeys(by, pl.String), "value": pl.Float64})
        samples = self.samples(table, by)
        return samples.group_by(*by, maintain_order=True).agg(function_of(self.function)(pl.col("value")))
