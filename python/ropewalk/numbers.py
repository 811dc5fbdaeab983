"""Numbers as people read them."""

from __future__ import annotations

import math

LEAST = 0.001
"""Smaller numbers are of no use in the units of tables and plots."""


def count(number: int, what: str) -> str:
    """As in `1 replication`, `20 replications`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def percent(share: float) -> str:
    """As in `28 %`, of a share from 0 to 1."""
    return f"{100 * share:.0f} %"


def figure(value: float, digits: int = 3) -> str:
    """A few significant digits; a bound for what is next to nothing."""
    if value == 0:
        return "0"
    if abs(value) < LEAST:
        return f"<{LEAST}" if value > 0 else f">-{LEAST}"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text


def interval(mean: float, half_width: float | None, between: str = " ± ", *, narrow: bool = False) -> str:
    """Mean and half width of its interval, of which two significant digits are shown.

    Args:
        mean: in the unit in which it is shown.
        half_width: None: there is none.
        between: what stands between them.
        narrow: no more decimals than three digits of the mean take, or two; for columns with little room.
    """
    if half_width is None or 0 < max(abs(mean), half_width) < LEAST:
        return figure(mean)
    if half_width == 0:
        return f"{figure(mean)}{between}0"
    if half_width < LEAST:
        # Three digits of the mean, and as many decimals of what is next to nothing.
        places = max(2 - math.floor(math.log10(abs(mean))), 0)
        return f"{mean:.{places}f}{between}{half_width:.{places}f}"
    places = max(1 - math.floor(math.log10(half_width)), 0)
    if narrow:
        places = min(places, max(2 - math.floor(math.log10(abs(mean))) if mean else 0, 2))
    return f"{mean:.{places}f}{between}{half_width:.{places}f}"
