"""The proxies on the way of a flow: bytes that they held and lost, and the changes that are tried."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from ropewalk.facts import ONE_SUBFLOW
from ropewalk.why.budget import rows
from ropewalk.why.model import AtProxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.facts import Facts, Flow, Proxy
    from ropewalk.results import Results
    from ropewalk.why.model import Setting

CORRECT = ("mptcp", "convert")
"""Kinds that end whole connections of MPTCP, tried in the place of one that ends a subflow."""


def at_proxies(results: Results, flow: Flow) -> tuple[AtProxy, ...]:
    """By leg behind the first, means over replications and connections. Empty without proxies."""
    legs = rows(results.legs, flow).filter(pl.col("leg") > 0)
    if legs.is_empty():
        return ()
    # A subflow is a row: what the proxy holds is the same in each.
    one = ["run", "flow", "connection", "leg", "from", "to"]
    overreach = ("data_ack_ahead_bytes", "window_beyond_bytes")
    held = pl.col("held_mean_bytes", "lost_bytes", *overreach).max()
    each = legs.group_by(one, maintain_order=True).agg(held, pl.col("srtt_mean_s").min())
    found = each.group_by(["leg", "from", "to"], maintain_order=True).agg(
        pl.col("held_mean_bytes", "srtt_mean_s").mean(),
        pl.col("lost_bytes").sum() / pl.col("run").n_unique(),
        pl.col(*overreach).max(),
    )
    return tuple(
        AtProxy(
            node=str(row["from"]),
            to=str(row["to"]),
            held_bytes=row["held_mean_bytes"] or 0.0,
            srtt_s=row["srtt_mean_s"],
            lost_bytes=row["lost_bytes"] or 0.0,
            ahead_bytes=row["data_ack_ahead_bytes"] or 0.0,
            beyond_bytes=row["window_beyond_bytes"] or 0.0,
        )
        for row in found.sort("leg").to_dicts()
    )


@dataclass(frozen=True, slots=True)
class End:
    """An end of a connection in a proxy on the way of a flow."""

    node: str
    key: str
    """As in `proxy.pep.client`."""
    transport: dict[str, Any]
    sends: bool
    """It sends the data of the flow; otherwise it receives them."""
    rtt_s: float
    """Longest mean round trip of the leg."""
    paths: tuple[str, ...]
    """Paths of the leg."""


def ends(results: Results, facts: Facts, flow: Flow) -> tuple[End, ...]:
    """Both ends in each proxy that ends the connections of a flow, from the data sender on."""
    legs = rows(results.legs, flow)
    found = []
    for one in at_proxies(results, flow):
        for proxy in facts.proxies_of(flow):
            if proxy.node != one.node or proxy.kind == ONE_SUBFLOW:
                continue
            for sends in (False, True):
                key, transport = proxy.end(flow.opened_by, sends=sends)
                own = legs.filter(pl.col("from" if sends else "to").cast(pl.String) == proxy.node)
                rtt = own["srtt_mean_s"].max()
                paths = own["path"].cast(pl.String).unique(maintain_order=True)
                rtt_s = rtt if isinstance(rtt, float) else 0.0
                found.append(End(one.node, key, transport, sends, rtt_s, tuple(paths)))
    return tuple(found)


def of_sender(facts: Facts, flow: Flow) -> set[str]:
    """Links up to the first proxy: the sender of the flow repairs no loss of others."""
    nodes = {proxy.node for proxy in facts.proxies_of(flow)}
    found = set()
    for route, stations in zip(flow.routes, flow.stations, strict=True):
        for way, start in zip(route, stations, strict=False):
            if start in nodes and start != stations[0]:
                break
            found.add(way.name)
    return found


def leaving(flow: Flow, node: str) -> Flow:
    """The part of a flow that begins at the node of a proxy."""
    parts = []
    for route, stations in zip(flow.routes, flow.stations, strict=True):
        if node in stations:
            place = stations.index(node)
            parts.append((route[place:], stations[place:]))
    ways = {way.name: way for route, _ in parts for way in route}
    return replace(
        flow,
        routes=tuple(route for route, _ in parts),
        stations=tuple(stations for _, stations in parts),
        data=tuple(ways.values()),
    )


def correct(facts: Facts, flow: Flow, refused_at: tuple[str, ...]) -> Iterator[tuple[Setting, ...]]:
    """A proxy that ends all subflows in the place of one that ends one of them, or refuses to join them.

    It moves to a node that all paths cross, or each path leads to its node: where keys can say so.
    """
    for proxy in facts.proxies_of(flow):
        if not flow.is_mptcp or (proxy.kind != ONE_SUBFLOW and proxy.node not in refused_at):
            continue
        for node in _crossed_by_all(flow):
            yield ((f"{proxy.key}.node", node), *_of_kind(proxy, "mptcp"))
        led = _led_to(proxy, flow)
        if led is not None:
            for kind in CORRECT:
                yield (*led, *_of_kind(proxy, kind))


def _of_kind(proxy: Proxy, kind: str) -> tuple[Setting, Setting]:
    return (f"{proxy.key}.kind", kind), (f"{proxy.key}.client.kind", "mptcp")


def _crossed_by_all(flow: Flow) -> list[str]:
    """Nodes on every way of a flow, without its ends."""
    inner = [stations[1:-1] for stations in flow.stations]
    return [node for node in (inner[0] if inner else ()) if all(node in nodes for nodes in inner)]


def left_out(facts: Facts, flow: Flow, refused_at: tuple[str, ...]) -> Iterator[tuple[Setting, ...]]:
    """A proxy that refuses to join subflows lets the flow pass."""
    for proxy in facts.proxies_of(flow):
        if flow.is_mptcp and proxy.node in refused_at:
            others = [one.name for one in facts.flows if one is not flow and _meets(facts, proxy, one)]
            yield ((f"{proxy.key}.flows", json.dumps(others)),)


def _meets(facts: Facts, proxy: Proxy, flow: Flow) -> bool:
    """It may intercept a flow."""
    crosses = any(proxy.node in stations[1:-1] for stations in flow.stations)
    return crosses and flow.transport["kind"] in {"tcp", "mptcp"} and proxy in facts.proxies_of(flow)


def _led_to(proxy: Proxy, flow: Flow) -> tuple[Setting, ...] | None:
    """The paths of one link that pass the node of a proxy, led to it. None if keys cannot say it."""
    found = []
    for route, stations in zip(flow.routes, flow.stations, strict=True):
        if proxy.node in stations:
            continue
        # `via` must touch the node that sends the data, which would no longer be the end of this path.
        leaves = flow.via == route[0].path and route[0].name.endswith(".down")
        if len(route) > 1 or not route[0].key.startswith("path.") or leaves:
            return None
        found.append((f"path.{route[0].path}.to", proxy.node))
    return tuple(found)


NO_LIMIT = {"rate": "10000Gbit/s", "connections": "1000000"}
"""The largest value of each limit of a proxy."""


def without_limits(facts: Facts, flow: Flow) -> Iterator[tuple[Setting, ...]]:
    """Its proxies pass on as much, or as many connections, as a scenario can say."""
    for proxy in facts.proxies_of(flow):
        if any(proxy.node in stations for stations in flow.stations):
            for key in proxy.limits:
                yield ((f"{proxy.key}.{key}", NO_LIMIT[key]),)


def without_crashes(facts: Facts, flow: Flow, at: str) -> tuple[Setting, ...]:
    """Its proxies crash `at` a time when it is too late to matter."""
    names = {proxy.name for proxy in facts.proxies_of(flow)}
    events = enumerate(facts.events)
    return tuple((f"event.{number}.at", at) for number, event in events if event.get("proxy") in names)
