"""`study.json`: what a study consisted of. It is all that is needed to read its results from the store."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk import _core, provenance, toml, written
from ropewalk.scenario import MAX_REPLICATIONS
from ropewalk.study.metrics import Metric
from ropewalk.study.model import Treatment  # noqa: TC001  # read by its annotation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.study.conduct import Conducted
    from ropewalk.study.plan import Plan

FILE = "study.json"
FORM = 1


@dataclass(frozen=True, slots=True)
class CaseEntry:
    """A case and its replications."""

    case: str
    levels: dict[str, str]
    """Factor to level."""
    key: str
    """Address in the store."""
    replications: int
    """Seeds 1 to this, failed ones included."""
    overrides: list[list[str]]
    """Keys and values that make the scenario of the case out of that of the study."""

    def mistakes(self, factors: dict[str, list[str]]) -> Iterator[str]:
        """Mistakes that the kinds of the values do not rule out."""
        if list(self.levels) != list(factors):
            yield f"levels: found those of {', '.join(self.levels)}, factors are {', '.join(factors)}"
        elif strange := [name for name, level in self.levels.items() if level not in factors[name]]:
            yield f"levels.{strange[0]}: there is no level {self.levels[strange[0]]!r} among the factors"
        if not 1 <= self.replications <= MAX_REPLICATIONS:
            yield f"replications: found {self.replications}, allowed are 1 to {MAX_REPLICATIONS}"
        if any(len(pair) != len(("key", "value")) for pair in self.overrides):
            yield "overrides: found other things than pairs of key and value"


@dataclass(frozen=True, slots=True)
class FailureEntry:
    """A run without results."""

    case: str
    seed: int
    message: str
    command: str
    """The command that repeats it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `study.json`."""

    name: str
    scenario: str
    """File."""
    version: str
    """Version of Ropewalk."""
    model_version: int
    factors: dict[str, list[str]]
    """The varied factors and their levels."""
    metrics: tuple[Metric, ...]
    baseline: dict[str, str] | None
    treatment: Treatment
    series: int
    cases: list[CaseEntry]
    failures: list[FailureEntry]
    store: Path
    text: str = field(repr=False)
    """The study file."""
    files: dict[str, str] = field(default_factory=dict, repr=False)
    """SHA-256 of the files beside it, by name."""

    def content(self, directory: Path, files: dict[str, str]) -> bytes:
        """As a file of `directory`. A store inside it is named by its place there: the whole can be moved.

        Args:
            directory: the results.
            files: the other files there, by name: their SHA-256.
        """
        entries: dict[str, Any] = asdict(self)
        entries["metrics"] = [metric.text for metric in self.metrics]
        entries["store"] = (
            os.path.relpath(self.store, directory)
            if _inside(self.store, directory)
            else str(self.store.resolve())
        )
        return written.seal({"form": FORM, **entries, "files": files}, indent=1)

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        """The files that `content` made. Other files of the results, if there, must be as written.

        Raises:
            OSError: there is no such file.
            ValueError: it is of another form, or a file is not what was written.
        """
        path = directory / FILE
        if written.parse(path).get("form") != FORM:
            raise ValueError(f"{path}: not the list of a study, or of another version of Ropewalk")
        found = written.load(path, cls, {Metric: Metric.parse, Path: directory.joinpath})
        if mistake := next(found.mistakes(), None):
            raise ValueError(f"{path}: {mistake}")
        written.check_all(path, found.files)
        provenance.read(directory)
        return found

    def mistakes(self) -> Iterator[str]:
        """Mistakes that the kinds of the values do not rule out."""
        for name, level in (self.baseline or {}).items():
            if level not in self.factors.get(name, ()):
                yield f"baseline: there is no {name} {level!r}"
        yield from self.treatment.mistakes(self.factors)
        if self.series < 0:
            yield f"series: found {self.series}, allowed are 0 and more"
        for name in ("metrics", "cases"):
            if not getattr(self, name):
                yield f"{name}: there are none"
        try:
            toml.values(self.text, self.name)
        except (ValueError, RecursionError) as error:
            yield f"text: no study file: {error}"
        yield from self._mistakes_of_runs()

    def _mistakes_of_runs(self) -> Iterator[str]:
        runs: dict[str, int] = {}
        for index, case in enumerate(self.cases):
            yield from (f"cases[{index}].{mistake}" for mistake in case.mistakes(self.factors))
            if case.case in runs:
                yield f"cases[{index}].case: there are two of the name {case.case!r}"
            runs[case.case] = case.replications
        there = [case.levels for case in self.cases]
        for case in self.cases:
            if self.baseline is not None and {**case.levels, **self.baseline} not in there:
                yield f"cases: {case.case!r} has no baseline among them"
        for index, failure in enumerate(self.failures):
            if not 1 <= failure.seed <= runs.get(failure.case, 0):
                yield f"failures[{index}]: there is no seed {failure.seed} of case {failure.case!r}"


def _inside(store: Path, directory: Path) -> bool:
    return store.resolve().is_relative_to(directory.resolve())


def manifest(plan: Plan, conducted: Conducted, store: Path) -> Manifest:
    """The part of `plan` that has been done."""
    study = plan.study
    cases = [
        CaseEntry(
            case.name,
            case.levels,
            case.key,
            conducted.replications[case.index],
            [list(pair) for pair in case.overrides],
        )
        for case in plan.cases
    ]
    failures = [
        FailureEntry(
            failure.case.name, failure.seed, failure.message, plan.command(failure.case, failure.seed)
        )
        for failure in conducted.failures
    ]
    return Manifest(
        name=study.name,
        scenario=str(study.scenario),
        version=_core.VERSION,
        model_version=_core.MODEL_VERSION,
        factors={factor.name: [level.label for level in factor.levels] for factor in study.factors},
        metrics=plan.metrics,
        baseline=study.baseline,
        treatment=study.treatment,
        series=plan.series,
        cases=cases,
        failures=failures,
        store=store,
        text=study.text,
    )
