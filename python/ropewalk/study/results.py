"""Results of a study: tables over all cases, figures over replications, comparisons."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from ropewalk import arguments, numbers, statistics
from ropewalk.study.manifest import Manifest
from ropewalk.study.store import CASE, Store

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ropewalk.study.manifest import CaseEntry

SMALL_TABLES = (
    *("runs", "flows", "subflows", "legs", "failed_joins"),
    *("links", "messages", "measures", "pages"),
)
"""Tables that are read at once, since most figures need several of them."""
POOLED_APART = 3.0
"""Distance of the means of groups, in standard deviations, above which they should not be pooled."""


class StudyResults:
    """The results of a study, read from its store when they are asked for."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        """The cases of the study, and the runs that failed."""
        self._tables: dict[str, pl.DataFrame] = {}

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> StudyResults:
        """Reads what `Study.run` left in `directory`.

        Raises:
            OSError: a file is missing or cannot be read.
            ValueError: a file is not what was written there.
        """
        return cls(Manifest.read(arguments.path("directory", directory)))

    @property
    def factors(self) -> list[str]:
        """Names of what was varied."""
        return list(self.manifest.factors)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return [metric.text for metric in self.manifest.metrics]

    @cached_property
    def cases(self) -> pl.DataFrame:
        """One row per case: name, levels, replications, failed ones among them, key in the store."""
        failed = [failure.case for failure in self.manifest.failures]
        rows = [
            {
                "case": entry.case,
                **entry.levels,
                "replications": entry.replications,
                "failed": failed.count(entry.case),
                "key": entry.key,
            }
            for entry in self.manifest.cases
        ]
        return pl.DataFrame(rows)

    def table(self, name: str) -> pl.DataFrame:
        """The table `name` of all cases, with a column `case` in front; a case's rows in the order of seeds.

        `series` has the replications for which the study asked.

        Raises:
            ValueError: there is no such table.
            Damaged: a file of the store is not what was written.
            OSError: a file of the store cannot be read.
        """
        from ropewalk.results import TABLES

        arguments.choice("a table", name, TABLES)
        if name not in self._tables:
            wanted = SMALL_TABLES if name in SMALL_TABLES else (name,)
            self._tables |= self._load(set(wanted))
        return self._tables[name]

    def forget(self) -> None:
        """Frees the tables that have been read; they are read again when they are asked for."""
        self._tables.clear()

    def rows(self, name: str, case: str | None = None, keep: pl.Expr | None = None) -> pl.DataFrame:
        """Some rows of the table `name`: of one case, and of these those for which `keep` is true.

        They are read each time, and no more than these are kept in memory: `series` may be large.

        Raises:
            Damaged: a file of the store is not what was written.
            OSError: a file of the store cannot be read.
        """
        return self._load({name}, case, keep)[name]

    def seeds(self, case: str) -> list[int]:
        """The replications of a case that have not failed.

        Raises:
            ValueError: the study has no such case.
        """
        return self._seeds[self._case(case)]

    def _case(self, name: str) -> str:
        return arguments.choice("a case", name, self._seeds)

    @cached_property
    def _seeds(self) -> dict[str, list[int]]:
        failed = {(failure.case, failure.seed) for failure in self.manifest.failures}
        return {
            entry.case: [s for s in range(1, entry.replications + 1) if (entry.case, s) not in failed]
            for entry in self.manifest.cases
        }

    def scenario(self, case: str) -> str:
        """The scenario of a case with every default filled in.

        Raises:
            ValueError: the study has no such case.
            Damaged: a file of the store is not what was written.
            OSError: a file of the store cannot be read.
        """
        case = self._case(case)
        key = next(entry.key for entry in self.manifest.cases if entry.case == case)
        return Store(self.manifest.store, read_only=True).scenario(key)

    def _load(
        self, names: set[str], case: str | None = None, keep: pl.Expr | None = None
    ) -> dict[str, pl.DataFrame]:
        store = Store(self.manifest.store, read_only=True)
        chosen = [entry for entry in self.manifest.cases if case in {None, entry.case}]
        found = store.load([(entry.key, self.seeds(entry.case)) for entry in chosen], names, keep)
        cases = [entry.case for entry in chosen]
        return {name: self._named(name, rows, cases) for name, rows in found.items()}

    def _named(self, name: str, rows: pl.DataFrame, cases: list[str]) -> pl.DataFrame:
        """Cases by their names, and words as plain text."""
        if not rows.width:
            return rows
        if name == "series":
            # The store may have time series of more replications, for another study.
            rows = rows.filter(pl.col("run") <= self.manifest.series)
        # Column by column: for tables as small as these an expression takes longer to plan than to compute.
        for place, column in enumerate(rows.get_columns()):
            # Categories depend on what else this process has read.
            if column.dtype == pl.Categorical:
                rows.replace_column(place, column.cast(pl.String))
        return rows.replace_column(0, pl.Series(CASE, cases, dtype=pl.String).gather(rows[CASE]))

    @property
    def flows(self) -> pl.DataFrame:
        """One row per case, seed and flow or baseline."""
        return self.table("flows")

    @property
    def subflows(self) -> pl.DataFrame:
        """One row per case, seed, flow and subflow."""
        return self.table("subflows")

    @property
    def legs(self) -> pl.DataFrame:
        """One row per case, seed, flow, connection, leg and subflow where a proxy has a part."""
        return self.table("legs")

    @property
    def failed_joins(self) -> pl.DataFrame:
        """One row per case, seed, flow, connection and subflow of MPTCP whose join failed."""
        return self.table("failed_joins")

    @property
    def links(self) -> pl.DataFrame:
        """One row per case, seed and link direction."""
        return self.table("links")

    @property
    def messages(self) -> pl.DataFrame:
        """One row per application message."""
        return self.table("messages")

    @cached_property
    def values(self) -> pl.DataFrame:
        """One row per case, seed and metric: `case`, the factors, `run`, `metric`, `value`."""
        if self.table("runs").is_empty():
            # All runs have failed, and tables without rows have no columns.
            words = dict.fromkeys(("case", *self.factors, "metric"), pl.String)
            return pl.DataFrame(schema=words | {"run": pl.Int64, "value": pl.Float64})
        parts = [
            metric.values(self.table(metric.table), ("case", "run")).with_columns(metric=pl.lit(metric.text))
            for metric in self.manifest.metrics
        ]
        levels = self.cases.select("case", *self.factors)
        return levels.join(pl.concat(parts), on="case", how="inner", maintain_order="left_right").select(
            "case", *self.factors, "run", "metric", "value"
        )

    def samples(self, metric: str) -> dict[str, dict[int, float]]:
        """Case to seed to value, outliers dropped if the study says so.

        Raises:
            ValueError: the study has no such metric.
        """
        if metric not in self.metrics:
            raise ValueError(f"the study has no metric {metric!r}; it has {', '.join(self.metrics)}")
        return {case: kept for case, (kept, _) in self._samples[metric].items()}

    @cached_property
    def _samples(self) -> dict[str, dict[str, tuple[dict[int, float], int]]]:
        """Metric to case to what is kept of the values, and how many were dropped."""
        found: dict[str, dict[str, dict[int, float]]] = {
            metric: {entry.case: {} for entry in self.manifest.cases} for metric in self.metrics
        }
        for case, run, metric, value in self.values.select("case", "run", "metric", "value").iter_rows():
            found[metric][case][run] = value
        return {metric: {case: self._kept(v) for case, v in cases.items()} for metric, cases in found.items()}

    def _kept(self, values: dict[int, float]) -> tuple[dict[int, float], int]:
        treatment = self.manifest.treatment
        if treatment.outliers == "keep":
            return values, 0
        dropped = set(statistics.without_outliers(list(values.values()), treatment.z).dropped)
        kept = {run: value for run, value in values.items() if value not in dropped}
        return kept, len(values) - len(kept)

    @cached_property
    def estimates(self) -> pl.DataFrame:
        """One row per case and metric: mean, interval, quantiles; `outliers`: how many were dropped."""
        rows = []
        for entry in self.manifest.cases:
            for metric in self.metrics:
                kept, dropped = self._samples[metric][entry.case]
                found = statistics.describe(list(kept.values()))
                if found is not None:
                    rows.append(
                        {
                            "case": entry.case,
                            **entry.levels,
                            "metric": metric,
                            **_fields(found),
                            "outliers": dropped,
                        }
                    )
        return pl.DataFrame(rows, infer_schema_length=None)

    @cached_property
    def comparisons(self) -> pl.DataFrame | None:
        """Each case against its baseline, seed by seed; None if the study names no baseline.

        `difference` is case minus baseline with the half width `ci95` of its interval, `relative` the same
        over the mean of the baseline; `p` is the significance of the paired test, `p_adjusted` that after the
        correction for all comparisons of this metric.
        """
        pairs = self._pairs()
        if pairs is None:
            return None
        rows = [row for metric in self.metrics for row in self._compared(metric, pairs)]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _pairs(self) -> list[tuple[CaseEntry, CaseEntry]] | None:
        """Each case and its baseline: the one with the levels of the baseline, otherwise with its own."""
        baseline = self.manifest.baseline
        if baseline is None:
            return None
        by_levels = {tuple(entry.levels.items()): entry for entry in self.manifest.cases}
        pairs = [
            (entry, by_levels[tuple({**entry.levels, **baseline}.items())]) for entry in self.manifest.cases
        ]
        return [(entry, other) for entry, other in pairs if entry is not other]

    def _compared(self, metric: str, pairs: list[tuple[CaseEntry, CaseEntry]]) -> list[dict[str, Any]]:
        treatment = self.manifest.treatment
        samples = self.samples(metric)
        rows: list[dict[str, Any]] = []
        for entry, other in pairs:
            found = statistics.paired(samples[entry.case], samples[other.case], treatment.test)
            if found is None:
                continue
            mean = statistics.estimate(samples[other.case].values())
            relative = found.mean / mean.mean if mean is not None and mean.mean != 0.0 else None
            rows.append(
                {
                    "case": entry.case,
                    **entry.levels,
                    "baseline": other.case,
                    "metric": metric,
                    "pairs": found.n,
                    "difference": found.mean,
                    "ci95": found.ci95,
                    "relative": relative,
                    "p": found.p,
                }
            )
        tested = [row for row in rows if row["p"] is not None]
        raw = [row["p"] for row in tested]
        adjusted = statistics.holm(raw) if treatment.correction == "holm" else raw
        for row in rows:
            row["p_adjusted"], row["differs"] = None, None
        for row, p in zip(tested, adjusted, strict=True):
            row["p_adjusted"], row["differs"] = p, p < treatment.alpha
        return rows

    def alike(self, metric: str, cases: Sequence[str] | None = None) -> list[list[str]]:
        """Groups of cases that do not differ in `metric`, by paired tests of all pairs, largest first."""
        samples = self.samples(metric)
        wanted = list(samples) if cases is None else arguments.texts("cases", cases)
        names = [self._case(name) for name in wanted]
        t = self.manifest.treatment
        groups = statistics.alike([samples[name] for name in names], t.alpha, t.test, t.correction)
        return [[names[index] for index in group] for group in groups]

    @cached_property
    def pooled(self) -> pl.DataFrame | None:
        """Means and standard deviations pooled over the factors that the study names for it.

        `gap` is the largest distance of two pooled means in pooled standard deviations.
        """
        over = self.manifest.treatment.pool
        if not over:
            return None
        groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for entry in self.manifest.cases:
            rest = tuple((factor, level) for factor, level in entry.levels.items() if factor not in over)
            groups.setdefault(rest, []).append(entry.case)
        rows = [self._pooled(dict(rest), cases, m) for rest, cases in groups.items() for m in self.metrics]
        return pl.DataFrame([row for row in rows if row is not None], infer_schema_length=None)

    def _pooled(self, levels: dict[str, str], cases: list[str], metric: str) -> dict[str, Any] | None:
        samples = [list(self._samples[metric][case][0].values()) for case in cases]
        samples = [sample for sample in samples if len(sample) > 1]
        if not samples:
            return None
        counts = [len(sample) for sample in samples]
        means = [sum(sample) / len(sample) for sample in samples]
        mean, sd = statistics.pooled(counts, means, [statistics.sample_sd(sample) for sample in samples])
        gap = statistics.largest_gap(means, sd)
        return {
            **levels,
            "metric": metric,
            "groups": len(samples),
            "n": sum(counts),
            "mean": mean,
            "sd": sd,
            # Without any spread within the groups there is no measure for that between them.
            "gap": gap if math.isfinite(gap) else None,
            "poolable": gap <= POOLED_APART,
        }

    def summary(self) -> dict[str, Any]:
        """The object that `ropewalk study --json` prints."""
        from ropewalk.study.summary import summarise

        return summarise(self)

    def __repr__(self) -> str:
        cases = numbers.count(len(self.manifest.cases), "case")
        runs = numbers.count(sum(entry.replications for entry in self.manifest.cases), "replication")
        return f"<StudyResults of {self.manifest.name!r}: {cases}, {runs}>"


def _fields(found: statistics.Description) -> dict[str, Any]:
    return {name: getattr(found, name) for name in found.__slots__}
