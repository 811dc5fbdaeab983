"""Reads study files: the extension checks them, and hands over what they say."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ropewalk import _core
from ropewalk.errors import StudyError
from ropewalk.reading import name, shown
from ropewalk.reading import text as text_in
from ropewalk.study.metrics import Metric
from ropewalk.study.model import Factor, Level, Stopping, StudyFile, Treatment


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file.

    Raises:
        OSError: it cannot be read.
        StudyError: it is none.
    """
    name(path)
    try:
        return text_in(path)
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not UTF-8 text (byte {error.start})\n  fix: save it as UTF-8") from None


def load(path: str | os.PathLike[str], reading: str | None = None) -> StudyFile:
    """Reads the study file `path`, in one of its readings if it has any.

    Raises:
        OSError: it cannot be read.
        StudyError: it has mistakes.
    """
    return parse(text_of(path), path, reading)


def parse(text: str, path: str | os.PathLike[str], reading: str | None = None) -> StudyFile:
    """Takes the text itself; the scenario is looked for beside `path`.

    Raises:
        StudyError: it has mistakes.
    """
    try:
        core = _core.Study.parse(text, shown(os.fspath(path)), reading)
    except _core.InvalidScenario as error:
        raise StudyError.from_core(error) from None
    found = json.loads(core.keys())
    if found["like"]:
        # Results are read without the files that this one is like.
        text = whole(text, path)
    paths = found["compare_paths"]
    return StudyFile(
        path=Path(path),
        text=text,
        core=core,
        reading=reading,
        name=found["name"],
        scenario=Path(found["scenario"]),
        factors=tuple(map(_factor, found["factors"])),
        stopping=_stopping(found["stopping"]),
        series=found["series"],
        compare_paths=tuple(paths) if isinstance(paths, list) else paths,
        metrics=tuple(map(Metric.parse, found["metrics"])),
        baseline=found["baseline"],
        treatment=Treatment(**{**found["treatment"], "pool": tuple(found["treatment"]["pool"])}),
    )


def whole(text: str, path: str | os.PathLike[str], reading: str | None = None) -> str:
    """The text of a study that is like no other: the keys of the study below an overlay are written out.

    Args:
        text: the file.
        path: its name; the studies that it is like are looked for beside it.
        reading: the one whose changes are made; by default readings stay as they are.

    Raises:
        StudyError: it has mistakes.
    """
    try:
        return _core.Study.whole(text, os.fspath(path), reading)
    except _core.InvalidScenario as error:
        raise StudyError.from_core(error) from None


def _factor(found: dict[str, Any]) -> Factor:
    levels = ((level["label"], level["overrides"]) for level in found["levels"])
    return Factor(found["name"], tuple(Level(label, tuple(map(tuple, pairs))) for label, pairs in levels))


def _stopping(found: dict[str, Any]) -> Stopping:
    metric = found.pop("metric")
    return Stopping(**found, metric=None if metric is None else Metric.parse(metric))
