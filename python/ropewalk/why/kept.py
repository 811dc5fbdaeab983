"""A diagnosis beside the results that it is about, for their report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import written
from ropewalk.disk import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.why.model import Diagnosis

FILE = "why.json"


@dataclass(frozen=True, slots=True)
class KeptRatio:
    """Goodput with a change over goodput without it, or the inverse ratio of the delays."""

    mean: float
    ci95: float | None


@dataclass(frozen=True, slots=True)
class KeptCure:
    """A change that helps."""

    set: list[str]
    goodput_ratio: KeptRatio


@dataclass(frozen=True, slots=True)
class KeptReason:
    """One reason."""

    cause: str
    share: float
    evidence: str
    cures: list[KeptCure]


@dataclass(frozen=True, slots=True)
class KeptFlow:
    """One flow."""

    flow: str
    measure: str
    budget: dict[str, float]
    reasons: list[KeptReason]
    unproven: list[str]


@dataclass(frozen=True, slots=True)
class Kept:
    """The diagnosis of `ropewalk why DIR`."""

    flows: list[KeptFlow]


def write(directory: Path, diagnosis: Diagnosis) -> Path:
    """Replaces what an earlier call left.

    Raises:
        OSError: it could not be written.
    """
    flows = [{"unproven": [], **flow} for flow in diagnosis.to_dict()["flows"]]
    found = {"flows": flows, "belongs_to": written.belonging(directory)}
    write_whole(directory / FILE, written.seal(found, indent=1), lasting=False)
    return directory / FILE


def read(directory: Path) -> Kept | None:
    """None if nothing was kept.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not what was written, or was written for other results.
    """
    path = directory / FILE
    if not path.exists():
        return None
    kept = written.load(path, Kept)
    written.check_belonging(path, written.parse(path))
    return kept
