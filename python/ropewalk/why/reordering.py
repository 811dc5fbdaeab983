"""Packets that overtake each other: where they may, and what senders make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk.why.models import changes, models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.facts import Facts, Flow, Way
    from ropewalk.why.model import Setting
    from ropewalk.why.models import Model, Options

PATIENT = 30
"""Duplicate ACKs that mean a loss, where packets overtake each other."""


def reorders(way: Way) -> bool:
    """Packets may overtake each other there."""
    return _holds_back(way) or any(map(_without_overtaking, models(way, "delay")))


def _holds_back(way: Way) -> bool:
    faults = way.settings.get("faults")
    return isinstance(faults, dict) and faults["reorder"] != 0


def _without_overtaking(model: Model) -> Options | None:
    return {"reorder": False} if isinstance(model, dict) and model.get("reorder") is True else None


def in_order(facts: Facts, flow: Flow) -> tuple[Setting, ...]:
    """The scenario in which no packet of the flow overtakes another one on its way."""
    found: list[Setting] = [("routing.ecmp", "flow")] if facts.spreads_packets else []
    for way in (*flow.data, *flow.acks):
        if _holds_back(way):
            found.append((f"{way.key}.faults.reorder", "0"))
        found += changes(way, "delay", _without_overtaking)
    return tuple(found)


def tolerant(facts: Facts, flow: Flow) -> Iterator[dict[str, object]]:
    """Keys of a sender for which a packet that comes later is not lost at once."""
    transport = flow.transport
    if not facts.spreads_packets and not any(map(reorders, flow.data)):
        return
    if transport.get("recovery") in {"newreno", "sack"}:
        yield {**({} if transport.get("sack") else {"sack": "true"}), "recovery": "rack"}
    if int(transport.get("dupthresh", PATIENT)) < PATIENT:
        yield {"dupthresh": PATIENT}
    if transport.get("timestamps") and transport.get("undo_rule", "never") == "never":
        yield {"undo_rule": "linux"}
