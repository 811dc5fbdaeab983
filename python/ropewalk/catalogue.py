"""Columns, time series and limits: what each is called, measured in and wanted for, as the extension says."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass

from ropewalk import _core

LEG = re.compile(r"^leg\d+_")
"""The beginning of the name of a time series of a leg."""
WANTED = {"up": 1, "down": -1, "neither": 0}


@dataclass(frozen=True, slots=True)
class Spec:
    """One column of a table, or one time series."""

    name: str
    label: str
    """Its label in plots and reports, without the unit."""
    unit: str
    """The unit in which it is shown; empty for a plain number."""
    scale: float
    """A value divided by this is in that unit."""
    wanted: int
    """1 if large values are good ones, -1 if small ones are, 0 if it depends on the question."""
    figure: bool
    """Whether it is a measurement that a metric of a study may name."""


@functools.cache
def tables() -> dict[str, dict[str, Spec]]:
    """The columns of each table by name, in order."""
    found = json.loads(_core.metrics())["tables"]
    return {table["name"]: {row["name"]: _spec(row) for row in table["columns"]} for table in found}


@functools.cache
def series() -> dict[tuple[str, str], Spec]:
    """Every time series that the project reports, by `flow` (its subflows too) or `link`, and name."""
    found = json.loads(_core.metrics())["series"]
    return {("link" if row["of"] == "link" else "flow", row["name"]): _spec(row) for row in found}


def of_series(kind: str, name: str) -> Spec | None:
    """A time series of a `flow` or a `link`; those of legs are specified once for all numbers."""
    return series().get((kind, LEG.sub("legN_", name) if kind == "flow" else name))


@functools.cache
def limits() -> dict[str, str]:
    """Columns of the tables `flows` and `subflows` to the limits of a sender, such as `congestion window`."""
    return {row["column"]: row["name"] for row in json.loads(_core.metrics())["limits"]}


def figures(table: str) -> list[str]:
    """The measurements among the columns of a table."""
    return [name for name, spec in tables()[table].items() if spec.figure]


def _spec(row: dict[str, str | float | bool]) -> Spec:
    return Spec(
        name=str(row["name"]),
        label=str(row["label"]),
        unit=str(row["unit"]),
        scale=float(row["scale"]),
        wanted=WANTED[str(row["better"])],
        figure=not row["key"] and row["kind"] != "word",
    )
