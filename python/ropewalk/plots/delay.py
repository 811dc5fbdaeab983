"""The distribution of delays."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.ticker import LogLocator, ScalarFormatter

from ropewalk.plots.series import choose_flows, describe
from ropewalk.plots.style import BLACK, LOG_FROM, colours, legend, panels, say_empty, styled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ropewalk.plots.style import Figure
    from ropewalk.results import Results


@styled
def cdf(results: Results, flow: str | None) -> Figure:
    """See `Plots.delay_cdf`."""
    flows, note = choose_flows(results, flow)
    count = len(results.study.seeds)
    runs = "1 run" if count == 1 else f"{count} runs"
    title = f"Delay from write to in-order delivery: {results.study.scenario.name}, {runs}{note}"
    figure, axes = panels(len(flows), title)
    names: list[str] = results.flows["flow"].unique(maintain_order=True).to_list()
    extremes: list[float] = []
    for panel, name in zip(axes, flows, strict=True):
        panel.set_title(describe(results, name))
        baselines = [other for other in names if other.startswith(f"{name}@")]
        shades = colours(len(baselines))
        # Beams that are alike have curves on top of each other: the dashes differ, too.
        dashes = itertools.cycle(("--", "-.", ":"))
        for line, colour, style in [(name, BLACK, "-"), *zip(baselines, shades, dashes, strict=False)]:
            delays, shares = _distribution(results, line)
            if len(delays):
                panel.plot(
                    delays * 1e3, shares, drawstyle="steps-post", color=colour, linestyle=style, label=line
                )
                extremes += [*np.interp([0.001, 0.999], shares, delays)]
        if not panel.lines:
            say_empty(panel, "nothing was delivered")
        panel.set_ylabel("share of bytes")
        legend(panel)
    axes[0].set_ylim(0, 1.02)
    axes[-1].set_xlabel("delay (ms)")
    if extremes and max(extremes) > LOG_FROM * min(extremes):
        axes[0].set_xscale("log")
        axes[0].xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes[0].xaxis.set_major_formatter(ScalarFormatter())
        axes[0].xaxis.set_minor_formatter("")
    elif extremes:
        axes[0].set_xlim(left=0)
    return figure


def _distribution(results: Results, flow: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Delays in seconds, ascending, and the share of all bytes that was not delayed longer."""
    rows = results.delays.filter(pl.col("flow") == flow)
    rows = rows.group_by("delay_s").agg(pl.col("bytes").sum()).sort("delay_s")
    shares = rows["bytes"].cum_sum() / rows["bytes"].sum()
    return rows["delay_s"].to_numpy(), shares.to_numpy()
