"""One unit of work, replications of some cases: what threads, Dask workers and SLURM jobs are given."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ropewalk import _core
from ropewalk.scenario import Scenario

if TYPE_CHECKING:
    import threading


class WrongModel(RuntimeError):
    """A worker has another model version than the study."""


class Stopped(Exception):
    """The study ends; the unit of work is given up."""


@dataclass(frozen=True, slots=True)
class Part:
    """Replications of one case."""

    case: int
    """Index of the case."""
    text: str = field(repr=False)
    """Its scenario."""
    seeds: tuple[int, ...]
    series: bool
    """Record time series."""


@dataclass(frozen=True, slots=True)
class Order:
    """A unit of work."""

    parts: tuple[Part, ...]
    model_version: int = _core.MODEL_VERSION

    @property
    def runs(self) -> int:
        """Number of replications."""
        return sum(len(part.seeds) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a part."""

    part: Part
    records: tuple[tuple[tuple[int, ...], bytes], ...] = field(repr=False)
    """Seeds and what the store keeps of them."""
    errors: tuple[tuple[int, str], ...]
    """Seeds that failed, and why."""
    cpu_s: float
    """CPU seconds inside the engine."""


def carry_out(order: Order, stop: threading.Event | None = None) -> list[Outcome]:
    """Simulates. A replication that fails does not disturb the others.

    Raises:
        WrongModel: the results would not belong to the study.
        Stopped: `stop` was set.
    """
    if order.model_version != _core.MODEL_VERSION:
        raise WrongModel(
            f"the study has model version {order.model_version}, this worker has {_core.MODEL_VERSION}: "
            "install the same version of ropewalk on both"
        )
    # First all runs, then all tables: while the code of one is at hand the processor is quicker at it.
    return [_outcome(ran) for ran in [_run(part, stop) for part in order.parts]]


@dataclass(frozen=True, slots=True)
class _Ran:
    """A part that has been simulated."""

    part: Part
    outputs: list[tuple[tuple[int, ...], Scenario, _core.Output]]
    """Seeds and what the engine says of them."""
    errors: list[tuple[int, str]]


def _run(part: Part, stop: threading.Event | None) -> _Ran:
    try:
        return _Ran(part, [(part.seeds, *simulate(part, stop))], [])
    except Stopped:
        raise
    except Exception as error:
        if len(part.seeds) == 1:
            return _Ran(part, [], [(part.seeds[0], _words(error))])
    # One of them failed and took the others along: each for itself.
    alone = [_run(Part(part.case, part.text, (seed,), part.series), stop) for seed in part.seeds]
    outputs = [output for ran in alone for output in ran.outputs]
    return _Ran(part, outputs, [error for ran in alone for error in ran.errors])


def _outcome(ran: _Ran) -> Outcome:
    from ropewalk.results import Results
    from ropewalk.study.record import pack

    part = ran.part
    records = tuple(
        (seeds, pack(Results.from_output(scenario, list(seeds), output), part.series))
        for seeds, scenario, output in ran.outputs
    )
    return Outcome(part, records, tuple(ran.errors), sum(output.cpu_s for *_, output in ran.outputs))


def simulate(part: Part, stop: threading.Event | None) -> tuple[Scenario, _core.Output]:
    """On this thread; the interpreter lock is free meanwhile."""

    def look(_done: int, _total: int) -> None:
        if stop is not None and stop.is_set():
            raise Stopped

    scenario = _scenario(part.text)
    return scenario, scenario.output(list(part.seeds), 1, series=part.series, progress=look)


@functools.lru_cache(maxsize=64)
def _scenario(text: str) -> Scenario:
    return Scenario.parse(text, "case")


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, _core.RunFailed) else f"{type(error).__name__}: {error}"
