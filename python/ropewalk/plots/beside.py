"""Goodput over time of the kernel and the simulator, one figure per flow."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ropewalk.disk import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.comparison import Comparison


def goodput(comparison: Comparison, out: Path) -> list[tuple[str, str]]:
    """Draws into the directory `out`; returns flows and names of files."""
    written = []
    flows = comparison.kernel.flows["flow"].unique(maintain_order=True).to_list()
    for number, flow in enumerate(flows):
        figure = Figure(figsize=(7.0, 3.0), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for name, results, colour in (
            ("kernel", comparison.kernel, "#1f4e79"),
            ("simulator", comparison.simulator, "#c55a11"),
        ):
            one = results.tables["series"].filter(
                pl.col("flow") == flow, pl.col("metric") == "goodput_bit_s", pl.col("subflow").is_null()
            )
            for place, (_, run) in enumerate(one.group_by("run", maintain_order=True)):
                label = name if place == 0 else None
                axes.plot(run["t_s"], run["value"] / 1e6, color=colour, alpha=0.6, linewidth=1, label=label)
        axes.set_xlabel("time, s")
        axes.set_ylabel(f"goodput of {flow}, Mbit/s")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
        file = f"goodput-{number}.png"
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=120)
        write_whole(out / file, drawn.getvalue(), lasting=False)
        written.append((flow, file))
    return written
