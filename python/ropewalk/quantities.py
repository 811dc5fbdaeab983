"""Units of scenarios, and the number of a value with one of them, for what Python computes itself."""

from __future__ import annotations

import re

BITS_PER_S = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
LIMITS = {"p": 1.0, **BYTES, "BDP": 1.0}
"""Units of queue limits: packets, bytes, products of bandwidth and delay."""
NUMBER = re.compile(r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*(\S*)")
"""A number and what stands behind it."""


def quantity(text: str, units: dict[str, float]) -> float:
    """The number in `text`, a value with one of these units.

    Raises:
        ValueError: it is none.
    """
    match = NUMBER.fullmatch(text.strip())
    if match is None or match[2] not in units:
        raise ValueError(f'found "{text}"; units: {", ".join(units)}')
    return float(match[1]) * units[match[2]]
