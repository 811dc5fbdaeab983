"""The memory that the kernel of this machine charges a send buffer for a segment."""

from __future__ import annotations

import socket
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropewalk.scenario import Scenario

HEADER_ROOM = {2304: "192B", 4352: "320B"}
"""`header_room` by the memory of a segment of 1448 bytes: without and with wireless networks and tunnels."""
SEGMENTS = 2 * 10
"""Segments for which a send buffer has room at first: two initial windows."""


def of_this_kernel() -> int | None:
    """Bytes for a segment of 1448 bytes; `None` if a socket does not tell.

    A connection over loopback with segments of an Ethernet shows it before any data: its send buffer has
    room for two windows (`tcp_sndbuf_expand`).
    """
    with suppress(OSError, AttributeError), socket.socket() as server, socket.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        for end in (server, client):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        client.settimeout(1.0)
        client.connect(server.getsockname())
        memory, rest = divmod(client.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF), SEGMENTS)
        return memory if memory in HEADER_ROOM and not rest else None
    return None


def differing(scenario: Scenario, memory: int | None) -> str | None:
    """The keys to set for a kernel with this memory of a segment; `None` if the flows have it."""
    room = HEADER_ROOM.get(memory or 0)
    flows = tomllib.loads(scenario.whole()).get("flow", [])
    names = [
        flow["name"]
        for flow in flows
        if _counts_memory(flow.get("transport", {})) and flow["transport"].get("header_room", room) != room
    ]
    if room is None or not names:
        return None
    sets = " ".join(f"--set flow.{name}.transport.header_room={room}" for name in names)
    return (
        f"this kernel charges a send buffer {memory} bytes for a segment, the scenario has another\n"
        f"number, so that send buffers hold another amount there. The same in the simulator:\n  {sets}"
    )


def _counts_memory(transport: dict[str, Any]) -> bool:
    """Whether the send buffer counts memory: one that expands, and the queues of MPTCP, whatever its size."""
    return transport.get("kind") == "mptcp" or transport.get("send_buffer") == "expand"
