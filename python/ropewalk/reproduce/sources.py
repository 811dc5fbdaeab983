"""Quantities of studies that have been run, and keys of scenarios."""

from __future__ import annotations

import functools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ropewalk import toml
from ropewalk.errors import ScenarioError, StudyError
from ropewalk.reproduce.model import PROFILE
from ropewalk.reproduce.predicates import Outcome
from ropewalk.reproduce.series import SeriesMetric
from ropewalk.reproduce.studies import named
from ropewalk.reproduce.values import NoValue, Sample
from ropewalk.scenario import Scenario, toml_value
from ropewalk.study import Study
from ropewalk.study.plan import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ropewalk.reproduce.model import Claim, Quantity, Reproduction
    from ropewalk.study.metrics import Metric
    from ropewalk.study.results import StudyResults


class StudySource:
    """The quantities of a reproduction under one profile."""

    def __init__(self, reproduction: Reproduction, profile: str, results: Mapping[str, StudyResults]) -> None:
        self._reproduction = reproduction
        self._profile = profile
        self._results = results
        self._known: dict[str, dict[tuple[str, ...], dict[int, float]]] = {}

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """The quantity in the case with these levels.

        Raises:
            NoValue: no replication has it.
        """
        found = self._quantity(quantity)
        values = found.get(levels, {})
        if not found and (runs := self._failed(quantity)):
            raise NoValue(runs)
        if not values:
            raise NoValue(f"no run of {SEPARATOR.join(levels) or 'the study'} has a value of {quantity}")
        return Sample(values, self._reproduction.quantities[quantity].unit)

    def _failed(self, quantity: str) -> str:
        """That all runs of the study behind it have failed, if they have."""
        study = self._reproduction.study_of(quantity, self._profile)
        m = self._results[study].manifest
        all_runs = sum(entry.replications for entry in m.cases)
        return f"all {all_runs} runs of {study} have failed" if len(m.failures) == all_runs else ""

    def _quantity(self, name: str) -> dict[tuple[str, ...], dict[int, float]]:
        """By the levels of the case, by seed."""
        if name not in self._known:
            self.read(self._reproduction.study_of(name, self._profile))
        return self._known[name]

    def read(self, study: str) -> None:
        """Computes all quantities of a study that has been run."""
        for name, quantity in self._reproduction.quantities.items():
            if self._reproduction.study_of(name, self._profile) == study:
                self._known[name] = _by_levels(
                    quantity.under.get(self._profile, quantity), self._results[study]
                )

    def series(
        self, metric: SeriesMetric, study: str, levels: tuple[str, ...], run: int
    ) -> tuple[list[float], list[float]]:
        """Times and values of one replication of the case with these levels.

        Raises:
            NoValue: the replication has no such series.
        """
        import polars as pl

        results = self._results[study.replace(PROFILE, self._profile)]
        case = next(e.case for e in results.manifest.cases if tuple(e.levels.values()) == levels)
        table = results.rows("series", case, metric.wanted & (pl.col("run") == run))
        if table.is_empty():
            raise NoValue(f"seed {run} of {case} has no series {metric.text}")
        rows = metric.samples(table)
        return rows["t_s"].to_list(), rows["value"].to_list()

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        """Whether `key` is `value` in a scenario, or in the cases of a study that begin with `case`.

        Raises:
            StudyError: there is no such key, or it does not take the value.
        """
        target = place.replace(PROFILE, self._profile)
        holds, found = True, []
        for where, text in _scenarios(self._reproduction.directory, target, case):
            same, words = _compare(text, where, key, value)
            holds = holds and same
            found.append(words)
        said = ", ".join(dict.fromkeys(found))
        return Outcome(holds, (), f"{key} of {target} is {said}, wanted {value}", (f"{key} = {said}",))


def check_configs(reproduction: Reproduction, claims: Sequence[Claim], profiles: Sequence[str]) -> None:
    """Looks whether the keys exist that claims name: no run is needed for that.

    Raises:
        StudyError: there is no such key, or it does not take the value.
    """
    for profile in profiles:
        source = StudySource(reproduction, profile, {})
        for claim in claims:
            for check in filter(None, (claim.check, claim.cause_check)):
                for arguments in check.configs:
                    source.config(*arguments)


def _by_levels(quantity: Quantity, results: StudyResults) -> dict[tuple[str, ...], dict[int, float]]:
    """A quantity by the levels of the case, by seed."""
    levels = {
        entry.case: tuple(level for name, level in entry.levels.items() if name not in quantity.pool)
        for entry in results.manifest.cases
    }
    found: dict[tuple[str, ...], dict[int, list[float]]] = {}
    for case, run, value in _values(quantity, results):
        found.setdefault(levels[case], {}).setdefault(run, []).append(value * quantity.scale)
    # A seed that one of the pooled cases lacks would compare unlike means.
    pooled = Counter(levels.values())
    return {
        case: {
            run: math.fsum(values) / len(values)
            for run, values in runs.items()
            if len(values) == pooled[case]
        }
        for case, runs in found.items()
    }


def _values(quantity: Quantity, results: StudyResults) -> Iterator[tuple[str, int, float]]:
    """Case, seed and value; a seed whose divisor is 0 or missing has none."""

    def of(metric: Metric | SeriesMetric) -> Iterator[tuple[str, int, float]]:
        if isinstance(metric, SeriesMetric):
            table = results.rows(metric.table, keep=metric.wanted)
        else:
            table = results.table(metric.table)
        if table.is_empty():
            # All runs have failed: such a table has no columns.
            return
        yield from metric.values(table, ("case", "run")).select("case", "run", "value").iter_rows()

    if quantity.over is None:
        yield from of(quantity.metric)
        return
    divisors = {(case, run): value for case, run, value in of(quantity.over)}
    for case, run, value in of(quantity.metric):
        if divisors.get((case, run)):
            yield case, run, value / divisors[case, run]


@functools.cache
def _study(path: Path, reading: str | None) -> Study:
    return Study.load(path, reading=reading)


def _scenarios(directory: Path, target: str, case: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Place and expanded text of each scenario that is meant."""
    if target.endswith(".toml"):
        yield target, Scenario.load(directory / target).whole()
        return
    chosen = [
        entry
        for entry in _study(*named(directory)[target]).plan.cases
        if tuple(entry.levels.values())[: len(case)] == case
    ]
    if not chosen:
        raise StudyError(
            f'config: the study {target} has no case "{SEPARATOR.join(case)}"\n'
            "  fix: name levels of its first factors, in their order"
        )
    for entry in chosen:
        yield f"{target}: {entry.name}", entry.text


@functools.cache
def _shown(text: str, where: str) -> str:
    return Scenario.parse(text, where).whole()


def _compare(text: str, where: str, key: str, value: str | float | bool) -> tuple[bool, str]:
    """A key is what is wanted exactly if setting it changes nothing; units need not be the same."""
    try:
        wanted = Scenario(
            text, where, [(key, value if isinstance(value, str) else toml_value(value))]
        ).whole()
    except ScenarioError as error:
        # Other keys may need the value that is there, as a line of a node its count.
        if (found := _found(text, key)) and found != str(value):
            return False, found
        raise StudyError(f"config: {where}: {key}: {error}") from None
    same = _shown(text, where) == wanted
    # A key such as `both` is two others in the expanded scenario.
    return same, _found(text, key) or (str(value) if same else "otherwise")


def _found(text: str, key: str) -> str:
    """The value in an expanded scenario, for people; empty if there is no such key."""
    place: Any = toml.values(text, key)
    for word in key.split("."):
        if isinstance(place, list):
            place = next(
                (entry for entry in place if isinstance(entry, dict) and entry.get("name") == word), None
            )
        elif isinstance(place, dict):
            place = place.get(word)
        if place is None:
            return ""
    return str(place)
