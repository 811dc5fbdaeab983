"""Figures in the manner of the originals: ours with intervals, the published points beside them."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ropewalk import reading
from ropewalk.disk import write_whole
from ropewalk.plots.palette import colours
from ropewalk.plots.style import BLACK, Figure, laid_out, legend, say_empty, styled, title
from ropewalk.reproduce.expressions import Evaluator, ExpressionError, parse
from ropewalk.reproduce.model import PROFILE
from ropewalk.reproduce.series import SeriesMetric
from ropewalk.reproduce.tables import TomlFile
from ropewalk.reproduce.values import NoValue, Row, estimate_of
from ropewalk.study.metrics import MetricError
from ropewalk.study.mistakes import (
    UNKNOWN_NAME,
    UNREADABLE,
    WRONG_VALUE,
    did_you_mean,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as Ruler

    from ropewalk.reproduce.expressions import Expression
    from ropewalk.reproduce.model import Reproduction
    from ropewalk.reproduce.sources import StudySource
    from ropewalk.statistics import Estimate
    from ropewalk.study.mistakes import Path as Place

FILE = "figures.toml"
LINES, BARS, TIME = "lines", "bars", "time"
COLOURS = 128
"""Colours of a PNG."""
MARKERS = "osD^vPX*"
SIZE = (7.2, 3.4)
"""Inches."""
NARROW, DECADE = 30.0, 10.0
"""A logarithmic axis shows numbers, not powers, if its ends have a ratio below NARROW; more below DECADE."""
PLAIN = (1e-2, 1e6)
"""Between these, numbers are short."""
WIDEST, NARROWEST = 3.0, 1.0
"""Lines become narrower from curve to curve, so that one beneath another still shows."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis."""

    label: str
    log: bool
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Over:
    """A series of one replication over time."""

    metric: SeriesMetric
    study: str
    levels: tuple[str, ...]
    seed: int
    scale: float
    total: bool
    """Integrates a rate: the total since the start."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line, or the bars of one colour."""

    label: str
    value: Expression | None
    """A row: one item for each place on the x axis."""
    over: Over | None
    x: tuple[float, ...]
    """Where the items stand; empty: where those of the figure do."""
    points: tuple[tuple[float, float], ...]
    """The published points: x and y."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure as `figures.toml` describes it."""

    id: str
    title: str
    kind: str
    x: Axis
    y: Axis
    ticks: tuple[float | str, ...]
    """Places on the x axis, or names of groups of bars."""
    curves: tuple[Curve, ...]
    profile: str
    """The reading that is drawn; empty: the first."""
    studies: frozenset[str]
    """The studies that must have been run to draw it."""
    levels: Mapping[str, Sequence[Sequence[str]]] = field(repr=False)


def load(reproduction: Reproduction) -> list[Drawing]:
    """Reads `figures.toml`; none if there is no such file.

    Raises:
        OSError: a file cannot be read.
        StudyError: it has mistakes.
    """
    path = reproduction.directory / FILE
    return _Reader(path, reproduction).drawings if path.exists() else []


class _Reader(TomlFile):
    def __init__(self, path: Path, reproduction: Reproduction) -> None:
        super().__init__(path, "figures")
        self._reproduction = reproduction
        tables = [table or {} for table in self.root.get("figure", [])]
        self.drawings = [
            self._drawing(("figure", index), table, profile)
            for index, table in enumerate(tables)
            for profile in self._profiles(("figure", index), table)
        ]
        self.mistakes.raise_any()

    def _profiles(self, place: Place, table: dict[str, Any]) -> list[str]:
        """The readings that are drawn, each in a figure of its own; the first of all if nothing is said."""
        known = self._reproduction.profiles or ("",)
        found = table.get("profile", known[0])
        wanted = found if isinstance(found, list) else [found]
        for profile in wanted:
            if profile not in known:
                cure = did_you_mean(str(profile), known)
                self.mistakes.add((*place, "profile"), UNKNOWN_NAME, f'there is no profile "{profile}"', cure)
        return [profile for profile in wanted if profile in known]

    def _drawing(self, place: Place, table: dict[str, Any], drawn: str) -> Drawing:
        levels = self._reproduction.levels(drawn)
        curves = tuple(
            self._curve((*place, "curve", index), curve or {}, levels)
            for index, curve in enumerate(table.get("curve", []))
        )
        several = isinstance(table.get("profile"), list)
        return Drawing(
            id=table.get("id", "") + f"-{drawn}" * several,
            title=table.get("title", "") + f" ({drawn})" * several,
            kind=table.get("kind", LINES),
            x=_axis(table.get("x", {})),
            y=_axis(table.get("y", {})),
            ticks=tuple(table.get("ticks", [])),
            curves=curves,
            profile=drawn,
            studies=frozenset(study for curve in curves for study in self._studies(curve, drawn)),
            levels=levels,
        )

    def _studies(self, curve: Curve, profile: str) -> list[str]:
        quantities = [use.quantity for use in curve.value.uses] if curve.value else []
        series = [curve.over.study.replace(PROFILE, profile)] if curve.over else []
        return [*(self._reproduction.study_of(quantity, profile) for quantity in quantities), *series]

    def _curve(
        self, place: Place, table: dict[str, Any], levels: Mapping[str, Sequence[Sequence[str]]]
    ) -> Curve:
        value = None
        if "value" in table:
            try:
                value = parse(table["value"], levels, check=False)
            except ExpressionError as error:
                self.mistakes.add((*place, "value"), WRONG_VALUE, str(error), error.cure)
        return Curve(
            table.get("label", ""),
            value,
            self._over(place, table) if "series" in table else None,
            tuple(x for x in table.get("x", []) if x is not None),
            self._points((*place, "published"), table.get("published", {})),
        )

    def _over(self, place: Place, table: dict[str, Any]) -> Over | None:
        try:
            metric = SeriesMetric.parse(table["series"], "mean", bin_s=table.get("bin", 0.0))
        except MetricError:
            return None
        study: str = table.get("study", "")
        levels = tuple(table.get("levels", []))
        if None in levels:
            return None
        for profile in self._reproduction.profiles or ("",):
            name = study.replace(PROFILE, profile)
            if name not in self._reproduction.studies:
                cure = did_you_mean(name, self._reproduction.studies)
                self.mistakes.add((*place, "study"), UNKNOWN_NAME, f'there is no study "{name}"', cure)
                return None
            factors = self._reproduction.studies[name].factors
            known = [[level.label for level in factor.levels] for factor in factors]
            if len(levels) != len(known) or any(a not in b for a, b in zip(levels, known, strict=False)):
                wanted = "; ".join(", ".join(labels) for labels in known)
                self.mistakes.add(
                    (*place, "levels"),
                    UNKNOWN_NAME,
                    f"no case has the levels {list(levels)}",
                    f"one of each: {wanted}",
                )
                return None
        seed, scale = table.get("seed", 1), table.get("scale", 1.0)
        return Over(metric, study, levels, seed, scale, table.get("total", False))

    def _points(self, place: Place, table: dict[str, Any]) -> tuple[tuple[float, float], ...]:
        """Published points out of a file, `where` columns have certain values; or `values` in their order."""
        if "values" in table:
            return tuple((x, y) for x, y in enumerate(table["values"]) if y is not None)
        if "file" not in table:
            return ()
        path = self.path.parent / table["file"]
        try:
            rows = list(csv.DictReader(reading.text(path).splitlines(keepends=True)))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self.mistakes.add(
                (*place, "file"),
                UNREADABLE,
                f"{path.name}: {reason}",
                "name a file beside figures.toml",
            )
            return ()
        where = {key: str(value) for key, value in table.get("where", {}).items()}
        x, y = (table.get(axis, "") for axis in ("x", "y"))
        columns = list(rows[0]) if rows else []
        for column in (x, y, *where):
            if column not in columns:
                self.mistakes.add(
                    place,
                    UNKNOWN_NAME,
                    f"{path.name} has no column `{column}`",
                    did_you_mean(column, columns),
                )
                return ()
        chosen = [row for row in rows if all(row[key] == value for key, value in where.items())]
        if not chosen:
            self.mistakes.add(
                (*place, "where"), UNKNOWN_NAME, f"no row of {path.name} fits", f"look at {path}"
            )
        scale: float = table.get("scale", 1.0)
        try:
            return tuple((float(row[x]), float(row[y]) * scale) for row in chosen if row[y] not in {"", "-"})
        except ValueError as error:
            self.mistakes.add(place, WRONG_VALUE, f"{path.name}: {error}", "write numbers there, or nothing")
            return ()


def _axis(table: dict[str, Any]) -> Axis:
    return Axis(table.get("label", ""), table.get("log", False), table.get("from"), table.get("to"))


@styled
def draw(drawing: Drawing, sources: Mapping[str, StudySource]) -> Figure:
    """The figure. A curve without values is left out, and a figure without any says so."""
    source = sources.get(drawing.profile) or next(iter(sources.values()))
    evaluator = Evaluator(source, drawing.levels)
    made = Figure(figsize=SIZE, dpi=150, layout="constrained")
    FigureCanvasAgg(made)
    title(made, drawing.title)
    axes = made.subplots()
    palette = colours(len(drawing.curves))
    drawn = 0
    for index, curve in enumerate(drawing.curves):
        colour = palette[index]
        try:
            if curve.over is not None:
                _time(axes, drawing, index, source, colour)
            elif curve.value is not None:
                estimates = _estimates(evaluator, curve.value)
                (_bars if drawing.kind == BARS else _line)(axes, drawing, index, estimates, colour)
            _published(axes, drawing, curve, index, colour)
            drawn += 1
        except NoValue:
            # Without this a reader would look for the curve in vain.
            axes.plot([], [], linestyle="none", label=f"{curve.label}: a case has no value")
    if not drawn:
        say_empty(axes, "no run has these values")
    _axes(axes, drawing)
    return made


def _estimates(evaluator: Evaluator, value: Expression) -> list[Estimate]:
    found = evaluator.value(value.tree)
    return [estimate_of(item) for item in (found.items if isinstance(found, Row) else (found,))]


def _line(axes: Axes, drawing: Drawing, index: int, found: list[Estimate], colour: Any) -> None:  # noqa: ANN401
    curve = drawing.curves[index]
    places = curve.x or tuple(float(tick) for tick in drawing.ticks if not isinstance(tick, str))
    xs = list(places)[: len(found)] if places else [float(place) for place in range(len(found))]
    axes.errorbar(
        xs,
        [one.mean for one in found],
        yerr=_half_widths(found),
        color=colour,
        marker=MARKERS[index % len(MARKERS)],
        markersize=4,
        linewidth=_width(drawing, index),
        capsize=2,
        label=curve.label,
    )


def _bars(axes: Axes, drawing: Drawing, index: int, found: list[Estimate], colour: Any) -> None:  # noqa: ANN401
    width = 0.8 / len(drawing.curves)
    xs = [place - 0.4 + (index + 0.5) * width for place in range(len(found))]
    errors = _half_widths(found)
    label = drawing.curves[index].label
    axes.bar(xs, [one.mean for one in found], width * 0.9, yerr=errors, color=colour, capsize=2, label=label)


def _half_widths(found: list[Estimate]) -> list[float]:
    """Half widths of the intervals; a single replication has none, and no caps are drawn for it."""
    return [math.nan if one.ci95 is None else one.ci95 for one in found]


def _time(axes: Axes, drawing: Drawing, index: int, source: StudySource, colour: Any) -> None:  # noqa: ANN401
    curve = drawing.curves[index]
    over = curve.over
    if over is None:
        return
    times, values = source.series(over.metric, over.study, over.levels, over.seed)
    if over.total:
        starts = [0.0, *times[:-1]]
        values = list(
            accumulate(v * (end - start) for v, start, end in zip(values, starts, times, strict=True))
        )
    scaled = [value * over.scale for value in values]
    axes.plot(times, scaled, color=colour, linewidth=_width(drawing, index), label=curve.label)


def _width(drawing: Drawing, index: int) -> float:
    return WIDEST - (WIDEST - NARROWEST) * index / max(1, len(drawing.curves) - 1)


def _published(axes: Axes, drawing: Drawing, curve: Curve, index: int, colour: Any) -> None:  # noqa: ANN401
    """Hollow marks, beside the bars or joined by dashes."""
    if not curve.points:
        return
    xs, ys = [x for x, _ in curve.points], [y for _, y in curve.points]
    ours = curve.value is not None or curve.over is not None
    label = curve.label or "published" if not ours else None
    if drawing.kind == BARS:
        width = 0.8 / len(drawing.curves)
        xs = [place - 0.4 + (index + 0.5) * width for place in range(len(ys))]
        axes.plot(
            xs,
            ys,
            "D",
            markersize=5,
            markerfacecolor="white",
            markeredgecolor=BLACK,
            zorder=5,
            clip_on=_passes(drawing.y, ys),
            label=_once(axes, "published"),
        )
        return
    if drawing.kind == TIME:
        # Without marks it is told from the others by its colour alone: each has its entry in the legend.
        label = f"{curve.label}, published" if ours else label
        axes.plot(xs, ys, "--", color=colour, linewidth=1.0, alpha=0.8, label=label)
    else:
        if ours and _once(axes, "published"):
            # Published curves have the colours and marks of ours: the legend has one entry for all.
            axes.plot(
                [],
                [],
                "--",
                marker="o",
                markersize=5,
                markerfacecolor="white",
                color=BLACK,
                label="published",
            )
        marker = MARKERS[index % len(MARKERS)]
        axes.plot(
            xs,
            ys,
            "--",
            marker=marker,
            markersize=5,
            markerfacecolor="white",
            color=colour,
            alpha=0.8,
            label=label,
        )


def _passes(axis: Axis, values: Sequence[float]) -> bool:
    """Whether a value is beyond an end that the axis is given; a mark on the end itself is drawn whole."""
    low = -math.inf if axis.low is None else axis.low
    high = math.inf if axis.high is None else axis.high
    return not all(low <= value <= high for value in values)


def _once(axes: Axes, label: str) -> str | None:
    """The label, unless the legend has it."""
    return None if label in axes.get_legend_handles_labels()[1] else label


def _axes(axes: Axes, drawing: Drawing) -> None:
    axes.set_xlabel(drawing.x.label)
    axes.set_ylabel(drawing.y.label)
    if drawing.x.log:
        axes.set_xscale("log")
    if drawing.y.log:
        axes.set_yscale("log")
    if drawing.kind == BARS or any(isinstance(tick, str) for tick in drawing.ticks):
        axes.set_xticks(range(len(drawing.ticks)), [str(tick) for tick in drawing.ticks])
    axes.set_xlim(left=drawing.x.low, right=drawing.x.high)
    axes.set_ylim(bottom=drawing.y.low, top=drawing.y.high)
    for axis, scale in ((axes.xaxis, drawing.x), (axes.yaxis, drawing.y)):
        if scale.log:
            _plain_numbers(axis)
    legend(axes)


def _plain_numbers(axis: Ruler) -> None:
    """Numbers instead of powers on a logarithmic axis of few of them."""
    low, high = axis.get_view_interval()
    if not (high / low < NARROW and PLAIN[0] <= low and high <= PLAIN[1]):
        return
    subs = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if high / low < DECADE else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def write(
    drawings: Sequence[Drawing], sources: Mapping[str, StudySource], directory: Path, suffix: str = "png"
) -> list[Path]:
    """Draws all figures that can be drawn from what was run.

    Returns:
        the files, `ID.SUFFIX`.

    Raises:
        OSError: they could not be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for drawing in drawings:
        files.append(directory / f"{drawing.id}.{suffix}")
        made = draw(drawing, sources)
        with laid_out(made):
            content = io.BytesIO()
            if suffix == "png":
                _save_small(made, content)
            else:
                made.savefig(content, format=suffix)
            write_whole(files[-1], content.getvalue(), lasting=False)
    return files


def _save_small(made: Figure, to: io.BytesIO) -> None:
    """With few colours: a third of the bytes, which counts where a page holds a hundred of them.

    The file has neither a date nor the version of a library, so that the same figure is the same bytes.
    """
    from PIL import Image

    canvas = FigureCanvasAgg(made)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = Image.fromarray(np.asarray(canvas.buffer_rgba()))  # type: ignore[no-untyped-call]
    pixels.convert("RGB").quantize(COLOURS).save(to, format="PNG", optimize=True)
