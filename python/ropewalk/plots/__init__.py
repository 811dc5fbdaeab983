"""Plots of results, as matplotlib figures for papers and notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk.plots import delay, series

if TYPE_CHECKING:
    import os

    from ropewalk.plots.style import Figure
    from ropewalk.results import Results


class Plots:
    """The plots of one set of results, as `results.plot`.

    Plots over time show one replication, by default the first seed: an average over replications would hide
    what a congestion window does. The out-of-order queue and the delays are shown over all replications. The
    title says which. Each flow has a panel of its own; `flow` picks one.

    Raises:
        ValueError: no such flow or run, or no time series were recorded.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    def throughput(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Throughput of the subflows over time, stacked: payload that reached the receiver."""
        return series.throughput(self._results, flow, run)

    def cwnd(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Congestion window (solid) and slow-start threshold (dotted) of each subflow over time."""
        return series.cwnd(self._results, flow, run)

    def srtt(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Smoothed round-trip time of each subflow over time."""
        return series.srtt(self._results, flow, run)

    def out_of_order(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Bytes that the receiver holds back over time: one run, and median and range of all."""
        return series.out_of_order(self._results, flow, run)

    def delay_cdf(self, *, flow: str | None = None) -> Figure:
        """Distribution of the delay from application write to in-order delivery, with the baselines."""
        return delay.cdf(self._results, flow)

    def write(self, directory: str | os.PathLike[str], suffix: str = "png") -> list[Path]:
        """Writes every plot into `directory`; `suffix` is `png`, `pdf` or `svg`.

        Returns:
            the files.

        Raises:
            OSError: the directory cannot be written to.
        """
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        figures = {
            "throughput": self.throughput,
            "cwnd": self.cwnd,
            "srtt": self.srtt,
            "out-of-order": self.out_of_order,
            "delay-cdf": self.delay_cdf,
        }
        files = []
        for name, draw in figures.items():
            files.append(target / f"{name}.{suffix}")
            draw().savefig(files[-1])
        return files
