"""The distribution of delays."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ropewalk import numbers
from ropewalk.plots.model import INK, Axis, Chart, Line, Panel
from ropewalk.plots.palette import colours
from ropewalk.plots.scales import LOG_FROM
from ropewalk.plots.series import choose_flows, describe, in_caption, in_title

if TYPE_CHECKING:
    from ropewalk.plots.model import Reals
    from ropewalk.results import Results


@dataclass(frozen=True, slots=True)
class _Group:
    """The flows of one panel, the first one in the colour of ink."""

    title: str
    flows: list[str]


def _groups(results: Results, flows: list[str]) -> list[_Group]:
    """Each flow with its baselines; flows without any are easier to compare side by side."""
    names: list[str] = results.flows["flow"].unique(maintain_order=True).to_list()
    found = [_Group(describe(results, f), [f, *(n for n in names if n.startswith(f"{f}@"))]) for f in flows]
    if all(len(group.flows) == 1 for group in found) and len(found) > 1:
        return [_Group("", flows)]
    return found


def cdf(results: Results, flow: str | None) -> Chart:
    """See `Plots.delay_cdf`."""
    flows, left_out = choose_flows(results, flow)
    count = len(results.origin.seeds)
    runs = numbers.count(count, "run")
    of = f"{results.origin.scenario.name}, {runs}{in_title(left_out)}"
    extremes: list[float] = []
    panels = []
    for group in _groups(results, flows):
        panel = Panel(group.title, empty="nothing was delivered")
        shades = (INK, *colours(len(group.flows) - 1))
        # Beams that are alike have curves on top of each other: the dashes differ, too.
        dashes = itertools.chain(["solid"], itertools.cycle(("dash", "dashdot", "dot")))
        for name, colour, dash in zip(group.flows, shades, dashes, strict=False):
            delays, shares = _distribution(results, name)
            if len(delays):
                panel.marks.append(Line(name, delays * 1e3, shares, colour, dash, steps=True))
                extremes += [*np.interp([0.001, 0.999], shares, delays)]
        panels.append(panel)
    return Chart(
        key="delay-cdf",
        heading="Delay from write to in-order delivery",
        title=f"Delay from write to in-order delivery: {of}",
        x=_delays(extremes),
        y=Axis("share of bytes", low=0.0, high=1.02),
        panels=panels,
        caption=f"Every byte counts once, {runs} together; the wait in the send buffer is part of the delay."
        + in_caption(left_out),
    )


def _delays(extremes: list[float]) -> Axis:
    """Logarithmic if the delays, in seconds, differ much."""
    if extremes and max(extremes) > LOG_FROM * min(extremes):
        # The part to the left, less than a thousandth of the bytes, is not visible in any case.
        return Axis("delay (ms)", log=True, low=min(extremes) * 0.8e3)
    return Axis("delay (ms)", low=0.0)


def _distribution(results: Results, flow: str) -> tuple[Reals, Reals]:
    """Delays in seconds, ascending, and the share of all bytes that was not delayed longer, from 0 to 1."""
    rows = results.delays.filter(pl.col("flow") == flow)
    rows = rows.group_by("delay_s").agg(pl.col("bytes").sum()).sort("delay_s")
    delays, shares = rows["delay_s"].to_numpy(), rows["bytes"].cum_sum().to_numpy() / rows["bytes"].sum()
    # Many bytes may have the least delay.
    return np.append(delays[:1], delays), np.append([0.0] * len(delays[:1]), shares)
