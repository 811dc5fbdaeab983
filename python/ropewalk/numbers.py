"""Numbers as people read them."""

from __future__ import annotations

LEAST = 0.001
"""What is nearer to nothing is of no use in the units of tables and plots."""


def count(number: int, what: str) -> str:
    """As in `1 replication`, `20 replications`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def figure(value: float, digits: int = 3) -> str:
    """A few significant digits; a bound for what is next to nothing."""
    if value == 0:
        return "0"
    if abs(value) < LEAST:
        return f"<{LEAST}" if value > 0 else f">-{LEAST}"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text else text
