"""Send and receive buffers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk.plots.model import QUIET, Axis, Chart, Line, Panel
from ropewalk.plots.palette import PALETTE
from ropewalk.plots.series import (
    Choice,
    describe,
    label_of,
    samples_of,
    scale_of,
    strips_of,
    time_axis,
    whole,
)

if TYPE_CHECKING:
    from ropewalk.results import Results


def send_buffer(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.send_buffer`."""
    return _chart(
        results,
        Choice.make(results, flow, run, udp=False),
        ("send-buffer", "Send buffer"),
        [
            ("size", "send_buffer_size_bytes", QUIET, 3.6),
            ("in the buffer", "send_buffer_bytes", PALETTE[0], 1.1),
        ],
        "Bytes written and not acknowledged. Where they fill its size the application waits.",
    )


def receive_buffer(results: Results, flow: str | None, run: int | None) -> Chart:
    """See `Plots.receive_buffer`."""
    return _chart(
        results,
        Choice.make(results, flow, run, udp=False),
        ("receive-buffer", "Receive buffer"),
        [
            ("window offered", "rwnd_bytes", QUIET, 3.6),
            ("held out of order", "ofo_bytes", PALETTE[5], 1.1),
        ],
        "Bytes held because of gaps, and the window that the receiver offers from the first gap on. Where "
        "they fill it the sender stops.",
    )


def _chart(
    results: Results,
    choice: Choice,
    names: tuple[str, str],
    curves: list[tuple[str, str, str, float]],
    caption: str,
) -> Chart:
    """A panel for each flow with the same curves: (label, metric, colour, width)."""
    key, heading = names
    panels = []
    for name in choice.flows:
        panel = Panel(describe(results, name), empty="the flow never started")
        for label, metric, colour, width in curves:
            at, value = whole(samples_of(results, name, metric, choice.run))
            if len(at):
                panel.marks.append(Line(label, at, value / scale_of(metric), colour, width=width))
        panel.strips.extend(strips_of(results, name, choice.run))
        panels.append(panel)
    metric = curves[0][1]
    unit = label_of(metric).rpartition("(")[2]
    return Chart(
        key=key,
        heading=heading,
        title=choice.title(heading, results),
        x=time_axis(results, choice.run),
        y=Axis(f"{heading.lower()} ({unit}", low=0.0),
        panels=panels,
        events=results.origin.scenario.events(),
        caption=choice.caption(caption),
    )
