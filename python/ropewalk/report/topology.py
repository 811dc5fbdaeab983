"""The network of a scenario as a drawing: nodes in layers from the clients to the servers, and links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropewalk.scenario import Scenario

COLUMN, ROW = 360, 92
NODE_WIDTH, NODE_HEIGHT = 132, 40
LABEL = 24
"""By how much the label of the lowest link is lower than it."""
MARGIN = 16
SMALLEST = 0.62
"""The drawing shrinks to this part of its size on small screens; then it scrolls."""
MAX_LINKS = 40
"""Most links that have their numbers beside them: those of more would overlap."""
SMALL = 0.001
"""Loss below this is written with an exponent."""


SHORT = 12
"""Words of this length still fit beside the delay."""
IN_NODE, IN_PROXY, BETWEEN = 15, 20, 26
"""Characters that fit into a node, below its name there, and between two."""


@dataclass(frozen=True, slots=True)
class Link:
    """A path, a link, or a mesh of links that are alike."""

    name: str
    ends: tuple[str, str]
    forward: dict[str, Any]
    reverse: dict[str, Any]
    directions: tuple[str, str]
    number: int = 1


@dataclass(frozen=True, slots=True)
class Network:
    """The elements of the drawing."""

    nodes: dict[str, int]
    """Name to how many there are of it."""
    links: list[Link]
    flows: list[dict[str, Any]]
    proxies: dict[str, str]
    """Node to the kinds of the proxies there."""

    @classmethod
    def of(cls, scenario: Scenario) -> Network:
        """The network of a scenario, counted nodes taken as one."""
        document = scenario.expanded()
        nodes = {node["name"]: int(node.get("count", 1)) for node in document.get("node", [])}
        links = [
            Link(path["name"], (path["from"], path["to"]), path["up"], path["down"], ("up", "down"))
            for path in document.get("path", [])
        ]
        ways = ("forward", "reverse")
        for link in document.get("link", []):
            ends = _stem(link["ends"][0], nodes), _stem(link["ends"][1], nodes)
            links.append(Link(link["name"], ends, link["forward"], link["reverse"], ways))
        for mesh in document.get("mesh", []):
            for left in dict.fromkeys(_stem(name, nodes) for name in mesh["left"]):
                for right in dict.fromkeys(_stem(name, nodes) for name in mesh["right"]):
                    number = nodes.get(left, 1) * nodes.get(right, 1)
                    pair = mesh["forward"], mesh["reverse"]
                    links.append(Link(mesh["name"], (left, right), *pair, ways, number))
        for link in links:
            for end in link.ends:
                nodes.setdefault(end, 1)
        flows = [
            {**flow, "ends": (_stem(flow["from"], nodes), _stem(flow["to"], nodes))}
            for flow in document["flow"]
            if flow["count"] > 0
        ]
        proxies: dict[str, str] = {}
        for proxy in document.get("proxy", []):
            node = _stem(proxy["node"], nodes)
            proxies[node] = ", ".join(filter(None, [proxies.get(node), proxy["kind"]]))
        return cls(nodes, links, flows, proxies)

    def layers(self) -> list[list[str]]:
        """Nodes by their distance from the clients; those that nothing joins come last."""
        first = self.links[0].ends[0]
        sources = [node for node in self.nodes if any(node in flow["ends"] for flow in self.flows)]
        near = [first] if first in sources or not sources else [sources[0]]
        # Nodes that share a peer with the first one stand beside it.
        peers = {end for flow in self.flows for end in flow["ends"] if near[0] in flow["ends"]} - set(near)
        for flow in self.flows:
            one, other = flow["ends"]
            near += [
                a for a, b in ((one, other), (other, one)) if b in peers and a not in near and a not in peers
            ]
        found = [near]
        seen = set(near)
        while True:
            following = [
                other
                for link in self.links
                for node, other in (link.ends, link.ends[::-1])
                if node in found[-1] and other not in seen
            ]
            following = list(dict.fromkeys(following))
            if not following:
                break
            seen.update(following)
            found.append(following)
        alone = [node for node in self.nodes if node not in seen]
        return [*found, alone] if alone else found


def _stem(name: str, nodes: dict[str, int]) -> str:
    """`left3` belongs to the counted node `left`."""
    if name in nodes:
        return name
    stem = name.rstrip("0123456789")
    return stem if stem in nodes else name


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in pixels."""

    x: float
    y: float
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, its middle at x; both in pixels, `below` from the top of the box around it."""

    kind: str
    x: float
    below: int
    text: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A link."""

    kind: str
    path: str
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """Text with a box behind it; `title` is the whole name where the text is shortened."""

    box: Box
    lines: list[Line]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that `templates/report/topology.svg` needs; sizes in pixels."""

    name: str
    width: int
    top: int
    height: int
    least: int
    """The width below which it scrolls."""
    curves: list[Curve]
    labels: list[Label]
    nodes: list[Label]


def drawing(network: Network, name: str) -> Drawing:
    """The network in the colours of the page (the classes of its style sheet)."""
    layers = network.layers()
    bundles = _bundles(network)
    tallest = max(len(layer) for layer in layers)
    rows = max(tallest, *(len(links) for links in bundles.values()))
    width = 2 * MARGIN + NODE_WIDTH + COLUMN * (len(layers) - 1)
    height = 2 * MARGIN + ROW * rows + LABEL
    places = {
        node: (
            MARGIN + NODE_WIDTH / 2 + COLUMN * column,
            (height - LABEL) / 2 + ROW * (row - (len(layer) - 1) / 2),
        )
        for column, layer in enumerate(layers)
        for row, node in enumerate(layer)
    }
    # Link, its ends, and how far from the straight line it is drawn.
    drawn = [
        (places[one], places[other], (index - (len(links) - 1) / 2) * ROW, link)
        for (one, other), links in bundles.items()
        for index, link in enumerate(links)
    ]
    labels = _apart([_label(*each) for each in drawn] if len(drawn) <= MAX_LINKS else [])
    top = min([0.0, *(label.box.y - MARGIN for label in labels)])
    bottom = max([height, *(label.box.y + label.box.height + MARGIN for label in labels)])
    return Drawing(
        name,
        width,
        round(top),
        round(bottom - top),
        round(SMALLEST * width),
        [_curve(*each) for each in drawn],
        labels,
        [_node(network, node, *places[node]) for layer in layers for node in layer],
    )


def _bundles(network: Network) -> dict[tuple[str, str], list[Link]]:
    """Links between the same two nodes."""
    found: dict[tuple[str, str], list[Link]] = {}
    for link in network.links:
        key = link.ends if link.ends in found or link.ends[::-1] not in found else link.ends[::-1]
        found.setdefault(key, []).append(link)
    return found


def _curve(start: tuple[float, float], end: tuple[float, float], away: float, link: Link) -> Curve:
    (x1, y1), (x2, y2) = start, end
    third = (x2 - x1) / 3
    # The middle of such a curve is three quarters of the way to its control points.
    bend = away / 0.75
    sideways = 40.0 if x1 == x2 else 0.0
    path = (
        f"M{x1:.1f} {y1:.1f}C{x1 + third + sideways:.1f} {y1 + bend:.1f} "
        f"{x2 - third + sideways:.1f} {y2 + bend:.1f} {x2:.1f} {y2:.1f}"
    )
    return Curve("bundle" if link.number > 1 else "link", path, "; ".join([link.name, *describe(link)]))


def _label(start: tuple[float, float], end: tuple[float, float], away: float, link: Link) -> Label:
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + away
    number = f" ({link.number} links)" if link.number > 1 else ""
    texts = [shortened(link.name, BETWEEN - len(number)) + number, *describe(link)]
    # Outside the bow of the line, so that neither hides the other.
    top = y - 14 * len(texts) - 10 if away < 0 else y
    lines = [Line("fact" if row else "name", x, 12 + 14 * row, text) for row, text in enumerate(texts)]
    wide = 7 * max(map(len, texts)) + 8
    return Label(Box(x - wide / 2, top + 4, wide, 14 * len(texts) + 4), lines)


def _apart(labels: list[Label]) -> list[Label]:
    """Labels of links that cross, moved down until none lies on another."""
    placed: list[Label] = []
    for label in sorted(labels, key=lambda one: one.box.y):
        box = label.box
        while hidden := [one.box for one in placed if _overlap(one.box, box)]:
            box = replace(box, y=max(one.y + one.height for one in hidden))
        placed.append(replace(label, box=box))
    return placed


def _overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def _node(network: Network, name: str, x: float, y: float) -> Label:
    count, kinds = network.nodes[name], network.proxies.get(name)
    box = Box(x - NODE_WIDTH / 2, y - NODE_HEIGHT / 2, NODE_WIDTH, NODE_HEIGHT)
    text = several(shortened(name, IN_NODE - len(several("", count))), count)
    whole = several(name, count)
    if kinds is None:
        return Label(box, [Line("name", x, NODE_HEIGHT // 2 + 4, text)], whole if whole != text else "")
    proxy = f"proxy: {kinds}"
    lines = [Line("name", x, 17, text), Line("fact", x, 32, shortened(proxy, IN_PROXY))]
    return Label(box, lines, f"{whole}, {proxy}")


def shortened(name: str, most: int) -> str:
    """A name of at most `most` characters: begin and end of a longer one."""
    if len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{name[: most - 1 - half]}…{name[-half:]}"


def link_rows(network: Network) -> list[list[str]]:
    """Name, ends, rate, delay, queue and loss of each direction of each link."""
    rows = []
    for link in network.links:
        for way, direction in zip(link.directions, (link.forward, link.reverse), strict=True):
            facts = [value(direction.get(key), key) for key in ("rate", "delay", "queue", "loss")]
            ends = link.ends if way == link.directions[0] else link.ends[::-1]
            rows.append([f"{link.name}.{way}", " → ".join(ends), *facts])
    return rows


def flow_rows(network: Network) -> list[list[str]]:
    """Name, ends, application and transport of each flow."""
    rows = []
    for flow in network.flows:
        kinds = [value(flow["transport"].get(key)) for key in ("kind", "congestion", "scheduler")]
        words = ", ".join(kind for kind in kinds if kind not in {"-", ""})
        name = several(flow["name"], flow["count"])
        rows.append([name, f"{flow['from']} → {flow['to']}", value(flow["app"]), words])
    return rows


def several(name: str, count: int) -> str:
    """A name, with its number where there are several."""
    return f"{name} \u00d7 {count}" if count > 1 else name


def describe(link: Link) -> list[str]:
    """Rates, then delays and losses; both directions in one where they are the same."""
    facts = []
    for key in ("rate", "delay", "loss"):
        values = [value(direction.get(key), key) for direction in (link.forward, link.reverse)]
        if values[0] == values[1]:
            facts.append(values[0])
        else:
            facts.append(
                " / ".join(f"{way} {text}" for way, text in zip(link.directions, values, strict=True))
            )
    rate, delay, loss = facts
    if loss == "none":
        return [rate, delay]
    return [rate, f"{delay}, loss {loss}"] if len(loss) < SHORT else [rate, delay, f"loss {loss}"]


def value(found: object, key: str = "") -> str:
    """A quantity, or the model that it is drawn from, in a few words."""
    if isinstance(found, list):
        return " + ".join(value(one, key) for one in found)
    if not isinstance(found, dict):
        return "-" if found is None else str(found)
    kind = str(found.get("kind", ""))
    if kind == "packet" and "probability" in found:
        probability = float(found["probability"])
        if probability == 0.0:
            return "none"
        return f"{probability:.2g}" if probability < SMALL else f"{100 * probability:.3g} %"
    return kind
