"""The direction of the ACKs: changes that are tried where it is slow, or loses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk.facts import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ropewalk.facts import Facts, Flow, Way
    from ropewalk.why.model import Setting


def as_wide_as_data(facts: Facts, flow: Flow) -> tuple[Setting, ...]:
    """Directions of the ACKs as fast as the data directions beside them, also after events."""
    rates = {way.path: way.rate for way in flow.data}
    changes: list[Setting] = []
    for way in flow.acks:
        wanted = rates.get(way.path)
        if wanted is None or way.rate is None:
            continue
        word = f"{wanted / 1e6:.15g}Mbit/s"
        if way.rate < wanted:
            changes.append((f"{way.key}.rate", word))
        later = rates_later(facts, way)
        changes += [(f"event.{number}.set.rate", word) for number, rate, _ in later if rate < wanted]
    return tuple(changes)


def rates_later(facts: Facts, way: Way) -> list[tuple[int, float, str]]:
    """Events that give a direction another rate: number, rate in bit/s, instant."""
    found = []
    for number, event in enumerate(facts.events):
        rate = quantity(event.get("set", {}).get("rate"))
        if event.get("link") == way.name and rate is not None:
            found.append((number, rate, str(event["at"])))
    return found


def queued_fairly(ways: Iterable[Way]) -> tuple[Setting, ...]:
    """Queues that serve flows in turn: ACKs do not wait behind the data of others."""
    return tuple((f"{way.key}.queue", "fq_codel") for way in ways)
