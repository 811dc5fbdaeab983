"""The file of a fitted scenario: each figure with its interval and its reason as comments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropewalk.bursts import Bursts
    from ropewalk.fitted import Path, Rules
    from ropewalk.near import Near
    from ropewalk.shared import Other
    from ropewalk.writes import Writes

Row = dict[str, Any]

FEW = 30
"""Fewer losses are repeated one by one: their share would be known badly."""
LONGEST = 120
"""Letters of a name."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Assumptions on the sender."""

    rules: Rules
    told: str
    """How these were found."""
    buffers: tuple[list[str], str]
    """Comments on the buffers of both ends, and keys."""
    writes: Writes | None
    """Writes of an application that pauses; None: a bulk transfer."""
    near: Near | None = None
    """Runs of the file beside the capture; None: there were none."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Other connections over the same paths."""

    start_s: float
    """The start of the first of all connections, from which the scenario counts."""
    others: list[tuple[Other, Writes | None]]
    left_out: list[Row]


def text_of(name: str, flow: Row, paths: list[Path], sender: Sender, beside: Beside) -> str:
    """The file."""
    length = flow["end_s"] - beside.start_s
    # Without its end, a transfer of which nothing is outstanding at the end of the file is over as well.
    over = bool(flow["completed"]) or flow["delivered_bytes"] == flow["bytes"]
    lines = [
        f"# Fitted to the connection {flow['flow']} in {_comment(name)}.",
        "# In comments: the interval of each figure, and what it follows from. Not identifiable: losses and",
        "# queues of the way back, congestion control, scheduler. The way back is like the way there,",
        "# without loss; the rest is what Linux has.",
    ]
    lines += [
        f"name = {_string(name)}",
        f"description = {json.dumps(_described(flow, sender.near), ensure_ascii=False)}",
        f"duration = {_seconds(3.0 * length + 10.0 if over else max(length, 1e-3))}",
        "seeds = 10",
    ]
    for path in paths:
        lines += ["", *_path_lines(path, upward=bool(flow["from_client"]))]
    lines += ["", *_flow_lines(flow, paths, sender, (over, flow["start_s"] - beside.start_s))]
    for number, (other, pauses) in enumerate(beside.others, 1):
        over = other.is_over(flow["end_s"])
        start = other.start_s - beside.start_s
        lines += ["", *_other_lines(number, other, (over, start), sender.rules, pauses)]
    if beside.left_out:
        size = sum(row["bytes"] for row in beside.left_out)
        told = f"# {len(beside.left_out)} more connections with {size / 1e3:.3g} kB share a path"
        lines += ["", f"{told}; they are not in this file"]
    for path in paths:
        lines += _events(path, length)
        lines += _lossy(path, upward=bool(flow["from_client"]))
    return "\n".join(lines) + "\n"


def _described(flow: Row, near: Near | None) -> str:
    told = _comment(f"Fitted to the connection {flow['flow']}")
    return told if near is None else f"{told}: {near.short}"


def _path_lines(path: Path, *, upward: bool) -> list[str]:
    rate, delay, queue = path.rate, path.delay, path.queue
    there, back = ("up", "down") if upward else ("down", "up")
    own = f'"{rate.value:.0f}bit/s"'
    rest = f'delay = {_seconds(delay.value)}, queue = "{queue.value:.0f}B"'
    common = f"rate = {_steps(path.steps) or own}, {rest}"
    first = path.lossy[0].lost[0] if path.lossy else None
    found = _losses(path, 0, first)
    loss = f", loss = {found}" if found else ""
    return [
        "[[path]]",
        f'name = "{path.name}"  # {_comment(path.ends)}',
        f"# rate: {rate.scaled(1e-6).words('Mbit/s')}",
        f"# delay: {delay.scaled(1e3).words('ms')}",
        f"# queue: {queue.scaled(1e-3).words('kB')}",
        f"# loss: {path.loss.scaled(100.0).words('%', 2)}",
        f"{there} = {{ {common}{loss} }}",
        f"{back} = {{ rate = {own}, {rest} }}",
    ]


def _losses(path: Path, behind: int, before: int | None) -> str:
    """The losses between the packets of these numbers, which count from the first one; empty: none."""
    if path.by_chance:
        return _loss(path.bursts, path.loss.value)
    lost = [one - behind for one in path.lost if behind < one and (before is None or one < before)]
    return f'{{ kind = "list", packets = {lost} }}' if lost else ""


def _lossy(path: Path, *, upward: bool) -> list[str]:
    """Times of many losses, and what is lost behind them."""
    lines: list[str] = []
    following: list[int | None] = [time.lost[0] for time in path.lossy]
    for time, before in zip(path.lossy, [*following[1:], None], strict=False):
        link = f'link = "{path.name}.{"up" if upward else "down"}"'
        told = f"{len(time.lost)} of {time.sent} segments from {time.start_s:.3g} to {time.end_s:.3g} s"
        many = f'{{ kind = "packet", probability = {time.share:.3g} }}'
        lines += ["", f"# loss: {told} were sent again; that of the way back is not identifiable"]
        lines += _event(time.start_s, link, f"set = {{ loss = {many} }}")[1:]
        rest = _losses(path, time.lost[-1], before) or '"none"'
        lines += _event(time.end_s, link, f"set = {{ loss = {rest} }}")
    return lines


def _loss(bursts: Bursts | None, mean: float) -> str:
    if bursts is None:
        return f'{{ kind = "packet", probability = {mean:.3g} }}'
    states = f"p = {bursts.into:.3g}, r = {bursts.out:.3g}, e_good = 0, e_bad = {bursts.bad:.3g}"
    return f'{{ kind = "gilbert_elliott", {states} }}'


def _steps(steps: list[tuple[float, float]]) -> str:
    if not steps:
        return ""
    # The first rate holds from the start.
    times = ", ".join(_seconds(at if index else 0.0) for index, (at, _) in enumerate(steps))
    rates = ", ".join(f'"{value:.0f}bit/s"' for _, value in steps)
    return f'{{ kind = "steps", times = [{times}], rates = [{rates}] }}'


def _application(flow: Row, writes: Writes | None, *, over: bool) -> list[str]:
    """The key with its comment."""
    if writes is None:
        size = f', size = "{flow["bytes"]}B"' if over else ""
        return [f'app = {{ kind = "bulk"{size} }}']
    told = f"{writes.count} writes of {writes.size / 1e3:.3g} kB, one in {1e3 * writes.every_s:.3g} ms"
    size = f', max_bytes = "{flow["bytes"]}B"' if over else ""
    each = f'rate = "{max(writes.rate, 1.0):.0f}bit/s", packet = "{max(writes.size, 1.0):.0f}B", off = "0s"'
    return [
        f"# application: {told} in the mean: {writes.why}",
        f'app = {{ kind = "onoff", {each}{size} }}',
    ]


def _flow_head(name: str, flow: Row, start_s: float) -> list[str]:
    ends = ("terminal", "server") if flow["from_client"] else ("server", "terminal")
    lines = ["[[flow]]", f'name = "{name}"', f'from = "{ends[0]}"', f'to = "{ends[1]}"']
    if start_s > 0.0:
        lines.append(f"start = {_seconds(start_s)}")
    return lines


def _opener(flow: Row) -> list[str]:
    return [] if flow["from_client"] else ['opened_by = "receiver"']


def _other_lines(
    number: int, other: Other, of_time: tuple[bool, float], rules: Rules, writes: Writes | None
) -> list[str]:
    """A connection beside the fitted one; `of_time`: whether it is over, and its start."""
    over, start = of_time
    several = other.row["transport"] == "mptcp"
    more = f", {rules}" if several else ""
    if several and other.paths == 1:
        more += ', path_manager = { kind = "in-kernel", subflows = 0 }'
    return [
        f"# {_comment(other.row['flow'])}, over the same path",
        *_flow_head(f"beside{number}", other.row, start),
        *_application(other.row, writes, over=over),
        *_opener(other.row),
        f'via = "path{other.path + 1}"',
        f'transport = {{ kind = "{"mptcp" if several else "tcp"}", profile = "linux"{more} }}',
    ]


def _flow_lines(flow: Row, paths: list[Path], sender: Sender, of_time: tuple[bool, float]) -> list[str]:
    over, start = of_time
    lines = _flow_head("flow", flow, start)
    lines += _application(flow, sender.writes, over=over)
    lines += _opener(flow)
    several = flow["transport"] == "mptcp"
    kind = "mptcp" if several else "tcp"
    lines += sender.buffers[0]
    more = sender.buffers[1]
    if several:
        more += f", {sender.rules}"
        lines.append(f"# scheduler and reinjection: {sender.told}")
    lines += sender.near.lines() if sender.near else ["# no run was beside the capture"]
    if any(path.joined_s is not None or path.backup for path in paths):
        flags = ['["subflow", "backup"]' if path.backup else '["subflow"]' for path in paths]
        points = ", ".join(
            f'{{ path = "{path.name}", flags = {own} }}' for path, own in zip(paths, flags, strict=True)
        )
        most = f"subflows = {len(paths)}, add_addr_accepted = {len(paths)}"
        more += f', endpoints = [{points}], path_manager = {{ kind = "in-kernel", {most} }}'
    return [*lines, f'transport = {{ kind = "{kind}", profile = "linux"{more} }}']


def _events(path: Path, length: float) -> list[str]:
    lines: list[str] = []
    for since, until in path.outages:
        over = until < length
        first, last = since + path.delay.value, (until + path.delay.value if over else length)
        told = f"# outage: {since:.3g} to {min(until, length):.3g} s:"
        told += f" no answer from {first:.3g} to {last:.3g} s;"
        ended = "ended then or earlier" if over else "went on"
        lines += ["", f"{told} it began then or later, and {ended}"]
        lines += _event(since, f'link = "{path.name}"', "set = { up = false }")[1:]
        if over:
            lines += _event(until, f'link = "{path.name}"', "set = { up = true }")
    if path.left_s is not None:
        lines += ["", f"# the subflow was closed at {path.left_s:.3g} s, and the connection went on"]
        lines += _event(path.left_s, 'flow = "flow"', f'do = {{ leave = "{path.name}" }}')[1:]
    if path.joined_s is not None:
        lines += _event(path.joined_s, 'flow = "flow"', f'do = {{ join = "{path.name}" }}')
    return lines


def _event(at: float, what: str, change: str) -> list[str]:
    return ["", "[[event]]", f"at = {_seconds(at)}", what, change]


def _seconds(value: float) -> str:
    return f'"{max(round(value * 1e6), 0)}us"'


def _string(text: str) -> str:
    return json.dumps(_comment(text), ensure_ascii=False)


def _comment(text: str) -> str:
    """On one line, and no character that a terminal or an editor takes for a command."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def unknown(name: str) -> str:
    """The file where there is nothing to fit."""
    return "\n".join(
        [
            f"# In {_comment(name)} no TCP connection has a sender that was captured, and possible figures.",
            f"name = {_string(name)}",
            'duration = "10s"',
            "",
            "[[path]]",
            'name = "path1"',
            'both = { rate = "10Mbit/s", delay = "20ms", queue = "100kB" }',
            "",
            "[[flow]]",
            'name = "flow"',
            'from = "terminal"',
            'to = "server"',
            'app = { kind = "bulk" }',
            'transport = { kind = "tcp", profile = "linux" }',
            "",
        ]
    )
