"""Ways to mend ns-3: changes of the arguments that the back end `ns3` makes of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HEADERS = 100
"""IPv4 and TCP with all options."""


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


# Each with the arguments that it sets (mended.h and mended_socket.h in crates/lab/ns3).
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
