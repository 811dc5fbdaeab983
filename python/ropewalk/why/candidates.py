"""A table: which keys are tried for which cause, and through which limits each cause acts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ropewalk import _core
from ropewalk.facts import COUPLED, kind, quantity
from ropewalk.why.proxies import correct, left_out, of_sender, without_crashes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ropewalk.facts import Facts, Flow, Way
    from ropewalk.why.model import Cause, Setting

Settings: TypeAlias = "tuple[Setting, ...]"

MIB = 1024**2
LARGEST_BUFFER = 1024 * MIB
SCHEDULERS = ("minrtt", "blest", "ecf", "minratio")
"""Schedulers that are tried in the place of another one."""
UNCOUPLED = ("cubic", "newreno")
"""Congestion controls that are tried in the place of a coupled one."""
ROBUST = ("bbr", "cubic", "westwood")
"""Congestion controls that are tried where packets are lost."""
WIDE_WINDOWS = (32, 100)
"""Initial windows in segments that are tried: more than three and ten times that of RFC 6928."""

HYSTARTS = ("false", "linux")
"""Slow start until a loss, or until delays grow."""

TAIL = "tail"
"""The limit `application` of a flow that has a fixed amount to send: all of it is on its way."""
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
    """A direction of its ACKs is full, or drops them."""
    refused_at: tuple[str, ...]
    """Nodes to which joins of its subflows went that failed."""


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
        return reach(row.cause, case.budget, case.flow) * (2.0 if is_suspect(case, row.cause) else 1.0)

    for row in sorted(TABLE, key=promise, reverse=True):
        if reach(row.cause, case.budget, case.flow) < row.least:
            continue
        for several in row.changes(case):
            # The links of a mesh have the same keys.
            settings = tuple(dict.fromkeys(several))
            if settings:
                found.setdefault(settings, Candidate(row.cause, case.flow.name, settings, row.is_cure))
    return list(found.values())


def reach(cause: Cause, budget: Mapping[str, float], flow: Flow) -> float:
    """Part of the time in limits through which a cause may act, each with its weight."""
    weights = ACTS[cause]
    return math.fsum(weights.get(limit, 0.0) * share for limit, share in times(budget, flow).items())


def times(budget: Mapping[str, float], flow: Flow) -> dict[str, float]:
    """The budget, with `tail` in the place of `application` where the application always has more to send."""
    if not flow.is_backlogged:
        return dict(budget)
    return {TAIL if limit == "application" else limit: share for limit, share in budget.items()}


def is_suspect(case: Case, cause: Cause) -> bool:
    """Whether a setting behind the cause is not what the profile says, or a queue does not fit."""
    if cause == "queue":
        return case.odd_queue
    if cause == "proxy":
        return True
    flow = case.flow
    usual = _profiles().get(str(flow.transport.get("profile")), {})
    for key in SUSPECTS.get(cause, ()):
        default = usual.get(f"mptcp.{key}", usual.get(key)) if flow.is_mptcp else usual.get(key)
        own = flow.transport.get(key)
        if own is None or default is None:
            continue
        if (quantity(own) or kind(own)) != (quantity(default) or kind(default)):
            return True
    return False


SUSPECTS: Mapping[Cause, tuple[str, ...]] = {
    "receive_window": ("receive_buffer", "receive_buffer_max", "window_scaling", "flight_limit"),
    "send_buffer": ("send_buffer", "send_buffer_max", "unsent_limit"),
    "scheduler": ("scheduler",),
    "slow_start": ("initial_window", "initial_ssthresh", "slow_start_limit"),
    "pacing": ("pacing",),
    "coupled": ("congestion",),
}
"""Cause to the settings behind it."""


def _profiles() -> dict[str, dict[str, Any]]:
    """Profile to its values, quantities as text."""
    listed = json.loads(_core.catalogue())["profiles"]
    return {one["name"]: {key: _word(value) for key, value in one["values"].items()} for one in listed}


def _word(value: str) -> str:
    return value[1:-1] if value.startswith('"') else value


def _transport(case: Case, **keys: object) -> Settings:
    """Keys of the flow's transport."""
    return tuple((f"{case.flow.key}.transport.{key}", str(value)) for key, value in keys.items())


def _size(needed: float) -> str:
    """The next power of two in MiB."""
    return f"{2 ** max(0, math.ceil(math.log2(max(needed, 1.0) / MIB)))}MiB"


def _needed(case: Case) -> float:
    """Twice the sum of the rates times the longest round trip: RFC 8684 section 3.3.4, in bytes."""
    return min(2 * case.rate_bit_s * case.rtt_s / 8, LARGEST_BUFFER / 4)


def _receive_key(case: Case) -> str:
    return "receive_buffer_max" if "receive_buffer_max" in case.flow.transport else "receive_buffer"


def _current(case: Case, key: str) -> float:
    return quantity(case.flow.transport.get(key)) or 0.0


def _receive_sizes(case: Case) -> list[str]:
    """Larger than now: what the paths need, and four times as much."""
    now = _current(case, _receive_key(case))
    needed = _needed(case) / case.flow.window_share
    sizes = (_size(needed), _size(4 * max(needed, now)))
    return list(dict.fromkeys(size for size in sizes if now < (quantity(size) or 0) <= LARGEST_BUFFER))


def _send_sizes(case: Case) -> list[str]:
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
    else:
        yield _transport(case, send_buffer="expand")
    if transport.get("unsent_limit", "unlimited") != "unlimited":
        yield _transport(case, unsent_limit="unlimited")


def _schedulers(case: Case) -> Iterator[Settings]:
    if not (case.flow.is_mptcp or case.flow.is_cmt) or len(case.flow.paths) < 2:  # noqa: PLR2004
        return
    for name in SCHEDULERS:
        if name != case.flow.scheduler:
            yield _transport(case, scheduler=name)
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
    alone = _transport(case, kind="sctp") if flow.is_cmt else _transport(case, path_manager="default")
    for path in flow.paths:
        yield ((f"{flow.key}.via", path), *alone)


def _no_loss(case: Case) -> Iterator[Settings]:
    links = [(f"{way.key}.loss", "none") for way in (*case.flow.data, *case.flow.acks) if way.is_lossy]
    events = [
        (f"event.{number}.set.loss", "none")
        for number, event in enumerate(case.facts.events)
        if "loss" in event.get("set", {})
    ]
    yield (*links, *events)


def _robust(case: Case) -> Iterator[Settings]:
    own = of_sender(case.facts, case.flow)
    if not any(way.is_lossy and way.name in own for way in case.flow.data):
        return
    for name in ROBUST:
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
    if transport.get("initial_ssthresh", "unlimited") != "unlimited":
        yield _transport(case, initial_ssthresh="unlimited")
    if transport.get("slow_start_limit", "unlimited") != "unlimited":
        yield _transport(case, slow_start_limit="unlimited")
    congestion = transport.get("congestion")
    hystart = congestion.get("hystart") if isinstance(congestion, dict) else None
    if hystart is not None:
        for other in HYSTARTS:
            if str(hystart).lower() != other:
                yield _transport(case, **{"congestion.hystart": other})
    if transport.get("idle_restart") != "never":
        yield _transport(case, idle_restart="never")


def _joins(case: Case) -> Iterator[Settings]:
    manager = kind(case.flow.transport.get("path_manager", ""))
    if case.flow.is_mptcp and len(case.flow.paths) > 1 and manager != "per-path":
        yield _transport(case, path_manager="per-path")
    for key in ("persistent", "keep_alive"):
        if case.flow.app.get(key) is False:
            yield ((f"{case.flow.key}.app.{key}", "true"),)


def _queues(case: Case) -> Iterator[Settings]:
    for queue in ("1BDP", "fq_codel", "codel"):
        ways = [way for way in case.flow.data if way.settings.get("queue") != queue]
        yield tuple((f"{way.key}.queue", queue) for way in ways)


def _wide_acks(case: Case) -> Iterator[Settings]:
    """An ACK direction as fast as the data direction beside it."""
    if not case.acks_wait:
        return
    rates = {way.path: way.rate for way in case.flow.data}
    changes = []
    for way in case.flow.acks:
        wanted = rates.get(way.path)
        if wanted is not None and way.rate is not None and way.rate < wanted:
            changes.append((f"{way.key}.rate", f"{wanted:.0f}bit/s"))
    yield tuple(changes)


def _fewer_acks(case: Case) -> Iterator[Settings]:
    if not case.acks_wait:
        return
    if int(case.flow.transport.get("ack_every", 2)) < MANY:
        yield _transport(case, ack_every=MANY)
    yield tuple((f"{way.key}.queue", "fq_codel") for way in case.flow.acks)


MANY = 8
"""Segments for each ACK, where ACKs are in the way."""


def _no_outages(case: Case) -> Iterator[Settings]:
    changes = []
    for number, event in enumerate(case.facts.events):
        if event.get("set", {}).get("up") is False:
            changes.append((f"event.{number}.set.up", "true"))
        elif leaves(event):
            # An event cannot be taken out by a key: it happens when the run is over.
            changes.append((f"event.{number}.at", f"{case.facts.duration_s - AT_THE_END:g}s"))
    yield tuple(changes)


AT_THE_END = 0.001
"""Seconds before the end of the run."""


def leaves(event: dict[str, Any]) -> bool:
    """An address goes, or a connection is given up."""
    return bool({"leave", "abort", "backup"} & event.get("do", {}).keys())


def _sooner_elsewhere(case: Case) -> Iterator[Settings]:
    if not any(event.get("set", {}).get("up") is False for event in case.facts.events):
        return
    yield from _reinjections(case)
    if int(case.flow.transport.get("retries", 15)) > FEW:
        yield _transport(case, retries=FEW)


FEW = 3
"""Timeouts in a row after which a path is given up, where paths go down."""


def _capable(case: Case) -> Iterator[Settings]:
    if not case.flow.is_mptcp:
        return
    if case.fell_back and case.flow.transport.get("peer_capable") is False:
        yield _transport(case, peer_capable="true")
    yield tuple(_strips(way) for way in (*case.flow.data, *case.flow.acks) if way.strips)


def _correct_proxies(case: Case) -> Iterator[Settings]:
    yield from correct(case.facts, case.flow, case.refused_at)


def _no_proxies(case: Case) -> Iterator[Settings]:
    yield from left_out(case.facts, case.flow, case.refused_at)


def _no_crashes(case: Case) -> Iterator[Settings]:
    # An event cannot be taken out by a key: it happens when the run is over.
    yield without_crashes(case.facts, case.flow, f"{case.facts.duration_s - AT_THE_END:g}s")


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
    Row("proxy", _correct_proxies, least=0.0),
    Row("proxy", _no_proxies, least=0.0),
    Row("proxy", _no_crashes, is_cure=False, least=0.0),
    Row("receive_window", _receive_windows),
    Row("receive_window", _more_of_receive),
    Row("send_buffer", _send_buffers),
    Row("send_buffer", _more_of_send),
    Row("scheduler", _schedulers),
    Row("scheduler", _reinjections),
    Row("application", _readers, least=0.0),
    Row("pacing", _unpaced),
    Row("path_down", _no_outages, is_cure=False, least=0.0),
    Row("path_down", _sooner_elsewhere, least=0.0),
    Row("loss", _no_loss, is_cure=False),
    Row("loss", _robust),
    Row("coupled", _uncoupled),
    Row("ack_path", _wide_acks),
    Row("ack_path", _fewer_acks),
    Row("queue", _queues),
    Row("slow_start", _starts),
    Row("handshake", _joins, least=0.0),
)
"""Cause to what is tried for it. Of several rows with the same change the first one counts."""
