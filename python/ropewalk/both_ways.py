"""Data both ways over one link, on the kernel and in exact time.

ACKs that wait behind a burst of the other way's data leave in a bunch and set off the next burst. Hosts take
0.05 to 0.2 ms for a packet, which draws such bunches out; in the simulator they take no time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk.facts import Facts

if TYPE_CHECKING:
    from ropewalk.facts import Way
    from ropewalk.scenario import Scenario

HOST_MS = 0.2
"""Longest time that a host takes for a packet."""


def bunched(scenario: Scenario) -> list[Way]:
    """Both directions of the links that carry data of backlogged flows both ways, with constant delays."""
    flows = [
        flow
        for flow in Facts.of(scenario).flows
        if flow.is_backlogged and flow.transport["kind"] in {"tcp", "mptcp"}
    ]
    data = {way.name: way for flow in flows for way in flow.data}
    acks = {way.name: way for flow in flows for way in flow.acks}
    ways = [way for name, way in data.items() if name in acks and way.delay is not None]
    return sorted(ways, key=lambda way: way.key)


def hint(scenario: Scenario) -> str | None:
    """The keys to set for delays with which both have the same bunches; None where nothing goes both ways."""
    ways = bunched(scenario)
    if not ways:
        return None
    sets = []
    for way in ways:
        least = 1e3 * (way.delay or 0.0)
        model = f'{{kind="uniform",min="{least:g}ms",max="{least + HOST_MS:g}ms",reorder=true}}'
        sets.append(f"--set '{way.key}.delay={model}'")
    paths = ", ".join(dict.fromkeys(way.path for way in ways))
    return (
        f"data goes both ways over {paths}. In exact time ACKs bunch behind the data of the other way,\n"
        "by which the simulator can have 15 % less goodput than the kernel, whose hosts take 0.05 to 0.2 ms\n"
        "for a packet and draw bunches out. To give both such delays:\n  " + " \\\n  ".join(sets)
    )
