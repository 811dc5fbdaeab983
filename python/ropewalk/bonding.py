"""Scenarios of bonded paths, from one line per path: what `ropewalk bond` runs and `ropewalk init` writes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from ropewalk.errors import ScenarioError
from ropewalk.jitter import JITTER
from ropewalk.quantities import BITS_PER_S, BYTES, LIMITS, NUMBER, SECONDS, quantity
from ropewalk.scenario import toml_value

FORM = "--path [NAME,]RATE,DELAY[,LOSS], as in --path geo,20Mbit/s,280ms,0.5%"
KEYS = ("name", "rate", "down", "up", "delay", "rtt", "loss", "queue")
"""The keys before `=`; without one the unit tells the kind of a value."""

PACKET_BITS = 1500 * 8
LEAST_QUEUE = 50
"""Packets: a product of bandwidth and delay below it leaves no room for a burst."""
SLOWEST = 0.05
"""Share of its rate that the slowest path is expected to reach at least."""
LONGEST_S = 3600.0
MOST = 1e15
"""Bound of a number, whatever its unit."""
DEFAULT_DURATION = "60s"
DEFAULT_SEEDS = 5
LEAST_S = 30.0

SEEDS = "replications, each with other random losses"
QUANTITIES = (
    "# Units are part of the values. Delays are one way. The queue in front of a transmitter is a guess,",
    "# about rate x round-trip time: measure yours, it decides the delay under load.",
)

TRANSPORT = (
    "# Further keys: congestion (ropewalk list congestion), scheduler (ropewalk list schedulers),",
    "# send_buffer, {receive_buffer}. `ropewalk show FILE` prints every key with its default.",
)


@dataclass(frozen=True, slots=True)
class Transport:
    """A transport that uses several paths at once."""

    kind: str
    title: str
    single: str
    """The transport over one path that it is compared with."""
    first: str
    """Name of that whose path `via` chooses."""
    receive_buffer: str
    """The key for the largest size of its receive buffer."""


TRANSPORTS = {
    one.kind: one
    for one in (
        Transport("mptcp", "MPTCP", "TCP", "first subflow", "receive_buffer_max"),
        Transport("cmt-sctp", "CMT-SCTP", "SCTP", "primary path", "receive_buffer"),
    )
}
DEFAULT_TRANSPORT = "mptcp"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MEANT = {
    "bps": "bit/s",
    "b/s": "bit/s",
    "bit": "bit/s",
    "kbps": "kbit/s",
    "kb/s": "kbit/s",
    "kbit": "kbit/s",
    "k": "kbit/s",
    "mbps": "Mbit/s",
    "mb/s": "Mbit/s",
    "mbit": "Mbit/s",
    "mbit/s": "Mbit/s",
    "m": "Mbit/s",
    "gbps": "Gbit/s",
    "gb/s": "Gbit/s",
    "gbit": "Gbit/s",
    "gbit/s": "Gbit/s",
    "g": "Gbit/s",
    "msec": "ms",
    "sec": "s",
}
"""Other ways to write units, in small letters."""


class PathError(ScenarioError):
    """A path that was described in one line has a mistake."""


@dataclass(frozen=True, slots=True)
class BondedPath:
    """One path: values as they stand in a scenario file."""

    name: str
    down: str
    up: str
    delay: str
    """One way."""
    loss: str | None = None
    """Probability that a packet is lost, in each direction."""
    queue: str | None = None
    """Limit of the queue in each direction; None: one product of bandwidth and round-trip time."""

    @property
    def round_trip_s(self) -> float:
        """Without queues."""
        return 2 * quantity(self.delay, SECONDS)

    def queue_of(self, rate: str) -> str:
        """The queue of a direction with this rate."""
        if self.queue is not None:
            return self.queue
        packets = quantity(rate, BITS_PER_S) * self.round_trip_s / PACKET_BITS
        # Two digits: it is a rule of thumb.
        coarse = 10 ** max(math.floor(math.log10(max(packets, 1.0))) - 1, 0)
        return f"{max(math.ceil(packets / coarse) * coarse, LEAST_QUEUE)}p"

    def told(self) -> str:
        """In words, as in `20Mbit/s, 280ms, 0.5% loss`."""
        rate = self.down if self.down == self.up else f"{self.down} down, {self.up} up"
        loss = "" if self.loss is None else f", {self.loss} loss"
        return f"{rate}, {self.delay}{loss}"


def parse_path(text: str, number: int, queue: str | None = None) -> BondedPath:
    """The path that `text` describes, as after `--path`.

    Args:
        text: values with units, separated by commas, and optionally a name: `geo,20Mbit/s,280ms,0.5%`. Others
            are written with their key: `up=5Mbit/s`, `rtt=560ms`, `queue=500p`.
        number: of the path, from 1; names it if it has no name.
        queue: limit of its queues if `text` says none.

    Raises:
        PathError: a value is missing, given twice or of no known unit.
    """
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, value = _item(text, item)
        if key in found:
            cure = "the rate of the other direction is up=5Mbit/s" if key == "rate" else f"give one {key}"
            raise _wrong(text, f'"{item}" is a second {key}, after "{found[key]}"', cure)
        found[key] = value
    if "delay" in found and "rtt" in found:
        raise _wrong(text, "both a delay and an rtt", "give one: the delay of one way is half the rtt")
    if "rtt" in found:
        found["delay"] = _half(found["rtt"])
    rate, down, up = (found.get(key) for key in ("rate", "down", "up"))
    if rate is not None and down is not None and up is not None:
        raise _wrong(text, "a rate beside both down and up", "leave the rate out")
    down, up = down or rate or up, up or rate or down
    if down is None or up is None:
        raise _wrong(text, "no rate", f"write {FORM}")
    if "delay" not in found:
        raise _wrong(text, "no delay", f"add the delay of one way: {FORM}")
    name = found.get("name", f"path{number}")
    return BondedPath(name, down, up, found["delay"], found.get("loss"), found.get("queue", queue))


def _item(text: str, item: str) -> tuple[str, str]:
    """Key and value of one part of a path."""
    key, equals, value = (part.strip() for part in item.partition("="))
    if equals:
        if key not in KEYS:
            raise _wrong(text, f'"{key}" is no key of a path', f"keys: {', '.join(KEYS)}")
        if key == "name":
            if not _NAME.fullmatch(value):
                cure = "a name begins with a letter; letters, digits, - and _ follow"
                raise _wrong(text, f'"{value}" is no name', cure)
        elif key not in (allowed := _keys_of(text, value)):
            raise _wrong(text, f'"{value}" is no {key}', f"by its unit it is a {allowed[0]}")
        return key, value
    if _NAME.fullmatch(item):
        return "name", item
    return _keys_of(text, item)[0], item


def _keys_of(text: str, value: str) -> tuple[str, ...]:
    """The keys that take a value of this unit; the first applies to a value without a key."""
    match = NUMBER.fullmatch(value)
    if match is None:
        raise _wrong(text, f'"{value}" is neither a quantity nor a name', f"write {FORM}")
    number, unit = match.groups()
    if not 0 <= float(number) < MOST:
        raise _wrong(text, f'"{value}"', "give a number from 0 on that a network has")
    if unit in BITS_PER_S:
        return ("rate", "down", "up")
    if unit in SECONDS:
        return ("delay", "rtt")
    if unit == "%":
        return ("loss",)
    if unit in LIMITS:
        return ("queue",)
    if not unit:
        raise _wrong(text, f'"{value}" has no unit', f"add it, as in {number}Mbit/s, {number}ms or {number}%")
    meant = _MEANT.get(unit.lower())
    units = ", ".join((*BITS_PER_S, *SECONDS, "%", *LIMITS))
    cure = f'did you mean "{number}{meant}"?' if meant else f"units: {units}"
    raise _wrong(text, f'"{value}" with the unknown unit "{unit}"', cure)


def _wrong(text: str, found: str, cure: str) -> PathError:
    return PathError(f"--path {text}: found {found}\n  fix: {cure}")


def _half(rtt: str) -> str:
    match = NUMBER.fullmatch(rtt)
    if match is None:
        return rtt
    return f"{float(match[1]) / 2:g}{match[2]}"


@dataclass(frozen=True, slots=True)
class Bonding:
    """Several paths and the transfer over them."""

    paths: tuple[BondedPath, ...]
    size: str | None = None
    """Size of the transfer; None: as much as fits until the end."""
    duration: str | None = None
    """Simulated time; None: a minute, or as long as the slowest path is expected to take."""
    seeds: int = DEFAULT_SEEDS
    upload: bool = False
    """From the terminal to the server."""
    transport: dict[str, str] = field(default_factory=dict)
    """Keys of the transport beside `kind`."""
    kind: str = DEFAULT_TRANSPORT
    """Kind of the transport, one of `TRANSPORTS`."""

    @property
    def flow(self) -> str:
        """Name of the transfer."""
        return "upload" if self.upload else "download"

    @property
    def over(self) -> Transport:
        """The transport."""
        return TRANSPORTS[self.kind]

    @property
    def title(self) -> str:
        """Name of the scenario."""
        return " and ".join(path.name for path in self.paths) + " bonded"

    def check(self) -> None:
        """Whether these paths can be bonded.

        Raises:
            PathError: fewer than two paths, or two of one name.
        """
        if len(self.paths) < 2:  # noqa: PLR2004
            number = "1 path" if self.paths else "no path"
            raise PathError(f"found {number}; bonding needs two or more\n  fix: add {FORM}")
        names = [path.name for path in self.paths]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise PathError(
                f'two paths have the name "{twice}"\n  fix: begin each --path with a name of its own'
            )

    def simulated(self) -> str:
        """How long a run lasts at most."""
        if self.duration is not None:
            return self.duration
        if self.size is None:
            return DEFAULT_DURATION
        try:
            bits = 8 * quantity(self.size, BYTES)
        except ValueError as error:
            raise PathError(f"--size {self.size}: {error}\n  fix: write a size such as 100MB") from None
        slowest = min(quantity(path.up if self.upload else path.down, BITS_PER_S) for path in self.paths)
        longest = bits / max(slowest * SLOWEST, 1.0)
        return f"{math.ceil(min(max(longest, LEAST_S), LONGEST_S))}s"

    def text(self) -> str:
        """The scenario, with comments.

        Raises:
            PathError: as `check`, and if the size of the transfer is none.
        """
        self.check()
        size = "" if self.size is None else f", size = {toml_value(self.size)}"
        ends = ("terminal", "server") if self.upload else ("server", "terminal")
        limit = "" if self.size is None else "at most: a run ends when the transfer is complete"
        lines = [
            "# What is it worth to bond these paths, and what limits them?",
            "#     ropewalk run FILE     prints the figures",
            "#     ropewalk why FILE     says why, and what helps",
            f"name     = {toml_value(self.title)}",
            *_aligned(
                (f"duration = {toml_value(self.simulated())}", limit),
                (f"seeds    = {self.seeds}", SEEDS),
                (
                    f'jitter   = "{JITTER}"',
                    "packets differ by up to this: without chance all seeds are one run",
                ),
            ),
            "",
            *QUANTITIES,
        ]
        for path in self.paths:
            lines += ["", *_path_lines(path)]
        flow = (
            (f'name      = "{self.flow}"', ""),
            (f'from      = "{ends[0]}"', "sends the data"),
            (f'to        = "{ends[1]}"', ""),
            (f'opened_by = "{"sender" if self.upload else "receiver"}"', "the terminal opens the connection"),
            (
                f'via       = "{self.quickest().name}"',
                f"the {self.over.first}: the path with the least delay",
            ),
            (f'app       = {{ kind = "bulk"{size} }}', ""),
            ("compare_paths = true", f"also {self.over.single} over each path alone, under the same seeds"),
        )
        transport = (
            (f'kind = "{self.kind}"', ""),
            *((f"{k} = {toml_value(v)}", "") for k, v in self.transport.items()),
        )
        lines += ["", "[[flow]]", *_aligned(*flow)]
        hints = (line.format(receive_buffer=self.over.receive_buffer) for line in TRANSPORT)
        lines += ["", *hints, "[flow.transport]"]
        return "\n".join((*lines, *_aligned(*transport))) + "\n"

    def quickest(self) -> BondedPath:
        """The path with the least delay, the first of several."""
        return min(self.paths, key=lambda path: path.round_trip_s)


def _aligned(*rows: tuple[str, str]) -> list[str]:
    """Lines with comments behind them in one column."""
    width = max(len(line) for line, comment in rows if comment) if any(c for _, c in rows) else 0
    return [f"{line:{width}}  # {comment}" if comment else line for line, comment in rows]


def _path_lines(path: BondedPath) -> list[str]:
    loss = f', loss = {{ kind = "packet", probability = {toml_value(path.loss)} }}' if path.loss else ""
    rest = f"delay = {toml_value(path.delay)}"

    def direction(rate: str) -> str:
        queue = toml_value(path.queue_of(rate))
        return f"{{ rate = {toml_value(rate)}, {rest}, queue = {queue}{loss} }}"

    head = ["[[path]]", f"name = {toml_value(path.name)}"]
    if path.down == path.up:
        return [*head, f"both = {direction(path.down)}"]
    ways = (
        (f"down = {direction(path.down)}", "to the terminal"),
        (f"up   = {direction(path.up)}", "to the server"),
    )
    return [*head, *_aligned(*ways)]
