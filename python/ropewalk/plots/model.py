"""The content of a figure, without its drawing: matplotlib and plotly draw the same charts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ropewalk.statistics import Box

    Reals: TypeAlias = NDArray[np.float64]

INK = "ink"
"""The colour of text: black on paper, light on a dark screen."""
QUIET = "quiet"
"""A grey that stays in the background."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a chart. `title` has the unit in parentheses."""

    title: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    levels: tuple[str, ...] = ()
    """Categories instead of numbers."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve, in the units of the axes."""

    name: str
    x: Reals
    y: Reals
    colour: str = INK
    dash: str = "solid"
    """`solid`, `dash`, `dashdot` or `dot`."""
    steps: bool = False
    """Each value holds until the next one."""
    width: float = 1.3
    legend: bool = True
    case: str = ""
    """The case of a study that it tells of."""


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two curves."""

    name: str
    x: Reals
    low: Reals
    high: Reals
    colour: str = QUIET


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers on top of each other, constant between edges; each layer has one value per edge."""

    names: list[str]
    colours: list[str]
    patterns: list[str]
    """Nothing, or `/`, `x`, `.` on the colour."""
    edges: Reals
    layers: list[Reals]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Box plots of one colour, side by side with those of the other colours at each level of the x axis."""

    name: str
    colour: str
    at: list[str]
    """Levels of the x axis."""
    boxes: list[Box]
    cases: list[str]


@dataclass(frozen=True, slots=True)
class Points:
    """Means with the ellipse in which they may lie."""

    name: str
    x: float
    y: float
    colour: str
    symbol: str
    """`circle`, `square`, `diamond`, `triangle-up`, `cross`, `x`."""
    ellipse: tuple[Reals, Reals] | None
    case: str
    text: str
    """Text that is shown when the pointer is over it."""
    size: float = 1.0
    """Times the usual size."""
    label: str = ""
    """Its name beside it, where there are few."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A heat map: rows from top to bottom."""

    rows: list[str]
    columns: list[str]
    values: Reals
    """NaN where there is no case."""
    texts: list[list[str]]
    """Value and interval, for the cell."""
    groups: list[list[str]]
    """Letters: cells that share one do not differ."""
    cases: list[list[str]]
    unit: str
    reverse: bool
    """Small values are good ones. Good ones are bright."""
    label: str = ""
    """The quantity and its unit, for the colour bar."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar with its interval for each level, and the samples that it is the mean of as dots."""

    at: list[str]
    """Levels of the x axis."""
    means: list[float]
    half_widths: list[float]
    """Half widths of the 95 % intervals; 0: there is none."""
    samples: list[list[float]]
    colours: list[str]
    levels: list[tuple[str, float, str]]
    """Lines through the whole panel: (name, value, dash)."""


Mark: TypeAlias = Line | Band | Stack | Boxes | Points | Cells | Bars


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of the ribbon under a plot over time: spans in which something was so."""

    name: str
    spans: list[tuple[float, float, str]]
    """From, to (s), and what was so."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of a chart, with axes of its own."""

    title: str
    marks: list[Mark] = field(default_factory=list)
    empty: str = "nothing to show"
    """The text in place of marks, where there are none."""
    strips: list[Strip] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure: panels that share their scales."""

    key: str
    """For file names."""
    heading: str
    """The title without the scenario."""
    title: str
    """The title with the scenario."""
    x: Axis
    y: Axis
    panels: list[Panel]
    events: list[tuple[float, str, str]] | None = None
    """Changes of links in a plot over time: (s, links, what happens)."""
    legend_title: str | None = None
    caption: str = ""
    """How to read it."""
    keys: list[tuple[str, str, str]] = field(default_factory=list)
    """Legend of colours and dashes (or symbols) that have meanings of their own: (name, colour, dash)."""
