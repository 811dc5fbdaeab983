"""The direction of the ACKs: changes that are tried where it is slow, or loses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropewalk.why.models import is_lossy, without_losses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ropewalk.facts import Flow, Way
    from ropewalk.why.model import Setting


def without_loss(ways: Iterable[Way]) -> tuple[Setting, ...]:
    """Link directions without the losses of their models."""
    return tuple(setting for way in ways if is_lossy(way) for setting in without_losses(way))


def as_wide_as_data(flow: Flow) -> tuple[Setting, ...]:
    """Directions of the ACKs as fast as the data directions beside them."""
    rates = {way.path: way.rate for way in flow.data}
    changes = []
    for way in flow.acks:
        wanted = rates.get(way.path)
        if wanted is not None and way.rate is not None and way.rate < wanted:
            changes.append((f"{way.key}.rate", f"{wanted / 1e6:.15g}Mbit/s"))
    return tuple(changes)


def queued_fairly(ways: Iterable[Way]) -> tuple[Setting, ...]:
    """Queues that serve flows in turn: ACKs do not wait behind the data of others."""
    return tuple((f"{way.key}.queue", "fq_codel") for way in ways)
