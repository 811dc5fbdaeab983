"""Results: tidy tables, figures over replications, plots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import _core, arguments, numbers, store
from ropewalk.statistics import jain
from ropewalk.summary import Summary, summarise

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ropewalk.plots import Plots
    from ropewalk.scenario import Scenario
    from ropewalk.why import Diagnosis

TABLES = (
    *("runs", "flows", "subflows", "legs", "failed_joins", "links"),
    *("messages", "measures", "pages", "delays", "series"),
)
"""Names of the tables, as attributes of `Results` and as Parquet files."""
ADDED = {"legs", "failed_joins"}
"""Tables that results of an earlier release lack; they are empty then."""


CAPTURED = "capture"
"""In the place of a back end: the tables were read from captures."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals over all runs, baselines included."""

    events: int | None
    """Taken out of the event queue; None if the back end does not count them."""
    packet_hops: int
    """Packets crossing a link, data or ACK, one count per link."""
    cpu_s: float
    """CPU seconds inside the engine, over all threads."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How late packets were in a replication in the time of the host."""

    seed: int
    """Seed of the replication."""
    p50_s: float
    """Median lateness."""
    p99_s: float
    """99 % of packets were not later."""
    max_s: float
    """The latest."""
    cpu_share: float
    """Share of one core that the links took."""
    real_time: bool
    """Their thread had real-time priority."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The scenario and the seeds that results come from."""

    scenario: Scenario
    seeds: list[int]
    model_version: int
    totals: Totals
    backend: str = "simulator"
    """The back end."""
    text: str | None = None
    """The scenario as a file with comments, if `write` shall keep them."""

    @property
    def simulated(self) -> bool:
        """A back end has run the scenario; otherwise it is fitted to a capture, and has its name."""
        return self.backend != CAPTURED


class Results:
    """The results of a set of replications.

    Every table has a column `run` with the seed. Times are in seconds since the start of the run. The flow
    `upload@beam1` is a baseline: the flow `upload` as plain TCP over the path `beam1` alone.
    """

    def __init__(
        self, origin: Origin | Callable[[], Origin], tables: dict[str, pl.DataFrame], traces: dict[int, str]
    ) -> None:
        self._origin = origin
        self.tables = tables
        """All tables by name."""
        self.traces = traces
        """Readable traces by seed; empty unless asked for."""
        self.captures: dict[int, Path] = {}
        """Files with captured packets by seed; empty unless asked for."""
        self.accuracies: list[Accuracy] = []
        """How exact the runs of the back end `linux` were; empty in virtual time, and in results read."""

    @classmethod
    def from_output(
        cls, scenario: Scenario, seeds: list[int], output: _core.Output, backend: str = "simulator"
    ) -> Results:
        """Takes over what the Rust side hands out."""
        totals = Totals(output.events, output.packet_hops, output.cpu_s)
        tables = {name: pl.DataFrame(columns) for name, columns in output.tables}
        origin = Origin(scenario, seeds, _core.MODEL_VERSION, totals, backend)
        results = cls(origin, tables, dict(output.traces))
        results.accuracies = [Accuracy(*found) for found in output.accuracies]
        return results

    @cached_property
    def origin(self) -> Origin:
        """The scenario and the seeds that they come from."""
        return self._origin() if callable(self._origin) else self._origin

    @property
    def runs(self) -> pl.DataFrame:
        """One row per seed: events, packet hops (baselines included), end."""
        return self.tables["runs"]

    @property
    def flows(self) -> pl.DataFrame:
        """One row per seed and flow or baseline."""
        return self.tables["flows"]

    @property
    def subflows(self) -> pl.DataFrame:
        """One row per seed, flow, connection and subflow; plain TCP has one subflow."""
        return self.tables["subflows"]

    @property
    def legs(self) -> pl.DataFrame:
        """The connections that proxies make of one: one row per seed, flow, connection, leg and subflow."""
        return self.tables["legs"]

    @property
    def failed_joins(self) -> pl.DataFrame:
        """One row per seed, flow, connection and subflow of MPTCP whose join failed."""
        return self.tables["failed_joins"]

    @property
    def links(self) -> pl.DataFrame:
        """One row per seed and link direction."""
        return self.tables["links"]

    @property
    def messages(self) -> pl.DataFrame:
        """One row per application message."""
        return self.tables["messages"]

    @property
    def measures(self) -> pl.DataFrame:
        """Delays, jitter and late share of messages: one row per seed, flow and kind of message."""
        return self.tables["measures"]

    @property
    def pages(self) -> pl.DataFrame:
        """One row per page that an application fetched."""
        return self.tables["pages"]

    @property
    def delays(self) -> pl.DataFrame:
        """Histograms of the delay from application write to in-order delivery: bytes per bucket."""
        return self.tables["delays"]

    @property
    def series(self) -> pl.DataFrame:
        """Time series in long form: one row per sample."""
        return self.tables["series"]

    def jain(self, flows: Sequence[str] | None = None) -> dict[int, float]:
        """Jain's index over the goodputs of `flows` (all but baselines if none are named), by seed.

        Seeds under which none of them got anything are left out: the fairness of nothing is not defined.

        Raises:
            ValueError: a flow does not exist.
        """
        names = self.flows["flow"].unique().to_list()
        own = [name for name in names if "@" not in name]
        group = own if flows is None else arguments.texts("flows", flows)
        if missing := set(group) - set(names):
            raise ValueError(
                f"there is no flow {', '.join(sorted(missing))}; flows: {', '.join(sorted(names))}"
            )
        chosen = self.flows.filter(pl.col("flow").is_in(group))
        goodputs = {
            one["run"][0]: one["goodput_bit_s"].fill_null(0.0).to_list()
            for one in chosen.partition_by("run", maintain_order=True)
        }
        return {seed: jain(rates) for seed, rates in goodputs.items() if any(rates)}

    def shares(self) -> pl.DataFrame:
        """Share of each path in the payload that reached the receiver: one row per seed, flow and path.

        Null where nothing did.
        """
        keys = ["run", "flow", "path"]
        by_path = self.subflows.group_by(keys, maintain_order=True).agg(pl.col("goodput_bit_s").sum())
        total = pl.col("goodput_bit_s").sum().over("run", "flow")
        share = pl.when(total > 0.0).then(pl.col("goodput_bit_s") / total)
        return by_path.select(*keys, share.alias("share"))

    @property
    def totals(self) -> Totals:
        """Totals over all runs."""
        return self.origin.totals

    @cached_property
    def _summary(self) -> Summary:
        return summarise(self)

    def summary(self) -> Summary:
        """Figures over replications: the object that `ropewalk run --json` prints."""
        return self._summary

    def why(
        self,
        *,
        effort: str = "normal",
        jobs: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Diagnosis:
        """Why the flows are as slow as they are, as `Scenario.why` under the seeds of these results.

        The scenario is run again, with and without changes. A single seed has no interval: others are
        added.

        Args:
            effort: `quick`, `normal` or `thorough`; no more seeds are used than it says.
            jobs: threads; None: one per processor.
            progress: called with (done, total) replications.

        Raises:
            ValueError: there is no such effort.
            RunFailed: a replication without any change failed.
            KeyboardInterrupt: Ctrl-C; the run ends at once.
        """
        from ropewalk.why import why

        return why(self.origin.scenario, self.origin.seeds, effort=effort, jobs=jobs, progress=progress)

    @cached_property
    def plot(self) -> Plots:
        """The plots, as matplotlib figures."""
        from ropewalk.plots import Plots

        return Plots(self)

    def write(self, directory: str | os.PathLike[str]) -> list[Path]:
        """Writes the tables (Parquet), `summary.json`, `scenario.toml` and the traces into `directory`.

        Files of an earlier call there are replaced; plots, reports, figures and exports that were made of it
        are removed. `summary.json` comes last.

        Returns:
            the files.

        Raises:
            OSError: the directory cannot be written to.
        """
        return store.write(self, directory)

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> Results:
        """Reads what `write` wrote.

        Raises:
            OSError: a file is missing or cannot be read.
            ValueError: a file is not what `write` writes.
        """
        return store.read(directory)

    def compare(
        self, baseline: Results, metrics: Sequence[str] = ("goodput_bit_s", "delay_p95_s")
    ) -> pl.DataFrame:
        """Differences from `baseline`, seed by seed: one row for each flow and metric.

        Columns: `flow`, `metric`, `pairs` (seeds that both have), `mean` and `baseline` (means over these
        pairs), `difference` with `ci95`, half width of its 95 % interval, and `p` of the paired t test, not
        corrected for the number of rows. Flows that only one of them has are left out.

        Args:
            baseline: results of another scenario under the same seeds.
            metrics: columns of the table `flows`.

        Raises:
            ValueError: a metric is no figure of the table `flows`, or no seed is in both.
        """
        from ropewalk import catalogue
        from ropewalk.statistics import paired

        arguments.instance("baseline", "a ropewalk.Results", Results, baseline)
        metrics = arguments.texts("metrics", metrics)
        known = catalogue.figures("flows")
        if unknown := [metric for metric in metrics if metric not in known]:
            raise ValueError(f"{unknown[0]} is no figure of the table flows; figures: {', '.join(known)}")
        if not set(self.origin.seeds) & set(baseline.origin.seeds):
            raise ValueError("no seed is in both: run both with the same seeds")
        rows = []
        for flow in self.flows["flow"].unique(maintain_order=True):
            for metric in metrics:
                ours, theirs = self._by_seed(flow, metric), baseline._by_seed(flow, metric)
                found = paired(ours, theirs)
                if found is not None:
                    both = sorted(ours.keys() & theirs.keys())
                    means = [math.fsum(one[seed] for seed in both) / len(both) for one in (ours, theirs)]
                    rows.append((flow, metric, found.n, *means, found.mean, found.ci95, found.p))
        schema = {"flow": pl.String, "metric": pl.String, "pairs": pl.Int64}
        figures = ("mean", "baseline", "difference", "ci95", "p")
        return pl.DataFrame(rows, schema | dict.fromkeys(figures, pl.Float64), orient="row")

    def _by_seed(self, flow: str, metric: str) -> dict[int, float]:
        table = self.flows.filter(pl.col("flow") == flow).select("run", pl.col(metric).cast(pl.Float64))
        return dict(table.drop_nulls().iter_rows())

    def _repr_html_(self) -> str:
        from ropewalk import notebook

        return notebook.of_results(self)

    def __repr__(self) -> str:
        runs = numbers.count(len(self.origin.seeds), "replication")
        flows = numbers.count(self.flows["flow"].n_unique(), "flow")
        return f"<Results of {self.origin.scenario.name!r}: {runs}, {flows}>"
