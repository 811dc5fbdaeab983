"""Plots over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.ticker import LogLocator, ScalarFormatter

from ropewalk.plots.style import (
    BLACK,
    LOG_FROM,
    MAX_PANELS,
    PALETTE,
    colours,
    legend,
    mark_events,
    panels,
    say_empty,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ropewalk.plots.style import Figure
    from ropewalk.results import Results

    Reals = NDArray[np.float64]

SUBFLOWS = "subflow: path"

BINS = 60
"""Throughput is averaged over at least one sixtieth of the run."""


@dataclass(frozen=True, slots=True)
class Subflow:
    """One subflow of the flow in a panel."""

    connection: int
    index: int
    path: str | None

    @property
    def label(self) -> str:
        """For the legend."""
        number = f"{self.connection}.{self.index}" if self.connection else str(self.index)
        return f"{number}: {self.path}" if self.path else f"subflow {number}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The flows to show, one panel each, and the run."""

    flows: list[str]
    run: int
    note: str
    """What was left out, for the title."""

    @classmethod
    def make(cls, results: Results, flow: str | None, run: int | None) -> Choice:
        """Checks names; without a name all flows are shown, baselines only by name."""
        if results.series.is_empty():
            raise ValueError("no time series were recorded: use run(series=True)")
        if run is not None and run not in results.study.seeds:
            raise ValueError(f"there is no run {run}; seeds: {results.study.seeds}")
        shown, note = choose_flows(results, flow)
        return cls(shown, results.study.seeds[0] if run is None else run, note)

    def title(self, what: str, results: Results, *, spread: bool = False) -> str:
        """What is shown, of which scenario, of which run, and whether the others are there, too."""
        count = len(results.study.seeds)
        others = f" and spread of {count} runs" if spread and count > 1 else ""
        return f"{what}: {results.study.scenario.name}, seed {self.run}{others}{self.note}"


def choose_flows(results: Results, flow: str | None) -> tuple[list[str], str]:
    """The flows to show and a note on what was left out."""
    names: list[str] = results.flows["flow"].unique(maintain_order=True).to_list()
    if flow is not None:
        if flow not in names:
            raise ValueError(f"there is no flow {flow!r}; flows: {', '.join(names)}")
        return [flow], ""
    own = [name for name in names if "@" not in name]
    note = f" (first {MAX_PANELS} of {len(own)} flows)" if len(own) > MAX_PANELS else ""
    return own[:MAX_PANELS], note


def describe(results: Results, flow: str) -> str:
    """Name and transport of a flow, over its panel."""
    row = results.flows.filter(pl.col("flow") == flow).row(0, named=True)
    parts = [row["transport"].upper(), row["congestion"], row["scheduler"]]
    return f"{flow} ({', '.join(filter(None, parts))})"


def _subflows(results: Results, flow: str, run: int) -> list[Subflow]:
    rows = results.subflows.filter((pl.col("flow") == flow) & (pl.col("run") == run))
    return [Subflow(*row) for row in rows.select("connection", "subflow", "path").iter_rows()]


def _samples(results: Results, flow: str, metric: str, run: int | None = None) -> pl.DataFrame:
    wanted = (pl.col("flow") == flow) & (pl.col("metric") == metric)
    if run is not None:
        wanted &= pl.col("run") == run
    return results.series.filter(wanted).select("run", "connection", "subflow", "t_s", "value")


def _lines(samples: pl.DataFrame, subflow: Subflow) -> tuple[Reals, Reals]:
    mine = (pl.col("connection") == subflow.connection) & (pl.col("subflow") == subflow.index)
    own = samples.filter(mine)
    return own["t_s"].to_numpy(), own["value"].to_numpy()


def _finish(axes: list[Axes], results: Results, ylabel: str, legend_title: str | None) -> None:
    for panel in axes:
        panel.set_ylabel(ylabel)
        legend(panel, legend_title)
    axes[-1].set_xlabel("time (s)")
    axes[0].set_xlim(0, results.study.scenario.duration_s)
    mark_events(axes, results.study.scenario.events())


@dataclass(frozen=True, slots=True)
class Bins:
    """Equal spans of time; the last one may be shorter."""

    width: float
    edges: Reals
    instants: Reals
    """When samples were taken; a sample tells of the time since the one before."""

    @classmethod
    def make(cls, results: Results, run: int) -> Bins:
        """At least a round trip wide: a window sent in a burst each round trip would look like gaps."""
        duration_s = results.study.scenario.duration_s
        instants = results.series.filter(pl.col("run") == run)["t_s"].unique().sort().to_numpy()
        interval = float(np.max(np.diff(instants, prepend=0.0)))
        round_trip = results.subflows.filter(pl.col("run") == run)["srtt_mean_s"].to_numpy()
        wanted = max(duration_s / BINS, float(np.nanmax(round_trip, initial=0.0)))
        width = float(f"{math.ceil(wanted / interval - 0.01) * interval:.6g}")
        edges = np.arange(0.0, duration_s, width)
        return cls(width, np.append(edges, duration_s), instants)

    def means(self, at: Reals, rate: Reals) -> Reals:
        """Mean rate per bin of rates sampled at `at`; the last one twice, to end a line with steps."""
        spans = np.diff(self.instants, prepend=0.0)[np.searchsorted(self.instants, at)]
        # A sample on an edge belongs to the bin that ends there.
        inside = np.clip(np.searchsorted(self.edges, at - 1e-9) - 1, 0, len(self.edges) - 2)
        amounts = np.bincount(inside, weights=rate * spans, minlength=len(self.edges) - 1)
        found = amounts / np.diff(self.edges)
        return np.append(found, found[-1])


@styled
def throughput(results: Results, flow: str | None, run: int | None) -> Figure:
    """See `Plots.throughput`."""
    choice = Choice.make(results, flow, run)
    bins = Bins.make(results, choice.run)
    figure, axes = panels(len(choice.flows), choice.title("Throughput per subflow", results))
    for panel, name in zip(axes, choice.flows, strict=True):
        panel.set_title(describe(results, name))
        samples = _samples(results, name, "throughput_bit_s", choice.run)
        if samples.is_empty():
            say_empty(panel, "no subflow was established")
            continue
        subflows = _subflows(results, name, choice.run)
        stack = [bins.means(*_lines(samples, subflow)) / 1e6 for subflow in subflows]
        labels = [subflow.label for subflow in subflows]
        shades = colours(len(subflows))
        panel.stackplot(bins.edges, stack, step="post", labels=labels, colors=shades, linewidth=0)
    axes[0].set_ylim(bottom=0)
    _finish(axes, results, f"throughput (Mbit/s), {bins.width:g} s means", SUBFLOWS)
    return figure


@styled
def cwnd(results: Results, flow: str | None, run: int | None) -> Figure:
    """See `Plots.cwnd`."""
    choice = Choice.make(results, flow, run)
    figure, axes = panels(len(choice.flows), choice.title("Congestion window per subflow", results))
    for panel, name in zip(axes, choice.flows, strict=True):
        panel.set_title(describe(results, name))
        windows = _samples(results, name, "cwnd_bytes", choice.run)
        thresholds = _samples(results, name, "ssthresh_bytes", choice.run)
        subflows = _subflows(results, name, choice.run)
        for subflow, colour in zip(subflows, colours(len(subflows)), strict=True):
            at, value = _lines(windows, subflow)
            panel.plot(at, value / 1e3, color=colour, label=subflow.label)
            at, value = _lines(thresholds, subflow)
            panel.plot(at, value / 1e3, color=colour, linestyle=":", linewidth=0.9, alpha=0.8)
        panel.plot([], [], color="0.3", linestyle=":", linewidth=0.9, label="ssthresh")
        if windows.is_empty():
            say_empty(panel, "no subflow was established")
    axes[0].set_ylim(bottom=0)
    _finish(axes, results, "congestion window (kB)", SUBFLOWS)
    return figure


@styled
def srtt(results: Results, flow: str | None, run: int | None) -> Figure:
    """See `Plots.srtt`."""
    choice = Choice.make(results, flow, run)
    figure, axes = panels(len(choice.flows), choice.title("Smoothed round-trip time per subflow", results))
    low, high = np.inf, 0.0
    for panel, name in zip(axes, choice.flows, strict=True):
        panel.set_title(describe(results, name))
        samples = _samples(results, name, "srtt_s", choice.run)
        subflows = _subflows(results, name, choice.run)
        for subflow, colour in zip(subflows, colours(len(subflows)), strict=True):
            at, value = _lines(samples, subflow)
            panel.plot(at, value * 1e3, color=colour, label=subflow.label)
            low, high = min(low, *value, np.inf), max(high, *value, 0.0)
        if samples.is_empty():
            say_empty(panel, "no round trip was measured")
    if high > LOG_FROM * low:
        axes[0].set_yscale("log")
        axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes[0].yaxis.set_major_formatter(ScalarFormatter())
        axes[0].yaxis.set_minor_formatter("")
    else:
        axes[0].set_ylim(bottom=0)
    _finish(axes, results, "smoothed RTT (ms)", SUBFLOWS)
    return figure


@styled
def out_of_order(results: Results, flow: str | None, run: int | None) -> Figure:
    """See `Plots.out_of_order`."""
    choice = Choice.make(results, flow, run)
    figure, axes = panels(len(choice.flows), choice.title("Out-of-order queue", results, spread=True))
    for panel, name in zip(axes, choice.flows, strict=True):
        panel.set_title(describe(results, name))
        samples = _samples(results, name, "ofo_bytes")
        one = samples.filter(pl.col("run") == choice.run)
        panel.plot(
            one["t_s"], one["value"] / 1e3, color=PALETTE[0], linewidth=1.0, label=f"seed {choice.run}"
        )
        replications = samples["run"].n_unique()
        if replications > 1:
            over = samples.group_by("t_s").agg(
                pl.col("value").quantile(0.05, "linear").alias("low"),
                pl.col("value").median().alias("median"),
                pl.col("value").quantile(0.95, "linear").alias("high"),
            )
            over = over.sort("t_s")
            label = f"5 to 95 % of {replications} runs"
            panel.fill_between(
                over["t_s"],
                over["low"] / 1e3,
                over["high"] / 1e3,
                color="0.8",
                linewidth=0,
                label=label,
                zorder=0,
            )
            panel.plot(over["t_s"], over["median"] / 1e3, color=BLACK, linewidth=1.0, label="median")
        if samples.is_empty():
            say_empty(panel, "the flow never started")
    axes[0].set_ylim(bottom=0)
    _finish(axes, results, "held back (kB)", None)
    return figure
