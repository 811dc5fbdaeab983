"""From measurements of one link to a scenario that has it: trace files, and the text that names them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.bonding import LEAST_QUEUE, PACKET_BITS
from ropewalk.measured import flent, iperf3, irtt, mahimahi, ping, table
from ropewalk.measured.model import MeasurementError, Opportunities, Options, Quantity, Series, load
from ropewalk.numbers import figure
from ropewalk.quantities import BITS_PER_S, SECONDS, quantity
from ropewalk.scenario import toml_value
from ropewalk.visible import one_line

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

FORMATS: dict[str, ModuleType] = {
    "ping": ping,
    "irtt": irtt,
    "iperf3": iperf3,
    "flent": flent,
    "mahimahi": mahimahi,
    "csv": table,
}
"""The tools, in the order in which a file is tried."""
SHOWN = {
    Quantity.DOWN: ("rate down", 1e6, "Mbit/s"),
    Quantity.UP: ("rate up", 1e6, "Mbit/s"),
    Quantity.RTT: ("round trip", 1e-3, "ms"),
    Quantity.LOSS: ("loss, round trip", 1e-2, "%"),
    Quantity.LOSS_DOWN: ("loss down", 1e-2, "%"),
    Quantity.LOSS_UP: ("loss up", 1e-2, "%"),
}
"""The name of each, and the unit in which it is shown."""
HEADERS = {
    Quantity.DOWN: ("rate_bit/s", 1.0),
    Quantity.UP: ("rate_bit/s", 1.0),
    Quantity.RTT: ("rtt_ms", 1e3),
    Quantity.LOSS: ("loss", 1.0),
    Quantity.LOSS_DOWN: ("loss", 1.0),
    Quantity.LOSS_UP: ("loss", 1.0),
}
"""Header of the column in a trace file, and the factor for its values."""

Part = Series | Opportunities


def read(path: Path, form: str | None, options: Options) -> list[Part]:
    """The content of one file.

    Args:
        path: of the file.
        form: one of `FORMATS`; None: as its content looks.
        options: how to read it.

    Raises:
        OSError: it cannot be read.
        MeasurementError: its form is not recognised, or it has mistakes.
    """
    source = load(path, options)
    if form is None:
        form = next((name for name, module in FORMATS.items() if module.recognise(source.text)), None)
    if form is None:
        cure = f"name the form: --format {' | '.join(FORMATS)}"
        raise source.wrong(1, "the form of this file is not recognised", cure)
    if form == "mahimahi" and not source.text.strip():
        raise source.wrong(1, "empty", "give a trace with times")
    try:
        found: list[Part] = FORMATS[form].read(source)
    except (OverflowError, RecursionError) as error:
        raise source.wrong(None, f"a number beyond all bounds ({error})", "remove it") from None
    return found


@dataclass(frozen=True, slots=True)
class Link:
    """A link as measured."""

    name: str
    parts: dict[Quantity, Part]
    """Each quantity once."""
    rate: dict[Quantity, str]
    """Rates that the user gave, as in a scenario."""
    delay: str | None
    """One-way delay as the user gave it."""

    @property
    def span_s(self) -> float:
        """As long as every trace says something, in whole seconds, at least one."""
        spans = [
            part.last_s if isinstance(part, Opportunities) else part.times[-1] + _step(part)
            for part in self.parts.values()
        ]
        return float(max(math.floor(min(spans) + 1e-6), 1))


def _step(part: Series) -> float:
    """How long the last sample is taken to hold."""
    many = len(part.times)
    return part.times[-1] / (many - 1) if many > 1 else 1.0


def combine(name: str, parts: list[Part], rate: dict[Quantity, str], delay: str | None) -> Link:
    """One link of what several files say, with times from a common start where the clocks tell it.

    Raises:
        MeasurementError: a quantity comes twice, or one that a link needs does not come at all.
    """
    by_quantity: dict[Quantity, Part] = {}
    for part in parts:
        if part.quantity in by_quantity:
            other = by_quantity[part.quantity].source
            what = SHOWN[part.quantity][0]
            cure = f"give one of them; the other has it from {other}"
            raise MeasurementError.at(part.source, None, f"a second {what}", cure)
        by_quantity[part.quantity] = part
    given = {quantity: text for quantity, text in rate.items() if quantity not in by_quantity}
    for unused in set(rate) - set(given):
        what = SHOWN[unused][0]
        raise MeasurementError(
            f"--{unused.value}: {by_quantity[unused].source} has the {what}\n  fix: leave it out"
        )
    rated = [way for way in (Quantity.DOWN, Quantity.UP) if way in by_quantity or way in given]
    if not rated:
        sources = ", ".join(dict.fromkeys(part.source for part in parts))
        raise MeasurementError(
            f"{sources}: no rate\n  fix: add --down RATE, or a file of iperf3, flent or mahimahi"
        )
    if Quantity.RTT in by_quantity and delay is not None:
        source = by_quantity[Quantity.RTT].source
        raise MeasurementError(f"--delay: {source} has round-trip times\n  fix: leave it out")
    if Quantity.RTT not in by_quantity and delay is None:
        sources = ", ".join(dict.fromkeys(part.source for part in parts))
        raise MeasurementError(
            f"{sources}: no delay\n  fix: add --delay TIME (one way), or a file of ping or irtt"
        )
    return Link(name, _aligned(by_quantity), given, delay)


def _aligned(parts: dict[Quantity, Part]) -> dict[Quantity, Part]:
    """Series of clocks that overlap keep their places; others begin with the run."""
    timed = [part for part in parts.values() if isinstance(part, Series) and part.began is not None]
    starts = [part.began for part in timed if part.began is not None]
    ends = [part.began + part.times[-1] for part in timed if part.began is not None]
    if len(timed) < 2 or max(starts) >= min(ends):  # noqa: PLR2004
        return parts
    # From the latest start on all of them say something.
    start = max(starts)
    return {
        quantity: _from(part, start - part.began)
        if isinstance(part, Series) and part.began is not None
        else part
        for quantity, part in parts.items()
    }


def _from(part: Part, skipped: float) -> Part:
    """The series without its first seconds; the value that holds then comes first."""
    if not isinstance(part, Series) or skipped <= 0:
        return part
    before = max(n for n, at in enumerate(part.times) if at <= skipped)
    times = (0.0, *(at - skipped for at in part.times[before + 1 :]))
    return Series(part.quantity, part.source, times, part.values[before:], None)


def files(link: Link) -> dict[str, str]:
    """Trace files by name, and their text."""
    return {_file(link, part): _trace(part) for part in link.parts.values()}


def _file(link: Link, part: Part) -> str:
    if isinstance(part, Opportunities):
        return f"{link.name}.{part.quantity.value}"
    return f"{link.name}-{part.quantity.value}.csv"


def _trace(part: Part) -> str:
    if isinstance(part, Opportunities):
        return part.text if part.text.endswith("\n") else f"{part.text}\n"
    header, factor = HEADERS[part.quantity]
    lines = [one_line(f"# from {part.source}"), f"time_s,{header}"]
    last = -1.0
    for at, value in zip(part.times, part.values, strict=True):
        time = round(at, 6)
        if time > last:
            lines.append(f"{time:.6f},{value * factor:.9g}")
            last = time
    return "\n".join(lines) + "\n"


def scenario(link: Link) -> str:
    """A scenario with the link, which finds its traces beside it."""
    ways = [
        _direction(link, Quantity.DOWN, Quantity.LOSS_DOWN),
        _direction(link, Quantity.UP, Quantity.LOSS_UP),
    ]
    lines = [
        *(one_line(f"# {line}") for line in told(link)),
        "# The goodput of a transfer is what its transport got of the rate: a link has at least that much.",
        f"name     = {toml_value(link.name)}",
        f"duration = {toml_value(f'{link.span_s:.0f}s')}  # as long as the measurements",
        "",
        "[[path]]",
        f"name = {toml_value(link.name)}",
        "",
        "[path.down]",
        *ways[0],
        "",
        "[path.up]",
        *ways[1],
        "",
        "[[flow]]",
        'name      = "download"',
        'from      = "server"',
        'to        = "terminal"',
        'opened_by = "receiver"',
        'transport = { kind = "tcp" }',
    ]
    return "\n".join(lines) + "\n"


def _least(part: Part) -> float:
    return min(part.values) if isinstance(part, Series) else 0.0


def _direction(link: Link, way: Quantity, loss: Quantity) -> list[str]:
    parts, own = link.parts, way
    if way not in parts and way not in link.rate:
        # A link of which one direction was measured is taken as equal.
        own = Quantity.UP if way is Quantity.DOWN else Quantity.DOWN
    if own in parts:
        part = parts[own]
        kind = "opportunities" if isinstance(part, Opportunities) else "series"
        rate = f'{{ kind = "{kind}", file = {toml_value(_file(link, part))} }}'
        highest = part.rate if isinstance(part, Opportunities) else max(part.values)
    else:
        rate = toml_value(link.rate[own])
        highest = quantity(link.rate[own], BITS_PER_S)
    guessed = "  # that of the other direction: none was measured" if own is not way else ""
    lines = [f"rate  = {rate}{guessed}"]
    if Quantity.RTT in parts:
        file = toml_value(_file(link, parts[Quantity.RTT]))
        lines.append(f'delay = {{ kind = "series", file = {file}, rtt = true }}  # half of each round trip')
        rtt = _least(parts[Quantity.RTT])
    else:
        lines.append(f"delay = {toml_value(link.delay or '')}")
        rtt = 2 * quantity(link.delay or "", SECONDS)
    packets = max(math.ceil(highest * rtt / PACKET_BITS), LEAST_QUEUE)
    lines.append(f'queue = "{packets}p"  # a guess: about rate x round-trip time')
    if loss in parts:
        lines.append(f'loss  = {{ kind = "series", file = {toml_value(_file(link, parts[loss]))} }}')
    elif Quantity.LOSS in parts and way is Quantity.DOWN:
        file = toml_value(_file(link, parts[Quantity.LOSS]))
        lines.append(f'loss  = {{ kind = "series", file = {file} }}  # of the round trip, all of it here')
    return lines


def told(link: Link) -> list[str]:
    """One line for each quantity: what, how much, from where."""
    lines = []
    for quantity_, part in link.parts.items():
        what, scale, unit = SHOWN[quantity_]
        if isinstance(part, Opportunities):
            lines.append(f"{what}: {figure(part.rate / scale)} {unit} on average, {one_line(part.source)}")
            continue
        low, high = figure(min(part.values) / scale), figure(max(part.values) / scale)
        mean = figure(part.mean / scale)
        many = f"{len(part.values)} samples" if len(part.values) > 1 else "1 sample"
        lines.append(f"{what}: {mean} {unit} ({low} to {high}, {many}), {one_line(part.source)}")
    return lines
