"""Reads study files."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk.scenario import MAX_REPLICATIONS, toml_value
from ropewalk.study import document
from ropewalk.study.metrics import Metric, MetricError
from ropewalk.study.mistakes import (
    CONTRADICTION,
    MISSING,
    UNKNOWN_NAME,
    WRONG_VALUE,
    Mistakes,
    did_you_mean,
)
from ropewalk.study.model import (
    CORRECTIONS,
    OUTLIERS,
    TESTS,
    Factor,
    Level,
    Override,
    Stopping,
    StudyFile,
    Treatment,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ropewalk.study.places import Path as Place

KEYS = (
    *("name", "description", "scenario", "set", "vary", "replications", "series", "compare_paths"),
    *("metrics", "baseline", "statistics"),
)
VARY = ("name", "key", "values", "labels", "zip", "cases")
STOPPING = ("until", "half_width", "min", "max", "step")
STATISTICS = ("outliers", "z", "test", "correction", "alpha", "pool")
RESERVED = (
    *("case", "run", "metric", "value", "replications", "failed", "key"),
    *("n", "mean", "sd", "ci95", "min", "p5", "p25", "median", "p75", "p95", "max", "outliers"),
    *("baseline", "pairs", "difference", "relative", "p", "p_adjusted", "differs"),
    *("groups", "gap", "poolable"),
)
"""Columns of the tables of a study: factors cannot be called that."""
MAX_CASES = 100_000
_PERCENT = re.compile(r"^(\d+(?:\.\d+)?)\s*%$")


def load(path: str | os.PathLike[str]) -> StudyFile:
    """Reads the study file `path`.

    Raises:
        OSError: it cannot be read.
        StudyError: it has mistakes.
    """
    return parse(document.read(path), path)


def parse(text: str, path: str | os.PathLike[str]) -> StudyFile:
    """Takes the text itself; the scenario is looked for beside `path`.

    Raises:
        StudyError: it has mistakes.
    """
    return _Reader(Mistakes(os.fspath(path), text)).study(Path(path), text)


class _Reader(document.Document):
    def study(self, path: Path, text: str) -> StudyFile:
        self.known(self.root, (), KEYS, "of a study")
        name = self._compulsory("name", 'a title for tables, as in name = "schedulers over GEO"')
        scenario = self._compulsory(
            "scenario", 'the scenario file, seen from this file: scenario = "two-beams.toml"'
        )
        self.take(self.root, (), "description", str, "")
        common = self._overrides(self.take(self.root, (), "set", dict, {}), ("set",))
        factors = self._factors()
        self._distinct(common, factors)
        study = StudyFile(
            path=path,
            text=text,
            name=name,
            scenario=path.parent / scenario,
            common=common,
            factors=factors,
            stopping=self._stopping(),
            series=self._count(self.root, (), "series", 0, lowest=0),
            compare_paths=self._compare_paths(),
            metrics=self._metrics(),
            baseline=self._baseline(factors),
            treatment=self._treatment(factors),
        )
        if self.mistakes and scenario:
            # All mistakes at once: also those that only the scenario tells.
            from ropewalk.study.plan import glance

            firsts = [level.overrides for factor in factors for level in factor.levels[:1]]
            glance(study.scenario, [*common, *itertools.chain.from_iterable(firsts)], self.mistakes)
        self.mistakes.raise_any()
        return study

    def _compulsory(self, key: str, what: str) -> str:
        if key not in self.root:
            self.mistakes.add((), MISSING, f"`{key}` is missing", f"add {what}")
        value: str = self.take(self.root, (), key, str, "")
        if key in self.root and value == "" and isinstance(self.root[key], str):
            self.mistakes.add((key,), WRONG_VALUE, "the text is empty", f"write {what}")
        return value

    def _count(self, table: dict[str, Any], place: Place, key: str, default: int, *, lowest: int = 1) -> int:
        value: int = self.take(table, place, key, int, default)
        if not lowest <= value <= MAX_REPLICATIONS:
            message = f"found {value}, which is not between {lowest} and {MAX_REPLICATIONS}"
            self.mistakes.add((*place, key), WRONG_VALUE, message, f"write a number from {lowest} on")
            return default
        return value

    def _choice(self, table: dict[str, Any], place: Place, key: str, allowed: tuple[str, ...]) -> str:
        value: str = self.take(table, place, key, str, allowed[0])
        if value not in allowed:
            message = f'found "{value}"'
            self.mistakes.add((*place, key), UNKNOWN_NAME, message, did_you_mean(value, allowed))
            return allowed[0]
        return value

    def _overrides(self, table: dict[str, Any], place: Place) -> tuple[Override, ...]:
        return tuple(self._override(key, value, (*place, key)) for key, value in table.items())

    def _override(self, key: str, value: Any, place: Place, named_at: Place = ()) -> Override:  # noqa: ANN401
        if not _is_plain(value):
            self.mistakes.add(
                place, WRONG_VALUE, "dates and times mean nothing to a scenario", "put it into quotes"
            )
            return Override(key, "0", place, named_at)
        return Override(key, toml_value(value), place, named_at)

    def _factors(self) -> tuple[Factor, ...]:
        tables = self.tables(self.root, (), "vary")
        factors: list[Factor] = []
        for index, table in enumerate(tables):
            place: Place = ("vary", index)
            factor = self._factor(table, place)
            if factor is None:
                continue
            if any(factor.name == other.name for other in factors):
                message = f'another [[vary]] is called "{factor.name}", too'
                self.mistakes.add(place, CONTRADICTION, message, "give this one another `name`", value=False)
            factors.append(factor)
        cases = 1
        for factor in factors:
            cases *= max(1, len(factor.levels))
        if cases > MAX_CASES:
            message = f"these are {cases} cases, and {MAX_CASES} are allowed"
            self.mistakes.add(("vary",), CONTRADICTION, message, "vary less at a time", value=False)
        return tuple(factors)

    def _factor(self, table: dict[str, Any], place: Place) -> Factor | None:
        self.known(table, place, VARY, f"of `{place[0]}`")
        ways = [way for way in ("values", "zip", "cases") if way in table]
        if len(ways) != 1:
            message = f"found {' and '.join(f'`{way}`' for way in ways) or 'nothing to vary'}"
            cure = "write one of `key` with `values`, `zip` (keys in step), `cases` (sets of keys by name)"
            self.mistakes.add(place, CONTRADICTION if ways else MISSING, message, cure, value=False)
            return None
        way = ways[0]
        self._fits(table, place, way)
        levels = {"values": self._listed, "zip": self._zipped, "cases": self._named}[way](table, place)
        name: str = self.take(table, place, "name", str, str(table.get("key", "")).rpartition(".")[2])
        if not name or name in RESERVED:
            message = f'"{name}" is a column of the tables of a study' if name else "`name` is missing"
            at = (*place, "name" if "name" in table else "key")
            cure = f'write name = "{name}s" or another' if name else "give it a name of its own"
            self.mistakes.add(at, WRONG_VALUE if name else MISSING, message, cure)
        labels = [level.label for level in levels]
        for label in sorted({label for label in labels if labels.count(label) > 1}):
            message = f'two levels are called "{label}"'
            self.mistakes.add((*place, way), CONTRADICTION, message, "name them apart with `labels`")
        return Factor(name, tuple(levels), place)

    def _fits(self, table: dict[str, Any], place: Place, way: str) -> None:
        """`key` goes with `values` alone, `labels` not with `cases`."""
        if way == "values" and "key" not in table:
            self.mistakes.add(
                (*place, way),
                MISSING,
                "`key` is missing",
                'add key = "flow.NAME.transport.scheduler" or the like',
                value=False,
            )
        if way != "values" and "key" in table:
            message, cure = f"`key` means nothing beside `{way}`", "remove it"
            self.mistakes.add((*place, "key"), CONTRADICTION, message, cure, value=False)
        if way == "cases" and "labels" in table:
            message, cure = "cases have names already", "remove `labels`"
            self.mistakes.add((*place, "labels"), CONTRADICTION, message, cure, value=False)

    def _listed(self, table: dict[str, Any], place: Place) -> list[Level]:
        key: str = self.take(table, place, "key", str, "")
        values: list[Any] = self.take(table, place, "values", list, [])
        labels = self._labels(table, place, [_label(value) for value in values], "values")
        return [
            Level(label, (self._override(key, value, (*place, "values", index), (*place, "key")),))
            for index, (label, value) in enumerate(zip(labels, values, strict=True))
        ]

    def _zipped(self, table: dict[str, Any], place: Place) -> list[Level]:
        lists: dict[str, Any] = self.take(table, place, "zip", dict, {})
        columns = {key: self.take(lists, (*place, "zip"), key, list, []) for key in lists}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            found = ", ".join(f"{key}: {len(column)}" for key, column in columns.items())
            message = f"the lists differ in length ({found})"
            self.mistakes.add(
                (*place, "zip"), CONTRADICTION, message, "give each key as many values", value=False
            )
            return []
        rows = list(zip(*columns.values(), strict=True))
        labels = self._labels(table, place, [", ".join(map(_label, row)) for row in rows], "zip")
        return [
            Level(
                label,
                tuple(
                    self._override(key, value, (*place, "zip", key, index))
                    for key, value in zip(columns, row, strict=True)
                ),
            )
            for index, (label, row) in enumerate(zip(labels, rows, strict=True))
        ]

    def _labels(self, table: dict[str, Any], place: Place, automatic: list[str], way: str) -> list[str]:
        if not automatic:
            self.mistakes.add(
                (*place, way), WRONG_VALUE, "there is nothing in it", "write at least one value"
            )
        if "labels" not in table:
            return automatic
        labels = self.texts(table, place, "labels")
        if len(labels) != len(automatic):
            message = f"found {len(labels)} labels for {len(automatic)} levels"
            self.mistakes.add((*place, "labels"), CONTRADICTION, message, "write one label for each level")
            return automatic
        return labels

    def _named(self, table: dict[str, Any], place: Place) -> list[Level]:
        cases: dict[str, Any] = self.take(table, place, "cases", dict, {})
        if not cases:
            self.mistakes.add(
                (*place, "cases"), WRONG_VALUE, "there is nothing in it", "write at least one case"
            )
        where: Place = (*place, "cases")
        sets = {name: self.take(cases, where, name, dict, {}) for name in cases}
        return [Level(name, self._overrides(keys, (*where, name))) for name, keys in sets.items()]

    def _distinct(self, common: tuple[Override, ...], factors: tuple[Factor, ...]) -> None:
        """A key that two places set would silently have the value of one of them."""
        owners: list[tuple[str, list[Override]]] = [("`set`", list(common))]
        owners += [
            (
                f'[[vary]] "{factor.name}"',
                list(itertools.chain(*(level.overrides for level in factor.levels))),
            )
            for factor in factors
        ]
        seen: dict[str, str] = {}
        for owner, overrides in owners:
            for override in overrides:
                if seen.setdefault(override.key, owner) != owner:
                    message = f"{seen[override.key]} sets `{override.key}`, too"
                    self.mistakes.add(
                        override.place, CONTRADICTION, message, "set it in one place", value=False
                    )

    def _stopping(self) -> Stopping:
        given = self.root.get("replications")
        if given is None:
            message, cure = (
                "`replications` is missing",
                "add replications = 20, or a rule with until, half_width, min and max",
            )
            self.mistakes.add((), MISSING, message, cure)
            return Stopping.fixed(1)
        if not isinstance(given, dict):
            return Stopping.fixed(self._count(self.root, (), "replications", 1))
        place: Place = ("replications",)
        self.known(given, place, STOPPING, f"of `{place[0]}`")
        for key in ("until", "half_width", "min", "max"):
            if key not in given:
                cure = 'write { until = "METRIC", half_width = "5%", min = 5, max = 100 }'
                self.mistakes.add(place, MISSING, f"`{key}` is missing", cure, value=False)
        minimum = self._count(given, place, "min", 2, lowest=2)
        maximum = self._count(given, place, "max", minimum, lowest=2)
        if maximum < minimum:
            message = f"max is {maximum}, which is less than min, {minimum}"
            self.mistakes.add((*place, "max"), CONTRADICTION, message, "write a larger max")
        metric = self._metric(self.take(given, place, "until", str, None), (*place, "until"))
        width = self._percent(given, place)
        step = self._count(given, place, "step", minimum)
        return Stopping(minimum, max(minimum, maximum), metric, width, step)

    def _percent(self, given: dict[str, Any], place: Place) -> float:
        text: str = self.take(given, place, "half_width", str, "5%")
        found = _PERCENT.match(text.strip())
        if not found or float(found[1]) == 0.0:
            message = f'found "{text}", which is no percentage above 0'
            self.mistakes.add(
                (*place, "half_width"), WRONG_VALUE, message, 'write a part of the mean, as in "5%"'
            )
            return 0.05
        return float(found[1]) / 100

    def _compare_paths(self) -> bool | tuple[str, ...] | None:
        given = self.root.get("compare_paths")
        if given is None or isinstance(given, bool):
            return given
        if isinstance(given, list):
            return tuple(self.texts(self.root, (), "compare_paths"))
        cure = "write true, false, or a list of flows"
        self.mistakes.add(("compare_paths",), WRONG_VALUE, "this names no flows", cure)
        return None

    def _metrics(self) -> tuple[Metric, ...]:
        texts = self.texts(self.root, (), "metrics")
        found = [self._metric(text, ("metrics", index)) for index, text in enumerate(texts)]
        for index, text in enumerate(texts):
            if text in texts[:index]:
                self.mistakes.add(
                    ("metrics", index), CONTRADICTION, f"{text} stands there twice", "remove one"
                )
        return tuple(metric for metric in found if metric is not None)

    def _metric(self, text: str | None, place: Place) -> Metric | None:
        if text is None:
            return None
        try:
            return Metric.parse(text)
        except MetricError as error:
            self.mistakes.add(place, UNKNOWN_NAME, str(error), error.cure)
            return None

    def _baseline(self, factors: tuple[Factor, ...]) -> dict[str, str] | None:
        if "baseline" not in self.root:
            return None
        given: dict[str, Any] = self.take(self.root, (), "baseline", dict, {})
        levels = {factor.name: [level.label for level in factor.levels] for factor in factors}
        for name, label in given.items():
            place: Place = ("baseline", name)
            if name not in levels:
                cure = did_you_mean(name, levels)
                self.mistakes.add(
                    place, UNKNOWN_NAME, f'nothing called "{name}" is varied', cure, value=False
                )
            elif label not in levels[name]:
                cure = did_you_mean(str(label), levels[name])
                self.mistakes.add(place, UNKNOWN_NAME, f'"{label}" is not a level of "{name}"', cure)
        if not given and isinstance(self.root["baseline"], dict):
            cure = 'name a level of at least one [[vary]], as in { scheduler = "minrtt" }'
            self.mistakes.add(("baseline",), WRONG_VALUE, "every case would be its own baseline", cure)
        return given

    def _treatment(self, factors: tuple[Factor, ...]) -> Treatment:
        given: dict[str, Any] = self.take(self.root, (), "statistics", dict, {})
        place: Place = ("statistics",)
        self.known(given, place, STATISTICS, f"of `{place[0]}`")
        pool = tuple(self.texts(given, place, "pool"))
        names = [factor.name for factor in factors]
        for index, name in enumerate(pool):
            if name not in names:
                message, cure = f'nothing called "{name}" is varied', did_you_mean(name, names)
                self.mistakes.add((*place, "pool", index), UNKNOWN_NAME, message, cure)
        positive: Callable[[float], bool] = lambda value: value > 0  # noqa: E731
        return Treatment(
            outliers=self._choice(given, place, "outliers", OUTLIERS),
            z=self._number(given, "z", 3.0, positive, "above 0"),
            test=self._choice(given, place, "test", TESTS),
            correction=self._choice(given, place, "correction", CORRECTIONS),
            alpha=self._number(given, "alpha", 0.05, lambda value: 0 < value < 1, "between 0 and 1"),
            pool=pool,
        )

    def _number(
        self, table: dict[str, Any], key: str, default: float, fits: Callable[[float], bool], range_: str
    ) -> float:
        value: float = self.take(table, ("statistics",), key, float, default)
        if not fits(value):
            message = f"found {value:g}, which is not {range_}"
            self.mistakes.add(("statistics", key), WRONG_VALUE, message, f"write a number {range_}")
            return default
        return value


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, str | bool | int | float)


def _label(value: object) -> str:
    """How a level is called without a name of its own."""
    if isinstance(value, str):
        return value
    return toml_value(value) if _is_plain(value) else "?"  # type: ignore[arg-type]
