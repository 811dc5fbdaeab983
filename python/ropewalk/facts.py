"""Facts about the flows of a scenario: settings, and the link directions that their data and ACKs take."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ropewalk import quantities
from ropewalk.errors import ScenarioError
from ropewalk.quantities import BITS_PER_S, LIMITS, SECONDS

if TYPE_CHECKING:
    from ropewalk.scenario import Scenario

UNITS = {**SECONDS, **BITS_PER_S, **LIMITS}
COUPLED = frozenset({"lia", "olia", "balia", "wvegas"})
"""Congestion controls that share one window among the subflows of a connection."""
BACKLOGGED = frozenset({"bulk", "iperf", "ftp", "http"})
"""Applications that write as fast as the connection takes it, once they have been asked."""
ENDLESS = frozenset({"bulk", "iperf"})
"""Applications that go on to the end of the run where no size is given."""
ONE_SUBFLOW = "one-subflow"
"""The kind of proxy that acts as the end of each subflow that crosses its node, and sees no other."""
IN_MEMORY = 0.62
"""Part of the memory of a receive buffer that Linux offers as window."""


def quantity(value: object) -> float | None:
    """A quantity in seconds, bit/s, bytes or packets; None of a model or a word such as `unlimited`."""
    try:
        return quantities.quantity(value, UNITS) if isinstance(value, str) else None
    except ValueError:
        return None


def kind(value: object) -> str:
    """The name of an algorithm, with or without options; of a list of models that of the first."""
    if isinstance(value, dict):
        return str(value.get("kind", ""))
    if isinstance(value, list):
        return kind(value[0]) if value else ""
    return str(value)


@dataclass(frozen=True, slots=True)
class Way:
    """One direction of a link or path."""

    key: str
    """Key of the direction in the scenario, as in `path.lte.down`."""
    name: str
    """In the table `links`, as in `lte.down`."""
    path: str
    """Name of the path or link."""
    settings: dict[str, Any]

    @property
    def transmitter(self) -> float | None:
        """Rate in bit/s of the link itself; None if a model says it."""
        return quantity(self.settings.get("rate"))

    @property
    def rate(self) -> float | None:
        """In bit/s; None if a model says it. A token bucket may allow less than the transmitter."""
        if self.transmitter is None:
            return None
        shapers = self.settings.get("shaper", [])
        tokens = [quantity(one.get("rate")) for one in (shapers if isinstance(shapers, list) else [shapers])]
        return min([self.transmitter, *(rate for rate in tokens if rate)])

    @property
    def delay(self) -> float | None:
        """In seconds; None if a model says it."""
        return quantity(self.settings.get("delay"))

    @property
    def strips(self) -> bool:
        """A middlebox removes MPTCP options."""
        return self.settings.get("strip_mptcp", False) is not False


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow of the scenario, or `count` of them that are alike."""

    name: str
    count: int
    app: dict[str, Any]
    transport: dict[str, Any]
    via: str | None
    data: tuple[Way, ...]
    """Directions that its data may take."""
    acks: tuple[Way, ...]
    """Directions that its ACKs may take."""
    routes: tuple[tuple[Way, ...], ...]
    """The ways of its data from end to end."""
    paths: tuple[str, ...]
    """The first links of its routes, in order: what subflows are named after."""
    stations: tuple[tuple[str, ...], ...] = ()
    """The nodes of each route, both ends included."""
    opened_by: str = "sender"
    """The end that opens its connections, `sender` or `receiver`."""
    transport_key: str = ""
    """As in `flow.dl.transport`."""

    @property
    def key(self) -> str:
        """As in `flow.dl`."""
        return f"flow.{self.name}"

    @property
    def is_mptcp(self) -> bool:
        """It may use several paths."""
        return str(self.transport["kind"]) == "mptcp"

    @property
    def is_tcp(self) -> bool:
        """Over one path or several."""
        return str(self.transport["kind"]) in ("tcp", "mptcp")

    @property
    def is_cmt(self) -> bool:
        """It is an SCTP association that uses several paths at once."""
        return str(self.transport["kind"]) == "cmt-sctp"

    @property
    def window_share(self) -> float:
        """Receive window over the size of the receive buffer, which Linux counts with its overhead."""
        return IN_MEMORY if self.transport.get("receive_counts") in ("memory", "subflow-memory") else 1.0

    @property
    def congestion(self) -> str:
        """Name of the congestion control."""
        return kind(self.transport.get("congestion", ""))

    @property
    def scheduler(self) -> str:
        """Name of the scheduler; empty where one path is used."""
        return kind(self.transport.get("scheduler", ""))

    @property
    def is_backlogged(self) -> bool:
        """The application writes as fast as the connection takes it, and reads as fast as data arrives."""
        return kind(self.app) in BACKLOGGED and str(self.app.get("read_rate", "unlimited")) == "unlimited"

    @property
    def is_endless(self) -> bool:
        """It writes to the end of the run."""
        unlimited = str(self.app.get("size", "unlimited")) == "unlimited"
        return self.is_backlogged and kind(self.app) in ENDLESS and unlimited

    def members(self, names: list[str]) -> list[str]:
        """Its flows in the tables of results."""
        own = {self.name} if self.count == 1 else {f"{self.name}{n}" for n in range(1, self.count + 1)}
        return [name for name in names if name in own]


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy."""

    name: str
    node: str
    kind: str
    flows: tuple[str, ...] | None
    """The flows that it intercepts; None: all that cross its node."""
    transports: dict[str, dict[str, Any]]
    """`client` and `server`: its end of the connection with each."""
    limits: dict[str, object]
    """Keys and values of what it passes on at most."""

    @property
    def key(self) -> str:
        """As in `proxy.pep`."""
        return f"proxy.{self.name}"

    def has_part_in(self, flow: str) -> bool:
        """It may intercept the flow of this name."""
        return self.flows is None or flow in self.flows

    def end(self, opened_by: str, *, sends: bool) -> tuple[str, dict[str, Any]]:
        """Its end that sends the data of a flow, or receives it: the key and the transport."""
        word = "client" if (opened_by == "receiver") == sends else "server"
        return f"{self.key}.{word}", self.transports[word]


def _proxies(document: dict[str, Any]) -> tuple[Proxy, ...]:
    found = []
    for one in document.get("proxy", []):
        flows = one.get("flows")
        ends = {word: one[word] for word in ("client", "server")}
        limits = {word: one[word] for word in ("rate", "connections") if word in one}
        chosen = None if flows is None else tuple(flows)
        found.append(Proxy(one["name"], one["node"], one["kind"], chosen, ends, limits))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Facts:
    """A scenario with every default filled in."""

    scenario: Scenario
    flows: tuple[Flow, ...]
    events: tuple[dict[str, Any], ...]
    duration_s: float
    proxies: tuple[Proxy, ...] = ()
    spreads_packets: bool = False
    """Ways of equal length take packets of a connection at random."""

    @classmethod
    def of(cls, scenario: Scenario) -> Facts:
        """Reads a scenario."""
        document = scenario.expanded()
        proxies = _proxies(document)
        edges = _edges(document, _legs(scenario, proxies))
        flows = tuple(_flow(flow, edges, proxies) for flow in document["flow"] if flow.get("count", 1) > 0)
        spreads = document.get("routing", {}).get("ecmp") == "packet"
        return cls(scenario, flows, tuple(document.get("event", [])), scenario.duration_s, proxies, spreads)

    def proxies_of(self, flow: Flow) -> list[Proxy]:
        """The proxies that may have a part in a flow."""
        return [one for one in self.proxies if one.has_part_in(flow.name)]

    def one_bdp(self, flow: Flow, way: Way, *, later: bool = False) -> str | None:
        """A queue of one bandwidth-delay product, of the mean rate where a model says it.

        None if a delay varies. In an event, `later`, it is a number of bytes.
        """
        back = next((one.delay for one in flow.acks if one.path == way.path), None)
        if way.delay is None or back is None:
            return None
        if way.transmitter is not None and not later:
            return "1BDP"
        rate = way.rate
        if rate is None or way.transmitter is None:
            [rate] = self.scenario.capacity(way.name, [0.0, self.duration_s])
        return f"{math.ceil(rate * (way.delay + back) / 8)}B"

    def crashes(self, node: str) -> list[str]:
        """When the proxies of a node crash."""
        names = {proxy.name for proxy in self.proxies if proxy.node == node}
        return [str(event["at"]) for event in self.events if event.get("proxy") in names]


@dataclass(frozen=True, slots=True)
class _Edge:
    """A link from one node to another."""

    start: str
    end: str
    there: Way
    back: Way


def _legs(scenario: Scenario, proxies: tuple[Proxy, ...]) -> dict[str, str]:
    """Proxies on a path to the key of their other leg, a path of their name once it is expanded."""
    found = {}
    for proxy in proxies:
        for word in ("client_leg", "server_leg"):
            key = f"{proxy.key}.{word}"
            try:
                scenario.override([(f"{key}.up.queue", "10p")])
            except ScenarioError:
                continue
            found[proxy.name] = key
    return found


def _edges(document: dict[str, Any], legs: dict[str, str]) -> list[_Edge]:
    found = []
    for path in document.get("path", []):
        name = path["name"]
        key = legs.get(name, f"path.{name}")
        up, down = (Way(f"{key}.{d}", f"{name}.{d}", name, path[d]) for d in ("up", "down"))
        found += [_Edge(path["from"], path["to"], up, down), _Edge(path["to"], path["from"], down, up)]
    for link in document.get("link", []):
        name, (one, other) = link["name"], link["ends"]
        forward, reverse = (
            Way(f"link.{name}.{d}", f"{name}.{d}", name, link[d]) for d in ("forward", "reverse")
        )
        found += [_Edge(one, other, forward, reverse), _Edge(other, one, reverse, forward)]
    for mesh in document.get("mesh", []):
        found += _edges_of_mesh(mesh, document)
    return found


def _edges_of_mesh(mesh: dict[str, Any], document: dict[str, Any]) -> list[_Edge]:
    """A link from each node on the left to each on the right."""
    counts = {node["name"]: int(node.get("count", 1)) for node in document.get("node", [])}

    def nodes(stems: list[str]) -> list[str]:
        several = {stem: counts.get(stem, 1) for stem in stems}
        return [
            name
            for stem, count in several.items()
            for name in ([stem] if count == 1 else [f"{stem}{n}" for n in range(1, count + 1)])
        ]

    found = []
    for one in nodes(mesh["left"]):
        for other in nodes(mesh["right"]):
            path = f"{mesh['name']}.{one}-{other}"
            forward, reverse = (
                Way(f"mesh.{mesh['name']}.{d}", f"{path}.{d}", path, mesh[d]) for d in ("forward", "reverse")
            )
            found += [_Edge(one, other, forward, reverse), _Edge(other, one, reverse, forward)]
    return found


def _flow(flow: dict[str, Any], edges: list[_Edge], proxies: tuple[Proxy, ...]) -> Flow:
    via = flow.get("via")
    start, target = flow["from"], flow["to"]
    routes = [
        route for edge in edges if edge.start == start and (route := _route(edge, start, target, edges))
    ]
    if flow["transport"]["kind"] not in ("mptcp", "cmt-sctp"):
        chosen = [route for route in routes if via is None or any(edge.there.path == via for edge in route)]
        routes = [apart for route in chosen[:1] for apart in _legs_apart(route, flow, edges, proxies)]
    app = flow.get("app", "bulk")
    return Flow(
        name=flow["name"],
        count=flow.get("count", 1),
        app=app if isinstance(app, dict) else {"kind": app},
        transport=flow["transport"],
        via=via,
        data=_once(edge.there for route in routes for edge in route),
        acks=_once(edge.back for route in routes for edge in route),
        routes=tuple(tuple(edge.there for edge in route) for route in routes),
        paths=tuple(dict.fromkeys(route[0].there.path for route in routes)),
        stations=tuple((start, *(edge.end for edge in route)) for route in routes),
        opened_by=flow.get("opened_by", "sender"),
        transport_key=f"flow.{flow['name']}.transport",
    )


def _once(ways: Any) -> tuple[Way, ...]:  # noqa: ANN401
    return tuple({way.name: way for way in ways}.values())


def _legs_apart(
    route: list[_Edge], flow: dict[str, Any], edges: list[_Edge], proxies: tuple[Proxy, ...]
) -> list[list[_Edge]]:
    """The ways of a plain TCP flow: proxies with MPTCP between them use each path from one to the next."""
    kinds = {
        proxy.node: str(proxy.end(flow.get("opened_by", "sender"), sends=True)[1]["kind"])
        for proxy in proxies
        if proxy.has_part_in(flow["name"])
    }
    legs: list[list[_Edge]] = [[]]
    for edge in route:
        if edge.start in kinds and legs[-1]:
            legs.append([])
        legs[-1].append(edge)
    found: list[list[_Edge]] = [[]]
    for leg in legs:
        start, target = leg[0].start, leg[-1].end
        several = [leg]
        if kinds.get(start) == "mptcp":
            others = [edge for edge in edges if edge.start == start and edge is not leg[0]]
            several += [way for edge in others if (way := _route(edge, start, target, edges))]
        found = [before + way for before in found for way in several]
    return found


def _route(first: _Edge, start: str, target: str, edges: list[_Edge]) -> list[_Edge]:
    """The way with the fewest links that begins with `first`; empty if it leads nowhere."""
    waiting = deque([[first]])
    seen = {start, first.end}
    while waiting:
        route = waiting.popleft()
        if route[-1].end == target:
            return route
        for edge in edges:
            if edge.start == route[-1].end and edge.end not in seen:
                seen.add(edge.end)
                waiting.append([*route, edge])
    return []
