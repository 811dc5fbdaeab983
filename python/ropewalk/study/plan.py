"""From a study file to cases: one checked scenario for each combination of levels."""

from __future__ import annotations

import itertools
import shlex
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ropewalk.errors import ScenarioError
from ropewalk.scenario import Scenario
from ropewalk.study.address import key_of
from ropewalk.study.metrics import Metric
from ropewalk.study.mistakes import (
    CONTRADICTION,
    UNKNOWN_NAME,
    UNREADABLE,
    Mistakes,
    StudyError,
    did_you_mean,
)
from ropewalk.study.model import Override

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ropewalk.study.model import Level, Stopping, StudyFile

SEPARATOR = " / "
"""Between the levels in the name of a case."""
FEW_FLOWS = 3


@dataclass(frozen=True, slots=True)
class Case:
    """One combination of levels."""

    index: int
    name: str
    levels: dict[str, str]
    """Factor to level."""
    overrides: tuple[tuple[str, str], ...]
    """What to put after `--set` to get the scenario."""
    text: str = field(repr=False)
    """The scenario with every default filled in."""
    key: str
    """Hash of it, without title and number of seeds, and of the model version."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A study ready to be run. Seed k of every case is k: cases are compared under the same randomness."""

    study: StudyFile
    cases: tuple[Case, ...]
    stopping: Stopping
    series: int
    metrics: tuple[Metric, ...]

    @property
    def factors(self) -> list[str]:
        """Names of what is varied."""
        return [factor.name for factor in self.study.factors]

    def command(self, case: Case, seed: int) -> str:
        """What repeats one run."""
        words = ["ropewalk", "run", str(self.study.scenario), "--seed", str(seed)]
        for key, value in case.overrides:
            words += ["--set", f"{key}={value}"]
        return shlex.join(words)


def plan(study: StudyFile, sets: Sequence[tuple[str, str]] = (), stopping: Stopping | None = None) -> Plan:
    """Expands and checks all cases.

    Args:
        study: the study file.
        sets: keys that hold for all cases, whatever the file says, as after `--set`.
        stopping: instead of what the file says.

    Raises:
        StudyError: a case is no scenario, or two are the same.
        ScenarioError: the scenario itself has mistakes.
    """
    mistakes = Mistakes(str(study.path), study.text)
    mistakes.parse()
    base = _base(study, mistakes)
    before = [*study.common, *_baselines(study, base, mistakes)]
    after = [Override(key, value, ()) for key, value in sets]
    cases: list[Case] = []
    for levels in itertools.product(*(factor.levels for factor in study.factors)):
        middle = itertools.chain.from_iterable(level.overrides for level in levels)
        case = _case(study, len(cases), levels, [*before, *middle, *after], mistakes)
        if case is not None:
            cases.append(case)
    mistakes.raise_any()
    _all_different(cases, mistakes)
    metrics = study.metrics or _usual_metrics(cases[0])
    return Plan(study, tuple(cases), stopping or study.stopping, study.series, metrics)


def glance(scenario: Path, overrides: Iterable[Override], mistakes: Mistakes) -> None:
    """Notes a scenario that cannot be read, and keys that it does not have, beside other mistakes."""
    try:
        base = Scenario.load(scenario)
    except OSError as error:
        _unreadable(scenario, error, mistakes)
        return
    except ScenarioError:
        # Those of the scenario come when the study file has none.
        return
    for override in overrides:
        try:
            base.override([(override.key, override.value)])
        except ScenarioError as error:
            if all(one.file == "--set" and one.column <= len(override.key) for one in error.diagnostics):
                _blame(error, [override], mistakes)


def _base(study: StudyFile, mistakes: Mistakes) -> Scenario:
    try:
        return Scenario.load(study.scenario)
    except OSError as error:
        _unreadable(study.scenario, error, mistakes)
        mistakes.raise_any()
        raise


def _unreadable(scenario: Path, error: OSError, mistakes: Mistakes) -> None:
    reason = f"{scenario}: {error.strerror or error}"
    mistakes.add(("scenario",), UNREADABLE, reason, "name a scenario file, seen from the study file")


def _flows(text: str) -> dict[str, str]:
    """Names of the flows of an expanded scenario, and their transports."""
    return {flow["name"]: flow["transport"]["kind"] for flow in tomllib.loads(text)["flow"]}


def _baselines(study: StudyFile, base: Scenario, mistakes: Mistakes) -> list[Override]:
    """`compare_paths` of the study as that of flows."""
    wish = study.compare_paths
    if wish is None:
        return []
    flows = _flows(base.show())
    multipath = [name for name, transport in flows.items() if transport == "mptcp"]
    if isinstance(wish, bool):
        return [_compare(name, wanted=wish) for name in multipath]
    for index, name in enumerate(wish):
        if name not in flows:
            message, cure = f'there is no flow "{name}"', did_you_mean(name, flows)
            mistakes.add(("compare_paths", index), UNKNOWN_NAME, message, cure)
    return [
        _compare(name, wanted=name in wish) for name in {**dict.fromkeys(multipath), **dict.fromkeys(wish)}
    ]


def _compare(flow: str, *, wanted: bool) -> Override:
    return Override(f"flow.{flow}.compare_paths", "true" if wanted else "false", ("compare_paths",))


def _case(
    study: StudyFile, index: int, levels: Sequence[Level], overrides: list[Override], mistakes: Mistakes
) -> Case | None:
    pairs = [(override.key, override.value) for override in overrides]
    try:
        scenario = Scenario.load(study.scenario, pairs)
    except ScenarioError as error:
        _blame(error, overrides, mistakes)
        return None
    names = [factor.name for factor in study.factors]
    name = SEPARATOR.join(level.label for level in levels) or scenario.name
    labels = {factor: level.label for factor, level in zip(names, levels, strict=True)}
    text = scenario.whole()
    return Case(index, name, labels, tuple(pairs), text, key_of(text))


def _blame(error: ScenarioError, overrides: list[Override], mistakes: Mistakes) -> None:
    """Mistakes in overrides stand in the study file; others are those of the scenario file."""
    for diagnostic in error.diagnostics:
        if diagnostic.file != "--set":
            mistakes.add_foreign(diagnostic)
            continue
        override = overrides[diagnostic.line - 1]
        if override.place:
            message = diagnostic.message
            if diagnostic.key and diagnostic.key != override.key:
                message = f"{diagnostic.key}: {message}"
            in_key = diagnostic.column <= len(override.key)
            place = override.named_at if in_key and override.named_at else override.place
            by_value = not in_key or place is override.named_at
            mistakes.add(place, diagnostic.code, message, diagnostic.help, value=by_value)
        else:
            mistakes.add_foreign(diagnostic)
    if not error.diagnostics:
        raise error


def _all_different(cases: list[Case], mistakes: Mistakes) -> None:
    first: dict[str, Case] = {}
    for case in cases:
        other = first.setdefault(case.key, case)
        if other is not case:
            message = f'the cases "{other.name}" and "{case.name}" are the same scenario'
            mistakes.add(("vary",), CONTRADICTION, message, "remove one of the levels", value=False)
    mistakes.raise_any()


def _usual_metrics(case: Case) -> tuple[Metric, ...]:
    """What most people ask first."""
    flows = list(_flows(case.text))
    if len(flows) > FEW_FLOWS:
        names = ["sum(flow.*.goodput_bit_s)", "jain(flow.*.goodput_bit_s)"]
    else:
        names = [f"flow.{flow}.{column}" for flow in flows for column in ("goodput_bit_s", "delay_p95_s")]
    return tuple(map(Metric.parse, names))


__all__ = ["Case", "Plan", "StudyError", "plan"]
