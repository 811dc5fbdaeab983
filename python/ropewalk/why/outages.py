"""Outages of the paths of a flow: the forms that a scenario has for them, and the scenario without them."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from ropewalk.facts import kind, quantity
from ropewalk.numbers import figure, percent
from ropewalk.scenario import toml_value
from ropewalk.why.models import NEARLY_ALL, SHORTEST_S, changes, fades, models, without_fades

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.facts import Facts, Flow, Way
    from ropewalk.why.model import Setting
    from ropewalk.why.models import Model, Options

AT_THE_END = 0.001
"""Seconds before the end of the run."""
FEW = 3
"""Timeouts in a row after which a subflow is given up, where paths go down."""
FEW_ERRORS = 1
"""The same of SCTP, which counts HEARTBEATs as well."""
LONGEST_RTO_S = 1
"""Upper bound of the timer that is tried: the least of `net.ipv4.tcp_rto_max_ms` of Linux."""


def late(facts: Facts) -> str:
    """A time of an event at which it no longer matters: no key takes an event out."""
    return f"{facts.duration_s - AT_THE_END:g}s"


def leaves(event: dict[str, Any]) -> bool:
    """An address goes, or a connection is given up."""
    return bool({"leave", "abort", "backup"} & event.get("do", {}).keys())


def is_down(event: dict[str, Any]) -> bool:
    """A link goes down."""
    return event.get("set", {}).get("up") is False


def is_blackout(event: dict[str, Any]) -> bool:
    """A link begins to lose nearly all packets."""
    loss = event.get("set", {}).get("loss")
    return kind(loss) == "packet" and isinstance(loss, dict) and float(loss["probability"]) >= NEARLY_ALL


def losses_later(facts: Facts) -> list[int]:
    """Events from which on a link loses packets, and not nearly all of them."""
    partial = {number: event for number, event in enumerate(facts.events) if not is_blackout(event)}
    return [n for n, event in partial.items() if kind(event.get("set", {}).get("loss", "none")) != "none"]


def outages(facts: Facts, flow: Flow) -> list[str]:
    """In words, as in `lte at 5 s`."""
    found = []
    for event in facts.events:
        at = f"{figure(quantity(event.get('at')) or 0.0)} s"
        if is_down(event):
            found.append(f"{event.get('link')} at {at}")
        elif is_blackout(event):
            lost = percent(float(event["set"]["loss"]["probability"]))
            found.append(f"{event.get('link')}, which loses {lost} of the packets, at {at}")
        elif event.get("do", {}).get("leave"):
            found.append(f"{flow.name} loses {event['do']['leave']} at {at}")
    alike: dict[str, list[str]] = {}
    for way in (*flow.data, *flow.acks):
        for words in _of_models(facts, way):
            alike.setdefault(words, []).append(way.name)
    return [*found, *(f"{' and '.join(names)} ({words})" for words, names in alike.items())]


def _of_models(facts: Facts, way: Way) -> Iterator[str]:
    """Outages of the models of a direction, in words."""
    if spans := _measured_zeros(facts, way):
        longest = max(end - start for start, end in spans) * _bin_s(facts)
        yield f"rate 0 at times, up to {figure(longest)} s long"
    for outage in _handovers(way):
        yield f"for {outage} at each hand-over"
    if changes(way, "rate", _without_zeros):
        yield "rate 0 at times"
    for _, lasting in fades(way):
        yield f"nearly all packets lost for {figure(lasting)} s at a time in the mean"


def without_outages(facts: Facts, flow: Flow) -> Iterator[tuple[Setting, ...]]:
    """The scenario in which no path goes down; then without anything that comes with an outage."""
    ways: list[Setting] = []
    for way in (*flow.data, *flow.acks):
        ways += changes(way, "delay", _without_handovers)
        ways += changes(way, "rate", _without_zeros)
        ways += _without_measured_zeros(facts, way)
        ways += without_fades(way)
    stayed = list(ways)
    moved = list(ways)
    for number, event in enumerate(facts.events):
        moving = (f"event.{number}.at", late(facts))
        if is_down(event):
            change = (f"event.{number}.set.up", "true")
        elif is_blackout(event):
            change = (f"event.{number}.set.loss", "none")
        elif leaves(event):
            change = moving
        else:
            continue
        stayed.append(change)
        moved.append(moving if len(event.get("set", {})) > 1 else change)
    yield tuple(stayed)
    if moved != stayed:
        yield tuple(moved)


def _handovers(way: Way) -> list[str]:
    """Times for which the delay models of a direction carry nothing at each hand-over."""
    return [
        str(one["outage"])
        for one in models(way, "delay")
        if isinstance(one, dict) and _without_handovers(one)
    ]


def _without_handovers(model: Model) -> Options | None:
    return {"outage": "0s"} if isinstance(model, dict) and quantity(model.get("outage")) else None


def _without_zeros(model: Model) -> Options | None:
    """The rates over time, or of the states, with another one in the place of zeros; None without zeros.

    Steps keep the rate from before; the state of a chain has the least of the others.
    """
    if kind(model) not in {"steps", "markov"} or not isinstance(model, dict):
        return None
    rates = [str(one) for one in model["rates"]]
    others = [one for one in rates if quantity(one)]
    if len(others) in (0, len(rates)):
        return None
    last = others[0] if kind(model) == "steps" else min(others, key=lambda one: quantity(one) or 0.0)
    raised = []
    for one in rates:
        if quantity(one) and kind(model) == "steps":
            last = one
        raised.append(one if quantity(one) else last)
    return {"rates": raised}


MEASURED = {"series", "opportunities"}
"""Models that replay a rate from a file."""
BINS = 10_000
"""At most so many, of which none is shorter than this part of the least outage."""
BINS_OF_AN_OUTAGE = 4


def _bin_s(facts: Facts) -> float:
    """Length of the bins in which a measured rate is looked at, s."""
    return max(SHORTEST_S / BINS_OF_AN_OUTAGE, facts.duration_s / BINS)


def _measured(facts: Facts, way: Way) -> list[float]:
    """Mean rates of a direction that replays a file, bit/s, one for each bin; empty for other models."""
    found = [kind(one) for one in models(way, "rate") if quantity(one) is None]
    if not found or not MEASURED.issuperset(found):
        return []
    length = _bin_s(facts)
    edges = [number * length for number in range(math.ceil(facts.duration_s / length) + 1)]
    return facts.scenario.capacity(way.name, edges)


def _measured_zeros(facts: Facts, way: Way) -> list[tuple[int, int]]:
    """Bins from and to which a measured rate is 0 for long enough that a timer runs out."""
    rates = _measured(facts, way)
    if not any(rates):
        return []
    ends = [number for number, rate in enumerate([*rates, 1.0]) if rate]
    spans = [(before + 1, end) for before, end in itertools.pairwise([-1, *ends])]
    return [(start, end) for start, end in spans if (end - start) * _bin_s(facts) >= SHORTEST_S]


def _without_measured_zeros(facts: Facts, way: Way) -> tuple[Setting, ...]:
    """The measured rate in steps, with the mean of the other times where it was 0 for long."""
    spans = _measured_zeros(facts, way)
    if not spans:
        return ()
    rates = _measured(facts, way)
    down = {number for span in spans for number in range(*span)}
    mean = math.fsum(rates) / (len(rates) - len(down))
    filled = [mean if number in down else rate for number, rate in enumerate(rates)]
    changed = [number for number, rate in enumerate(filled) if number == 0 or rate != filled[number - 1]]
    steps = {
        "kind": "steps",
        "times": [f"{number * _bin_s(facts):.9g}s" for number in changed],
        "rates": [f"{round(filled[number])}bit/s" for number in changed],
    }
    return ((f"{way.key}.rate", toml_value(steps)),)


def sooner(facts: Facts, flow: Flow) -> Iterator[dict[str, object]]:
    """Keys of the transport by which data does not wait for a path that is down."""
    transport = flow.transport
    if not outages(facts, flow):
        return
    if flow.is_mptcp:
        for word in ("upstream", "timeout"):
            if transport.get("reinjection") != word:
                yield {"reinjection": word}
        if int(transport.get("retries", 15)) > FEW:
            yield {"retries": FEW}
    if int(transport.get("path_retries", FEW_ERRORS)) > FEW_ERRORS:
        yield {"path_retries": FEW_ERRORS}
    if (quantity(transport.get("rto_max")) or 0.0) > LONGEST_RTO_S:
        yield {"rto_max": f"{LONGEST_RTO_S}s"}


def joined_at_once(facts: Facts, flow: Flow) -> tuple[Setting, ...]:
    """The scenario in which every address of the flow is there from the beginning, and the link with it."""
    known: set[tuple[object, object]] = set()
    changes: list[Setting] = []
    for number, event in enumerate(facts.events):
        action = event.get("do", {})
        place = next(
            (action[word] for word in ("join", "leave", "backup", "regular") if word in action), None
        )
        if event.get("flow") != flow.name or place is None:
            continue
        end = (place, action.get("end"))
        if "join" in action and end not in known and quantity(event["at"]):
            changes.append((f"event.{number}.at", "0s"))
            changes += _up_before(facts, str(place), quantity(event["at"]) or 0.0)
        known.add(end)
    return tuple(changes)


def _up_before(facts: Facts, link: str, until_s: float) -> list[Setting]:
    """The link does not go down before a time."""
    return [
        (f"event.{number}.set.up", "true")
        for number, event in enumerate(facts.events)
        if is_down(event) and event.get("link") == link and (quantity(event["at"]) or 0.0) <= until_s
    ]
