"""Charts over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ropewalk import catalogue
from ropewalk.limits import FAILED, PATH_DOWN
from ropewalk.plots import worth
from ropewalk.plots.model import INK, QUIET, Axis, Band, Chart, Line, Panel, Stack, Strip
from ropewalk.plots.palette import PALETTE, colours, looks
from ropewalk.plots.scales import LOG_FROM

if TYPE_CHECKING:
    from ropewalk.plots.model import Reals
    from ropewalk.results import Results

SUBFLOWS = "subflow: path"
BINS, LEAST_BINS = 60, 20
"""Throughput is averaged over at least one sixtieth of the run, and at most a twentieth."""
LONGEST_BIN_S = 1.0
"""Round trips that are longer stand in queues: bins as long would hide what happens."""
MAX_PANELS = 6
MAX_STRIPS = 16
LONG_LABEL = 12
RIBBON = "The ribbon shows what kept each subflow from sending more"
NOT_TOLD = "; it is white where packets do not tell"


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

    @property
    def short(self) -> str:
        """For the ribbon, where there is little room."""
        return self.label if len(self.label) <= LONG_LABEL else self.label.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Choice:
    """The flows to show, one panel each, and the run."""

    flows: list[str]
    run: int
    left_out: str
    """The names of those that are not shown; empty if all are."""
    simulated: bool = True

    @classmethod
    def make(cls, results: Results, flow: str | None, run: int | None, *, udp: bool = True) -> Choice:
        """Checks names; without a name all flows but baselines are shown, those over UDP if asked for."""
        if results.series.is_empty():
            raise ValueError("no time series were recorded: use run(series=True)")
        if run is not None and run not in results.origin.seeds:
            raise ValueError(f"there is no run {run}; seeds: {results.origin.seeds}")
        shown, left_out = choose_flows(results, flow, udp=udp)
        shown_run = results.origin.seeds[0] if run is None else run
        return cls(shown, shown_run, left_out, results.origin.simulated)

    def title(self, what: str, results: Results, *, spread: bool = False) -> str:
        """The title: quantity, scenario, run, and whether other runs are shown."""
        count = len(results.origin.seeds)
        others = f" and spread of {count} runs" if spread and count > 1 else ""
        seed = f", seed {self.run}" if results.origin.simulated else ""
        return f"{what}: {results.origin.scenario.name}{seed}{others}{in_title(self.left_out)}"

    def caption(self, text: str) -> str:
        """How to read a plot over time."""
        ribbon = RIBBON if self.simulated else RIBBON + NOT_TOLD
        return f"{text} {ribbon}.{in_caption(self.left_out)}"


def in_title(left_out: str) -> str:
    """The part of a title that says what is left out."""
    return f" ({left_out})" if left_out else ""


def in_caption(left_out: str) -> str:
    """The same behind a caption."""
    return f" Shown: the {left_out}." if left_out else ""


def choose_flows(results: Results, flow: str | None, *, udp: bool = True) -> tuple[list[str], str]:
    """The flows to show and what is left out; without `udp` not those over UDP beside others."""
    names: list[str] = results.flows["flow"].unique(maintain_order=True).to_list()
    if flow is not None:
        if flow not in names:
            raise ValueError(f"there is no flow {flow!r}; flows: {', '.join(names)}")
        return [flow], ""
    own = [name for name in names if "@" not in name]
    if not udp:
        own = [name for name in own if not _is_udp(results, name)] or own
    left_out = f"first {MAX_PANELS} of {len(own)} flows" if len(own) > MAX_PANELS else ""
    return own[:MAX_PANELS], left_out


def _is_udp(results: Results, flow: str) -> bool:
    return bool(results.flows.filter(pl.col("flow") == flow)["transport"][0] == "udp")


def describe(results: Results, flow: str) -> str:
    """Name and transport of a flow, over its panel."""
    row = results.flows.filter(pl.col("flow") == flow).row(0, named=True)
    parts = [row["transport"].upper(), row["congestion"], row["scheduler"]]
    return f"{flow} ({', '.join(filter(None, parts))})"


def label_of(metric: str, of: str = "flow") -> str:
    """Name and unit of a time series, for its axis."""
    spec = catalogue.series()[of, metric]
    return f"{spec.label} ({spec.unit})"


def scale_of(metric: str, of: str = "flow") -> float:
    """Its values divided by this are in that unit."""
    return catalogue.series()[of, metric].scale


def _subflows(results: Results, flow: str, run: int) -> list[Subflow]:
    rows = results.subflows.filter((pl.col("flow") == flow) & (pl.col("run") == run))
    return [Subflow(*row) for row in rows.select("connection", "subflow", "path").iter_rows()]


def samples_of(results: Results, flow: str, metric: str, run: int | None = None) -> pl.DataFrame:
    """One time series of a flow or its subflows, of one run or of all."""
    wanted = (pl.col("flow") == flow) & (pl.col("metric") == metric)
    if run is not None:
        wanted &= pl.col("run") == run
    return results.series.filter(wanted).select("run", "connection", "subflow", "t_s", "value")


def points_of(samples: pl.DataFrame, subflow: Subflow) -> tuple[Reals, Reals]:
    """Times in s and values of one subflow."""
    mine = (pl.col("connection") == subflow.connection) & (pl.col("subflow") == subflow.index)
    own = samples.filter(mine)
    return own["t_s"].to_numpy(), own["value"].to_numpy()


def whole(samples: pl.DataFrame) -> tuple[Reals, Reals]:
    """Times in s and values."""
    return samples["t_s"].to_numpy(), samples["value"].to_numpy()


def strips_of(results: Results, flow: str, run: int) -> list[Strip]:
    """The limits of the first subflows; datagrams have none."""
    samples = samples_of(results, flow, "limit", run)
    if samples.is_empty():
        return []
    subflows = _subflows(results, flow, run)
    names = list(catalogue.limits().values())
    if len(subflows) == 1 and failed(results, flow, run):
        names[names.index(PATH_DOWN)] = FAILED
    spans = [_spans(*points_of(samples, subflow), names) for subflow in subflows[:MAX_STRIPS]]
    found = [Strip(subflow.short, span) for subflow, span in zip(subflows, spans, strict=False)]
    left = len(subflows) - len(found)
    return [*found, Strip(f"{left} more left out", [])] if left else found


def failed(results: Results, flow: str, run: int) -> bool:
    """The connection of a flow, or one of them."""
    own = (pl.col("flow").cast(pl.String) == flow) & (pl.col("run") == run)
    return "failure" in results.flows.columns and results.flows.filter(own)["failure"].is_not_null().any()


def _spans(at: Reals, limit: Reals, names: list[str]) -> list[tuple[float, float, str]]:
    """Samples of the limit as spans; a sample speaks for the time since the one before."""
    if not len(at):
        return []
    begin = np.concatenate([at[:1], at[:-1]])
    # Packets of a capture do not always tell.
    code = np.where(np.isfinite(limit), limit, -1.0)
    starts = np.flatnonzero(np.diff(code, prepend=np.nan) != 0.0)
    ends = np.append(starts[1:], len(code)) - 1
    return [
        (float(begin[first]), float(at[last]), names[int(code[first])])
        for first, last in zip(starts, ends, strict=True)
        if code[first] >= 0.0
    ]


def _end_s(results: Results, run: int | None) -> float:
    """When a replication ended (None: the last): after the duration, or when everything was delivered."""
    own = results.runs if run is None else results.runs.filter(pl.col("run") == run)
    ends = [end_s for end_s in own["end_s"].to_list() if end_s]
    return max(ends, default=results.origin.scenario.duration_s)


def time_axis(results: Results, run: int | None) -> Axis:
    """From the start to the end of a replication; of the last one with None."""
    return Axis("time (s)", low=0.0, high=_end_s(results, run))


@dataclass(frozen=True, slots=True)
class Bins:
    """Equal spans of time; the last one may be shorter."""

    width: float
    edges: Reals
    instants: Reals
    """When samples were taken; a sample tells of the time since the one before."""

    @classmethod
    def make(cls, results: Results, run: int) -> Bins:
        """About a round trip wide: a window sent in a burst each round trip would look like gaps."""
        end_s = _end_s(results, run)
        instants = results.series.filter(pl.col("run") == run)["t_s"].unique().sort().to_numpy()
        interval = float(np.max(np.diff(instants, prepend=0.0)))
        round_trip = results.subflows.filter(pl.col("run") == run)["srtt_mean_s"].to_numpy()
        known = round_trip[np.isfinite(round_trip)]
        usual = min(float(np.median(known)), LONGEST_BIN_S) if len(known) else 0.0
        wanted = max(end_s / BINS, min(usual, end_s / LEAST_BINS))
        width = float(f"{math.ceil(wanted / interval - 0.01) * interval:.6g}")
        edges = np.arange(0.0, end_s, width)
        return cls(width, np.append(edges, end_s), instants)

    def means(self, at: Reals, rate: Reals) -> Reals:
        """Mean rate per bin of rates sampled at `at`; the last one twice, to end a line with steps."""
        spans = np.diff(self.instants, prepend=0.0)[np.searchsorted(self.instants, at)]
        # A sample on an edge belongs to the bin that ends there.
        inside = np.clip(np.searchsorted(self.edges, at - 1e-9) - 1, 0, len(self.edges) - 2)
        amounts = np.bincount(inside, weights=rate * spans, minlength=len(self.edges) - 1)
        found = amounts / np.diff(self.edges)
        return np.append(found, found[-1])


def throughput(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.throughput`."""
    choice = Choice.make(results, flow, run)
    bins = Bins.make(results, choice.run)
    panels = []
    for name in choice.flows:
        panel = Panel(describe(results, name), empty="no subflow was established")
        udp = _is_udp(results, name)
        samples = samples_of(results, name, "goodput_bit_s" if udp else "throughput_bit_s", choice.run)
        if not samples.is_empty():
            subflows = _subflows(results, name, choice.run)
            # Datagrams are counted by the flow.
            lines = [whole(samples)] if udp else [points_of(samples, subflow) for subflow in subflows]
            layers = [bins.means(*line) / scale_of("throughput_bit_s") for line in lines]
            labels = ["datagrams"] if udp else [subflow.label for subflow in subflows]
            tones, _, patterns = zip(*looks(len(labels)), strict=True)
            panel.marks.append(Stack(labels, list(tones), list(patterns), bins.edges, layers))
            panel.marks.extend(worth.lines(results, name, choice.run, bins))
        panel.strips.extend(strips_of(results, name, choice.run))
        panels.append(panel)
    return Chart(
        key="throughput",
        heading="Throughput per subflow, stacked",
        title=choice.title("Throughput per subflow", results),
        x=time_axis(results, choice.run),
        y=Axis(f"{label_of('throughput_bit_s')}, {bins.width:g} s means", low=0.0),
        panels=panels,
        events=results.origin.scenario.events(),
        legend_title=SUBFLOWS,
        caption=choice.caption(
            f"Areas: payload that reached the receiver, first copies, means over {bins.width:g} s. Lines: "
            "payload delivered in order; the best path alone under the same seed; capacity of "
            "the paths, headers included."
        ),
    )


def cwnd(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.cwnd`."""
    scale = scale_of("cwnd_bytes")
    choice = Choice.make(results, flow, run, udp=False)
    panels = []
    for name in choice.flows:
        panel = Panel(describe(results, name), empty="no subflow was established")
        windows = samples_of(results, name, "cwnd_bytes", choice.run)
        thresholds = samples_of(results, name, "ssthresh_bytes", choice.run)
        subflows = _subflows(results, name, choice.run)
        for subflow, (colour, dash, _) in zip(subflows, looks(len(subflows)), strict=True):
            at, value = points_of(windows, subflow)
            if len(at):
                panel.marks.append(Line(subflow.label, at, value / scale, colour, dash))
            at, value = points_of(thresholds, subflow)
            if len(at):
                label = f"{subflow.label}, ssthresh"
                panel.marks.append(Line(label, at, value / scale, colour, "dot", width=0.9, legend=False))
        if panel.marks:
            nowhere = np.array([])
            panel.marks.append(Line("ssthresh", nowhere, nowhere, dash="dot", width=0.9))
        panel.strips.extend(strips_of(results, name, choice.run))
        panels.append(panel)
    return Chart(
        key="cwnd",
        heading="Congestion window per subflow",
        title=choice.title("Congestion window per subflow", results),
        x=time_axis(results, choice.run),
        y=Axis(label_of("cwnd_bytes"), low=0.0),
        panels=panels,
        events=results.origin.scenario.events(),
        legend_title=SUBFLOWS,
        caption=choice.caption("Dotted: slow-start threshold, once it is finite."),
    )


def srtt(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.srtt`."""
    choice = Choice.make(results, flow, run, udp=False)
    low, high = np.inf, 0.0
    panels = []
    for name in choice.flows:
        panel = Panel(describe(results, name), empty="no round trip was measured")
        samples = samples_of(results, name, "srtt_s", choice.run)
        subflows = _subflows(results, name, choice.run)
        for subflow, (colour, dash, _) in zip(subflows, looks(len(subflows)), strict=True):
            at, value = points_of(samples, subflow)
            if len(at):
                panel.marks.append(Line(subflow.label, at, value * 1e3, colour, dash))
                low, high = min(low, float(np.min(value))), max(high, float(np.max(value)))
        panel.strips.extend(strips_of(results, name, choice.run))
        panels.append(panel)
    log = high > LOG_FROM * low
    return Chart(
        key="srtt",
        heading="Smoothed round-trip time per subflow",
        title=choice.title("Smoothed round-trip time per subflow", results),
        x=time_axis(results, choice.run),
        y=Axis("smoothed RTT (ms)", log=log, low=None if log else 0.0),
        panels=panels,
        events=results.origin.scenario.events(),
        legend_title=SUBFLOWS,
        caption=choice.caption("As the sender measures it, queueing included."),
    )


def out_of_order(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.out_of_order`."""
    scale = scale_of("ofo_bytes")
    choice = Choice.make(results, flow, run, udp=False)
    panels = []
    replications = 1
    for name in choice.flows:
        panel = Panel(describe(results, name), empty="the flow never started")
        samples = samples_of(results, name, "ofo_bytes")
        replications = samples["run"].n_unique()
        if replications > 1:
            over = _spread(samples)
            at = over["t_s"].to_numpy()
            low, middle, high = (over[key].to_numpy() / scale for key in ("low", "median", "high"))
            panel.marks.append(Band(f"5 to 95 % of {replications} runs", at, low, high, QUIET))
            panel.marks.append(Line("median", at, middle, INK, width=1.0))
        one = samples.filter(pl.col("run") == choice.run)
        if not one.is_empty():
            at, value = one["t_s"].to_numpy(), one["value"].to_numpy() / scale
            label = f"seed {choice.run}" if results.origin.simulated else "held"
            panel.marks.insert(0, Line(label, at, value, PALETTE[0], width=1.0))
        panel.strips.extend(strips_of(results, name, choice.run))
        panels.append(panel)
    return Chart(
        key="out-of-order",
        heading="Out-of-order memory",
        title=choice.title("Out-of-order queue", results, spread=replications > 1),
        x=time_axis(results, None if replications > 1 else choice.run),
        y=Axis(label_of("ofo_bytes"), low=0.0),
        panels=panels,
        events=results.origin.scenario.events(),
        caption=choice.caption(
            "What the receiver holds because of gaps, in the subflows and in the connection."
        ),
    )


def _spread(samples: pl.DataFrame) -> pl.DataFrame:
    value = pl.col("value")
    return (
        samples.group_by("t_s")
        .agg(
            value.quantile(0.05, "linear").alias("low"),
            value.median().alias("median"),
            value.quantile(0.95, "linear").alias("high"),
        )
        .sort("t_s")
    )


def queue(results: Results, run: int | None) -> Chart:
    """See `Plots.queue`."""
    choice = Choice.make(results, None, run)
    samples = results.series.filter(
        (pl.col("metric") == "queue_packets") & (pl.col("run") == choice.run)
    ).select("link", "t_s", "value")
    most = samples.group_by("link", maintain_order=True).agg(pl.col("value").max(), pl.len())
    most = most.filter(pl.col("value") > 0).sort("value", descending=True, maintain_order=True)
    shown = most["link"].head(len(PALETTE)).to_list()
    links = [name for name in results.links["link"].unique(maintain_order=True) if name in shown]
    panel = Panel("", empty="no packet ever waited at the time of a sample")
    for name, colour in zip(links, colours(len(links)), strict=True):
        own = samples.filter(pl.col("link") == name)
        panel.marks.append(Line(name, own["t_s"].to_numpy(), own["value"].to_numpy(), colour))
    left_out = f"the {len(shown)} longest of {most.height} queues; " if most.height > len(shown) else ""
    return Chart(
        key="queue",
        heading="Queues of the links",
        title=f"Queues of the links: {results.origin.scenario.name}, seed {choice.run}",
        x=time_axis(results, choice.run),
        y=Axis(label_of("queue_packets", "link"), low=0.0),
        panels=[panel],
        events=results.origin.scenario.events(),
        legend_title="link",
        caption=f"Packets in front of the transmitter; {left_out}links where none ever waited are left out.",
    )
