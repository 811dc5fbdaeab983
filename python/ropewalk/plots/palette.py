"""Colours, dashes and symbols that are told apart with any colour vision, on white and on dark."""

from __future__ import annotations

import functools

# Okabe and Ito 2008, the yellow left out, which is too pale on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")

ROUNDS = (("solid", ""), ("dash", "/"), ("dashdot", "x"), ("longdash", "."))
"""Dashes of lines and patterns of areas for what has its colour in common with something before it."""

LIMITS = {
    "application": "#E3E3E3",
    "congestion window": "#A9C8DC",
    "receive window": "#8A4B08",
    "send buffer": "#F29C8E",
    "pacing": "#2AB7B0",
    "scheduler": "#7C8B1F",
    "recovery": "#7B5EA7",
    "handshake": "#F0E442",
    "path down": "#3A3A3A",
    "connection failed": "#8C1D18",
}
"""Colours of the limits in the ribbon under a plot, none of them of a subflow; pale ones are no problem."""


def looks(count: int) -> list[tuple[str, str, str]]:
    """Colour, dash and pattern of as many things without an order; no two look the same up to 28."""
    rounds = [ROUNDS[index // len(PALETTE) % len(ROUNDS)] for index in range(count)]
    return [(PALETTE[index % len(PALETTE)], *rounds[index]) for index in range(count)]


@functools.cache
def colours(count: int) -> tuple[str, ...]:
    """As many colours as there are things to tell apart; many are shades from low to high."""
    if count <= len(PALETTE):
        return PALETTE[:count]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    shades = colormaps["cividis"]
    return tuple(to_hex(shades(index / (count - 1))) for index in range(count))
