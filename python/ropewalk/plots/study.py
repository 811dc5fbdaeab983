"""Charts of a study: what became of a metric in its cases."""

from __future__ import annotations

import itertools
import math
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ropewalk import numbers, statistics
from ropewalk.plots import words
from ropewalk.plots.model import INK, Axis, Boxes, Cells, Chart, Line, Panel, Points
from ropewalk.plots.palette import DASHES, PALETTE, SYMBOLS, colours

if TYPE_CHECKING:
    from ropewalk.plots.model import Reals
    from ropewalk.study.manifest import CaseEntry
    from ropewalk.study.metrics import Metric
    from ropewalk.study.results import StudyResults

MAX_PANELS = 12
MAX_COMPARED = 64
"""Cells of a heat map up to which all pairs are compared."""
MAX_CURVE = 200
"""Steps of a curve of a distribution."""
ENOUGH = 3
"""Replications for an ellipse."""
FEW = 6
"""Cases that can share a panel; more are divided among panels."""
MAX_LABELS = 14
"""Points of a panel that have their names beside them."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which factors are panels of their own, which one is rows and colour, which one columns and dash."""

    panels: list[str]
    first: str | None
    """Rows of a heat map; colour elsewhere."""
    second: str | None
    """Columns of a heat map; dash or symbol elsewhere."""
    levels: dict[str, list[str]]

    @classmethod
    def of(cls, results: StudyResults) -> Layout:
        """The two factors with the most levels span the heat map; the later ones among equals."""
        levels = results.manifest.factors
        order = sorted(levels, key=lambda name: (len(levels[name]), list(levels).index(name)))
        chosen = [name for name in levels if name in order[-2:]]
        rest = [name for name in levels if name not in chosen]
        second = chosen.pop() if len(chosen) > 1 else None
        return cls(rest, chosen[0] if chosen else None, second, levels)

    def groups(self, cases: list[CaseEntry]) -> list[tuple[str, list[CaseEntry]]]:
        """The cases of each panel, with its title."""
        found: dict[str, list[CaseEntry]] = {}
        for case in cases:
            title = ", ".join(f"{name} {case.levels[name]}" for name in self.panels)
            found.setdefault(title, []).append(case)
        return list(found.items())[:MAX_PANELS]

    def environment(self, baseline: dict[str, str] | None) -> str | None:
        """The factor of the heat map that the baseline leaves open, if it names the other one."""
        named = [name for name in (self.first, self.second) if name in (baseline or {})]
        others = [name for name in (self.first, self.second) if name not in named]
        return others[0] if len(named) == 1 and len(others) == 1 else None

    def compared(self, cases: list[CaseEntry], baseline: dict[str, str] | None) -> list[list[CaseEntry]]:
        """Cases that are alternatives: those under the same level of the environment, if there is one."""
        environment = self.environment(baseline)
        if environment is None:
            return [cases]
        found: dict[str, list[CaseEntry]] = {}
        for case in cases:
            found.setdefault(case.levels[environment], []).append(case)
        return list(found.values())

    def divided(self, baseline: dict[str, str] | None) -> Layout:
        """Many cases: with a panel for each level of a factor, the environment if there is one."""
        if self.first is None or self.second is None:
            return self
        first, second = len(self.levels[self.first]), len(self.levels[self.second])
        apart = self.environment(baseline) or (self.first if first <= second else self.second)
        panels = [*self.panels, apart]
        if first * second <= FEW or math.prod(len(self.levels[name]) for name in panels) > MAX_PANELS:
            return self
        return Layout(panels, self.second if apart == self.first else self.first, None, self.levels)

    def colour(self, case: CaseEntry) -> str:
        """By the level of the first factor."""
        if self.first is None:
            return PALETTE[0]
        levels = self.levels[self.first]
        return colours(len(levels))[levels.index(case.levels[self.first])]

    def rank(self, case: CaseEntry) -> int:
        """Place of the level of the second factor."""
        return 0 if self.second is None else self.levels[self.second].index(case.levels[self.second])

    def keys(self, shapes: tuple[str, ...]) -> list[tuple[str, str, str]]:
        """The legend: colours, then shapes."""
        found: list[tuple[str, str, str]] = []
        if self.first is not None:
            levels = self.levels[self.first]
            shape = "solid" if shapes == DASHES else shapes[0]
            found += [(name, tone, shape) for name, tone in zip(levels, colours(len(levels)), strict=True)]
        if self.second is not None:
            found += [
                (name, INK, shapes[rank % len(shapes)]) for rank, name in enumerate(self.levels[self.second])
            ]
        return found

    def note(self, cases: list[CaseEntry]) -> str:
        """How many panels were left out."""
        number = len({tuple(case.levels[name] for name in self.panels) for case in cases})
        return f" The first {MAX_PANELS} of {number} panels." if number > MAX_PANELS else ""


def of_metric(results: StudyResults, metric: Metric) -> list[Chart]:
    """Heat map (with two factors or more), box plots, distribution."""
    layout = Layout.of(results)
    found = [heat_map(results, metric)] if layout.second is not None else []
    return [*found, boxes(results, metric), distribution(results, metric)]


def _key(results: StudyResults, kind: str, metric: Metric) -> str:
    plain = "".join(letter if letter.isalnum() or letter == "." else "-" for letter in metric.text)
    return f"{kind}-{results.manifest.metrics.index(metric) + 1}-{plain.strip('-')}"


def heat_map(results: StudyResults, metric: Metric) -> Chart:
    """Means over the two factors with the most levels; letters say which cells do not differ."""
    layout = Layout.of(results)
    assert layout.first is not None, "two factors are needed"  # noqa: S101
    assert layout.second is not None, "two factors are needed"  # noqa: S101
    samples = results.samples(metric.text)
    panels = []
    for title, cases in layout.groups(results.manifest.cases):
        panel = Panel(title, empty="no run has a value")
        letters: dict[str, str] = {}
        for group in layout.compared(cases, results.manifest.baseline):
            letters |= _letters(results, metric, [case.case for case in group if samples[case.case]])
        cells = _cells(layout, cases, samples, letters, metric)
        if np.isfinite(cells.values).any():
            panel.marks.append(cells)
        panels.append(panel)
    return Chart(
        key=_key(results, "heat-map", metric),
        heading=f"Heat map: {words.metric(metric)}",
        title=f"{words.axis(metric)}: {results.manifest.name}",
        x=Axis(layout.second, levels=tuple(layout.levels[layout.second])),
        y=Axis(layout.first, levels=tuple(layout.levels[layout.first])),
        panels=panels,
        caption=_about_letters(results, metric, layout) + layout.note(results.manifest.cases),
    )


def _about_letters(results: StudyResults, metric: Metric, layout: Layout) -> str:
    first = "is the best group" if metric.wanted else "is that of the largest mean"
    t = results.manifest.treatment
    test = "signed-rank tests" if t.test == "wilcoxon" else "t tests"
    correction = " with Holm's correction" if t.correction == "holm" else ""
    environment = layout.environment(results.manifest.baseline)
    where = "of a panel" if environment is None else f"with the same {environment}"
    shades = "Bright is good, dark is bad." if metric.wanted else "Bright is large, dark is small."
    return (
        f"{shades} Mean ± half width of the 95 % interval. Cells {where} that share a letter do not differ "
        f"(paired {test} of all pairs{correction}, {t.alpha:g}); a {first}. "
        f"Above {MAX_COMPARED} cells only those of this group are marked."
    )


def _letters(results: StudyResults, metric: Metric, cases: list[str]) -> dict[str, str]:
    """Case to the letters of its groups."""
    if not cases:
        return {}
    groups = (
        results.alike(metric.text, cases) if len(cases) <= MAX_COMPARED else [best(results, metric, cases)]
    )
    # The groups come with the largest mean first.
    if metric.wanted < 0 and len(groups) > 1:
        groups = groups[::-1]
    found = dict.fromkeys(cases, "")
    for group, letter in zip(groups, string.ascii_letters, strict=False):
        for case in group:
            found[case] += letter
    return found


def best(results: StudyResults, metric: Metric, cases: list[str]) -> list[str]:
    """The best case and those that do not differ from it, by paired tests against it."""
    samples = results.samples(metric.text)
    sign = metric.wanted or 1
    first = max(cases, key=lambda case: sign * math.fsum(samples[case].values()) / len(samples[case]))
    others = [case for case in cases if case != first]
    t = results.manifest.treatment
    found = [statistics.paired(samples[case], samples[first], t.test) for case in others]
    raw = [1.0 if pair is None or pair.p is None else pair.p for pair in found]
    ps = statistics.holm(raw) if t.correction == "holm" else raw
    return [first, *(case for case, p in zip(others, ps, strict=True) if p >= t.alpha)]


def _cells(
    layout: Layout,
    cases: list[CaseEntry],
    samples: dict[str, dict[int, float]],
    letters: dict[str, str],
    metric: Metric,
) -> Cells:
    unit, scale = metric.unit
    assert layout.first is not None  # noqa: S101
    assert layout.second is not None  # noqa: S101
    rows, columns = layout.levels[layout.first], layout.levels[layout.second]
    values = np.full((len(rows), len(columns)), np.nan)
    texts = [[""] * len(columns) for _ in rows]
    groups = [[""] * len(columns) for _ in rows]
    names = [[""] * len(columns) for _ in rows]
    for case in cases:
        row, column = rows.index(case.levels[layout.first]), columns.index(case.levels[layout.second])
        names[row][column] = case.case
        found = statistics.estimate(samples[case.case].values())
        if found is not None:
            values[row, column] = found.mean / scale
            width = None if found.ci95 is None else found.ci95 / scale
            texts[row][column] = words.interval(found.mean / scale, width)
            groups[row][column] = letters.get(case.case, "")
    return Cells(rows, columns, values, texts, groups, names, unit, metric.wanted < 0, words.axis(metric))


def boxes(results: StudyResults, metric: Metric) -> Chart:
    """Box plots over replications: one factor along the axis, one as colour."""
    layout = Layout.of(results)
    samples, scale = results.samples(metric.text), metric.unit[1]
    # With one factor its levels are the axis, and colours would say the same again.
    along = layout.second or layout.first
    panels = []
    for title, cases in layout.groups(results.manifest.cases):
        panel = Panel(title, empty="no run has a value")
        by_name: dict[str, list[CaseEntry]] = {}
        for case in cases:
            name = case.levels[layout.first] if layout.first and layout.second else metric.text
            by_name.setdefault(name, []).append(case)
        for name, own in by_name.items():
            there = [case for case in own if samples[case.case]]
            found = [statistics.box([v / scale for v in samples[case.case].values()]) for case in there]
            at = [case.levels[along] if along else case.case for case in there]
            colour = layout.colour(own[0]) if layout.second else PALETTE[0]
            numbers = [box for box in found if box is not None]
            if numbers:
                panel.marks.append(Boxes(name, colour, at, numbers, [case.case for case in there]))
        panels.append(panel)
    levels = layout.levels[along] if along else [case.case for case in results.manifest.cases]
    keys = [key for key in layout.keys(DASHES) if key[1] != INK] if layout.second else []
    return Chart(
        key=_key(results, "boxes", metric),
        heading=f"Spread over replications: {words.metric(metric)}",
        title=f"{words.axis(metric)}: {results.manifest.name}",
        x=Axis(along or "case", levels=tuple(levels)),
        y=Axis(words.axis(metric)),
        panels=panels,
        legend_title=layout.first if layout.second else None,
        caption="Box: quartiles and median; whiskers end at the last value within 1.5 box heights; dots lie "
        "beyond." + layout.note(results.manifest.cases),
        keys=keys,
    )


def distribution(results: StudyResults, metric: Metric) -> Chart:
    """Cumulative distribution over replications, case by case."""
    layout = Layout.of(results).divided(results.manifest.baseline)
    samples, scale = results.samples(metric.text), metric.unit[1]
    panels = []
    for title, cases in layout.groups(results.manifest.cases):
        panel = Panel(title, empty="no run has a value")
        for case in cases:
            values = np.sort(np.array(list(samples[case.case].values()))) / scale
            if len(values):
                x, y = _curve(values)
                dash = DASHES[layout.rank(case) % len(DASHES)]
                line = Line(case.case, x, y, layout.colour(case), dash, steps=True, case=case.case)
                panel.marks.append(line)
        panels.append(panel)
    title = ", ".join(filter(None, [layout.first, layout.second]))
    return Chart(
        key=_key(results, "cdf", metric),
        heading=f"Distribution over replications: {words.metric(metric)}",
        title=f"{words.metric(metric)}, distribution over replications: {results.manifest.name}",
        x=Axis(words.axis(metric)),
        y=Axis("share of replications", low=0.0, high=1.02),
        panels=panels,
        legend_title=title or None,
        caption="Empirical: a step per replication." + layout.note(results.manifest.cases),
        keys=layout.keys(DASHES),
    )


def _curve(values: Reals) -> tuple[Reals, Reals]:
    """Steps from zero to one, at most `MAX_CURVE` of them."""
    if len(values) > MAX_CURVE:
        shares = np.linspace(0.0, 1.0, MAX_CURVE)
        return np.quantile(values, shares, method="inverted_cdf"), shares
    shares = np.arange(len(values) + 1) / len(values)
    return np.concatenate([values[:1], values]), shares


def flows(results: StudyResults) -> list[str]:
    """Flows that have a delay, baselines left out."""
    table = results.flows
    if table.is_empty():
        return []
    own = table.filter(~pl.col("flow").str.contains("@", literal=True) & pl.col("delay_p95_s").is_not_null())
    names: list[str] = own["flow"].unique(maintain_order=True).to_list()
    return names


def tradeoff(results: StudyResults, flow: str) -> Chart:
    """Goodput against p95 delay: means of the cases with 95 % ellipses of the means."""
    layout = Layout.of(results).divided(results.manifest.baseline)
    rows = results.flows.filter(pl.col("flow") == flow).select("case", "goodput_bit_s", "delay_p95_s")
    of_case = {
        one["case"][0]: one.drop_nulls().select("goodput_bit_s", "delay_p95_s").to_numpy()
        for one in rows.partition_by("case", maintain_order=True)
    }
    panels = []
    groups = layout.groups(results.manifest.cases)
    named = max((len(cases) for _, cases in groups), default=0) <= MAX_LABELS
    for title, cases in groups:
        panel = Panel(title, empty="the flow delivered nothing")
        for case in cases:
            values = of_case.get(case.case, np.empty((0, 2)))
            if len(values):
                panel.marks.append(_point(layout, case, values / (1e6, 1.0), named=named))
        panels.append(panel)
    return Chart(
        key=f"throughput-delay-{flow}",
        heading=f"Throughput against delay: {flow}",
        title=f"Goodput against p95 delay of {flow}: {results.manifest.name}",
        x=Axis("p95 delay from write to delivery (s)"),
        y=Axis("goodput (Mbit/s)"),
        panels=panels,
        legend_title=None if named else ", ".join(filter(None, [layout.first, layout.second])) or None,
        caption="Means over replications; the ellipse is the 95 % confidence region of the two means "
        "(Hotelling), cut off at 0. Good is up and to the left." + layout.note(results.manifest.cases),
        keys=[] if named else layout.keys(SYMBOLS),
    )


def _point(layout: Layout, case: CaseEntry, values: Reals, *, named: bool) -> Points:
    """`values`: goodput and delay of each replication."""
    levels = [case.levels[name] for name in (layout.first, layout.second) if name is not None]
    delay, goodput = values[:, 1], values[:, 0]
    runs = numbers.count(len(values), "replication")
    text = f"{case.case}: {goodput.mean():.3g} Mbit/s, {delay.mean():.3g} s, {runs}"
    return Points(
        case.case,
        float(delay.mean()),
        float(goodput.mean()),
        layout.colour(case),
        SYMBOLS[layout.rank(case) % len(SYMBOLS)],
        ellipse(delay, goodput),
        case.case,
        text,
        label=(" / ".join(levels) or case.case) if named else "",
    )


def ellipse(x: Reals, y: Reals, confidence: float = 0.95) -> tuple[Reals, Reals] | None:
    """Outline of the confidence region of the two means (Hotelling's T squared); None of too few values.

    Neither quantity can be negative, so the part below 0 is cut off.
    """
    n = len(x)
    if n < ENOUGH:
        return None
    from scipy.special import fdtri

    radius = math.sqrt(2 * (n - 1) / (n - 2) * float(fdtri(2, n - 2, confidence)) / n)
    values, vectors = np.linalg.eigh(np.cov(x, y))
    turn = np.linspace(0.0, 2 * np.pi, 41)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    found = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle) * radius
    outline = np.stack([found[0] + x.mean(), found[1] + y.mean()], axis=1)
    for axis in (0, 1):
        outline = _above_zero(outline, axis)
    return outline[:, 0], outline[:, 1]


def _above_zero(outline: Reals, axis: int) -> Reals:
    """The part of a closed polygon at 0 and above on one axis; it enters and leaves on the axis itself."""
    kept: list[Reals] = []
    for here, there in itertools.pairwise(outline):
        if here[axis] >= 0.0:
            kept.append(here)
        if (here[axis] >= 0.0) != (there[axis] >= 0.0):
            crossing = here + (there - here) * (here[axis] / (here[axis] - there[axis]))
            crossing[axis] = 0.0
            kept.append(crossing)
    return np.stack([*kept, kept[0]])
