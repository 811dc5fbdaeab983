"""The evidence for each cause: sentences with the figures of the run without any change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ropewalk.facts import ONE_SUBFLOW, kind, quantity
from ropewalk.numbers import count, figure, percent
from ropewalk.problems import overreach, size
from ropewalk.why.acks import rates_later
from ropewalk.why.budget import budget, rows, split_buffer
from ropewalk.why.joins import IN_KERNEL, backups, lacking
from ropewalk.why.models import fades, is_lossy
from ropewalk.why.outages import outages
from ropewalk.why.paths import TLS, law, loss_limited_bit_s
from ropewalk.why.proxies import at_proxies
from ropewalk.why.reordering import reorders
from ropewalk.why.usual import SUSPECTS, unusual

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ropewalk.results import Results
    from ropewalk.why.candidates import Case
    from ropewalk.why.model import Cause, Cure
    from ropewalk.why.paths import Direction, Path
    from ropewalk.why.proxies import End

FULL = 0.85
"""A link that is busy for this part of the time is full: headers and the first round trips take the rest."""
LATE = 0.2
"""A path that joins after this part of a flow's time joins late."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A flow as it was measured without any change."""

    case: Case
    results: Results
    paths: list[Path]
    data: list[Direction]
    acks: list[Direction]
    goodput_bit_s: float
    lifetime_s: float

    @property
    def rtt_s(self) -> float:
        """The longest mean round trip of its paths."""
        return self.case.rtt_s

    @property
    def busy(self) -> float:
        """Part of what its routes could carry, each by its busiest link, weighted by their capacity."""
        known = {one.name: one for one in self.data}
        bottlenecks = [
            max((known[way.name] for way in route if way.name in known), key=lambda one: one.busy)
            for route in self.case.flow.routes
            if any(way.name in known for way in route)
        ]
        weights = [one.capacity_bit_s or 1.0 for one in bottlenecks]
        busy = math.fsum(w * one.busy for w, one in zip(weights, bottlenecks, strict=True))
        return busy / math.fsum(weights) if weights else 0.0

    def full(self, limit: str, words: str) -> str:
        """Part of the time in which a buffer was full, and in which a path had used up its part of it."""
        spent = budget(self.results, self.case.flow)
        told = f"{percent(spent.get(limit, 0.0))} of the time {words}"
        parts = spent.get("scheduler", 0.0) if split_buffer(self.case.flow) == limit else 0.0
        if parts < SHOWN:
            return told
        return f"{told}, and {percent(parts)} a path had used up its part of it (limit scheduler)"

    def time(self, *limits: str) -> str:
        """Part of the time in some limits, in words."""
        return f"{percent(math.fsum(self.case.budget.get(limit, 0.0) for limit in limits))} of the time"


def evidence(cause: Cause, seen: Seen, cures: Sequence[Cure] = ()) -> str:
    """One or two sentences for a cause; of a proxy if the best of its `cures` is there."""
    key = cures[0].settings[0][0] if cures else ""
    for end in seen.case.ends:
        if key.startswith(f"{end.key}."):
            return _in_proxy(cause, seen, end)
    return WORDS[cause](seen)


BUFFERS: Mapping[Cause, tuple[str, str]] = {
    "receive_window": ("receive_buffer_max", "receive_buffer"),
    "send_buffer": ("send_buffer", "send_buffer"),
}
"""Cause to the key of the buffer, and that of one that does not grow."""


def _in_proxy(cause: Cause, seen: Seen, end: End) -> str:
    """A cause at an end of a connection in a proxy, by the settings there and the leg behind it."""
    held = {one.node: one.held_bytes for one in at_proxies(seen.results, seen.case.flow)}
    kept = f"the proxy at {end.node} held {size(held.get(end.node, 0.0))} on average"
    leg = f"a leg whose round trip takes {duration(end.rtt_s)}"
    if cause in BUFFERS:
        grows, fixed = BUFFERS[cause]
        buffer = end.transport.get(grows, end.transport.get(fixed, "?"))
        kind_of = "receive" if cause == "receive_window" else "send"
        text = f"{kept}; its {kind_of} buffer is {buffer}, on {leg}"
        bound = quantity(buffer) if cause == "send_buffer" else None
        return f"{text}: at most {mbit(8 * bound / end.rtt_s)}" if bound and end.rtt_s else text
    key = {"scheduler": "scheduler", "slow_start": "initial_window"}.get(cause, "congestion")
    value = end.transport.get(key, "")
    text = f"{kept}, and sends with {key} {value if isinstance(value, int) else kind(value)} over {leg}"
    return f"{text}; {_loss(seen)}" if cause == "loss" else text


def mbit(rate: float) -> str:
    """As in `19.5 Mbit/s`."""
    return f"{figure(rate / 1e6)} Mbit/s"


def duration(seconds: float) -> str:
    """In ms below a second."""
    return f"{figure(seconds * 1e3)} ms" if seconds < 1 else f"{figure(seconds)} s"


def _slowest(seen: Seen) -> str:
    """As in `over geo (567 ms)`; empty with one path."""
    known = [path for path in seen.paths if path.rtt_s is not None]
    if len(known) < 2:  # noqa: PLR2004
        return ""
    slow = max(known, key=lambda path: path.rtt_s or 0.0)
    return f" {slow.name}, whose round trip takes {duration(slow.rtt_s or 0.0)},"


def _receive_window(seen: Seen) -> str:
    transport = seen.case.flow.transport
    size_now = transport.get("receive_buffer_max", transport.get("receive_buffer", "?"))
    held = rows(seen.results.flows, seen.case.flow)["ofo_max_bytes"].max()
    slow = _slowest(seen)
    behind = f" while data of{slow} was on its way" if slow else ""
    late = f"; up to {size(held)} waited out of order" if isinstance(held, (int, float)) and held else ""
    needed = 2 * seen.case.rate_bit_s * seen.rtt_s / 8
    share = seen.case.flow.window_share
    of_it = "" if share == 1.0 else f", {share:.2f} of it window"
    if transport.get("window_scaling") is False:
        of_it += ", the window at most 65,535 bytes without window scaling"
    if (flight := transport.get("flight_limit", "unlimited")) != "unlimited":
        of_it += f", and at most {flight} may be in flight"
    return (
        f"{seen.full('receive_window', 'the receive window was full')}{behind}: "
        f"the buffer is {size_now}{of_it}{late}. "
        f"Twice the rates of the paths times the longest round trip is {size(needed)}"
    )


def _send_buffer(seen: Seen) -> str:
    transport = seen.case.flow.transport
    bound = f", at most {transport['send_buffer_max']}" if "send_buffer_max" in transport else ""
    if (unsent := transport.get("unsent_limit", "unlimited")) != "unlimited":
        bound += f", of which {unsent} may be unsent"
    slow = _slowest(seen)
    behind = f" while data of{slow} waited for its acknowledgement" if slow else ""
    return (
        f"{seen.full('send_buffer', 'the sender had room on a path and none in the send buffer')} "
        f"({transport.get('send_buffer')}{bound}){behind}"
    )


def _scheduler(seen: Seen) -> str:
    known = [path for path in seen.paths if path.rtt_s is not None]
    if len(known) < 2:  # noqa: PLR2004
        return f"scheduler {seen.case.flow.scheduler}"
    if spare := backups(seen.case.flow):
        shares = ", ".join(f"{path.name} {percent(path.share)}" for path in known)
        verb = "is a backup" if len(spare) == 1 else "are backups"
        return f"{' and '.join(spare)} {verb} and idle while another path lives: {shares} of the data"
    slow = max(known, key=lambda path: path.rtt_s or 0.0)
    fast = min(known, key=lambda path: path.rtt_s or 0.0)
    if seen.case.flow.scheduler == "redundant":
        shares = ", ".join(f"{path.name} {percent(path.share)}" for path in known)
        return (
            f"redundant sends all data over every path, whose rates do not add up: {shares} of what is sent"
        )
    waits = rows(seen.results.flows, seen.case.flow)["out_of_order_s"].mean()
    waited = float(waits) / seen.lifetime_s if isinstance(waits, (int, float)) and seen.lifetime_s else 0.0
    limit = seen.case.flow.transport.get("subflow_unsent_limit", "unlimited")
    bound = "" if limit == "unlimited" else f" ({limit} may wait on a subflow)"
    return (
        f"{seen.case.flow.scheduler}{bound} gives {slow.name} {percent(slow.share)} of the data, with a "
        f"round trip of {duration(slow.rtt_s or 0.0)} against {duration(fast.rtt_s or 0.0)}; for "
        f"{percent(waited)} of the time the receiver held data that waited for earlier data"
    )


def _loss(seen: Seen) -> str:
    flow = seen.case.flow
    rtts = {path.name: path.rtt_s for path in seen.paths}
    behind = _behind_proxies(seen)
    parts = []
    for one in seen.data:
        rtt = rtts.get(one.path) or seen.rtt_s
        if one.loss > 0 and one.name in _fading(seen):
            # The laws are those of losses that come one by one.
            parts.append(f"{one.name} loses {100 * one.loss:.2g} % of the packets, most of them in outages")
        elif one.loss > 0 and one.name in behind:
            # The proxy repairs it, by a control of its own.
            node, of_leg = behind[one.name]
            parts.append(
                f"{one.name} loses {100 * one.loss:.2g} % of the packets behind the proxy at {node}, "
                f"at a round trip of {duration(of_leg)}"
            )
        elif one.loss > 0 and rtt:
            most = loss_limited_bit_s(flow, rtt, one.loss)
            of = f" of {mbit(one.capacity_bit_s)}" if one.capacity_bit_s else ""
            parts.append(
                f"{one.name} loses {100 * one.loss:.2g} % of the packets at a round trip of {duration(rtt)}: "
                f"{law(flow)} gives {mbit(most)}{of}"
            )
    return "; ".join([*parts, *_lost_acks(seen)]) or "packets are lost"


def _lost_acks(seen: Seen) -> list[str]:
    return [f"{one.name} loses {100 * one.loss:.2g} % of the ACKs" for one in seen.acks if one.loss > 0]


def _lossy(seen: Seen) -> list[Direction]:
    """Links that lose so many packets that several SYNs in a row are lost."""
    return [one for one in (*seen.data, *seen.acks) if one.loss >= MANY]


MANY = 0.1
"""Part of the packets."""


def _fading(seen: Seen) -> set[str]:
    """Links that lose nearly everything for a while, again and again."""
    return {way.name for way in seen.case.flow.data if any(True for _ in fades(way))}


def _reordering(seen: Seen) -> str:
    """The directions in which packets overtake each other, and what is sent again for it."""
    flow = seen.case.flow
    names = [way.name for way in (*flow.data, *flow.acks) if reorders(way)]
    where = (
        f"packets overtake each other on {', '.join(names[:MOST])}"
        if names
        else ("packets of a connection take ways of equal length at random and overtake each other")
    )
    own = rows(seen.results.flows, flow).select(pl.col("retransmitted_segments", "segments_sent").sum())
    again, sent = own.row(0)
    lost = any(is_lossy(way) for way in flow.data) or any(one.dropped > 0 for one in seen.data)
    missing = "" if lost else ", and none was lost"
    return f"{where}; {percent(again / sent if sent else 0.0)} of the segments were sent again{missing}"


def _behind_proxies(seen: Seen) -> dict[str, tuple[str, float]]:
    """Links behind a proxy, its node, and the round trip of the leg, by which alone a loss there costs."""
    legs = {one.node: one.srtt_s for one in at_proxies(seen.results, seen.case.flow) if one.srtt_s}
    found = {}
    for route, stations in zip(seen.case.flow.routes, seen.case.flow.stations, strict=True):
        node = None
        for way, start in zip(route, stations, strict=False):
            node = start if start in legs else node
            if node is not None:
                found[way.name] = (node, legs[node])
    return found


def is_loss_limited(seen: Seen) -> bool:
    """The laws give less on a link with losses than the narrowest link of its way carries."""
    rtts = {path.name: path.rtt_s for path in seen.paths}
    capacity = {one.name: one.capacity_bit_s or math.inf for one in seen.data}
    narrowest = {
        way.name: min(capacity.get(other.name, math.inf) for other in route)
        for route in seen.case.flow.routes
        for way in route
    }
    behind = {name: rtt for name, (_, rtt) in _behind_proxies(seen).items()}
    fading = _fading(seen)
    return any(
        one.loss > 0
        and one.name not in fading
        and loss_limited_bit_s(
            seen.case.flow, behind.get(one.name) or rtts.get(one.path) or seen.rtt_s, one.loss
        )
        < FULL * narrowest.get(one.name, capacity[one.name])
        for one in seen.data
    )


def _coupled(seen: Seen) -> str:
    flow = seen.case.flow
    manager = flow.transport.get("path_manager", {})
    alike = isinstance(manager, dict) and (manager.get("subflows", 1) > 1 or kind(manager) == "ndiffports")
    routes = [{way.name for way in route} for route in flow.routes]
    common = set.intersection(*routes) if routes else set()
    names = ", ".join(way.name for way in flow.data if way.name in common)
    shared = "the paths share no link"
    if common and len(routes) > 1:
        shared = f"the paths share {names}"
    elif alike or len(flow.paths) < 2:  # noqa: PLR2004
        shared = "the subflows share a link"
    return (
        f"{flow.congestion} couples the windows: all subflows together take what one TCP would take on the "
        f"best path. It does so by design; {shared}"
    )


LONG = 3
"""Slow starts that a long flow lasts for, at least."""


def _slow_start(seen: Seen) -> str:
    transport = seen.case.flow.transport
    segment = quantity(transport.get("mss")) or 1448.0
    initial = int(transport.get("initial_window", 10))
    whole = seen.case.rate_bit_s * seen.rtt_s / 8 / segment
    rounds = max(0.0, math.log2(max(whole, 1.0) / initial))
    lasted = seen.lifetime_s / seen.rtt_s if seen.rtt_s else 0.0
    threshold = (quantity(transport.get("initial_ssthresh")) or math.inf) / segment
    if threshold < whole / 2:
        return (
            f"slow start ends at the initial threshold of {transport['initial_ssthresh']}, "
            f"{count(round(threshold), 'segment')} of {round(whole):,} that fill the paths; the flow lasts "
            f"{figure(lasted, 2)} round trips of {duration(seen.rtt_s)}"
        )
    if not seen.rtt_s or lasted > LONG * (rounds + 1):
        flow = seen.case.flow
        pauses = any(quantity(flow.app.get(key)) for key in ("think", "interval"))
        idles = transport.get("idle_restart") != "never" and (
            len(flow.paths) > 1 or not flow.is_backlogged or pauses
        )
        again = ", and again after a path has idled for a timeout" if idles else ""
        return (
            f"windows begin small: from {count(initial, 'segment')} slow start takes "
            f"{figure(rounds, 2)} round trips to fill the paths{again}"
        )
    return (
        f"the flow lasts {figure(lasted, 2)} round trips of {duration(seen.rtt_s)}; from "
        f"{count(initial, 'segment')} slow start takes {figure(rounds, 2)} of them to fill the paths "
        f"({count(round(whole), 'segment')})"
    )


def _handshake(seen: Seen) -> str:
    late = [
        f"{path.name} joined after {duration(path.joined_s)} of {duration(seen.lifetime_s)}"
        for path in seen.paths
        if path.joined_s is not None and path.joined_s > LATE * seen.lifetime_s
    ]
    never = [f"{path.name} never joined" for path in seen.paths if path.joined_s is None]
    if never and kind(seen.case.flow.transport.get("path_manager", "")) == IN_KERNEL:
        limit, missing = lacking(seen.case.flow, seen.case.unused)
        never += [] if limit is None else [f"the limit is {count(limit, 'further subflow')}"]
        never += [f"no endpoint opens subflows from {path}" for path in missing]
    failed = rows(seen.results.flows, seen.case.flow)["failure"].drop_nulls().unique(maintain_order=True)
    if len(failed):
        # As the table of `run` has it: a link that carries nothing, with the reason.
        lossy = [f"{one.name} loses {100 * one.loss:.2g} % of the packets" for one in _lossy(seen)]
        return "; ".join([*failed[:MOST], *lossy, *late, *never])
    opening = []
    if seen.case.budget.get("handshake", 0.0) >= SHOWN or not (late or never):
        opening.append(f"{seen.time('handshake')} the connection was not yet established")
        opening.append(_round_trips(seen))
    return "; ".join([*opening, *late, *never])


def _round_trips(seen: Seen) -> str:
    """Connections that a flow opens one after the other, and the time that each takes to open."""
    own = rows(seen.results.subflows, seen.case.flow)
    runs = len(seen.results.origin.seeds)
    connections = own.select("run", "flow", "connection").n_unique() / runs / seen.case.flow.count
    more = TLS.get(str(seen.case.flow.app.get("tls")), 0)
    if connections < 2:  # noqa: PLR2004
        text = f"a round trip takes {duration(seen.rtt_s)}"
        return f"{text}, TLS {count(more, 'more')}" if more else text
    text = f"{figure(connections)} connections, each opened by {count(1 + more, 'round trip')}"
    return f"{text} of {duration(seen.rtt_s)}" + (f", {more} of them for TLS" if more else "")


def _application(seen: Seen) -> str:
    app = seen.case.flow.app
    if app.get("read_rate", "unlimited") != "unlimited":
        return f"the receiving application reads at {app['read_rate']}"
    idle = seen.time("application", "scheduler")
    return f"{idle} the application ({kind(app)}) had nothing to send, or too little for a segment"


def _ack_path(seen: Seen) -> str:
    if not seen.acks:
        return "the direction of the ACKs is full"
    lost = [*_rare_acks(seen), *_lost_acks(seen)]
    if lost and not seen.case.acks_wait:
        return "; ".join(lost)
    worst = max(seen.acks, key=lambda one: one.busy)
    rate = f" of {mbit(worst.capacity_bit_s)}" if worst.capacity_bit_s else ""
    ways = [way for way in seen.case.flow.acks if way.name == worst.name]
    later = [one for way in ways for one in rates_later(seen.case.facts, way)]
    # The share is that of all it could carry, most of which was before the event.
    busy = "" if later else f", which is busy for {percent(worst.busy)} of the time"
    rate += "".join(f", {mbit(bit_s)} from {at} on" for _, bit_s, at in later[:MOST])
    return (
        f"ACKs take {worst.name}{rate}{busy}; they wait "
        f"{duration(worst.queue_delay_s)} there, and {figure(worst.dropped)} are dropped"
    ) + "".join(f"; {one}" for one in lost)


def _rare_acks(seen: Seen) -> list[str]:
    own, keys = seen.case.flow.transport, unusual(seen.case.flow, SUSPECTS["ack_path"])
    told = ", ".join(f"{key} = {own[key]} (usually {usual})" for key, usual in keys.items())
    return [f"the receiver has {told}"] if told else []


def _path_down(seen: Seen) -> str:
    flow = seen.case.flow
    own = rows(seen.results.flows, flow)
    timeouts = own["timeouts"].mean()
    found = outages(seen.case.facts, flow)
    down = f"paths go down: {', '.join(found[:MOST])}" if found else "a path is down"
    times = float(timeouts) if isinstance(timeouts, (int, float)) else 0.0
    if math.fsum(seen.case.budget.get(limit, 0.0) for limit in ("path_down", "recovery")) < SHOWN:
        return f"{down}; {figure(times)} retransmission timeouts in a replication"
    return (
        f"{down}; {seen.time('path_down', 'recovery')} the sender repaired losses or waited for a sign of "
        f"life, with {figure(times)} retransmission timeouts in a replication"
    )


MOST = 3
"""Events that are named."""
SHOWN = 0.005
"""A smaller part of the time is not named."""


def _fallback(seen: Seen) -> str:
    flow = seen.case.flow
    fell = rows(seen.results.flows, flow)["fell_back"]
    stripping = [way.name for way in (*flow.data, *flow.acks) if way.strips]
    why = f"{', '.join(stripping)} strips MPTCP options" if stripping else "the peer does not speak MPTCP"
    if not fell.any():
        return f"{why}: subflows over it cannot join, or carry no data"
    return f"fell back to plain TCP in {int(fell.sum())} of {len(fell)} connections, on one path: {why}"


def _queue(seen: Seen) -> str:
    if not seen.data:
        return "a queue does not fit its link"
    worst = max(seen.data, key=lambda one: (one.queue_delay_s, one.dropped))
    lossy = max(seen.data, key=lambda one: one.dropped)
    text = f"packets wait {duration(worst.queue_delay_s)} in front of {worst.name} (limit {worst.limit})"
    if lossy.dropped:
        text += f"; {lossy.name} (limit {lossy.limit}) drops {figure(lossy.dropped)} packets in a replication"
    return text


def _pacing(seen: Seen) -> str:
    return f"{seen.time('pacing')} a segment waited for its transmission time ({seen.case.flow.congestion})"


def _capacity(seen: Seen) -> str:
    busiest = sorted(seen.data, key=lambda one: -one.busy)
    parts = [f"{one.name} {percent(one.busy)}" for one in busiest if one.busy >= FULL]
    return f"the links are full: {', '.join(parts[:MOST])} busy"


def _proxy(seen: Seen) -> str:
    flow, facts = seen.case.flow, seen.case.facts
    parts = []
    for one in at_proxies(seen.results, flow):
        crashes = facts.crashes(one.node)
        if crashes:
            lost = (
                f": {size(one.lost_bytes)} that it had acknowledged never arrived" if one.lost_bytes else ""
            )
            parts.append(f"the proxy at {one.node} crashes at {', '.join(crashes)}{lost}")
        parts += overreach(one.node, one.ahead_bytes, one.beyond_bytes)
    refusing = [one.node for one in facts.proxies_of(flow) if one.node in seen.case.refused_at]
    parts += [
        f"the proxy at {node} does not know the connection and refuses the join: the path over it is idle"
        for node in dict.fromkeys(refusing)
    ]
    crossed = {node for stations in flow.stations for node in stations}
    parts += [
        f"the proxy at {one.node} has {key} = {value}"
        for one in facts.proxies_of(flow)
        for key, value in one.limits.items()
        if one.node in crossed
    ]
    kinds = {one.kind for one in facts.proxies_of(flow)}
    if not parts and ONE_SUBFLOW in kinds:
        parts.append("a proxy acts as the end of one subflow of several")
    return "; ".join(parts) or "a proxy stops"


WORDS: Mapping[Cause, Callable[[Seen], str]] = {
    "receive_window": _receive_window,
    "send_buffer": _send_buffer,
    "scheduler": _scheduler,
    "loss": _loss,
    "reordering": _reordering,
    "coupled": _coupled,
    "slow_start": _slow_start,
    "handshake": _handshake,
    "application": _application,
    "ack_path": _ack_path,
    "path_down": _path_down,
    "fallback": _fallback,
    "queue": _queue,
    "pacing": _pacing,
    "proxy": _proxy,
    "capacity": _capacity,
}
