"""The benefit of bonding: each path alone beside all of them, over time and over replications."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ropewalk import catalogue, numbers
from ropewalk.facts import Facts
from ropewalk.plots import words
from ropewalk.plots.model import INK, Axis, Bars, Chart, Line, Panel
from ropewalk.plots.palette import PALETTE
from ropewalk.plots.scales import extremes
from ropewalk.statistics import estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ropewalk.plots.model import Reals
    from ropewalk.plots.series import Bins
    from ropewalk.results import Results

BONDED = "bonded"
CAPACITY = "#8A8A8A"
FAR = 5.0
"""Times the largest rate above which the capacity is named, not drawn."""


def baselines(results: Results, flow: str) -> list[str]:
    """The flow over each of its paths alone, as the table of flows calls them."""
    names = results.flows["flow"].unique(maintain_order=True).to_list()
    return [name for name in names if name.startswith(f"{flow}@")]


def lines(results: Results, flow: str, run: int, bins: Bins) -> list[Line]:
    """Lines for the throughput of a flow: goodput, best path alone, capacity; those that there are."""
    goodput = _goodput(results, flow, run, bins)
    found = []
    peak = float(goodput.max())
    # With datagrams the areas already add up to the goodput.
    if results.flows.filter(pl.col("flow") == flow)["transport"][0] != "udp":
        found.append(Line("in-order goodput", bins.edges, goodput, INK, steps=True, width=1.1))
    table = results.flows.filter((pl.col("run") == run) & pl.col("flow").is_in(baselines(results, flow)))
    best = table.filter(pl.col("goodput_bit_s").is_not_null()).sort("goodput_bit_s", descending=True)
    if best.height:
        name = best["flow"][0]
        alone = _goodput(results, name, run, bins)
        label = f"best path alone: {name.partition('@')[2]}"
        found.append(Line(label, bins.edges, alone, INK, "dash", steps=True, width=1.1))
        peak = max(peak, float(alone.max()))
    capacity = _capacity(results, flow, run, bins)
    if capacity is None:
        return found
    name, rate = capacity
    if rate.max() <= FAR * peak:
        return [*found, Line(name, bins.edges, rate, CAPACITY, "dot", steps=True, width=1.6)]
    # On its scale nothing else could be seen.
    nowhere = np.array([])
    what = f"{name}: up to {numbers.figure(float(rate.max()))}"
    return [*found, Line(what, nowhere, nowhere, CAPACITY, "dot", width=1.6)]


def _goodput(results: Results, flow: str, run: int, bins: Bins) -> Reals:
    """In Mbit/s, at the edges of the bins."""
    wanted = (pl.col("flow") == flow) & (pl.col("metric") == "goodput_bit_s") & (pl.col("run") == run)
    # A path alone may take longer than the plot shows.
    samples = results.series.filter(wanted & (pl.col("t_s") <= bins.edges[-1]))
    rate = bins.means(samples["t_s"].to_numpy(), samples["value"].to_numpy())
    return rate / catalogue.series()["flow", "goodput_bit_s"].scale


def _capacity(results: Results, flow: str, run: int, bins: Bins) -> tuple[str, Reals] | None:
    """The sum of the rates of the flow's routes in its direction, in Mbit/s; None if they are not known."""
    scenario = results.origin.scenario
    mine = (pl.col("flow") == flow) & (pl.col("run") == run)
    own = set(results.subflows.filter(mine)["path"].to_list())
    known = (one for one in Facts.of(scenario).flows if one.members([flow]))
    routes = [route for one in known for route in one.routes if route[0].path in own]
    if not routes or {route[0].path for route in routes} != own:
        return None
    names = sorted({way.name for route in routes for way in route})
    rates = np.array([scenario.capacity(name, bins.edges.tolist(), run) for name in names])
    takes = np.array([[name in {way.name for way in route} for route in routes] for name in names])
    total = _together(takes, rates)
    scale = catalogue.series()["link", "throughput_bit_s"].scale
    what = "capacity of its path" if len(own) == 1 else "capacity of its paths"
    return what, np.append(total, total[-1:]) / scale


def _together(takes: NDArray[np.bool_], rates: Reals) -> Reals:
    """Largest sum of the rates of routes that no link is too slow for, per bin.

    `takes` has a row per link and a column per route, `rates` a row per link and a column per bin.
    """
    if (takes.sum(axis=1) <= 1).all():
        slowest = [rates[links].min(axis=0) for links in takes.T]
        return np.asarray(sum(slowest), dtype=float)
    # Routes share links.
    from scipy.optimize import linprog

    bins, back = np.unique(rates, axis=1, return_inverse=True)
    best = [-linprog(-np.ones(takes.shape[1]), A_ub=takes, b_ub=limits).fun for limits in bins.T]
    return np.array(best)[back.ravel()]


def benefit(results: Results, flow: str | None = None) -> Chart:
    """See `Plots.benefit`."""
    from ropewalk.plots.series import choose_flows, describe, in_caption, in_title

    flows, left_out = choose_flows(results, flow)
    panels, levels = [], [BONDED]
    for name in flows:
        alone = baselines(results, name)
        if alone:
            panels.append(
                Panel(f"{describe(results, name)}{_told(results, name)}", [_bars(results, name, alone)])
            )
            levels += [path for path in (one.partition("@")[2] for one in alone) if path not in levels]
    if not panels:
        raise ValueError("no flow has been run over its paths one by one: set compare_paths = true")
    runs = numbers.count(len(results.origin.seeds), "run")
    of = f"{results.origin.scenario.name}, {runs}{in_title(left_out)}"
    tops = (extremes([panel])[1] for panel in panels)
    return Chart(
        key="benefit",
        heading="What bonding is worth",
        title=f"Bonded and over each path alone: {of}",
        x=Axis("path", levels=tuple(levels)),
        y=Axis("goodput (Mbit/s)", low=0.0, high=1.06 * max(reach[1] for reach in tops if reach)),
        panels=panels,
        caption="Goodput: mean and 95 % interval, dots are replications. Dashed: the path that is best "
        "alone; dotted: all paths alone, summed. The figures above compare seed by seed."
        + in_caption(left_out),
    )


def _told(results: Results, flow: str) -> str:
    """The benefit in figures."""
    table = results.flows.filter(pl.col("flow") == flow)
    best, total = (estimate(table[key].to_list()) for key in ("benefit_vs_best", "benefit_vs_sum"))
    if best is None or total is None:
        return ""
    return (
        f": {words.interval(best.mean, best.ci95)} of the best path, "
        f"{words.interval(total.mean, total.ci95)} of the sum"
    )


def _bars(results: Results, flow: str, alone: list[str]) -> Bars:
    scale = catalogue.tables()["flows"]["goodput_bit_s"].scale
    samples = []
    for name in (flow, *alone):
        rates = results.flows.filter(pl.col("flow") == name)["goodput_bit_s"]
        samples.append([rate / scale for rate in rates.fill_null(0.0).to_list()])
    found = [estimate(sample) for sample in samples]
    means = [one.mean if one is not None else 0.0 for one in found]
    return Bars(
        at=[BONDED, *(name.partition("@")[2] for name in alone)],
        means=means,
        half_widths=[0.0 if one is None or one.ci95 is None else one.ci95 for one in found],
        samples=samples,
        colours=[PALETTE[0], *["#B9C4CC"] * len(alone)],
        levels=[("best path alone", max(means[1:]), "dash"), ("sum of all", sum(means[1:]), "dot")],
    )
