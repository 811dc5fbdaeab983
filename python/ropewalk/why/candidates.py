"""A table: which keys are tried for which cause, and through which limits each cause acts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from ropewalk.facts import COUPLED, kind, quantity
from ropewalk.why.acks import as_wide_as_data, queued_fairly
from ropewalk.why.joins import IN_KERNEL, around_middleboxes, backups, endpoints, no_backups, one_path
from ropewalk.why.models import is_lossy, lossless
from ropewalk.why.outages import joined_at_once, late, losses_later, sooner, without_outages
from ropewalk.why.proxies import correct, leaving, left_out, of_sender, without_crashes, without_limits
from ropewalk.why.queues import other_schedulers
from ropewalk.why.reordering import in_order, tolerant
from ropewalk.why.usual import RESTORED, SUSPECTS, unusual

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ropewalk.facts import Facts, Flow, Way
    from ropewalk.why.model import Cause, Setting
    from ropewalk.why.proxies import End

Settings: TypeAlias = "tuple[Setting, ...]"

MIB = 1024**2
LARGEST_BUFFER = 1024 * MIB
UNCOUPLED = ("cubic", "newreno")
"""Congestion controls that are tried in the place of a coupled one."""
ROBUST = ("bbr", "cubic", "westwood")
"""Congestion controls that are tried where packets are lost."""
ROBUST_OF_SCTP = ("cubic",)
"""Congestion controls that SCTP can have and that are tried there."""
WIDE_WINDOWS = (32, 100)
"""Initial windows in segments that are tried: more than three and ten times that of RFC 6928."""

BOUNDED = frozenset({"hybla"})
"""Congestion controls whose slow start needs a threshold."""
HYSTARTS = ("false", "linux")
"""Slow start until a loss, or until delays grow."""

TAIL = "tail"
"""The limit `application` of a flow that has a fixed amount to send: all of it is on its way."""
LATE = "late"
"""The limit `application` of a flow of messages that come one by one: their delay tells, no limit does."""
BEHIND = "behind"
"""The limit `receive window` of a flow to a proxy: the limits of the leg behind it are not known."""
HIDDEN = frozenset({LATE, BEHIND})
"""Limits through which any cause may act that makes the flow faster."""
EVERY: Mapping[str, float] = dict.fromkeys(
    (
        "congestion_window",
        "recovery",
        "receive_window",
        "send_buffer",
        "pacing",
        "scheduler",
        "path_down",
        "handshake",
        TAIL,
    ),
    1.0,
)
"""A connection that stops may show any limit."""
ACTS: Mapping[Cause, Mapping[str, float]] = {
    "receive_window": {"receive_window": 1.0, "send_buffer": 0.5, TAIL: 0.5},
    "send_buffer": {"send_buffer": 1.0, "receive_window": 0.5, TAIL: 0.5},
    "scheduler": {
        "scheduler": 1.0,
        "receive_window": 0.5,
        "send_buffer": 0.5,
        TAIL: 0.5,
        "congestion_window": 0.25,
        "recovery": 0.25,
    },
    "loss": {
        "recovery": 1.0,
        "congestion_window": 1.0,
        "pacing": 1.0,
        TAIL: 0.5,
        "receive_window": 0.25,
        "send_buffer": 0.25,
        "handshake": 0.25,
        "path_down": 0.25,
    },
    "reordering": {
        "recovery": 1.0,
        "congestion_window": 1.0,
        "pacing": 1.0,
        TAIL: 0.5,
        "receive_window": 0.25,
        "send_buffer": 0.25,
    },
    "coupled": {"congestion_window": 1.0, "recovery": 1.0, TAIL: 0.5, "pacing": 0.5},
    "slow_start": {"congestion_window": 1.0, "recovery": 0.5, "pacing": 0.5, TAIL: 0.5},
    "ack_path": {"congestion_window": 1.0, "recovery": 1.0, "pacing": 1.0, TAIL: 0.5, "handshake": 0.5},
    "path_down": EVERY,
    "fallback": EVERY,
    "queue": {
        "congestion_window": 1.0,
        "recovery": 1.0,
        "pacing": 1.0,
        TAIL: 1.0,
        "handshake": 1.0,
        "receive_window": 0.5,
        "send_buffer": 0.5,
        "application": 1.0,
    },
    "proxy": {**EVERY, "application": 1.0},
    "pacing": {"pacing": 1.0},
    "handshake": {"handshake": 1.0, "congestion_window": 1.0, "recovery": 0.5, TAIL: 0.5},
    "application": {"application": 1.0, "receive_window": 1.0, "scheduler": 0.5},
    "capacity": {"congestion_window": 1.0, "recovery": 1.0, "pacing": 1.0, TAIL: 1.0},
}
"""Cause to the limits through which it slows a flow down: 1 directly, less through others.

A cause accounts for the time in a limit, times this weight, times the part of it that the flow would save.
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A flow as it was run without any change."""

    facts: Facts
    flow: Flow
    budget: Mapping[str, float]
    rtt_s: float
    """Longest of its mean round-trip times over the paths."""
    rate_bit_s: float
    """Sum of the capacities of its paths."""
    fell_back: bool
    odd_queue: bool
    """A queue of its data is far too long or far too short for its path."""
    acks_wait: bool
    """A direction of its ACKs is busy for much of the time, or drops them."""
    acks_full: bool
    """A direction of its ACKs is full."""
    acks_lost: bool
    """A direction of its ACKs loses so many that the next ones do not make up for it."""
    refused_at: tuple[str, ...]
    """Nodes to which joins of its subflows went that failed."""
    unused: tuple[str, ...] = ()
    """Paths without a subflow."""
    waits: bool = False
    """It is a sequence of messages, whose delay matters."""
    ends: tuple[End, ...] = ()
    """Ends of connections in the proxies on its way."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One change, tried alone."""

    cause: Cause
    flow: str
    settings: Settings
    is_cure: bool = True
    """Something that an operator can change. Otherwise the change only shows what the cause costs."""


@dataclass(frozen=True, slots=True)
class Row:
    """The changes that are tried for a cause."""

    cause: Cause
    changes: Callable[[Case], Iterator[Settings]]
    is_cure: bool = True
    least: float = 0.02
    """Nothing is tried if the limits through which the cause acts hold for a smaller part of the time."""


def candidates(case: Case) -> list[Candidate]:
    """All changes to try for a flow, the most promising causes first; none twice."""
    found: dict[Settings, Candidate] = {}

    def promise(row: Row) -> float:
        return reach(row.cause, case) * (2.0 if is_suspect(case, row.cause) else 1.0)

    for row in sorted(TABLE, key=promise, reverse=True):
        if reach(row.cause, case) < row.least:
            continue
        for several in _changes(row, case):
            # The links of a mesh have the same keys.
            settings = tuple(dict.fromkeys(several))
            if settings:
                found.setdefault(settings, Candidate(row.cause, case.flow.name, settings, row.is_cure))
    return list(found.values())


def _changes(row: Row, case: Case) -> Iterator[Settings]:
    """At the flow itself, and at the ends of its connections in proxies."""
    yield from row.changes(case)
    for end in case.ends:
        if row.changes in (AT_SENDERS if end.sends else AT_RECEIVERS):
            yield from row.changes(at_end(case, end))


def at_end(case: Case, end: End) -> Case:
    """The case of an end in a proxy: its transport, and the ways behind it where it sends."""
    flow = replace(case.flow, transport=end.transport, transport_key=end.key, paths=end.paths)
    if end.sends:
        flow = leaving(flow, end.node)
    return replace(case, flow=flow, rtt_s=end.rtt_s, ends=())


def reach(cause: Cause, case: Case) -> float:
    """Part of the time in limits through which a cause may act, each with its weight."""
    return math.fsum(weight(cause, limit) * share for limit, share in times(case).items())


def weight(cause: Cause, limit: str) -> float:
    """How directly a cause acts through a limit."""
    if limit in HIDDEN:
        return 0.0 if cause == "application" and limit == LATE else 1.0
    return ACTS[cause].get(limit, 0.0)


def times(case: Case) -> dict[str, float]:
    """The budget, with the limits in the place of others that hide the cause."""
    names = {}
    if case.flow.is_backlogged:
        names["application"] = TAIL
    elif case.waits:
        names["application"] = LATE
    if case.ends:
        names["receive_window"] = BEHIND
    return {names.get(limit, limit): share for limit, share in case.budget.items()}


def is_suspect(case: Case, cause: Cause) -> bool:
    """Whether a setting behind the cause is not that of the profile, or a queue or the ACKs do not fit."""
    if cause == "queue":
        return case.odd_queue
    if cause == "ack_path" and case.acks_full:
        return True
    if cause == "proxy" or (cause == "scheduler" and backups(case.flow)):
        return True
    if any(is_suspect(at_end(case, end), cause) for end in case.ends):
        return True
    return bool(unusual(case.flow, SUSPECTS.get(cause, ())))


def _transport(case: Case, **keys: object) -> Settings:
    """Keys of the transport of the flow, or of the end in a proxy."""
    return tuple((f"{case.flow.transport_key}.{key}", str(value)) for key, value in keys.items())


def _size(needed: float) -> str:
    """The next power of two in MiB."""
    return f"{2 ** max(0, math.ceil(math.log2(max(needed, 1.0) / MIB)))}MiB"


def _needed(case: Case) -> float:
    """Twice the sum of the rates times the longest round trip: RFC 8684 section 3.3.4, in bytes."""
    longest = max([case.rtt_s, *(end.rtt_s for end in case.ends)])
    return min(2 * case.rate_bit_s * longest / 8, LARGEST_BUFFER / 4)


def _receive_key(case: Case) -> str:
    return "receive_buffer_max" if "receive_buffer_max" in case.flow.transport else "receive_buffer"


def _current(case: Case, key: str) -> float:
    return quantity(case.flow.transport.get(key)) or 0.0


def _receive_sizes(case: Case) -> list[str]:
    """Larger than now: what the paths need, and four times as much."""
    if _receive_key(case) not in case.flow.transport:
        return []
    now = _current(case, _receive_key(case))
    needed = _needed(case) / case.flow.window_share
    sizes = (_size(needed), _size(4 * max(needed, now)))
    return list(dict.fromkeys(size for size in sizes if now < (quantity(size) or 0) <= LARGEST_BUFFER))


def _send_sizes(case: Case) -> list[str]:
    if "send_buffer" not in case.flow.transport:
        return []
    now = _current(case, "send_buffer")
    sizes = (_size(_needed(case)), _size(4 * max(_needed(case), now)))
    return list(dict.fromkeys(size for size in sizes if now < (quantity(size) or 0) <= LARGEST_BUFFER))


def _receive_windows(case: Case) -> Iterator[Settings]:
    transport = case.flow.transport
    for size in _receive_sizes(case):
        yield _transport(case, **{_receive_key(case): size})
    if transport.get("window_scaling") is False:
        yield _transport(case, window_scaling="true")
    if transport.get("flight_limit", "unlimited") != "unlimited":
        yield _transport(case, flight_limit="unlimited")


def _both_buffers(case: Case) -> Iterator[Settings]:
    """One alone is no cure where the other one is next."""
    if case.budget.get("receive_window", 0.0) < BOTH or case.budget.get("send_buffer", 0.0) < BOTH:
        return
    for receive, send in zip(_receive_sizes(case)[:1], _send_sizes(case)[:1], strict=False):
        yield _transport(case, **{_receive_key(case): receive, "send_buffer": send})


def _more_of_receive(case: Case) -> Iterator[Settings]:
    if case.budget.get("receive_window", 0.0) > case.budget.get("send_buffer", 0.0):
        yield from _both_buffers(case)


def _more_of_send(case: Case) -> Iterator[Settings]:
    if case.budget.get("receive_window", 0.0) <= case.budget.get("send_buffer", 0.0):
        yield from _both_buffers(case)


BOTH = 0.02
"""Both buffers are enlarged together if the flow waits for each for at least this part of its time."""


def _send_buffers(case: Case) -> Iterator[Settings]:
    for size in _send_sizes(case):
        yield _transport(case, send_buffer=size)
    transport = case.flow.transport
    if transport.get("send_buffer") == "expand":
        # Its limit binds for each subflow.
        if _current(case, "send_buffer_max") < _needed(case):
            yield _transport(case, send_buffer_max=_size(_needed(case)))
    elif case.flow.is_tcp:
        yield _transport(case, send_buffer="expand")
    if transport.get("unsent_limit", "unlimited") != "unlimited":
        yield _transport(case, unsent_limit="unlimited")


def _schedulers(case: Case) -> Iterator[Settings]:
    if not (case.flow.is_mptcp or case.flow.is_cmt) or len(case.flow.paths) < 2:  # noqa: PLR2004
        return
    if regular := no_backups(case.flow):
        yield _transport(case, **regular)
    for keys in other_schedulers(case.flow):
        yield _transport(case, **keys)
    if case.flow.is_cmt and case.flow.transport.get("rescheduling") == "off":
        yield _transport(case, rescheduling="receiver")


def _reinjections(case: Case) -> Iterator[Settings]:
    if not case.flow.is_mptcp:
        return
    for word in ("upstream", "timeout"):
        if case.flow.transport.get("reinjection") != word:
            yield _transport(case, reinjection=word)


def single_paths(case: Case) -> Iterator[Settings]:
    """The other paths left out: one subflow, or SCTP with the others in reserve."""
    flow = case.flow
    if not (flow.is_mptcp or flow.is_cmt) or len(flow.paths) < 2:  # noqa: PLR2004
        return
    alone = _transport(case, **one_path(flow))
    later = {event["do"]["join"] for event in case.facts.events if "join" in event.get("do", {})}
    for path in flow.paths:
        if path not in later:
            yield ((f"{flow.key}.via", path), *alone)


def _no_loss(case: Case) -> Iterator[Settings]:
    later = losses_later(case.facts)
    if later or any(map(is_lossy, case.flow.data)):
        links = lossless((*case.flow.data, *case.flow.acks))
        yield (*links, *((f"event.{number}.set.loss", "none") for number in later))


def _robust(case: Case) -> Iterator[Settings]:
    own = of_sender(case.facts, case.flow)
    if not losses_later(case.facts) and not any(is_lossy(way) and way.name in own for way in case.flow.data):
        return
    for name in ROBUST if case.flow.is_tcp else ROBUST_OF_SCTP:
        if name != case.flow.congestion:
            yield _transport(case, congestion=name)
    if case.flow.transport.get("recovery") == "newreno":
        yield _transport(case, sack="true", recovery="rack")


def _uncoupled(case: Case) -> Iterator[Settings]:
    if case.flow.is_mptcp and case.flow.congestion in COUPLED:
        for name in UNCOUPLED:
            yield _transport(case, congestion=name)


def _starts(case: Case) -> Iterator[Settings]:
    transport = case.flow.transport
    for window in WIDE_WINDOWS:
        if int(transport.get("initial_window", window)) < window:
            yield _transport(case, initial_window=window)
    bounded = transport.get("initial_ssthresh", "unlimited") != "unlimited"
    if bounded and case.flow.congestion not in BOUNDED:
        yield _transport(case, initial_ssthresh="unlimited")
    if transport.get("slow_start_limit", "unlimited") != "unlimited":
        yield _transport(case, slow_start_limit="unlimited")
    congestion = transport.get("congestion")
    hystart = congestion.get("hystart") if isinstance(congestion, dict) else None
    if hystart is not None:
        for other in HYSTARTS:
            if str(hystart).lower() != other:
                yield _transport(case, **{"congestion.hystart": other})
    if transport.get("idle_restart", "never") != "never":
        yield _transport(case, idle_restart="never")


def _joins(case: Case) -> Iterator[Settings]:
    manager = kind(case.flow.transport.get("path_manager", ""))
    if case.flow.is_mptcp and len(case.flow.paths) > 1:
        if manager == IN_KERNEL:
            if case.unused and not case.fell_back:
                yield _transport(case, **endpoints(case.flow, case.unused))
        elif manager != "per-path":
            yield _transport(case, path_manager="per-path")
    for key, best in CONNECTIONS.items():
        if case.flow.app.get(key, best) != best:
            yield ((f"{case.flow.key}.app.{key}", json.dumps(best)),)
    if case.flow.app.get("tls") == "1.2":
        yield ((f"{case.flow.key}.app.tls", "1.3"),)


CONNECTIONS = {"persistent": True, "keep_alive": True, "objects_per_connection": 0}
"""Keys of applications to the value with which they open the fewest connections."""


def _no_tls(case: Case) -> Iterator[Settings]:
    if case.flow.app.get("tls", "none") != "none":
        yield ((f"{case.flow.key}.app.tls", "none"),)


def _queues(case: Case) -> Iterator[Settings]:
    limits = {way.key: case.facts.one_bdp(case.flow, way) for way in case.flow.data}
    if None not in limits.values():
        later = {way.key: case.facts.one_bdp(case.flow, way, later=True) for way in case.flow.data}
        yield _queued(case, limits, later)
    for queue in ("fq_codel", "codel"):
        yield _queued(case, dict.fromkeys(limits, queue), dict.fromkeys(limits, queue))


def _queued(case: Case, queues: Mapping[str, str | None], later: Mapping[str, str | None]) -> Settings:
    """Queues of the data directions from the beginning, and those that events give them."""
    ways = [way for way in case.flow.data if way.settings.get("queue") != queues[way.key]]
    events = {
        f"event.{number}.set.queue": str(later[way.key])
        for number, event in enumerate(case.facts.events)
        for way in case.flow.data
        if "queue" in event.get("set", {}) and event.get("link") in (way.name, way.path)
    }
    return (*((f"{way.key}.queue", str(queues[way.key])) for way in ways), *events.items())


def _no_lost_acks(case: Case) -> Iterator[Settings]:
    if case.acks_lost:
        yield lossless(case.flow.acks)


def _wide_acks(case: Case) -> Iterator[Settings]:
    if case.acks_wait:
        yield as_wide_as_data(case.facts, case.flow)


def _fewer_acks(case: Case) -> Iterator[Settings]:
    if case.acks_wait:
        if int(case.flow.transport.get("ack_every", 2)) < MANY:
            yield _transport(case, ack_every=MANY)
        yield queued_fairly(case.flow.acks)


MANY = 8
"""Segments for each ACK, where ACKs are in the way."""


def _no_outages(case: Case) -> Iterator[Settings]:
    yield from without_outages(case.facts, case.flow)


def _as_the_profile(cause: Cause) -> Callable[[Case], Iterator[Settings]]:
    """The settings behind a cause, as the profile has them."""

    def settings(case: Case) -> Iterator[Settings]:
        yield _transport(case, **unusual(case.flow, RESTORED[cause]))

    return settings


def _sooner_elsewhere(case: Case) -> Iterator[Settings]:
    for keys in sooner(case.facts, case.flow):
        yield _transport(case, **keys)


def _joined_at_once(case: Case) -> Iterator[Settings]:
    if case.flow.is_mptcp:
        yield joined_at_once(case.facts, case.flow)


def _capable(case: Case) -> Iterator[Settings]:
    if not case.flow.is_mptcp:
        return
    if case.fell_back and case.flow.transport.get("peer_capable") is False:
        yield _transport(case, peer_capable="true")
    yield tuple(_strips(way) for way in (*case.flow.data, *case.flow.acks) if way.strips)


def _first_elsewhere(case: Case) -> Iterator[Settings]:
    if case.fell_back:
        yield from around_middleboxes(case.flow)


def _in_order(case: Case) -> Iterator[Settings]:
    yield in_order(case.facts, case.flow)


def _tolerant(case: Case) -> Iterator[Settings]:
    for keys in tolerant(case.facts, case.flow):
        yield _transport(case, **keys)


def _correct_proxies(case: Case) -> Iterator[Settings]:
    yield from correct(case.facts, case.flow, case.refused_at)


def _no_proxies(case: Case) -> Iterator[Settings]:
    yield from left_out(case.facts, case.flow, case.refused_at)


def _no_limits(case: Case) -> Iterator[Settings]:
    yield from without_limits(case.facts, case.flow)


def _no_crashes(case: Case) -> Iterator[Settings]:
    yield without_crashes(case.facts, case.flow, late(case.facts))


def _strips(way: Way) -> Setting:
    return f"{way.key}.strip_mptcp", "false"


def _unpaced(case: Case) -> Iterator[Settings]:
    if case.flow.transport.get("pacing") is True:
        yield _transport(case, pacing="false")
    if case.flow.congestion == "fixed-rate":
        yield _transport(case, congestion="cubic")


def _readers(case: Case) -> Iterator[Settings]:
    if case.flow.app.get("read_rate", "unlimited") != "unlimited":
        yield ((f"{case.flow.key}.app.read_rate", "unlimited"),)


TABLE: tuple[Row, ...] = (
    Row("fallback", _capable, least=0.0),
    Row("fallback", _first_elsewhere, least=0.0),
    Row("proxy", _correct_proxies, least=0.0),
    Row("proxy", _no_proxies, least=0.0),
    Row("proxy", _no_crashes, is_cure=False, least=0.0),
    Row("proxy", _no_limits, is_cure=False, least=0.0),
    Row("receive_window", _receive_windows),
    Row("receive_window", _more_of_receive),
    Row("send_buffer", _send_buffers),
    Row("send_buffer", _more_of_send),
    Row("scheduler", _schedulers),
    Row("scheduler", _reinjections),
    Row("application", _readers, least=0.0),
    Row("application", _as_the_profile("application")),
    Row("pacing", _unpaced),
    Row("path_down", _no_outages, is_cure=False, least=0.0),
    Row("path_down", _sooner_elsewhere, least=0.0),
    Row("path_down", _as_the_profile("path_down")),
    Row("reordering", _in_order, is_cure=False),
    Row("reordering", _tolerant),
    Row("loss", _no_loss, is_cure=False),
    Row("loss", _robust),
    Row("loss", _as_the_profile("loss")),
    Row("coupled", _uncoupled),
    Row("ack_path", _no_lost_acks, is_cure=False),
    Row("ack_path", _as_the_profile("ack_path")),
    Row("ack_path", _wide_acks),
    Row("ack_path", _fewer_acks),
    Row("queue", _queues),
    Row("slow_start", _starts),
    Row("handshake", _joins, least=0.0),
    Row("handshake", _as_the_profile("handshake")),
    Row("handshake", _joined_at_once, is_cure=False, least=0.0),
    Row("handshake", _no_tls, is_cure=False, least=0.0),
)
"""Cause to what is tried for it. Of several rows with the same change the first one counts."""
AT_RECEIVERS = (_receive_windows,)
"""Changes that are also tried at an end in a proxy that receives the data."""
AT_SENDERS = (_send_buffers, _schedulers, _reinjections, _tolerant, _robust, _uncoupled, _starts, _unpaced)
"""Changes that are also tried at an end in a proxy that sends them."""
