"""Stand-ins for replications where nothing is random: the same scenario with other delays or rates.

Replications of a scenario without chance are all the same: their interval is zero whatever is compared. But
which packet a full queue drops depends on the last microsecond, and a change of a few per cent may be no
more than that. A change helps if it helps with delays a little longer or shorter as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.facts import Facts
    from ropewalk.why.candidates import Settings

STEP = 0.01
"""By which part of itself a delay or a rate differs from one variant to the next in the same direction."""


def variants(facts: Facts, seeds: Sequence[int]) -> dict[int, Settings]:
    """Seed to what is changed: nothing for the first, then delays by +1 %, -1 %, +2 % and so on.

    Where every delay is that of a model, the rates. Empty if no rate is a constant either.
    """
    ways = {way.key: way for flow in facts.flows for way in (*flow.data, *flow.acks)}
    delays = {f"{key}.delay": (way.delay, 1e9, "ns") for key, way in ways.items() if way.delay}
    rates = {f"{key}.rate": (way.transmitter, 1.0, "bit/s") for key, way in ways.items() if way.transmitter}
    found: dict[int, Settings] = {}
    for number, seed in enumerate(seeds if delays or rates else []):
        factor = 1 + STEP * ((number + 1) // 2) * (1 if number % 2 else -1)
        found[seed] = tuple(
            (key, f"{value * factor * units:.0f}{unit}")
            for key, (value, units, unit) in (delays or rates).items()
            if number
        )
    return found
