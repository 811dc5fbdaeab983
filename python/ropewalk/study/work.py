"""One unit of work, replications of some cases: what threads, Dask workers and SLURM jobs are given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ropewalk import _core
from ropewalk.scenario import Scenario
from ropewalk.study.address import backend_of

if TYPE_CHECKING:
    import threading

    from ropewalk.study.record import Record

LARGE = 500_000
"""Rows of all tables after which a record is closed."""


class WrongModel(RuntimeError):
    """A worker has another model version than the study."""


class Stopped(Exception):
    """The study ends; the unit of work is given up."""


@dataclass(frozen=True, slots=True)
class Part:
    """Replications of one case."""

    key: str
    """Address of the case in the store."""
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
    """The outcome of an order."""

    records: tuple[Record, ...]
    """The record for the store."""
    errors: tuple[tuple[str, int, str], ...]
    """Keys and seeds that failed, and why."""
    cpu_s: float
    """CPU seconds inside the engine."""


def carry_out(order: Order, stop: threading.Event | None = None) -> Outcome:
    """Simulates. A replication that fails does not disturb the others.

    Raises:
        WrongModel: the results would not belong to the study.
        Stopped: `stop` was set.
    """
    from ropewalk.study.record import Piece, pack

    if order.model_version != _core.MODEL_VERSION:
        raise WrongModel(
            f"the study has model version {order.model_version}, this worker has {_core.MODEL_VERSION}: "
            "install the same version of ropewalk on both"
        )
    ran: list[tuple[Part, _core.Output]] = []
    errors: list[tuple[str, int, str]] = []
    records: list[Record] = []
    cpu_s, rows = 0.0, 0
    for place, part in enumerate(order.parts, 1):
        before = len(ran)
        _run(part, stop, ran, errors)
        rows += sum(len(table) for _, output in ran[before:] for _, table in output.tables)
        # First all runs, then all tables: the processor is faster while the code of one task is in its cache.
        # But time series are not piled up.
        if ran and (place == len(order.parts) or rows > LARGE):
            records += [
                pack([(Piece(p.key, p.seeds, p.series), p.text, output) for p, output in alike])
                for alike in _by_columns(ran)
            ]
            cpu_s += sum(output.cpu_s for _, output in ran)
            ran.clear()
            rows = 0
    return Outcome(tuple(records), tuple(errors), cpu_s)


def _by_columns(ran: list[tuple[Part, _core.Output]]) -> list[list[tuple[Part, _core.Output]]]:
    """Parts whose tables have the same columns: values that a case draws are columns of `runs`."""
    import polars as pl

    found: dict[tuple[str, ...], list[tuple[Part, _core.Output]]] = {}
    for part, output in ran:
        runs = next(table for name, table in output.tables if name == "runs")
        found.setdefault(tuple(pl.DataFrame(runs).columns), []).append((part, output))
    return list(found.values())


def _run(
    part: Part,
    stop: threading.Event | None,
    ran: list[tuple[Part, _core.Output]],
    errors: list[tuple[str, int, str]],
) -> None:
    try:
        ran.append((part, simulate(part, stop)))
    except Stopped:
        raise
    except Exception as error:
        if len(part.seeds) == 1:
            errors.append((part.key, part.seeds[0], _words(error)))
            return
        # One of them failed and took the others along: each for itself.
        for seed in part.seeds:
            _run(replace(part, seeds=(seed,)), stop, ran, errors)


def simulate(part: Part, stop: threading.Event | None) -> _core.Output:
    """On this thread; the interpreter lock is free meanwhile."""

    def look(_done: int, _total: int) -> None:
        if stop is not None and stop.is_set():
            raise Stopped

    scenario, backend = Scenario.parse(part.text, "case"), backend_of(part.text)
    return scenario.output(list(part.seeds), 1, series=part.series, progress=look, backend=backend)


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, _core.RunFailed) else f"{type(error).__name__}: {error}"
