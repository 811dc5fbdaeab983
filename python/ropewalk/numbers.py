"""Numbers as people read them."""

from __future__ import annotations


def figure(value: float, digits: int = 3) -> str:
    """A few significant digits; an exponent only below one."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text and abs(value) >= 1 else text
