"""The distribution of delays."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.ticker import LogLocator, ScalarFormatter

from ropewalk.plots.series import choose_flows, describe
from ropewalk.plots.style import BLACK, LOG_FROM, colours, legend, panels, say_empty, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ropewalk.plots.style import Figure
    from ropewalk.results import Results


@dataclass(frozen=True, slots=True)
class Panel:
    """The flows of one panel, the first one in black."""

    title: str
    flows: list[str]


def _panels(results: Results, flows: list[str]) -> list[Panel]:
    """Each flow with its baselines; flows without any are easier to compare side by side."""
    names: list[str] = results.flows["flow"].unique(maintain_order=True).to_list()
    found = [Panel(describe(results, f), [f, *(n for n in names if n.startswith(f"{f}@"))]) for f in flows]
    if all(len(panel.flows) == 1 for panel in found) and len(found) > 1:
        return [Panel("", flows)]
    return found


@styled
def cdf(results: Results, flow: str | None) -> Figure:
    """See `Plots.delay_cdf`."""
    flows, note = choose_flows(results, flow)
    shown = _panels(results, flows)
    count = len(results.study.seeds)
    runs = "1 run" if count == 1 else f"{count} runs"
    title = f"Delay from write to in-order delivery: {results.study.scenario.name}, {runs}{note}"
    figure, axes = panels(len(shown), title)
    extremes: list[float] = []
    for panel, content in zip(axes, shown, strict=True):
        panel.set_title(content.title)
        shades = (BLACK, *colours(len(content.flows) - 1))
        # Beams that are alike have curves on top of each other: the dashes differ, too.
        dashes = itertools.chain("-", itertools.cycle(("--", "-.", ":")))
        for line, colour, style in zip(content.flows, shades, dashes, strict=False):
            delays, shares = _distribution(results, line)
            if len(delays):
                (curve,) = panel.plot(delays * 1e3, shares, color=colour, linestyle=style, label=line)
                curve.set_drawstyle("steps-post")
                extremes += [*np.interp([0.001, 0.999], shares, delays)]
        if not panel.lines:
            say_empty(panel, "nothing was delivered")
        panel.set_ylabel("share of bytes")
        legend(panel)
    axes[0].set_ylim(0, 1.02)
    axes[-1].set_xlabel("delay (ms)")
    _scale(axes[0], extremes)
    return figure


def _scale(axes: Axes, extremes: list[float]) -> None:
    """Logarithmic if the delays, in seconds, differ much."""
    if extremes and max(extremes) > LOG_FROM * min(extremes):
        # What lies to the left of it, less than a thousandth of the bytes, cannot be seen anyway.
        axes.set_xlim(left=min(extremes) * 0.8e3)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_formatter("")
    elif extremes:
        axes.set_xlim(left=0)


def _distribution(results: Results, flow: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Delays in seconds, ascending, and the share of all bytes that was not delayed longer."""
    rows = results.delays.filter(pl.col("flow") == flow)
    rows = rows.group_by("delay_s").agg(pl.col("bytes").sum()).sort("delay_s")
    shares = rows["bytes"].cum_sum() / rows["bytes"].sum()
    return rows["delay_s"].to_numpy(), shares.to_numpy()
