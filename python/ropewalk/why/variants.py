"""Stand-ins for replications where nothing is random: the same scenario with other delays.

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
"""By which part of itself a delay differs from one variant to the next in the same direction."""


def variants(facts: Facts, seeds: Sequence[int]) -> dict[int, Settings]:
    """Seed to what is changed: nothing for the first, then delays by +1 %, -1 %, +2 % and so on.

    Empty if no delay is a constant above zero.
    """
    ways = {way.key: way.delay for flow in facts.flows for way in (*flow.data, *flow.acks)}
    delays = {key: delay for key, delay in ways.items() if delay}
    if not delays:
        return {}
    found: dict[int, Settings] = {}
    for number, seed in enumerate(seeds):
        factor = 1 + STEP * ((number + 1) // 2) * (1 if number % 2 else -1)
        found[seed] = tuple(
            (f"{key}.delay", f"{delay * factor * 1e9:.0f}ns") for key, delay in delays.items() if number
        )
    return found
