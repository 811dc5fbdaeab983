"""The legs of flows with proxies over time, and what the proxies hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from ropewalk.plots.model import Axis, Chart, Line, Panel
from ropewalk.plots.palette import looks
from ropewalk.plots.series import (
    MAX_PANELS,
    Bins,
    Choice,
    describe,
    in_caption,
    label_of,
    samples_of,
    scale_of,
    time_axis,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ropewalk.plots.model import Reals
    from ropewalk.results import Results

LEGEND = "leg: from → to"


@dataclass(frozen=True, slots=True)
class Leg:
    """One connection of the chain, by the nodes where it begins and ends."""

    number: int
    ways: list[tuple[str, str]]
    """Nodes where it begins and ends; several where connections go by different ones."""

    @property
    def label(self) -> str:
        """For the legend."""
        return f"{self.number}: {', '.join(f'{start} → {end}' for start, end in self.ways)}"

    @property
    def start(self) -> str:
        """The nodes where it begins."""
        return ", ".join(dict.fromkeys(start for start, _ in self.ways))


def throughput(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.leg_throughput`."""
    choice = _choice(results, flow, run)
    bins = Bins.make(results, choice.run)
    unit = f"{label_of('throughput_bit_s')}, {bins.width:g} s means"

    def line(name: str, leg: Leg, colour: str, dash: str) -> Line | None:
        at, rate = _samples(results, name, leg, "throughput_bit_s", choice.run)
        if not len(at):
            return None
        means = bins.means(at, rate) / scale_of("throughput_bit_s")
        return Line(leg.label, bins.edges, means, colour, dash, steps=True)

    panels = _panels(results, choice, line)
    text = (
        "Payload that reached the end of each leg, first copies. A leg above the next one fills the proxy "
        "between them."
    )
    return _chart(results, choice, ("leg-throughput", "Throughput per leg", LEGEND), unit, (panels, text))


def cwnd(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.leg_cwnd`."""
    choice = _choice(results, flow, run)

    def line(name: str, leg: Leg, colour: str, dash: str) -> Line | None:
        at, window = _samples(results, name, leg, "cwnd_bytes", choice.run)
        return Line(leg.label, at, window / scale_of("cwnd_bytes"), colour, dash) if len(at) else None

    panels = _panels(results, choice, line)
    text = "Of the end that sends the data, the sum of all subflows and connections."
    names = ("leg-cwnd", "Congestion window per leg", LEGEND)
    return _chart(results, choice, names, label_of("cwnd_bytes"), (panels, text))


def srtt(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.leg_srtt`."""
    choice = _choice(results, flow, run)

    def line(name: str, leg: Leg, colour: str, dash: str) -> Line | None:
        at, value = _samples(results, name, leg, "srtt_s", choice.run, least=True)
        return Line(leg.label, at, value * 1e3, colour, dash) if len(at) else None

    panels = _panels(results, choice, line)
    text = "Smoothed, as the end that sends the data sees it, the smallest of all subflows and connections."
    names = ("leg-srtt", "Round-trip time per leg", LEGEND)
    return _chart(results, choice, names, "smoothed RTT (ms)", (panels, text))


def held(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.proxy_held`."""
    choice = _choice(results, flow, run)

    def line(name: str, leg: Leg, colour: str, dash: str) -> Line | None:
        at, value = _samples(results, name, leg, "held_bytes", choice.run)
        return Line(leg.start, at, value / scale_of("proxy_held_bytes"), colour, dash) if len(at) else None

    panels = _panels(results, choice, line, first=1)
    text = "Data that proxies have acknowledged and nothing behind them has: lost where a proxy crashes."
    names = ("proxy-held", "Bytes held at proxies", "proxy at")
    return _chart(results, choice, names, label_of("proxy_held_bytes"), (panels, text))


def retransmissions(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.leg_retransmissions`."""
    choice = _choice(results, flow, run)

    def line(name: str, leg: Leg, colour: str, dash: str) -> Line | None:
        # The first leg has this series beside those of its subflows.
        found = samples_of(results, name, f"leg{leg.number}_retransmitted_segments", choice.run)
        at, count = whole(found)
        return Line(leg.label, at, count, colour, dash, steps=True) if len(at) else None

    panels = _panels(results, choice, line)
    text = "So far, of all subflows and connections: a loss costs by the round trip of its leg alone."
    names = ("leg-retransmissions", "Retransmissions per leg", LEGEND)
    return _chart(results, choice, names, "retransmitted segments", (panels, text))


def _choice(results: Results, flow: str | None, run: int | None) -> Choice:
    """The flows that a proxy has a part in."""
    choice = Choice.make(results, flow, run, udp=False)
    chained = set(results.legs["flow"].unique())
    if flow is None:
        names: list[str] = results.flows["flow"].unique(maintain_order=True).to_list()
        own = [name for name in names if name in chained and "@" not in name]
        left_out = f"first {MAX_PANELS} of {len(own)} flows with a proxy" if len(own) > MAX_PANELS else ""
        choice = replace(choice, flows=own[:MAX_PANELS], left_out=left_out)
    elif flow not in chained:
        raise ValueError(f"no proxy has a part in the flow {flow!r}")
    if not choice.flows:
        raise ValueError("no proxy has a part in any flow: its legs are shown with a [[proxy]]")
    return choice


def _legs(results: Results, flow: str, run: int) -> list[Leg]:
    """The legs of a flow."""
    rows = results.legs.filter((pl.col("flow") == flow) & (pl.col("run") == run))
    found = []
    for number in sorted(rows["leg"].unique().to_list()):
        own = rows.filter(pl.col("leg") == number)
        found.append(Leg(number, own.select("from", "to").unique(maintain_order=True).rows()))
    return found


def _samples(
    results: Results, flow: str, leg: Leg, metric: str, run: int, *, least: bool = False
) -> tuple[Reals, Reals]:
    """Times in s and values of one leg; of the subflows of the first their sum, or the least."""
    if leg.number:
        return whole(samples_of(results, flow, f"leg{leg.number}_{metric}", run))
    value = pl.col("value").min() if least else pl.col("value").sum()
    return whole(samples_of(results, flow, metric, run).group_by("t_s").agg(value).sort("t_s"))


def _panels(
    results: Results,
    choice: Choice,
    line: Callable[[str, Leg, str, str], Line | None],
    first: int = 0,
) -> list[Panel]:
    """A panel for each flow, with a line for each leg from the `first` on that has samples."""
    panels = []
    for name in choice.flows:
        panel = Panel(describe(results, name), empty="no connection was established")
        legs = _legs(results, name, choice.run)[first:]
        for leg, (colour, dash, _) in zip(legs, looks(len(legs)), strict=True):
            drawn = line(name, leg, colour, dash)
            if drawn is not None:
                panel.marks.append(drawn)
        panels.append(panel)
    return panels


def _chart(
    results: Results,
    choice: Choice,
    names: tuple[str, str, str],
    unit: str,
    content: tuple[list[Panel], str],
) -> Chart:
    """A chart of these key, heading and title of the legend; panels, and how to read them."""
    key, heading, legend = names
    panels, text = content
    return Chart(
        key=key,
        heading=heading,
        title=choice.title(heading, results),
        x=time_axis(results, choice.run),
        y=Axis(unit, low=0.0),
        panels=panels,
        events=results.origin.scenario.events(),
        legend_title=legend,
        caption=f"{text}{in_caption(choice.left_out)}",
    )
