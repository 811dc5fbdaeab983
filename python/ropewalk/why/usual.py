"""Settings of a transport that are not those of its profile."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from ropewalk import _core
from ropewalk.facts import kind, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ropewalk.facts import Flow
    from ropewalk.why.model import Cause


SUSPECTS: Mapping[Cause, tuple[str, ...]] = {
    "receive_window": ("receive_buffer", "receive_buffer_max", "window_scaling", "flight_limit"),
    "send_buffer": ("send_buffer", "send_buffer_max", "unsent_limit"),
    "scheduler": ("scheduler",),
    "slow_start": ("initial_window", "initial_ssthresh", "slow_start_limit"),
    "pacing": ("pacing",),
    "coupled": ("congestion",),
    "ack_path": ("ack_every", "ack_delay", "quick_acks", "acks_per_rtt"),
}
"""Cause to the settings behind it."""
RESTORED: Mapping[Cause, tuple[str, ...]] = {
    "ack_path": SUSPECTS["ack_path"],
    "loss": ("sack", "recovery", "prr", "dupthresh", "limited_transmit", "rto_min"),
    "handshake": ("rto_initial",),
    "path_down": ("rto_max",),
    "application": ("nagle", "minshall"),
}
"""Cause to settings that no other row changes."""


def unusual(flow: Flow, keys: Iterable[str]) -> dict[str, str]:
    """Keys with another value than in the profile of the flow, and the value of the profile."""
    usual = _profiles().get(str(flow.transport.get("profile")), {})
    found = {}
    for key in keys:
        default = usual.get(f"mptcp.{key}", usual.get(key)) if flow.is_mptcp else usual.get(key)
        own = flow.transport.get(key)
        if own is not None and default is not None and _value(own) != _value(default):
            found[key] = default
    return found


def _value(setting: object) -> object:
    return quantity(setting) or kind(setting).lower()


@functools.cache
def _profiles() -> dict[str, dict[str, Any]]:
    """Profile to its values, quantities as text."""
    listed = json.loads(_core.catalogue())["profiles"]
    return {one["name"]: {key: _word(value) for key, value in one["values"].items()} for one in listed}


def _word(value: str) -> str:
    return value[1:-1] if value.startswith('"') else value
