"""A scenario of Ropewalk as arguments of our program for ns-3.

Scenarios are taken as `Scenario.show` writes them, with every key. A key is translated, or it must say what
ns-3 does anyway, or it is refused: nothing is left out in silence.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import ropewalk as rw

RATES = {"bit/s": "bps", "kbit/s": "kbps", "Mbit/s": "Mbps", "Gbit/s": "Gbps"}
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
UNLIMITED = 2**32 - 1
WRITE = 14_000
"""The application of ns-3 writes so much at once, or less where it would have to wait for room."""

HEADERS = 100
"""IPv4 and TCP with all options."""

# Keys of a transport and attributes of ns-3.
TRANSPORT = {
    "mss": "TcpSocket::SegmentSize",
    "initial_window": "TcpSocket::InitialCwnd",
    "initial_ssthresh": "TcpSocket::InitialSlowStartThreshold",
    "rto_min": "TcpSocketBase::MinRto",
    "rto_granularity": "TcpSocketBase::ClockGranularity",
    "retries": "TcpSocket::DataRetries",
    "ack_every": "TcpSocket::DelAckCount",
    "ack_delay": "TcpSocket::DelAckTimeout",
    "timestamps": "TcpSocketBase::Timestamp",
    "dupthresh": "TcpSocketBase::ReTxThreshold",
    "limited_transmit": "TcpSocketBase::LimitedTransmit",
    "window_scaling": "TcpSocketBase::WindowScaling",
}

CONTROLLER_KEYS = ("congestion", "slow_start_limit", "byte_counting")
CONTROLLERS = {
    ("newreno", 1, False): "TcpNewReno",
    ("newreno", "unlimited", True): "TcpLinuxReno",
    ("cubic", "unlimited", False): "TcpCubic",
    ("vegas", 1, False): "TcpVegas",
    ("westwood", 1, False): "TcpWestwood",
    ("hybla", 1, False): "TcpHybla",
}
CONTROLLER_OPTIONS: dict[str, dict[str, Any]] = {
    "newreno": {},
    "cubic": {"c": 0.4, "beta": 0.7, "fast_convergence": True, "hystart": False, "ssthresh_from": "auto"},
    "vegas": {"alpha": 2.0, "beta": 4.0, "gamma": 1.0, "min_samples": 3},
    "westwood": {"reset_rtt_min": True},
    "hybla": {"initial_window": "setup", "scale_ssthresh": False},
}
# Options that ns-3 has, too.
CONTROLLER_ATTRIBUTES = {"hybla": {"rtt0": "TcpHybla::RRTT"}}
ALWAYS = {"TcpWestwood::ProtocolType": "WestwoodPlus", "TcpCubic::HyStart": "false"}
# Proportional rate reduction is for SACK.
RECOVERY_KEYS = ("sack", "recovery", "prr")
RECOVERIES = {
    (True, "sack", True): "TcpPrrRecovery",
    (False, "newreno", False): "TcpClassicRecovery",
}

# How tables call the two directions of a link.
DIRECTIONS = {"link": ("forward", "reverse"), "mesh": ("forward", "reverse"), "path": ("up", "down")}

# What ns-3 does, or our program.
TOP = {"routing": {"ecmp": "flow"}}
FLOW = {"spacing": "0ns", "opened_by": "sender"}
APP = {
    "kind": "bulk", "duration": "unlimited", "read_rate": "unlimited", "repeat": 1, "think": "0ns",
    "connections": 1,
}  # fmt: skip
TCP = {
    "kind": "tcp", "header": "40B", "overhead": "2B", "rto_initial": "3s", "rto_max": "60s",
    "rto_floor": "total", "syn_retries": 6, "acks_per_rtt": 0, "ecn": False,
    "loss_means": "congestion", "pacing": False, "nagle": False, "idle_restart": False,
    "flight_limit": "unlimited", "unsent_limit": "unlimited",
}  # fmt: skip


class Untranslatable(ValueError):
    """ns-3, or our program for it, has nothing for a value, or for several: a line of each."""


def _refused(key: str, found: object, allowed: object) -> Untranslatable:
    return Untranslatable(f"{key}: {found!r} has no counterpart in the program for ns-3; allowed: {allowed}")


class Keys:
    """The keys of a table, each taken once."""

    def __init__(self, where: str, table: dict[str, Any]) -> None:
        self._where = where
        self._table = dict(table)
        self._mistakes: list[Untranslatable] = []

    def take(self, key: str) -> Any:  # noqa: ANN401
        """The value of a key; tables that a scenario may have several of may be missing."""
        return self._table.pop(key) if key not in DIRECTIONS else self._table.pop(key, [])

    def key(self, key: str) -> str:
        """How messages call a key."""
        return self._where + key

    def choose(self, keys: tuple[str, ...], among: dict[tuple[Any, ...], str]) -> str:
        """What several keys mean together; nothing where `rest` refuses them."""
        values = tuple(self.take(key) for key in keys)
        if values not in among:
            self.refuse(", ".join(keys), values, ", ".join(map(repr, among)))
        return among.get(values, "")

    def refuse(self, key: str, found: object, allowed: object) -> None:
        """What `rest` tells with all others."""
        self._mistakes.append(_refused(self.key(key), found, allowed))

    def rest(self, fixed: dict[str, Any], ignored: tuple[str, ...] = ()) -> None:
        """Refuses what has not been taken unless it says what is so anyway."""
        for key, value in self._table.items():
            if key not in ignored and (key not in fixed or fixed[key] != value):
                found = f"a list of {len(value)}" if isinstance(value, list) else value
                self.refuse(key, found, repr(fixed[key]) if key in fixed else "none")
        if self._mistakes:
            raise Untranslatable("\n".join(map(str, self._mistakes)))


def arguments(scenario: rw.Scenario) -> dict[str, str]:
    """Arguments of the program; the attributes of ns-3 begin with `ns3::`.

    Raises:
        Untranslatable: the scenario has what the program has not.
    """
    top = Keys("", tomllib.loads(scenario.show()))
    nodes, duration, flows = top.take("node"), top.take("duration"), top.take("flow")
    for flow in flows:
        if flow["transport"]["kind"] != TCP["kind"]:
            raise _refused(
                f"flow.{flow['name']}.transport.kind", flow["transport"]["kind"], repr(TCP["kind"])
            )
    names = [name for node in nodes for name in _names(node)]
    silent = [name for node in nodes if not node["forward"] for name in _names(node)]
    links = [link for kind in DIRECTIONS for link in _links(top, kind, nodes)]
    top.rest(TOP, ("name", "description", "seeds", "record"))
    pairs = [_flow(flow, names, duration) for flow in flows]
    app, transport = flows[0]["app"], flows[0]["transport"]
    for flow in flows:
        if (flow["app"], flow["transport"]) != (app, transport):
            raise _refused(f"flow.{flow['name']}", "its own app or transport", "that of the first flow")
    attributes = _attributes(f"flow.{flows[0]['name']}.transport.", transport)
    send = int(attributes["TcpSocket::SndBufSize"])
    ends = ",".join(str(names.index(name)) for name in silent)
    return {
        "nodes": str(len(names)),
        **({"ends": ends} if ends else {}),
        "links": ",".join(
            ":".join([str(names.index(a)), str(names.index(b)), *rest]) for a, b, *rest in links
        ),
        "flows": ",".join(pairs),
        "duration": str(scenario.duration_s),
        "bytes": str(_size_of_flow(f"flow.{flows[0]['name']}.app.", app)),
        "write": str(min(WRITE, max(send // 40, int(attributes["TcpSocket::SegmentSize"])))),
        **{f"ns3::{key}": value for key, value in attributes.items()},
    }


def mended(arguments: dict[str, str], mends: Iterable[str]) -> dict[str, str]:
    """The same with some of MENDS."""
    found = dict(arguments)
    for mend in mends:
        found |= MENDS[mend](arguments)
    return found


def _renamed(kind: str, old: str, new: str) -> Callable[[dict[str, str]], dict[str, str]]:
    """A class of ns-3 in whose place ours stands."""
    key = f"ns3::TcpL4Protocol::{kind}Type"
    return lambda arguments: {key: arguments[key].replace(old, new)}


# Ways to mend ns-3 (mended.h, mended_socket.h), each with the arguments that it sets.
MENDS: dict[str, Callable[[dict[str, str]], dict[str, str]]] = {
    "socket": lambda _: {"sockets": "ns3::TcpMendedSocketFactory"},
    "controller": _renamed("Socket", "::Tcp", "::TcpMended"),
    "recovery": _renamed("Recovery", "::TcpPrr", "::TcpMendedPrr"),
    # Controllers get samples of the round-trip time, not smoothed and not in whole milliseconds.
    "samples": lambda _: {"ns3::RttMeanDeviation::Alpha": "1", "ns3::TcpSocketBase::Timestamp": "false"},
    "granularity": lambda _: {"ns3::TcpSocketBase::ClockGranularity": "200ms"},
    "mtu": lambda arguments: {
        "ns3::PointToPointNetDevice::Mtu": _mtu(int(arguments["ns3::TcpSocket::SegmentSize"]))
    },
    "queues": lambda _: {"codel": "0"},
}


def _mtu(mss: int) -> str:
    """ns-3 sends a segment that the devices find too long in two packets, each of which can be lost."""
    return str(mss + HEADERS)


def _names(node: dict[str, Any]) -> list[str]:
    """A node that there are several of has them numbered."""
    name, count = node["name"], node["count"]
    return [name] if count == 1 else [f"{name}{i}" for i in range(1, count + 1)]


def _links(top: Keys, kind: str, nodes: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Ends, delay and both directions of each link."""
    groups = {node["name"]: _names(node) for node in nodes}
    tables = top.take(kind)
    if kind == "path" and len(tables) > 1:
        raise _refused(kind, f"a list of {len(tables)}", "one; several are links with nodes between them")
    for link in tables:
        where = f"{kind}.{link['name']}."
        keys = Keys(where, link)
        keys.take("name")
        match kind:
            case "link":
                ends = keys.take("ends")
            case "mesh":
                ends = [keys.take("left"), keys.take("right")]
            case _:
                ends = [keys.take("from"), keys.take("to")]
        forward, reverse = (Keys(f"{where}{way}.", keys.take(way)) for way in DIRECTIONS[kind])
        keys.rest({})
        delay, back = forward.take("delay"), reverse.take("delay")
        if delay != back:
            raise _refused(reverse.key("delay"), back, f"that of the other direction, {delay}")
        ways = (_time(f"{where}both.delay", delay), _direction(forward), _direction(reverse))
        left, right = (
            [end] if kind != "mesh" else [n for name in end for n in groups.get(name, [name])] for end in ends
        )
        yield from ((a, b, *ways) for a in left for b in right)


def _direction(keys: Keys) -> str:
    """Rate, queue and loss."""
    rate = _number(keys.key("rate"), keys.take("rate"), RATES)
    queue = keys.take("queue")
    # ns-3 takes a queue of no packets for one of its own choice.
    if not (isinstance(queue, str) and queue.endswith("p")) or queue == "0p":
        raise _refused(keys.key("queue"), queue, 'a number of packets from 1 on, as "100p"')
    match keys.take("loss"):
        case "none" | {"kind": "packet", "probability": 0} | {"kind": "ber", "ratio": 0}:
            loss = "none"
        case {"kind": "packet", "probability": probability, **rest} if not rest:
            loss = f"packet={probability}"
        case {"kind": "ber", "ratio": ratio, **rest} if not rest:
            loss = f"bit={ratio}"
        case other:
            raise _refused(keys.key("loss"), other, "none, and packet or ber with one probability")
    keys.rest({"strip_mptcp": False})
    return f"{rate}/{queue}/{loss}"


def _flow(flow: dict[str, Any], names: list[str], duration: str) -> str:
    """Ends, start, spread of the starts, and count."""
    keys = Keys(f"flow.{flow['name']}.", flow)
    ends = (names.index(keys.take("from")), names.index(keys.take("to")))
    start, spread = (_seconds(keys.key(name), keys.take(name)) for name in ("start", "spread"))
    count = keys.take("count")
    keys.rest(FLOW | {"stop": duration}, ("name", "app", "transport", "compare_paths", "via"))
    return f"{ends[0]}:{ends[1]}:{start:.9g}:{spread:.9g}:{count}"


def _size_of_flow(where: str, app: dict[str, Any]) -> int:
    """Bytes of a flow, 0 if it has no end."""
    keys = Keys(where, app)
    size = keys.take("size")
    keys.rest(APP)
    return 0 if size == "unlimited" else _bytes(keys.key("size"), size)


def _attributes(where: str, transport: dict[str, Any]) -> dict[str, str]:
    """TCP as attributes of ns-3."""
    congestion = transport["congestion"]
    kind, options = congestion, {}
    if isinstance(congestion, dict):
        kind, options = congestion["kind"], {k: v for k, v in congestion.items() if k != "kind"}
    named = {key: options.pop(key) for key in CONTROLLER_ATTRIBUTES.get(kind, {}) if key in options}
    if options != CONTROLLER_OPTIONS.get(kind, options):
        raise _refused(f"{where}congestion of kind {kind}", options, CONTROLLER_OPTIONS[kind])
    keys = Keys(where, transport | {"congestion": kind})
    found = ALWAYS | {
        "TcpL4Protocol::SocketType": "ns3::" + keys.choose(CONTROLLER_KEYS, CONTROLLERS),
        "TcpL4Protocol::RecoveryType": "ns3::" + keys.choose(RECOVERY_KEYS, RECOVERIES),
        "TcpSocketBase::Sack": _value(keys.key("sack"), transport["sack"]),
    }
    for name, attribute in CONTROLLER_ATTRIBUTES.get(kind, {}).items():
        found[attribute] = _value(keys.key(f"congestion.{name}"), named[name])
    # tcp-socket-base.cc:2406 has the first segment acknowledged at once; with ack_every = 1 all are.
    quick = keys.take("quick_acks")
    if quick != 1 and transport["ack_every"] > 1:
        keys.refuse("quick_acks", quick, "1")
    # A sender of ns-3 that fills the window to the last byte and then loses a segment ends the process.
    send, receive = (_bytes(keys.key(name), keys.take(name)) for name in ("send_buffer", "receive_buffer"))
    found["TcpSocket::SndBufSize"], found["TcpSocket::RcvBufSize"] = str(min(send, receive)), str(receive)
    found["PointToPointNetDevice::Mtu"] = _mtu(_bytes(keys.key("mss"), transport["mss"]))
    for name, attribute in TRANSPORT.items():
        found[attribute] = _value(keys.key(name), keys.take(name))
    keys.rest(TCP | {"receive_buffer_max": transport["receive_buffer"]}, ("profile", "scps_peer"))
    return found


def _value(key: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case "unlimited":
            return str(UNLIMITED)
        case int():
            return str(value)
        case str() if value.endswith("s"):
            return _time(key, value)
        case str():
            return str(_bytes(key, value))
    raise _refused(key, value, "a number, a size or a time")


def _number(key: str, value: object, units: dict[str, str]) -> str:
    """A number with its unit, as ns-3 writes it."""
    number, unit = _split(value)
    if unit not in units:
        raise _refused(key, value, f"a constant in {', '.join(units)}")
    return number + units[unit]


def _split(value: object) -> tuple[str, str]:
    """A number and its unit."""
    found = re.fullmatch(r"([0-9.]+)(.+)", value) if isinstance(value, str) else None
    return (found[1], found[2]) if found else ("", "")


def _time(key: str, value: object) -> str:
    return _number(key, value, {unit: unit for unit in TIMES})


def _seconds(key: str, value: str) -> float:
    number, unit = _split(_time(key, value))
    return float(number) * TIMES[unit]


def _bytes(key: str, value: object) -> int:
    number, unit = _split(value)
    if unit not in SIZES:
        raise _refused(key, value, f"a number of {', '.join(SIZES)}")
    return round(float(number) * SIZES[unit])
