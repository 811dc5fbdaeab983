"""From a study file to cases: one checked scenario for each combination of levels."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ropewalk import _core
from ropewalk.errors import StudyError
from ropewalk.study.address import SIMULATOR, backend_of, key_of, on
from ropewalk.study.metrics import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.study.model import Stopping, StudyFile


SEPARATOR = " / "
"""Between the levels in the name of a case."""


@dataclass(frozen=True, slots=True)
class Case:
    """One combination of levels."""

    index: int
    name: str
    levels: dict[str, str]
    """Factor to level."""
    overrides: tuple[tuple[str, str], ...]
    """The arguments of `--set` that give the scenario."""
    text: str = field(repr=False)
    """The scenario with every default filled in."""
    key: str
    """Hash of it, without title and number of seeds, and of the model version."""
    left_out: tuple[str, ...] = ()
    """Keys of the scenario file that a `kind` of the case does not have."""


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
        """The command that repeats one run."""
        words = ["ropewalk", "run", str(self.study.scenario), "--seed", str(seed)]
        if (backend := backend_of(case.text)) != SIMULATOR:
            words += ["--backend", backend]
        for key, value in case.overrides:
            words += ["--set", f"{key}={value}"]
        return shlex.join(words)


def plan(
    study: StudyFile,
    sets: Sequence[tuple[str, str]] = (),
    stopping: Stopping | None = None,
    backend: str = SIMULATOR,
) -> Plan:
    """Expands and checks all cases.

    Args:
        study: the study file.
        sets: keys that hold for all cases, whatever the file says, as after `--set`.
        stopping: instead of what the file says.
        backend: what runs them.

    Raises:
        StudyError: a case is no scenario, or two are the same, or the back end cannot run one; or the
            scenario itself has mistakes.
    """
    try:
        found = study.core.cases(list(sets))
        if backend != SIMULATOR:
            for name, _, _, text, _ in found:
                _core.Document.parse(text, f"case {name}", []).check_backend(backend)
    except _core.InvalidScenario as error:
        raise StudyError.from_core(error) from None
    cases = tuple(
        Case(
            index,
            name,
            dict(levels),
            tuple(overrides),
            on(backend, text),
            key_of(on(backend, text)),
            tuple(left_out),
        )
        for index, (name, levels, overrides, text, left_out) in enumerate(found)
    )
    metrics = study.metrics or tuple(map(Metric.parse, _core.Study.usual_metrics(cases[0].text)))
    return Plan(study, cases, stopping or study.stopping, study.series, metrics)


__all__ = ["Case", "Plan", "StudyError", "plan"]
