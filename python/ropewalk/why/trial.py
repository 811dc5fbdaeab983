"""Runs changes of a scenario under the seeds of the original, within an effort."""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk._core import RunFailed
from ropewalk.errors import ScenarioError
from ropewalk.scenario import available_processors
from ropewalk.statistics import Estimate, estimate, ratio_of_means, sample_sd, student_half_width
from ropewalk.why.budget import goodput, speed
from ropewalk.why.variants import variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ropewalk.facts import Facts, Flow
    from ropewalk.results import Results
    from ropewalk.scenario import Scenario
    from ropewalk.why.candidates import Settings

MATERIAL = 1.05
"""A change that makes a flow faster by less than this factor is no cure."""
PROMISING = 1.02
"""A change whose mean ratio over the first seeds is below this is not tried with the others."""
CERTAIN = 0.99
"""Confidence with which a ratio must be above 1: more than the 95 % that are printed, as many are tried."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried."""

    seeds: int
    """Replications of a change that is promising."""
    first: int
    """Replications of each change before that."""
    hops: float
    """Packet hops in all; a machine of 2024 does some millions of them in a second on each processor."""


EFFORTS: Mapping[str, Effort] = {
    "quick": Effort(5, 3, 40e6),
    "normal": Effort(10, 3, 200e6),
    "thorough": Effort(20, 5, 1000e6),
}
"""By name."""
WILD = 10.0
"""Ratios of the seeds of a change that differ by more than this factor have no mean."""
AT_LEAST = 8
"""Number of changes that are tried in any case."""
TYPICAL = 20
"""Changes that are tried for a flow over two paths, for progress before it is known."""
TWO = 2
"""Replications that show whether anything is random."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A change and what it did."""

    settings: Settings
    speeds: Mapping[str, Mapping[int, float]]
    """Flow to seed to its speed with the change."""
    goodputs: Mapping[str, Mapping[int, float]]
    """Flow to seed to its goodput in bit/s."""


class Bench:
    """The scenario without any change under some seeds, and changes of it that were tried."""

    def __init__(
        self,
        scenario: Scenario,
        facts: Facts,
        effort: Effort,
        *,
        seeds: Sequence[int],
        jobs: int | None,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self.seeds = list(seeds)
        self.tried = 0
        self.left_out = 0
        self._facts = facts
        self._effort = effort
        self._jobs = jobs
        self._progress = progress
        self._done = 0
        self._expected = len(self.seeds) + TYPICAL * effort.first
        self._plain = _without_baselines(scenario, facts)
        self._left = effort.hops
        self._variants: dict[int, Settings] = {}
        self._trials: dict[Settings, Trial | None] = {}
        self.base, measured = self._run_base()
        self._hops = self.base.totals.packet_hops / len(self.base.origin.seeds)
        self.goodputs, self.speeds = measured.goodputs, measured.speeds
        few = self.base.origin.seeds[: effort.first]
        self.alone = _with_baselines(scenario, facts).run(few, jobs=jobs, series=False)
        self._left -= self.alone.totals.packet_hops

    def _run_base(self) -> tuple[Results, Trial]:
        """The scenario as it stands; if nothing in it is random, also its variants."""
        first = self._plain.run(self.seeds[:TWO], jobs=self._jobs, series=False, progress=self._update)
        measured = self._counted((), first)
        rest = self.seeds[TWO:]
        if not _is_random(measured):
            self._variants = variants(self._facts, self.seeds)
            # All replications are the same, and so would be their ratios.
            others = self._run((), self.seeds[1:]) if self._variants else None
            alike = self._measured((), first, self.seeds[:1])
            return first, _joined(alike, others) if others else measured
        if rest:
            first = self._plain.run(self.seeds, jobs=self._jobs, series=False, progress=self._update)
            measured = self._counted((), first)
        return first, measured

    def expect(self, changes: int) -> None:
        """Tells the progress how many `changes` will be tried."""
        self._expected = self._done + changes * self._effort.first

    def try_out(self, settings: Settings, flows: Sequence[str]) -> Trial | None:
        """The change under the seeds of the original, all of them if it is promising for one of `flows`.

        None if the scenario cannot be changed so, or the effort is spent.
        """
        if settings in self._trials:
            return self._trials[settings]
        first = self.seeds[: self._effort.first]
        cost = self._hops * len(first)
        if self._left < cost and self.tried >= AT_LEAST:
            self.left_out += 1
            return None
        trial = self._run(settings, first)
        if trial is not None:
            self.tried += 1
            rest = self.seeds[len(first) :]
            if rest and any(self._is_promising(trial, flow) for flow in flows):
                self._expected += len(rest)
                more = self._run(settings, rest)
                if more is not None:
                    trial = _joined(trial, more)
        self._trials[settings] = trial
        return trial

    def flow(self, name: str) -> Flow:
        """The flow of that name."""
        return next(flow for flow in self._facts.flows if flow.name == name)

    def known(self, settings: Settings) -> Trial | None:
        """The results of `try_out`."""
        return self._trials.get(settings)

    def _is_promising(self, trial: Trial, flow: str) -> bool:
        found = self.ratio(trial, flow)
        return found is not None and found.mean >= PROMISING

    def ratio(self, trial: Trial, flow: str) -> Estimate | None:
        """Speed of a flow with the change over that without it, seed by seed.

        If it hardly carried anything under some seeds, the ratio of the means.
        """
        pairs = self._pairs(trial, flow)
        if _is_wild(pairs):
            return ratio_of_means(pairs)
        return estimate(after / before for before, after in pairs)

    def _pairs(self, trial: Trial, flow: str) -> list[tuple[float, float]]:
        """Speed of a flow before and after the change, seed by seed."""
        known = {seed: rate for seed, rate in self.speeds[flow].items() if rate > 0.0}
        return [(known[seed], after) for seed, after in trial.speeds[flow].items() if seed in known]

    def is_wild(self, trial: Trial, flow: str) -> bool:
        """Whether the flow hardly carried anything under some seeds, with the change or without it."""
        return _is_wild(self._pairs(trial, flow))

    def helps(self, trial: Trial, flow: str) -> Estimate | None:
        """The ratio if it is above 1 beyond doubt and worth the change."""
        found = self.ratio(trial, flow)
        if self._variants and not self._is_better(trial, flow):
            return None
        if found is None or found.ci95 is None or found.mean < MATERIAL or found.mean - found.ci95 <= 1.0:
            return None
        pairs = self._pairs(trial, flow)
        if _is_wild(pairs):
            # Sign test, one-sided: a fair coin would fall so rarely.
            slower = any(after < before for before, after in pairs)
            return found if not slower and 0.5 ** len(pairs) < 1 - CERTAIN else None
        return found if self._logarithm(trial, flow)[0] > 0.0 else None

    def _is_better(self, trial: Trial, flow: str) -> bool:
        """Whether it helps the scenario as it stands, which is the first of the variants."""
        return trial.speeds[flow].get(self.seeds[0], 0.0) > self.speeds[flow].get(self.seeds[0], math.inf)

    def only_takes(self, trial: Trial, flow: str) -> bool:
        """Whether all that the change brings is taken from other flows."""
        others, everyone = self._sums(trial, flow)
        if sum(after for _, after in everyone) >= PROMISING * sum(before for before, _ in everyone):
            return False
        logs = [math.log(after / before) for before, after in others if before > 0.0 and after > 0.0]
        if len(logs) > 1:
            mean = math.fsum(logs) / len(logs)
            if mean + student_half_width(sample_sd(logs), len(logs), CERTAIN) < 0.0:
                return True
        return bool(self.costs(trial, flow))

    def _sums(self, trial: Trial, flow: str) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Goodput before and after the change, seed by seed: of all other flows, and of all flows."""
        counts = {one.name: one.count for one in self._facts.flows}

        def total(rates: Mapping[str, Mapping[int, float]], seed: int, without: str | None = None) -> float:
            chosen = [name for name in rates if name != without]
            return math.fsum(counts[name] * rates[name].get(seed, 0.0) for name in chosen)

        seeds = list(next(iter(trial.goodputs.values())))
        both = (self.goodputs, trial.goodputs)
        others = [(total(both[0], seed, flow), total(both[1], seed, flow)) for seed in seeds]
        return others, [(total(both[0], seed), total(both[1], seed)) for seed in seeds]

    def costs(self, trial: Trial, flow: str) -> dict[str, float]:
        """Other flows that become slower beyond doubt, with their ratio."""
        costs = {}
        for other in self.speeds:
            found = self.ratio(trial, other) if other != flow else None
            if found and found.mean < 1 / MATERIAL and self._logarithm(trial, other)[1] < 0.0:
                costs[other] = found.mean
        return costs

    def _logarithm(self, trial: Trial, flow: str) -> tuple[float, float]:
        """Interval of the mean logarithm of the ratios, whose distribution is less skewed than theirs."""
        logs = [math.log(after / before) for before, after in self._pairs(trial, flow) if after > 0.0]
        if len(logs) < 2:  # noqa: PLR2004
            return -math.inf, math.inf
        mean = math.fsum(logs) / len(logs)
        half = student_half_width(sample_sd(logs), len(logs), CERTAIN)
        return mean - half, mean + half

    def _run(self, settings: Settings, seeds: Sequence[int]) -> Trial | None:
        try:
            scenario = changed(self._plain, settings)
            if self._variants:
                return self._run_variants(scenario, settings, seeds)
            results = scenario.run(seeds, jobs=self._jobs, series=False, progress=self._update)
        except (ScenarioError, RunFailed):
            # Keys that exclude each other: this scenario cannot have the change.
            return None
        return self._counted(settings, results)

    def _run_variants(self, scenario: Scenario, settings: Settings, seeds: Sequence[int]) -> Trial:
        """Each in a thread of its own: the simulator leaves the interpreter free."""
        with ThreadPoolExecutor(self._jobs or available_processors()) as pool:
            runs = pool.map(lambda seed: self._run_variant(scenario, seed), seeds)
            trials = [self._counted(settings, results) for results in runs]
        return functools.reduce(_joined, trials)

    def _run_variant(self, scenario: Scenario, seed: int) -> Results:
        return changed(scenario, self._variants[seed]).run([seed], jobs=1, series=False)

    def _counted(self, settings: Settings, results: Results) -> Trial:
        """Takes its cost from the effort."""
        self._left -= results.totals.packet_hops
        self._done += len(results.origin.seeds)
        self._update(0, 0)
        return self._measured(settings, results)

    def _measured(self, settings: Settings, results: Results, seeds: Sequence[int] | None = None) -> Trial:
        def chosen(found: dict[int, float]) -> dict[int, float]:
            return {seed: value for seed, value in found.items() if seeds is None or seed in seeds}

        speeds = {flow.name: chosen(speed(results, flow)) for flow in self._facts.flows}
        goodputs = {flow.name: chosen(goodput(results, flow)) for flow in self._facts.flows}
        return Trial(settings, speeds, goodputs)

    def _update(self, done: int, _total: int) -> None:
        if self._progress is not None:
            at = self._done + done
            self._progress(at, max(at, self._expected))


def changed(scenario: Scenario, settings: Iterable[tuple[str, str]]) -> Scenario:
    """The scenario with some keys changed, values as after `--set`.

    Raises:
        ScenarioError: it cannot have them.
    """
    return scenario.override(list(settings))


def _with_baselines(scenario: Scenario, facts: Facts) -> Scenario:
    """Each flow over several paths also over each of them alone."""
    for flow in facts.flows:
        if flow.is_mptcp and len(flow.paths) > 1:
            try:
                scenario = changed(scenario, [(f"{flow.key}.compare_paths", "true")])
            except ScenarioError:
                continue
    return scenario


def _without_baselines(scenario: Scenario, facts: Facts) -> Scenario:
    return changed(scenario, [(f"{flow.key}.compare_paths", "false") for flow in facts.flows])


def _is_wild(pairs: Sequence[tuple[float, float]]) -> bool:
    """Whether a few ratios would hide the others."""
    ratios = [after / before for before, after in pairs]
    return bool(ratios) and max(ratios) > WILD * min(ratios)


def _is_random(trial: Trial) -> bool:
    """Whether replications differ from each other."""
    return any(len(set(found.values())) > 1 for found in trial.speeds.values())


def _joined(one: Trial, other: Trial) -> Trial:
    speeds = {flow: {**found, **other.speeds[flow]} for flow, found in one.speeds.items()}
    goodputs = {flow: {**found, **other.goodputs[flow]} for flow, found in one.goodputs.items()}
    return Trial(one.settings, speeds, goodputs)
