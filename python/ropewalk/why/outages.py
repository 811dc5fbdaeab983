"""Outages of the paths of a flow: the forms that a scenario has for them, and the scenario without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ropewalk.facts import kind, quantity
from ropewalk.numbers import figure, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.facts import Facts, Flow, Way
    from ropewalk.why.model import Setting

AT_THE_END = 0.001
"""Seconds before the end of the run."""
BLACKOUT = 0.9
"""A link that loses this part of the packets from an event on is down, whatever the scenario calls it."""
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
    return kind(loss) == "packet" and isinstance(loss, dict) and float(loss["probability"]) >= BLACKOUT


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
    for way in (*flow.data, *flow.acks):
        found += [f"{way.name} for {outage} at each hand-over" for outage in _handovers(way).values()]
        if _zeros(way):
            found.append(f"{way.name}, whose rate is 0 at times")
    return found


def without_outages(facts: Facts, flow: Flow) -> Iterator[tuple[Setting, ...]]:
    """The scenario in which no path goes down; then without anything that comes with an outage."""
    ways = []
    for way in (*flow.data, *flow.acks):
        ways += [(key, "0s") for key in _handovers(way)]
        if rates := _zeros(way):
            ways.append((f"{way.key}.rate.rates", rates))
    changes = list(ways)
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
        changes.append(change)
        moved.append(moving if len(event.get("set", {})) > 1 else change)
    yield tuple(changes)
    if moved != changes:
        yield tuple(moved)


def _handovers(way: Way) -> dict[str, str]:
    """Keys to the times for which the delay models of a direction carry nothing at each hand-over."""
    delay = way.settings.get("delay")
    models = {f"{way.key}.delay": delay}
    if isinstance(delay, list):
        models = {f"{way.key}.delay.{number}": one for number, one in enumerate(delay)}
    return {
        f"{key}.outage": str(one["outage"])
        for key, one in models.items()
        if isinstance(one, dict) and quantity(one.get("outage"))
    }


def _zeros(way: Way) -> str:
    """The rates of a direction over time with the highest in the place of zeros; empty without zeros."""
    rate = way.settings.get("rate")
    if kind(rate) != "steps" or not isinstance(rate, dict):
        return ""
    rates = rate["rates"]
    highest = max(rates, key=lambda one: quantity(one) or 0.0)
    raised = [one if quantity(one) else highest for one in rates]
    return "" if raised == rates else json.dumps(raised)


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
