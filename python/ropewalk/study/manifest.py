"""`study.json`: what a study consisted of. It is all that is needed to read its results from the store."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ropewalk import _core
from ropewalk.study.metrics import Metric, MetricError
from ropewalk.study.model import Treatment

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.study.conduct import Conducted
    from ropewalk.study.plan import Plan

FILE = "study.json"
FORM = 1


@dataclass(frozen=True, slots=True)
class CaseEntry:
    """A case and what is there of it."""

    case: str
    levels: dict[str, str]
    """Factor to level."""
    key: str
    """Address in the store."""
    replications: int
    """Seeds 1 to this, failed ones included."""
    overrides: list[list[str]]
    """Keys and values that make the scenario of the case out of that of the study."""


@dataclass(frozen=True, slots=True)
class FailureEntry:
    """A run without results."""

    case: str
    seed: int
    message: str
    command: str
    """What repeats it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of it."""

    name: str
    scenario: str
    """File."""
    version: str
    """Of Ropewalk."""
    model_version: int
    factors: dict[str, list[str]]
    """What was varied, and its levels."""
    metrics: tuple[Metric, ...]
    baseline: dict[str, str] | None
    treatment: Treatment
    series: int
    cases: list[CaseEntry]
    failures: list[FailureEntry]
    store: Path
    text: str = field(repr=False)
    """The study file."""

    def to_json(self, directory: Path) -> str:
        """As JSON. A store inside `directory` is named by its place there, so that the whole can be moved."""
        entries: dict[str, Any] = asdict(self)
        entries["metrics"] = [metric.text for metric in self.metrics]
        entries["store"] = (
            os.path.relpath(self.store, directory)
            if _inside(self.store, directory)
            else str(self.store.resolve())
        )
        return json.dumps({"form": FORM, **entries}, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        """What `to_json` made.

        Raises:
            OSError: there is no such file.
            ValueError: it is of another form.
        """
        path = directory / FILE
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        if not isinstance(found, dict) or found.pop("form", None) != FORM:
            raise ValueError(f"{path}: not the list of a study, or of another version of Ropewalk")
        try:
            found["metrics"] = tuple(map(Metric.parse, found["metrics"]))
            found["treatment"] = Treatment(
                **{**found["treatment"], "pool": tuple(found["treatment"]["pool"])}
            )
            found["cases"] = [CaseEntry(**entry) for entry in found["cases"]]
            found["failures"] = [FailureEntry(**entry) for entry in found["failures"]]
            found["store"] = directory / found["store"]
            return cls(**found)
        except (KeyError, TypeError, MetricError) as error:
            raise ValueError(f"{path}: {error}") from error


def _inside(store: Path, directory: Path) -> bool:
    return store.resolve().is_relative_to(directory.resolve())


def manifest(plan: Plan, conducted: Conducted, store: Path) -> Manifest:
    """What has been done of `plan`."""
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
