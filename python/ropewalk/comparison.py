"""The simulator beside the Linux kernel: the same scenario under the same seeds, with computed verdicts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import arguments, visible
from ropewalk.disk import write_whole
from ropewalk.jitter import jittered
from ropewalk.kernel_runs import ATTEMPTS, LeftOut, on_kernel
from ropewalk.statistics import Estimate, estimate, paired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    from ropewalk.results import Results
    from ropewalk.scenario import Scenario

CLOSE = 0.10
"""Tolerance of what a user notices: goodput, completion time."""
LOOSE = 0.25
"""Tolerance of what explains it."""
FILE, PAGE = "comparison.json", "comparison.md"
WITHIN, OUTSIDE, OPEN = "within", "outside", "open"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column that is compared, or a time series of subflows, of which it is the mean over time."""

    table: str
    column: str
    """Its name; that of the metric in `series`."""
    keys: tuple[str, ...]
    """Columns that name a row besides the seed."""
    tolerance: float
    count: bool = False
    """Events of few episodes, which range widely: compared with the range of the kernel's runs."""


QUANTITIES = (
    Quantity("flows", "goodput_bit_s", ("flow",), CLOSE),
    Quantity("flows", "completion_s", ("flow",), CLOSE),
    Quantity("flows", "retransmitted_segments", ("flow",), LOOSE, count=True),
    Quantity("subflows", "share", ("flow", "subflow", "path"), LOOSE),
    # The column `srtt_mean_s` is of single round trips in the simulator, which the kernel does not tell.
    Quantity("series", "srtt_s", ("flow", "subflow", "path"), LOOSE),
    Quantity("links", "drops_queue", ("link",), LOOSE, count=True),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of both."""

    what: str
    """Flow, subflow or link."""
    quantity: str
    """Name of the column or of the time series."""
    kernel: Estimate
    """Over the runs on the kernel."""
    simulator: Estimate
    """Over the simulated runs of the same seeds."""
    difference: float | None
    """Mean of simulator less kernel over the kernel's mean; None where that is 0."""
    ci95: float | None
    """Half width of its interval over pairs of seeds."""
    tolerance: float
    """Greatest difference that counts as agreement, a share."""
    verdict: str
    """`within` or `outside` the tolerance; `open` where the interval has room for both."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All figures of a scenario, and the runs that they come from."""

    kernel: Results
    """The runs on the kernel."""
    simulator: Results
    """The simulated runs of the same seeds."""
    rows: list[Compared]
    """One for each figure that both have."""
    left_out: list[LeftOut] = field(default_factory=list)
    """Seeds without an exact run on the kernel; `rows` do not have them."""

    @property
    def outside(self) -> list[Compared]:
        """Figures that differ by more than their tolerance."""
        return [row for row in self.rows if row.verdict == OUTSIDE]

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        origin = self.kernel.origin
        return {
            "scenario": origin.scenario.name,
            "seeds": origin.seeds,
            "left_out": [asdict(one) for one in self.left_out],
            "model_version": origin.model_version,
            "accuracy": [asdict(one) for one in self.kernel.accuracies],
            "rows": [asdict(row) for row in self.rows],
        }

    def missing(self) -> str:
        """The seeds that the figures do not have, and the reason; empty if they have all."""
        if not self.left_out:
            return ""
        seeds = ", ".join(str(one.seed) for one in self.left_out)
        return f"left out after {ATTEMPTS} runs that were not exact enough: seed {seeds}"

    def write(self, directory: str | PathLike[str]) -> None:
        """Writes the results of both, a page with plots of the goodput over time, and `comparison.json`.

        Those of an earlier comparison go first: they never stand beside results of which they were not made.
        """
        from ropewalk.plots.beside import goodput

        out = arguments.path("directory", directory)
        for old in [out / FILE, out / PAGE, *out.glob("goodput-*.png")]:
            old.unlink(missing_ok=True)
        self.kernel.write(out / "linux")
        self.simulator.write(out / "simulator")
        figures = goodput(self, out)
        title = visible.markdown(self.kernel.origin.scenario.name)
        text = [f"# {title}: simulator and kernel", "", *markdown(self.rows), ""]
        if left_out := self.missing():
            text += [visible.markdown(left_out), ""]
        text += [f"![Goodput of {flow} over time]({name})" for flow, name in figures]
        write_whole(out / PAGE, ("\n".join(text) + "\n").encode(), lasting=False)
        found = json.dumps(self.to_dict(), indent=2) + "\n"
        write_whole(out / FILE, found.encode(), lasting=False)


def compare(
    scenario: Scenario,
    seeds: int | Iterable[int] | None = None,
    *,
    exact: bool = False,
    simulated: Callable[[float], object] | None = None,
) -> Comparison:
    """Runs `scenario` on the kernel and on the simulator under the same seeds.

    A run on the kernel that was not exact enough is repeated twice; then its seed is left out.

    Args:
        scenario: what both run.
        seeds: as of `Scenario.run`.
        exact: no jitter is added; else a scenario of several paths with constant delays has one of 0.1 ms,
            the same on both: slow start over such paths can end in several ways.
        simulated: told how many seconds the kernel has run.

    Raises:
        ScenarioError: the kernel or the simulator cannot run it.
        RunFailed: the kernel is not permitted, a command failed, or no run was exact enough.
    """
    from ropewalk.scenario import Scenario, choose_seeds

    arguments.instance("scenario", "a ropewalk.Scenario", Scenario, scenario)
    if not exact:
        scenario = jittered(scenario)
    # Before the kernel takes its time.
    scenario.check_backend("simulator")
    kernel, left_out = on_kernel(
        scenario, choose_seeds(scenario.seeds if seeds is None else seeds), simulated
    )
    simulator = scenario.run(kernel.origin.seeds)
    return Comparison(kernel, simulator, rows(kernel, simulator), left_out)


def rows(kernel: Results, simulator: Results) -> list[Compared]:
    """The comparison of what both have measured."""
    found = []
    for quantity in QUANTITIES:
        ours, theirs = (
            _values(_table(results.tables, quantity), quantity) for results in (simulator, kernel)
        )
        for name, measured in theirs.items():
            if name in ours and (row := _compared(name, quantity, measured, ours[name])) is not None:
                found.append(row)
    return found


def _table(tables: dict[str, pl.DataFrame], quantity: Quantity) -> pl.DataFrame:
    if quantity.table != "series":
        return tables[quantity.table]
    return _over_time(tables, quantity.column)


def _over_time(tables: dict[str, pl.DataFrame], metric: str) -> pl.DataFrame:
    """Means of a time series of subflows, those of all connections of a flow together, until its end.

    Samples are at one interval, so that each counts alike. A socket of the kernel may outlive its flow.
    """
    samples = tables["series"].filter(pl.col("metric") == metric)
    ends = tables["flows"].select("run", "flow", "end_s")
    subflows = tables["subflows"].select("run", "flow", "connection", "subflow", "path")
    each = subflows.join(samples, on=["run", "flow", "connection", "subflow"], maintain_order="left")
    during = each.join(ends, on=["run", "flow"], maintain_order="left").filter(
        pl.col("t_s") <= pl.col("end_s")
    )
    means = during.group_by("run", "flow", "subflow", "path", maintain_order=True)
    return means.agg(pl.col("value").mean().alias(metric))


def _values(table: pl.DataFrame, quantity: Quantity) -> dict[str, dict[int, float]]:
    """Values by name of the row and seed; shares of the connections of a flow add up."""
    found: dict[str, dict[int, float]] = {}
    for row in table.select("run", *quantity.keys, quantity.column).iter_rows():
        seed, *keys, value = row
        if value is not None:
            named = found.setdefault(" ".join(str(key) for key in keys), {})
            named[seed] = named.get(seed, 0.0) + float(value)
    return found


def _compared(
    what: str, quantity: Quantity, kernel: dict[int, float], simulator: dict[int, float]
) -> Compared | None:
    theirs, ours = estimate(kernel.values()), estimate(simulator.values())
    pairs = paired(simulator, kernel)
    if theirs is None or ours is None or pairs is None or theirs.max == ours.max == 0.0:
        return None
    difference = pairs.mean / theirs.mean if theirs.mean else None
    ci95 = pairs.ci95 / theirs.mean if theirs.mean and pairs.ci95 is not None else None
    verdict = (
        _in_range(ours, theirs, quantity.tolerance)
        if quantity.count
        else judged(difference, ci95, quantity.tolerance)
    )
    if verdict == WITHIN and kernel.keys() != simulator.keys():
        # A transfer that one side did not finish is a difference that no figure has.
        verdict = OPEN
    return Compared(what, quantity.column, theirs, ours, difference, ci95, quantity.tolerance, verdict)


def _in_range(ours: Estimate, theirs: Estimate, tolerance: float) -> str:
    inside = (1.0 - tolerance) * theirs.min <= ours.mean <= (1.0 + tolerance) * theirs.max
    return WITHIN if inside else OUTSIDE


def judged(difference: float | None, ci95: float | None, tolerance: float) -> str:
    """The verdict on a difference over the kernel's mean, with the half width of its interval."""
    if difference is None:
        return OUTSIDE
    if abs(difference) + (ci95 or 0.0) <= tolerance:
        return WITHIN
    return OUTSIDE if abs(difference) - (ci95 or 0.0) > tolerance else OPEN


UNITS = {"goodput_bit_s": (1e6, "goodput, Mbit/s"), "completion_s": (1.0, "completion, s")}
UNITS |= {"srtt_s": (1e-3, "RTT, ms"), "share": (1.0, "share"), "drops_queue": (1.0, "drops")}
UNITS |= {"retransmitted_segments": (1.0, "retransmitted segments")}


def cells(row: Compared) -> list[str]:
    """A row of the table that users see."""
    scale, label = UNITS[row.quantity]

    def figure(found: Estimate) -> str:
        runs = f" in {found.n} run{'s' if found.n > 1 else ''}"
        return spread(found) + ("" if row.kernel.n == row.simulator.n else runs)

    def spread(found: Estimate) -> str:
        if row.quantity in {"drops_queue", "retransmitted_segments"}:
            width = "" if found.min == found.max else f" ({found.min:.0f} to {found.max:.0f})"
            return f"{found.mean:.0f}{width}"
        width = "" if found.ci95 is None else f" ± {found.ci95 / scale:.3g}"
        return f"{found.mean / scale:.4g}{width}"

    difference = "" if row.difference is None else f"{100 * row.difference:+.1f} %"
    if row.ci95 is not None:
        difference += f" ± {100 * row.ci95:.1f}"
    return [row.what, label, figure(row.kernel), figure(row.simulator), difference, row.verdict]


HEADERS = ("of", "quantity", "kernel", "simulator", "difference", "verdict")


def markdown(compared: Iterable[Compared]) -> list[str]:
    """The same as lines of Markdown."""
    lines = [f"| {' | '.join(HEADERS)} |", "|---|---|---|---|---|---|"]
    return lines + [f"| {' | '.join(map(visible.markdown, cells(row)))} |" for row in compared]
