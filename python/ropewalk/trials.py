"""Runs of a fitted scenario with what packets do not tell: the nearest to the capture is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from ropewalk import ended, writes
from ropewalk.fitted import DELAYS, LINUX, SMALL_KERNEL, Assumed, Fitted, Rules, fit, used
from ropewalk.near import Near
from ropewalk.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ropewalk.figures import Packets

Row = dict[str, Any]

OTHERS = (
    Rules("minrtt", "upstream"),
    Rules("minratio", "upstream", "same-path"),
    Rules("minratio", "timeout"),
    Rules("minrtt", "timeout"),
    Rules("minratio", "death"),
)
FASTER = 0.1
"""A bulk transfer that is faster by more is not what an application with pauses did."""
MANY = 4
"""Connections over the same paths, of which chance decides which one is fast: more are compared together."""
NEAR = 0.05
"""A run is near enough if goodput and shares differ by less."""
FILES = 5
"""Assumptions whose files are run, of the nearest, where losses are by chance."""
SEEDS = 5
"""Runs of the file, where its losses are by chance."""
MOST = 20_000_000
"""Packets in all runs, about: each takes about a microsecond."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """A run of a fitted scenario beside the capture."""

    ratio: float
    """Goodput, over that of the capture."""
    apart: float
    """The largest difference of shares."""
    more: float
    """Bytes reinjected above those of the capture."""
    repeated: float
    """The same as a share of all payload that was sent, as shares of paths are."""

    @property
    def apart_at_most(self) -> float:
        """The larger difference, of goodput or of shares."""
        return max(abs(self.ratio - 1.0), self.apart)

    @property
    def apart_in_all(self) -> float:
        """The least is the nearest."""
        return abs(self.ratio - 1.0) + self.apart + self.repeated

    def near(self, late: float, *, alone: bool) -> Near:
        """The same of a run of the file."""
        return Near((self.ratio,), (self.apart,), self.more, alone, late)


@dataclass(slots=True)
class _Trials:
    """Assumptions, and the runs under them."""

    name: str
    tables: dict[str, pl.DataFrame]
    packets: Packets
    flow: Row
    jobs: int | None
    tried: list[tuple[Assumed, _Trial]]
    packets_run: int = 0
    """In all runs so far."""
    left_out: bool = False
    """More could have been tried."""

    @property
    def best(self) -> tuple[Assumed, _Trial]:
        """The nearest."""
        return min(self.tried, key=lambda one: one[1].apart_in_all)

    def near(self) -> bool:
        """True if rules of Linux are near enough."""
        kernels = LINUX, SMALL_KERNEL
        return any(trial.apart_at_most < NEAR for assumed, trial in self.tried if assumed.rules in kernels)

    def run(self, assumptions: Iterable[Assumed]) -> None:
        """One after the other, until one is near enough."""
        for assumed in assumptions:
            if self.tried and self.near():
                return
            if any(assumed == one for one, _ in self.tried):
                continue
            if self.packets_run >= MOST:
                self.left_out = True
                return
            # Where many are lost chance decides: the same packets are lost as in the capture.
            fitted = fit(self.name, self.tables, self.packets, replace(assumed, each_loss=True))
            [trial] = self.beside(fitted, [1])
            self.tried.append((assumed, trial))

    def beside(self, fitted: Fitted, seeds: list[int]) -> list[_Trial]:
        """Runs of a fitted scenario, one for each seed."""
        results = fitted.scenario.run(seeds, jobs=self.jobs, series=False)
        self.packets_run += results.totals.packet_hops
        runs = [results] if len(seeds) == 1 else [_only(results, seed) for seed in seeds]
        return [_try(one, fitted, self.tables, self.flow) for one in runs]

    def chosen(self) -> Fitted:
        """That of the nearest run, with what its file gives."""
        ranked = sorted(self.tried, key=lambda one: one[1].apart_in_all)
        compared = [self._compared(*ranked[0])]
        if compared[0][1].each is not None:
            # A file with a loss model is not the run that lost the same packets: of several the nearest
            # counts, those of Linux as they are among them.
            others = [one for one in (self.tried[0], *ranked[1:]) if one is not ranked[0]]
            for one in others[: FILES - 1]:
                if min(near.apart_in_all for _, near in compared) < NEAR or self.packets_run >= MOST:
                    break
                compared.append(self._compared(*one))
        assumed, near = min(compared, key=lambda one: one[1].apart_in_all)
        tried = len(self.tried)
        told = f"the nearest of {tried} that were tried" if tried > 1 else "as Linux 6"
        if self.left_out:
            told += f", others were not: these had {self.packets_run / 1e6:.0f} million packets"
        return fit(self.name, self.tables, self.packets, assumed, told=told, near=near)

    def _compared(self, assumed: Assumed, best: _Trial) -> tuple[Assumed, Near]:
        """Runs of the file beside the capture; `best`: the run that loses the same packets."""
        fitted = fit(self.name, self.tables, self.packets, assumed)
        alone = self.flow["transport"] != "mptcp"
        late = 0.0
        if self.flow["side"] != "both":
            late = min(path.delay.value for path in fitted.paths)
            late = min(late / (self.flow["end_s"] - self.flow["start_s"]), 1.0)
        near = best.near(late, alone=alone)
        if not fitted.by_chance:
            return assumed, near
        # At least two, also where they take long: one does not tell that they differ.
        each = self.packets_run // len(self.tried)
        seeds = max(2, min(SEEDS, MOST // max(each, 1)))
        runs = self.beside(fitted, list(range(1, seeds + 1)))
        more = sum(one.more for one in runs) / seeds
        ratios, apart = tuple(one.ratio for one in runs), tuple(one.apart for one in runs)
        return assumed, Near(ratios, apart, more, alone, late, str(near))


def nearest(name: str, tables: dict[str, pl.DataFrame], packets: Packets, jobs: int | None = None) -> Fitted:
    """The fitted scenario with what runs tell.

    That is the size of a receive buffer within its interval, the memory of a segment in the kernel of the
    sender, whether the application paused and in how many writes, and the rules of an MPTCP sender: of all
    known here, those under which a run is nearest to the capture; those of Linux stay if they are near.
    """
    first = fit(name, tables, packets)
    tables = {**tables, "flows": ended.of_data(tables["flows"], packets.samples)}
    row = next((one for one in tables["flows"].to_dicts() if one["flow"] == first.flow), None)
    if row is None or not row["goodput_bit_s"]:
        return first
    of_flow = pl.col("flow").cast(pl.String) == first.flow
    mine = tables["subflows"].filter(of_flow)
    trials = _Trials(name, tables, packets, row, jobs, [])
    trials.run([Assumed()])
    trials.run(replace(trials.best[0], buffer=size) for size in first.buffers)
    if row["transport"] == "mptcp":
        trials.run([replace(trials.best[0], rules=SMALL_KERNEL)])
    application = first.application
    if application is None and trials.best[1].ratio > 1.0 + FASTER:
        trips = mine["srtt_mean_s"].max()
        trip = trips if isinstance(trips, float) else 0.0
        application = writes.slack(row, packets.samples.filter(of_flow), trip)
    trials.run(_written(trials.best[0], application))
    if row["transport"] == "mptcp":
        # Where chance decides, a delay that differs by a little has another outcome, under the same rules.
        rooms = dict.fromkeys([trials.best[0].rules, LINUX, SMALL_KERNEL])
        known = trials.best[0]
        trials.run(replace(known, rules=rules, delay=place) for rules in rooms for place in DELAYS)
        trials.run(_ruled(trials.best[0]))
    return trials.chosen()


def _written(assumed: Assumed, application: writes.Writes | None) -> Iterator[Assumed]:
    """Writes as they are seen, and in parts: two that follow closely look like one."""
    if application is not None:
        yield from (replace(assumed, application=parts) for parts in application.in_parts())


def _ruled(assumed: Assumed) -> Iterator[Assumed]:
    """Other rules; at last with a bulk transfer, too."""
    room = assumed.rules.header_room
    for application in dict.fromkeys([assumed.application, None]):
        for rules in OTHERS:
            yield replace(assumed, rules=replace(rules, header_room=room), application=application)


def _only(results: Results, seed: int) -> Results:
    """The run with this seed."""
    tables = {name: rows.filter(pl.col("run") == seed) for name, rows in results.tables.items()}
    return Results(results.origin, tables, {})


def _try(results: Results, fitted: Fitted, tables: dict[str, pl.DataFrame], flow: Row) -> _Trial:
    """One run beside the capture."""
    own = pl.col("flow").cast(pl.String) == "flow"
    names = [flow["flow"], *fitted.beside]
    if len(names) > MANY:
        known = tables["flows"].filter(pl.col("flow").cast(pl.String).is_in(names))
        ratio = _together(results.flows) / _together(known.with_columns(pl.lit(0).alias("run")))
    else:
        goodput = results.flows.filter(own)["goodput_bit_s"].fill_null(0.0).mean()
        ratio = (goodput if isinstance(goodput, float) else 0.0) / flow["goodput_bit_s"]
    ends = {path.name: path.ends for path in fitted.paths}
    found = _by_path(results.flows, results.shares().with_columns(pl.col("path").cast(pl.String)), "run")
    ours: dict[str, float] = {}
    for name, share in found.items():
        ours[ends[name]] = ours.get(ends[name], 0.0) + share
    known = used(tables["subflows"]).filter(pl.col("flow").cast(pl.String).is_in(names))
    theirs = _by_path(tables["flows"], known, "flow")
    again = results.subflows.filter(own)["reinjected_bytes"].sum() / results.flows.filter(own).height
    sent = tables["subflows"].filter(pl.col("flow").cast(pl.String) == flow["flow"])["bytes"].sum()
    more = again - flow["reinjected_bytes"]
    return _Trial(
        ratio,
        max((abs(ours.get(one, 0.0) - theirs.get(one, 0.0)) for one in ends.values()), default=0.0),
        more,
        abs(again / (sent + more) - flow["reinjected_bytes"] / sent) if sent else 0.0,
    )


def _together(flows: pl.DataFrame) -> float:
    """Rate of all flows from the first start to the last end, the mean over runs."""
    seconds = pl.col("end_s").max() - pl.col("start_s").min()
    rate = (
        flows.group_by("run")
        .agg((8.0 * pl.col("delivered_bytes").sum() / seconds).alias("rate"))["rate"]
        .mean()
    )
    return rate if isinstance(rate, float) else 0.0


def _by_path(flows: pl.DataFrame, shares: pl.DataFrame, key: str) -> dict[str, float]:
    """Shares of paths in the data of all flows: which connection took which path is chance where many do."""
    keys = ["flow"] if key == "flow" else ["run", "flow"]
    names = [pl.col("flow").cast(pl.String)]
    sizes = flows.select(*(column for column in keys if column != "flow"), *names, "delivered_bytes")
    joined = shares.with_columns(*names).join(sizes, on=keys)
    of_path = (pl.col("share") * pl.col("delivered_bytes")).fill_null(0.0).sum()
    summed = joined.group_by(pl.col("path").cast(pl.String), maintain_order=True).agg(of_path.alias("bytes"))
    total = summed["bytes"].sum()
    return {path: size / total if total else 0.0 for path, size in summed.iter_rows()}
