"""A scenario that is fitted to a captured connection.

The file says beside each figure how it was found, and names all that a capture does not tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ropewalk import changing, ended, shared, writes
from ropewalk.bursts import Bursts, bursts
from ropewalk.errors import ScenarioError
from ropewalk.figures import Figure, Packets
from ropewalk.fitted_file import FEW, Beside, Sender, text_of, unknown
from ropewalk.losses import LEAST_QUEUE_S, Seen, answered, queue_and_loss
from ropewalk.lossy import Lossy, lossy
from ropewalk.scenario import Scenario

if TYPE_CHECKING:
    from ropewalk.near import Near

Row = dict[str, Any]

USUAL = 0.98
"""Part of the round trips, of several connections, of which the longest counts."""
LIKELY = 0.3
"""Share of the bytes that are acknowledged at the most frequent rate, if that is the rate of the link."""
CERTAIN = 0.7
"""The same, from which the rate is not looked at for changes."""
UNBOUNDED = 4.0
"""Times the largest rate that was seen, where the link was never busy."""
SYN, THIRD = 1, 1
"""Packets of a run before the first segment of data."""
LIMITING, CONSTANT = 0.05, 0.9
"""A receive window that is full for longer, and is mostly at its largest, tells the buffer."""
WINDOW_OF = 0.8, 0.81, 0.83
"""The buffer of Linux as a part of its largest window, where it is fixed: least, usual, most."""
DELAYS = 0.9, 0.75, 0.5, 0.25, 0.0
"""Places in the intervals of delays that are tried."""
TRIED = 0.0, 0.25, 0.75, 1.0
"""Places in the interval of a receive buffer that are tried, beside its usual size."""
SAME = 1e-3
"""Windows that differ by a smaller part are the same."""
UNSCALED = 65_535
"""The largest window without scale, in bytes."""
WHILE_BUSY = "payload acknowledged while the queue was not empty"
"""How a rate was found at which no large part of the data was acknowledged."""
EMPTY = "the queue was always empty"
LINUX_MAX = 6 << 20
"""The largest receive buffer of Linux, unless it is told another (tcp_rmem), in bytes."""
LINUX_WINDOW = 0.617 * LINUX_MAX
"""The window of that buffer, in bytes; it grows up to it."""
ALIKE = 0.01
"""Windows that differ by a smaller part have the same buffer."""
LATE = 3.0
"""A subflow joined late, or left early, if that is more round trips from the start, or the end."""
LATE_S = 0.2
"""Time that is added to these, in seconds."""


@dataclass(frozen=True, slots=True)
class Path:
    """One path, as the data that was sent over it shows it."""

    name: str
    ends: str
    """Its addresses."""
    rate: Figure
    """bit/s; the mean if it changes."""
    steps: list[tuple[float, float]]
    """Seconds from the start of the connection, and the rate in bit/s from then on; empty if constant."""
    delay: Figure
    """One way, in seconds."""
    queue: Figure
    """Bytes."""
    loss: Figure
    """Share of the packets."""
    lost: list[int]
    """Numbers of the packets that the path lost, from 1, as a run counts them."""
    outages: list[tuple[float, float]]
    """From, to, in seconds from the start of the connection; to is infinite if it never came back."""
    joined_s: float | None
    """When its subflow was opened, if that was late."""
    left_s: float | None = None
    """When its subflow was closed, if the connection went on without it."""
    backup: bool = False
    """Its subflow joined as a backup."""
    by_chance: bool = False
    """Its losses are many, and have a model; otherwise they are repeated one by one."""
    bursts: Bursts | None = None
    """How the losses of the model come together; None: independently."""
    lossy: tuple[Lossy, ...] = ()
    """Times of many losses, which are not among the others."""

    def each_lost(self) -> Path:
        """The same with all losses one by one."""
        lost = [*self.lost, *(number for time in self.lossy for number in time.lost)]
        return replace(self, lost=sorted(set(lost)), lossy=(), by_chance=False)


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of an MPTCP sender that packets do not tell."""

    scheduler: str
    reinjection: str
    reinject_on: str = "scheduler"
    header_room: str | None = None
    """In the memory of a segment, by which send buffers count; None: as in kernels of distributions."""

    def __str__(self) -> str:
        """As keys of a scenario."""
        keys = f'scheduler = "{self.scheduler}", reinjection = "{self.reinjection}"'
        keys += "" if self.reinject_on == "scheduler" else f', reinject_on = "{self.reinject_on}"'
        return keys if self.header_room is None else f'{keys}, header_room = "{self.header_room}"'


LINUX = Rules("minratio", "upstream")
"""Rules of Linux 6, as distributions build it."""
SMALL_KERNEL = replace(LINUX, header_room="192B")
"""The same without wireless networks and tunnels: a subflow has about half as much in its queue."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """Properties of the ends that packets do not tell."""

    rules: Rules = LINUX
    application: writes.Writes | None = None
    """None: a bulk transfer, unless all data was acknowledged for a good part of the time."""
    buffer: float | None = None
    """Bytes of the receive buffer, if a full window tells its interval; None: the usual size."""
    delay: float | None = None
    """Place of the delays in their intervals, from 0 to 1; None: half of the shortest round trip."""
    each_loss: bool = False
    """Losses are repeated one by one even where they are many, as a run beside the capture needs it."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A scenario and what it was fitted to."""

    scenario: Scenario
    text: str
    """The file, with intervals and what is not known as comments."""
    flow: str | None
    """The connection; None: there was none with data whose sender was captured."""
    paths: list[Path]
    application: writes.Writes | None = None
    """None: a bulk transfer."""
    buffers: tuple[float, ...] = ()
    """Other sizes of the receive buffer that have the window of the capture, in bytes."""
    beside: tuple[str, ...] = ()
    """Other connections over the same paths, which are flows of the scenario."""
    near: Near | None = None
    """Runs of it beside the capture; None: there were none."""

    @property
    def by_chance(self) -> bool:
        """Seeds have different losses."""
        return any(path.by_chance or path.lossy for path in self.paths)


def fit(
    name: str,
    tables: dict[str, pl.DataFrame],
    packets: Packets,
    assumed: Assumed = Assumed(),
    *,
    told: str = "as Linux 6",
    near: Near | None = None,
) -> Fitted:
    """The scenario of the connection with most data, of those that were captured at their sender.

    Connections that share its paths are flows beside it.
    """
    fits = pl.col("segments_sent").is_not_null() & pl.col("transport").cast(pl.String).is_in(["tcp", "mptcp"])
    known = _by_size(ended.of_data(tables["flows"].filter(fits), packets.samples), tables["subflows"])
    if known.is_empty():
        text = unknown(name)
        return Fitted(Scenario.parse(text, name), text, None, [])
    flow = known.row(0, named=True)
    of_flow = pl.col("flow").cast(pl.String) == flow["flow"]
    taken = used(tables["subflows"].filter(of_flow))
    beside = shared.beside(flow, taken, known, tables["subflows"])
    start = min([flow["start_s"], *(other.start_s for other in beside.others)])
    paths: list[Path] = []
    for row in taken.iter_rows(named=True):
        mine = packets.of(of_flow & (pl.col("subflow") == row["subflow"]))
        rows = beside.on(row["path"])
        if rows:
            parts = [mine.samples, *(packets.of(shared.is_row(one)).samples for one in rows)]
            samples, losses = shared.together(parts, mine.losses, row["largest_bytes"] or 1)
            mine = Packets(samples, mine.silences, losses)
        path = _path(len(paths) + 1, (flow, start), [row, *rows], mine)
        path = replace(path, delay=path.delay.at(assumed.delay))
        paths.append(path.each_lost() if assumed.each_loss else path)
    buffer = _buffers(flow, tables["series"].filter(of_flow), assumed.buffer)
    application = assumed.application or writes.pausing(flow, packets.samples.filter(of_flow))
    sender = Sender(assumed.rules, told, (buffer.lines, buffer.key), application, near)
    names = tuple(str(other.row["flow"]) for other in beside.others)
    others = [
        (other, writes.pausing(other.row, packets.samples.filter(shared.is_flow(other.row))))
        for other in beside.others
    ]
    text = text_of(name, flow, paths, sender, Beside(start, others, beside.left_out))
    try:
        scenario = Scenario.parse(text, name)
    except ScenarioError:
        # Times or sizes of a damaged file, such as a duration of years.
        text = unknown(name)
        return Fitted(Scenario.parse(text, name), text, None, [])
    return Fitted(scenario, text, str(flow["flow"]), paths, application, buffer.others, names, near)


def _by_size(flows: pl.DataFrame, subflows: pl.DataFrame) -> pl.DataFrame:
    """Connections with most data first, of equal ones those over most paths: more others are beside them."""
    carried = (
        subflows.filter(pl.col("bytes_sent") > 0).group_by(pl.col("flow").cast(pl.String)).len("carried")
    )
    rows = flows.with_columns(pl.col("flow").cast(pl.String).alias("of"))
    rows = rows.join(carried, left_on="of", right_on="flow", how="left")
    order = ["bytes", pl.col("carried").fill_null(0)]
    return rows.sort(order, descending=True, maintain_order=True).select(flows.columns)


def used(subflows: pl.DataFrame) -> pl.DataFrame:
    """The subflows that are paths of the scenario: those that carried data, and the first one."""
    rows = subflows.filter(pl.col("established_s").is_not_null())
    used = rows.filter((pl.col("bytes_sent") > 0) | (pl.col("subflow") == 0)).sort("subflow")
    return used if used.height else rows.head(1)


def _path(number: int, of_flow: tuple[Row, float], rows: list[Row], packets: Packets) -> Path:
    """The path of a subflow, the first row; others are of connections that share it."""
    flow, start = of_flow
    own, row = rows[0], shared.sums(rows)
    if len(rows) > 1:
        row["srtt_max_s"] = packets.samples["rtt_s"].quantile(USUAL)
        row["segments_sent"] = own["segments_sent"]
    size = row["largest_bytes"] or 1
    head = (row["wire_bytes"] - row["bytes_sent"]) / max(row["packets"], 1)
    wire = (size + head) / size
    gone = [(silence["start_s"], silence["end_s"]) for silence in packets.silences.iter_rows(named=True)]
    first = min((since for since, _ in gone), default=math.inf)
    # After an outage much is acknowledged at once.
    rate = _rate(rows, packets.samples.filter(pl.col("t_s") < first)).scaled(wire)
    tx_s = (size + head) * 8.0 / rate.value
    delay = _delay(row, tx_s)
    base = 2.0 * delay.value + tx_s
    steps: list[tuple[float, float]] = []
    if not rate.why.startswith(EMPTY) and (row["pace_share"] or 0.0) < CERTAIN:
        spans = changing.spans(packets.samples, row["srtt_min_s"] or base, LEAST_QUEUE_S)
        steps = changing.steps(spans, flow["end_s"] - start)
    if steps:
        # Acknowledgements tell of the link a way back later.
        steps = [(max(at - delay.value - start, 0.0), wire * value) for at, value in steps]
        told = f"{len(steps) - 1} changes; not known while the queue was empty or losses repaired"
        rate = Figure(rate.value, min(value for _, value in steps), max(value for _, value in steps), told)
    kept, left_out = answered(packets, gone, base, size)
    times = lossy(kept, flow["end_s"] - start, base)
    many_lost = [number for time in times for number in time.lost]
    left_out += sum(time.sent for time in times)
    kept = kept.filter(~pl.col("packet").is_in(many_lost))
    link = changing.Link(wire, [(at + start, value) for at, value in steps])
    packets = Packets(packets.samples, packets.silences, kept)
    seen = Seen(row, packets, base, rate, link, size + head, len(rows) == 1, left_out)
    found = queue_and_loss(seen)
    # Kernels acknowledge a SYN/ACK by itself; in a run only a subflow that joins does, without data.
    before = SYN + (THIRD if own["subflow"] > 0 and flow["from_client"] else 0)
    lost = [number + before for number in found.lost]
    ended = flow["end_s"]
    outages = [
        (max(since - delay.value - start, 0.0), math.inf if until >= ended else until - delay.value - start)
        for since, until in gone
    ]
    opened = own["established_s"] - (own["handshake_s"] or 0.0) - start
    late = number > 1 and opened > flow["start_s"] - start + LATE * base + LATE_S
    joined = opened if late else None
    left = _left(flow, own, (base, start))
    if left is not None:
        # The silence after it is that of a closed subflow: its data is sent again on others.
        outages = [(since, until) for since, until in outages if until < left]
    name, backup = f"path{number}", bool(own["backup"])
    many = len(lost) > FEW
    together = bursts(lost, seen.sent) if many else None
    figures = rate, steps, delay, found.queue, found.loss, lost, outages
    times = [time.moved(-start, found.taken(time.lost[0]) - time.lost[0] + before) for time in times]
    return Path(name, own["path"], *figures, joined, left, backup, many, together, tuple(times))


def _left(flow: Row, row: Row, times: tuple[float, float]) -> float | None:
    """When a subflow was closed long before the connection was over, in seconds from the start of all."""
    base_s, start = times
    closed = row["closed_s"]
    if closed is None or flow["transport"] != "mptcp" or closed > flow["end_s"] - LATE * base_s - LATE_S:
        return None
    return float(closed - start)


def _busy(samples: pl.DataFrame, base_s: float) -> tuple[float, list[float]]:
    """Seconds in which the queue was not empty, and rates of acknowledged payload in them, in bit/s."""
    rows = samples.select("t_s", "acked_bytes", "rtt_s", "inflight_bytes").fill_null(0.0)
    at, acked, rtt, inflight = rows.to_numpy().T if rows.height else np.zeros((4, 0))
    busy = (rtt > base_s + LEAST_QUEUE_S) & (inflight > 0)
    # A span is long enough for gaps that retransmissions fill.
    span = max(2.0 * base_s, 0.2)
    seconds, rates = 0.0, []
    first = None
    for index in range(len(at)):
        if not busy[index]:
            first = None
            continue
        first = index if first is None else first
        if at[index] - at[first] >= span:
            rates.append((acked[index] - acked[first]) * 8.0 / (at[index] - at[first]))
            seconds += at[index] - at[first]
            first = index
    return seconds, rates


def _rate(rows: list[Row], samples: pl.DataFrame) -> Figure:
    """Rate of the payload."""
    row = shared.sums(rows)
    base = row["srtt_min_s"] or row["handshake_s"] or 0.0
    seconds, rates = _busy(samples, base)
    mean, half = (0.0, 0.0)
    if rates:
        mean = float(np.mean(rates))
        half = 2.0 * float(np.std(rates)) / math.sqrt(len(rates))
    # Packets of others between its own make the pace of a connection lower than that of the link.
    likely = [
        one
        for one in rows
        if one["pace_bit_s"] is not None
        and (one["pace_share"] or 0.0) >= LIKELY
        and one["pace_bit_s"] >= 0.8 * mean
    ]
    if likely:
        best = max(likely, key=lambda one: one["pace_share"] * one["bytes_sent"])
        pace, share = best["pace_bit_s"], best["pace_share"]
        low, high = min(0.95 * pace, mean - half if rates else pace), 1.05 * pace
        told = f"{100 * share:.0f} % of the data were acknowledged at this rate"
        if rates:
            told += f", {mean / 1e6:.3g} Mbit/s of payload while the queue was not empty"
        return Figure(pace, max(low, 0.0) if low < pace else 0.95 * pace, high, told)
    if rates:
        told = f"{WHILE_BUSY}, in {seconds:.3g} s"
        return Figure(mean, max(mean - half, 0.0), mean + half, told)
    most = max(_peak(samples), row["bytes_sent"] * 8.0, 8e3)
    return Figure(UNBOUNDED * most, most, None, f"{EMPTY}; the rate is not identifiable")


def _peak(samples: pl.DataFrame) -> float:
    at, acked = samples["t_s"].to_numpy(), samples["acked_bytes"].to_numpy().astype(float)
    spans = np.diff(at)
    fine = spans > 0.0
    return float(np.max(np.diff(acked)[fine] * 8.0 / spans[fine], initial=0.0))


def _delay(row: Row, tx_s: float) -> Figure:
    """One way: half of the shortest round trip."""
    trips = [row["handshake_s"]] if row["handshake_s"] else []
    if row["srtt_min_s"]:
        trips.append(row["srtt_min_s"])
    if not trips:
        return Figure(0.0, 0.0, None, "no round trip was measured")
    least = min(trips)
    # The shortest may be that of a small packet, or of a full one.
    low = max((least - tx_s) / 2.0, 0.0)
    told = "half of the shortest round trip; how it is divided between the directions is not identifiable"
    return Figure(least / 2.0, low, least / 2.0, told)


@dataclass(frozen=True, slots=True)
class _Buffers:
    """Buffers of both ends."""

    lines: list[str]
    """Comments."""
    key: str = ""
    """Keys of the transport."""
    others: tuple[float, ...] = ()
    """Other sizes of a receive buffer with the same window."""


def _buffers(flow: Row, series: pl.DataFrame, assumed: float | None) -> _Buffers:
    windows = series.filter(pl.col("metric") == "rwnd_bytes")["value"]
    window, usual = windows.max(), windows.median()
    outstanding = (
        series.filter(pl.col("metric") == "inflight_bytes").group_by("t_s").agg(pl.col("value").sum())
    )
    most = outstanding["value"].max()
    length, full = flow["end_s"] - flow["start_s"], flow["window_full_s"] or 0.0
    found = _Buffers([])
    if isinstance(window, float) and isinstance(usual, float):
        share = full / length if length > 0 else 0.0
        told = f"the window was at most {window / 1e3:.3g} kB, and full for {100 * share:.0f} % of the time"
        limits = share > LIMITING and usual > CONSTANT * window and not _is_of_linux(window)
        found = _that_limits(window, told, assumed) if limits else _that_grows(window, told)
    if isinstance(most, float):
        told = "so much was outstanding at once; the size is not identifiable"
        found.lines.append(f"# send buffer: {most / 1e3:.3g} to ? kB: {told}")
    return found


def _that_limits(window: float, told: str, assumed: float | None) -> _Buffers:
    """A receive buffer of fixed size."""
    low, usual, high = (part * window for part in WINDOW_OF)
    told += ", and no longer grew"
    if _is_unit(window):
        # A buffer up to the next scale has the same window.
        usual, high = math.sqrt(WINDOW_OF[0]) * window, window
        told += ": the most that its scale can tell"
    if assumed is not None:
        told += "; the goodput is the nearest with the size that is taken"
    size = f'"{usual if assumed is None else assumed:.0f}B"'
    key = f", receive_buffer = {size}, receive_buffer_max = {size}"
    others = tuple(low + part * (high - low) for part in TRIED)
    return _Buffers([f"# receive buffer: {low / 1e3:.3g} to {high / 1e3:.3g} kB: {told}"], key, others)


def _that_grows(window: float, told: str) -> _Buffers:
    """A receive buffer that is at least so large."""
    low, key = WINDOW_OF[0] * window, ""
    if _is_of_linux(window):
        return _Buffers([f"# receive buffer: that of Linux, {LINUX_MAX / 1e3:.0f} kB at most: {told}"])
    told += "; the size is not identifiable"
    if low > LINUX_MAX:
        # It is no limit in the capture, and shall be none here.
        key = f', receive_buffer_max = "{2.0 * low:.0f}B"'
        told += f", but above the {LINUX_MAX / 1e3:.0f} kB of Linux: twice the least is taken"
    return _Buffers([f"# receive buffer: {low / 1e3:.3g} to ? kB: {told}"], key)


def _is_of_linux(window: float) -> bool:
    """The largest window that Linux has by itself."""
    return abs(window / LINUX_WINDOW - 1.0) < ALIKE


def _is_unit(window: float) -> bool:
    """The window field at its largest, with any scale (RFC 7323 section 2.2)."""
    return any(abs(window / (UNSCALED * 2.0**scale) - 1.0) < SAME for scale in range(15))
