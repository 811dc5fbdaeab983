"""Ways to mend ns-3: changes of the arguments that the back end `ns3` makes of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HEADERS = 100
"""Room for the IPv4 and TCP headers with all options, bytes."""


def mended(arguments: dict[str, str], mends: Iterable[str]) -> dict[str, str]:
    """The arguments with the changes that `mends` names."""
    found = dict(arguments)
    for mend in mends:
        found |= MENDS[mend](arguments)
    return found


def _renamed(kind: str, old: str, new: str) -> Callable[[dict[str, str]], dict[str, str]]:
    """Replaces a class of ns-3 by ours."""
    key = f"ns3::TcpL4Protocol::{kind}Type"
    return lambda arguments: {key: arguments[key].replace(old, new)}


# Each change, with the arguments that it sets (classes: mended.h and mended_socket.h in crates/lab/ns3).
MENDS: dict[str, Callable[[dict[str, str]], dict[str, str]]] = {
    "socket": lambda _: {"sockets": "ns3::TcpMendedSocketFactory"},
    "controller": _renamed("Socket", "::Tcp", "::TcpMended"),
    "recovery": _renamed("Recovery", "::TcpPrr", "::TcpMendedPrr"),
    # Controllers get raw samples of the round-trip time: not smoothed, and not rounded to whole milliseconds.
    "samples": lambda _: {"ns3::RttMeanDeviation::Alpha": "1", "ns3::TcpSocketBase::Timestamp": "false"},
    "granularity": lambda _: {"ns3::TcpSocketBase::ClockGranularity": "200ms"},
    "mtu": lambda arguments: {
        "ns3::PointToPointNetDevice::Mtu": _mtu(int(arguments["ns3::TcpSocket::SegmentSize"]))
    },
    "queues": lambda _: {"codel": "0"},
}


def _mtu(mss: int) -> str:
    """An MTU for full segments: ns-3 sends a longer one in two packets, each of which can be lost."""
    return str(mss + HEADERS)
