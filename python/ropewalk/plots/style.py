"""How matplotlib draws our charts: size, type, legends."""

from __future__ import annotations

import functools
import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib import figure
from matplotlib.lines import Line2D

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

P = ParamSpec("P")
T = TypeVar("T")

BLACK = "#1A1A1A"
GREY = "#C4C4C4"
WIDTH = 7.2
PANEL_HEIGHT = 2.7
STRIP_HEIGHT = 0.16
MAX_EVENT_LABELS = 8
LEGEND_ROWS = 12
MAX_LEGEND = 24
NAMED = 7
"""Entries that a legend with more than `MAX_LEGEND` names; it counts the others, since data need room."""
MAX_LEVELS = 24
"""Names of levels below a plot."""
LEVEL_CHARACTERS = 80
"""The width available below the narrowest plot."""

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "figure.titlesize": 10,
    "figure.titleweight": "bold",
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.title_fontsize": 8,
    "lines.linewidth": 1.3,
    "pdf.fonttype": 42,
    # The same figure is the same file.
    "svg.hashsalt": "ropewalk",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


class Figure(figure.Figure):
    """A matplotlib figure that a notebook shows without pyplot, which takes long to load."""

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        with laid_out(self):
            self.savefig(data, format="png")
        return data.getvalue()


@contextmanager
def laid_out(figure: Figure) -> Iterator[None]:
    """Finds the layout of the figure once, for every file that is saved in this context.

    Otherwise each `savefig` draws the figure twice: the first time only to find its layout.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    # Without an engine, and without the one that the settings would put in its place.
    with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def title(figure: Figure, text: str) -> None:
    """Above all panels, in as many lines as it takes."""
    # Wrapped text may be a formula, whatever the settings say.
    plain = text.replace("$", r"\$")
    figure.suptitle(plain, x=0.01, ha="left", wrap=True, parse_math=True)


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Draws in our style and leaves the user's settings alone."""

    @functools.wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return wrapped


def legend(axes: Axes, title: str | None = None, entries: Sequence[Line2D] = ()) -> None:
    """Beside the data, never on it; one thing alone is named by the title of its panel.

    Args:
        axes: where.
        title: above it.
        entries: instead of what is drawn.
    """
    handles: list[Artist] = list(entries)
    labels = [str(entry.get_label()) for entry in entries]
    if not entries:
        handles, labels = axes.get_legend_handles_labels()
    if len(handles) > 1 or (title and handles):
        lines = [place for place, handle in enumerate(handles) if isinstance(handle, Line2D)]
        if len(handles) > MAX_LEGEND and 0 < len(lines) < len(handles):
            # Lines stand for all areas together.
            areas = [place for place in range(len(handles)) if place not in lines]
            chosen = [*lines, *areas[:NAMED]]
            handles = [*(handles[place] for place in chosen), Line2D([], [], linestyle="none")]
            labels = [*(labels[place] for place in chosen), f"and {len(areas) - NAMED} more"]
        elif len(handles) > MAX_LEGEND:
            # Shades go from the first level to the last one.
            last = len(handles) - 1
            named = [round(place * last / (NAMED - 1)) for place in range(NAMED)] if entries else range(NAMED)
            rest = f"and {len(labels) - NAMED} {'between' if entries else 'more'}"
            handles = [*(handles[place] for place in named), Line2D([], [], linestyle="none")]
            labels = [*(labels[place] for place in named), rest]
        columns = -(-len(handles) // LEGEND_ROWS)
        axes.legend(
            handles,
            labels,
            title=title,
            alignment="left",
            loc="upper left",
            bbox_to_anchor=(1.005, 1.02),
            ncols=columns,
        )


def name_levels(axes: Axes, levels: Sequence[str]) -> None:
    """Below 0, 1, 2 and so on; names that would run into each other are turned, and of many some left out."""
    step = -(-len(levels) // MAX_LEVELS)
    shown = levels[::step]
    axes.set_xticks(range(0, len(levels), step), shown)
    if len(shown) * (max(map(len, shown)) + 1) > LEVEL_CHARACTERS:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")


def mark_events(axes: list[Axes], events: list[tuple[float, str, str]]) -> None:
    """A line through all panels at each change of a link, and what it is above the first."""
    for panel in axes:
        for at_s, _, _ in events:
            panel.axvline(at_s, color="0.45", linestyle=":", linewidth=0.9, zorder=1)
    if 0 < len(events) <= MAX_EVENT_LABELS:
        labels = axes[0].secondary_xaxis("top")
        labels.set_xticks(
            [at_s for at_s, _, _ in events],
            [f"{links} {what}" for _, links, what in events],
            rotation=20,
            ha="left",
            fontsize=7,
            color="0.35",
        )
        labels.tick_params(length=0, pad=1)
        labels.spines["top"].set_visible(False)


def say_empty(axes: Axes, text: str) -> None:
    """Instead of an empty panel."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="0.4")
