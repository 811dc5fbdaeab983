"""Range of a figure in a case of a study: from delays, rates of links, windows and offered load."""

from __future__ import annotations

import functools
import itertools
import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, maximum_flow

from ropewalk import reproduce as rep
from ropewalk.study.plan import Case, plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.reproduce.model import Quantity

MANY = 1e7
"""Drops, bytes of windows: more than any run has."""
SHORTEST = 1e-6
"""Seconds."""
LEAST_PACKET = 40 * 8
"""Bits: a header."""
OVERHEAD = 1.1
"""The most that headers may add to what an application offers."""
UNITS = {
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
    "B": 8.0, "kB": 8e3, "MB": 8e6, "KiB": 8.0 * 2**10, "MiB": 8.0 * 2**20,
}  # fmt: skip
OF_RATE = {"Mbit/s": 1e-6, "kbit/s": 1e-3, "bytes/s": 0.125, "kB/s": 1.25e-4}

Table: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Range:
    """The least and the largest value that a figure can have."""

    low: float
    high: float


def number(value: object, otherwise: float) -> float:
    """Number of a quantity of an expanded scenario, sizes in bits; `otherwise` for models and `unlimited`."""
    if isinstance(value, int | float):
        return float(value)
    found = re.fullmatch(r"([\d.e+-]+) ?([A-Za-z/]+)", value) if isinstance(value, str) else None
    return float(found[1]) * UNITS[found[2]] if found else otherwise


load = functools.cache(rep.load)


@functools.cache
def possible(name: str, quantity: str, levels: tuple[str, ...], profile: str) -> Range:
    """Range of a quantity at these levels; over the levels that it pools."""
    loaded = load(name)
    means = loaded.quantities[quantity]
    means = means.under.get(profile, means)
    study = loaded.study_of(quantity, profile)
    ranges = [of_case(name, study, case.index, means) for case in cases_at(name, study, means.pool, levels)]
    return Range(min(each.low for each in ranges), max(each.high for each in ranges))


@functools.cache
def cases(name: str, study: str) -> tuple[Case, ...]:
    """All cases of a study."""
    return plan(load(name).studies[study]).cases


@functools.cache
def cases_at(name: str, study: str, pool: tuple[str, ...], levels: tuple[str, ...]) -> tuple[Case, ...]:
    """Cases with these levels of the factors that are not pooled."""
    return tuple(
        case
        for case in cases(name, study)
        if tuple(level for factor, level in case.levels.items() if factor not in pool) == levels
    )


@functools.cache
def network(name: str, study: str, index: int) -> tuple[Table, Network]:
    """The expanded scenario of a case and its graph."""
    found = tomllib.loads(cases(name, study)[index].text)
    return found, Network(found)


def of_case(name: str, study: str, index: int, quantity: Quantity) -> Range:
    """Range in one case, in the unit of the quantity."""
    found, graph = network(name, study, index)
    metric = quantity.metric
    if getattr(metric, "function", None) == "jain":
        return Range(1.0 / len(found["flow"]), 1.0)
    duration = number(found["duration"], 0.0)
    # A link carries what any flow sends; the name of a measure or of a subflow begins with that of its flow.
    name_of_flow = metric.name.split(".")[0]
    matching = [flow for flow in found["flow"] if fnmatchcase(flow["name"], name_of_flow)]
    flows = matching or found["flow"]
    unit = quantity.unit
    if unit in {"s", "ms"}:
        round_trips = 2.0 if "srtt" in metric.column or "round-trip" in metric.name else 1.0
        low = min(
            graph.one_way(flow) * round_trips + least_time(flow, graph, metric.column) for flow in flows
        )
        return Range(low * quantity.scale, duration * quantity.scale)
    carried = graph.carries(flows)
    if unit in OF_RATE:
        offered = sum(offers(flow, graph, duration, divided=quantity.over is not None) for flow in flows)
        headers = OVERHEAD if metric.column == "wire_bytes" else 1.0
        return Range(0.0, min(carried, offered * headers) * OF_RATE[unit])
    if unit in {"segments", "packets"}:
        return Range(0.0, graph.all * duration / LEAST_PACKET)
    return Range(0.0, 100.0 if unit == "%" else MANY)


def least_time(flow: Table, graph: Network, column: str) -> float:
    """Seconds for all bytes that a time waits for, at the rate of the network."""
    app = flow["app"]
    size = 0.0
    if column in {"delay_mean_s", "completion_s"} and app["kind"] in {"ftp", "bulk"}:
        size = number(app["size"], 0.0)
    elif column == "load_time_s" and "main" in app:
        size = number(app["main"], 0.0) + app["objects"] * number(app["object"], 0.0)
    return size / graph.carries([flow])


def offers(flow: Table, graph: Network, duration: float, *, divided: bool) -> float:
    """The application's rate, or that of its windows, whichever is less."""
    app, transport = flow["app"], flow.get("transport", {})
    connections = app.get("connections", 1) * flow["count"]
    rate = float("inf")
    if app["kind"] == "sockperf":
        rate = app["rate"] * number(app["size"], 0.0)
    elif app["kind"] == "onoff":
        rate = number(app["rate"], rate)
        if not divided:
            on, off = number(app["on"], 0.0), number(app["off"], 0.0)
            rate *= min(1.0, (duration // (on + off) + 1.0) * on / duration)
    if transport.get("kind") not in {"tcp", "mptcp"}:
        return rate
    subflows = transport.get("path_manager", {}).get("subflows", 1)
    window = min(
        number(transport["flight_limit"], float("inf")) * subflows,
        number(transport["receive_buffer_max"], float("inf")),
        number(transport.get("send_buffer_max", transport["send_buffer"]), float("inf")),
    )
    return float(min(rate, window * connections / (2.0 * graph.one_way(flow))))


class Network:
    """Directed links with rates in bit/s and delays in seconds."""

    def __init__(self, found: Table) -> None:
        names = [name for node in found["node"] for name in numbered(node)]
        self._place = {name: place for place, name in enumerate(names)}
        self._counts = {node["name"]: numbered(node) for node in found["node"]}
        size = len(names) + 2
        self._rates = np.zeros((size, size))
        self._delays = np.full((size, size), np.inf)
        for start, end, way in self._ways(found):
            at = self._place[start], self._place[end]
            self._rates[at] += number(way.get("rate"), 1e12)
            # The algorithm takes what is next to 0 for no edge.
            self._delays[at] = min(self._delays[at], max(number(way.get("delay"), 0.0), SHORTEST))
        self.all = float(self._rates.sum())
        self._shortest = dijkstra(np.where(np.isinf(self._delays), 0.0, self._delays))

    def _ways(self, found: Table) -> Iterator[tuple[str, str, Table]]:
        for path in found.get("path", ()):
            yield path["from"], path["to"], path["up"]
            yield path["to"], path["from"], path["down"]
        for link in found.get("link", ()):
            yield *link["ends"], link["forward"]
            yield *link["ends"][::-1], link["reverse"]
        for mesh in found.get("mesh", ()):
            left, right = (
                [one for name in mesh[side] for one in self._counts[name]] for side in ("left", "right")
            )
            for a, b in itertools.product(left, right):
                yield a, b, mesh["forward"]
                yield b, a, mesh["reverse"]

    def one_way(self, flow: Table) -> float:
        """The least propagation delay, in seconds."""
        return float(self._shortest[self._place[flow["from"]], self._place[flow["to"]]])

    def carries(self, flows: list[Table]) -> float:
        """The most that all of the flows together get from their senders to their receivers, in bit/s."""
        size = len(self._rates)
        source, sink = size - 2, size - 1
        rates = self._rates.copy()
        for flow in flows:
            rates[source, self._place[flow["from"]]] = rates[self._place[flow["to"]], sink] = 1e12
        kilobits = csr_array((rates / 1e3).clip(max=2e9).astype(np.int32))
        return 1e3 * float(maximum_flow(kilobits, source, sink).flow_value)


def numbered(node: Table) -> list[str]:
    """The names of a node that stands for several."""
    name, count = node["name"], node["count"]
    return [name] if count == 1 else [f"{name}{place}" for place in range(1, count + 1)]
