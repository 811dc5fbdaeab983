"""Plots of results, as matplotlib figures for papers and notebooks.

Charts are made without matplotlib, which only drawing imports: that takes longer than a short run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk import arguments
from ropewalk.plots import buffers, delay, legs, series, worth

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from ropewalk.plots.model import Chart
    from ropewalk.plots.style import Figure
    from ropewalk.results import Results

FORMATS = ("png", "svg", "pdf")


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
        """Throughput of the subflows over time, stacked: payload that reached the receiver.

        With lines for the goodput in order, the best path alone and the capacity of the paths.
        """
        return _figure(series.throughput(self._results, flow, run))

    def cwnd(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Congestion window (solid) and slow-start threshold (dotted) of each subflow over time."""
        return _figure(series.cwnd(self._results, flow, run))

    def srtt(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Smoothed round-trip time of each subflow over time."""
        return _figure(series.srtt(self._results, flow, run))

    def send_buffer(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Bytes in the send buffer over time, and its size."""
        return _figure(buffers.send_buffer(self._results, flow, run))

    def receive_buffer(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Bytes that the receiver holds back over time, and the window that it offers."""
        return _figure(buffers.receive_buffer(self._results, flow, run))

    def out_of_order(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Bytes that the receiver holds back over time: one run, and median and range of all."""
        return _figure(series.out_of_order(self._results, flow, run))

    def queue(self, *, run: int | None = None) -> Figure:
        """Packets that wait in front of the links over time: the longest queues."""
        return _figure(series.queue(self._results, run))

    def leg_throughput(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Throughput of each leg of the chain that proxies make of a connection, over time.

        Raises:
            ValueError: no proxy acts on the flow, or on any flow.
        """
        return _figure(legs.throughput(self._results, flow, run))

    def leg_cwnd(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Congestion window of each leg over time, the sum of its subflows.

        Raises:
            ValueError: no proxy acts on the flow, or on any flow.
        """
        return _figure(legs.cwnd(self._results, flow, run))

    def leg_srtt(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Smoothed round-trip time of each leg over time, the smallest of its subflows.

        Raises:
            ValueError: no proxy acts on the flow, or on any flow.
        """
        return _figure(legs.srtt(self._results, flow, run))

    def leg_retransmissions(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Retransmitted segments of each leg over time, cumulative.

        Raises:
            ValueError: no proxy acts on the flow, or on any flow.
        """
        return _figure(legs.retransmissions(self._results, flow, run))

    def proxy_held(self, *, flow: str | None = None, run: int | None = None) -> Figure:
        """Bytes over time that proxies have acknowledged and that the next leg has not.

        Raises:
            ValueError: no proxy acts on the flow, or on any flow.
        """
        return _figure(legs.held(self._results, flow, run))

    def benefit(self, *, flow: str | None = None) -> Figure:
        """Goodput over all paths together and over each alone, with intervals.

        Raises:
            ValueError: no flow was run over its paths one by one.
        """
        return _figure(worth.benefit(self._results, flow))

    def delay_cdf(self, *, flow: str | None = None) -> Figure:
        """Distribution of the delay from application write to in-order delivery, with the baselines."""
        return _figure(delay.cdf(self._results, flow))

    def write(self, directory: str | os.PathLike[str], suffix: str = "png") -> list[Path]:
        """Writes every plot into `directory`; `suffix` is `png`, `pdf` or `svg`.

        Returns:
            the files.

        Raises:
            OSError: the directory cannot be written to.
        """
        return write(charts(self._results), directory, (suffix,))


def charts(results: Results, run: int | None = None) -> list[Chart]:
    """All charts of a set of replications; those over time show `run`, or the first seed."""
    if not results.origin.simulated:
        return _of_capture(results)
    found = [delay.cdf(results, None)]
    if any("@" in name for name in results.flows["flow"].unique()):
        found.insert(0, worth.benefit(results))
    if results.series.is_empty():
        return found
    kinds = (series.throughput, series.cwnd, series.srtt, buffers.send_buffer, buffers.receive_buffer)
    over_time = [kind(results, None, run) for kind in kinds]
    over_time += [series.out_of_order(results, None, run), series.queue(results, run)]
    if any("@" not in name for name in results.legs["flow"].unique()):
        chain = (legs.throughput, legs.cwnd, legs.srtt, legs.retransmissions, legs.held)
        over_time += [kind(results, None, run) for kind in chain]
    return [*over_time, *found]


def _of_capture(results: Results) -> list[Chart]:
    """A capture shows neither windows of a sender nor queues; what arrived, at the receiver alone."""
    if results.series.is_empty():
        return []
    shown = set(results.series["metric"].unique())
    kinds = [
        (series.throughput, "throughput_bit_s"),
        (series.srtt, "srtt_s"),
        (buffers.receive_buffer, "rwnd_bytes"),
    ]
    kinds.append((series.out_of_order, "ofo_bytes"))
    return [kind(results, None, None) for kind, metric in kinds if metric in shown]


def _figure(chart: Chart) -> Figure:
    from ropewalk.plots.draw import draw

    return draw(chart)


def write(charts: list[Chart], directory: str | os.PathLike[str], formats: tuple[str, ...]) -> list[Path]:
    """Draws `charts` into files named after them. The same charts are the same bytes.

    Raises:
        OSError: the directory cannot be written to.
    """
    from ropewalk.plots.draw import save

    target = arguments.path("directory", directory)
    for suffix in formats:
        arguments.choice("suffix", suffix, FORMATS)
    target.mkdir(parents=True, exist_ok=True)
    return [file for chart in charts for file in save(chart, target, formats)]
