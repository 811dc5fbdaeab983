"""How figures are written in verdicts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ropewalk.statistics import Estimate

DIGITS = 4
LARGE = 1e6
SMALL = 1e-3


def number(value: float, digits: int = DIGITS) -> str:
    """A few significant digits; an exponent only where there would be many noughts."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if SMALL <= math.fabs(value) < LARGE:
        places = max(0, digits - 1 - math.floor(math.log10(math.fabs(value))))
        text = f"{value:.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.{digits - 1}e}"


def shown(estimate: Estimate, unit: str, name: str = "") -> str:
    """`NAME: MEAN ± HALF_WIDTH UNIT`."""
    spread = "" if estimate.ci95 is None or estimate.n == 1 else f" ± {number(estimate.ci95, 2)}"
    return f"{name}: " * bool(name) + number(estimate.mean) + spread + f" {unit}" * bool(unit)
