"""A reproduction with something changed: its figures beside the published points, and no verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk import _core, written
from ropewalk.disk import alone, write_whole
from ropewalk.errors import StudyError
from ropewalk.pages import render
from ropewalk.reproduce import figures
from ropewalk.reproduce.conduct import FIGURES, Runs, run_all
from ropewalk.reproduce.page import picture_of
from ropewalk.reproduce.sources import StudySource
from ropewalk.store import forget_derived
from ropewalk.study import Study
from ropewalk.study.mistakes import did_you_mean
from ropewalk.study.model import Stopping
from ropewalk.study.plan import plan

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from ropewalk.reproduce.figures import Drawing
    from ropewalk.reproduce.model import Reproduction
    from ropewalk.study.model import StudyFile
    from ropewalk.study.results import StudyResults

COMPARISON_JSON, PAGE = "comparison.json", "comparison.html"
FORM = 1
EVERYWHERE, ABSENT, VARIED = "all", "absent", "varied"
"""The effect of a key in a study, in the words of the extension."""


class NothingToDraw(ValueError):
    """No figure has anything to do with what is asked for."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A study that was run, and what became of the keys in it."""

    name: str
    sets: tuple[tuple[str, str], ...]
    """Changes that hold for all of its cases."""
    absent: tuple[str, ...]
    """Keys that its scenario does not have."""
    varied: tuple[str, ...]
    """Keys that it varies."""

    @property
    def said(self) -> str:
        """The same in words."""
        parts = ["changed" if self.sets else "unchanged"]
        parts += [f"its scenario has no {key}" for key in self.absent]
        parts += [f"it varies {key}" for key in self.varied]
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Change:
    """The figures and runs that are wanted."""

    reproduction: Reproduction
    sets: tuple[tuple[str, str], ...]
    quick: bool
    drawings: tuple[Drawing, ...]
    touched: tuple[Touched, ...]
    """The studies of these figures."""
    studies: Mapping[str, Study] = field(repr=False)
    """The same, ready to be run."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The outcome."""

    change: Change
    sources: Mapping[str, StudySource]
    """By profile."""
    runs: Runs


def change(
    reproduction: Reproduction,
    sets: Sequence[tuple[str, str]] = (),
    *,
    chosen: Sequence[str] = (),
    quick: bool = False,
    profile: str | None = None,
) -> Change:
    """Finds the figures that a change concerns, and their studies.

    Args:
        reproduction: the files as they are.
        sets: keys that hold in all studies whose scenario has them and which do not vary them; without any
            the files themselves have been changed, and all figures are drawn.
        chosen: ids of figures; all by default.
        quick: at most as many replications as the reproduction says for `--quick`.
        profile: only figures of this reading.

    Raises:
        NothingToDraw: there is no such figure, or none that the change concerns.
        StudyError: no study has one of the keys, all that have it vary it, or a file has mistakes.
        OSError: a file cannot be read.
    """
    drawings = _chosen(reproduction, chosen, profile)
    names = list(dict.fromkeys(name for drawing in drawings for name in sorted(drawing.studies)))
    touched = {name: _touched(reproduction.studies[name], name, sets) for name in names}
    _refuse_idle(reproduction, touched, sets)
    if sets:
        drawings = [one for one in drawings if any(touched[study].sets for study in one.studies)]
    wanted = [touched[name] for name in names if any(name in drawing.studies for drawing in drawings)]
    studies = {
        one.name: _study(reproduction, reproduction.studies[one.name], one.sets, quick=quick)
        for one in wanted
    }
    said = f"changed: {', '.join(f'{key} = {value}' for key, value in sets)}" if sets else "files as they are"
    drawn = tuple(replace(drawing, title=f"{drawing.title}\n{said}") for drawing in drawings)
    return Change(reproduction, tuple(sets), quick, drawn, tuple(wanted), studies)


def compare(
    wanted: Change,
    out: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    executor: str = "local",
    progress: Callable[[str, int, int], object] | None = None,
) -> Compared:
    """Runs the studies, and draws the figures beside the published points.

    Args:
        wanted: the changes.
        out: a directory of its own.
        jobs: units of work at the same time.
        executor: as of studies.
        progress: called with (study, done, total).

    Raises:
        StudyError: a metric names what the scenario does not have.
        StoreError, ExecutorError, OSError: it could not be computed or written.
        KeyboardInterrupt: Ctrl-C; finished replications are kept.
    """
    results: dict[str, StudyResults] = {}
    profiles = dict.fromkeys(drawing.profile for drawing in wanted.drawings)
    sources = {name: StudySource(wanted.reproduction, name, results) for name in profiles}
    directory = Path(out)
    runs = run_all(
        wanted.studies, directory, sources, results, jobs=jobs, executor=executor, progress=progress
    )
    made = Compared(wanted, sources, runs)
    _write(made, directory)
    return made


def _chosen(reproduction: Reproduction, chosen: Sequence[str], profile: str | None) -> list[Drawing]:
    known = figures.load(reproduction)
    # One that is drawn for several readings has the id of the file with that of the reading behind it.
    names = [(drawing, drawing.id, drawing.id.removesuffix(f"-{drawing.profile}")) for drawing in known]
    for name in chosen:
        if not any(name in ids for _, *ids in names):
            ids = dict.fromkeys(plain for _, _, plain in names)
            raise NothingToDraw(f'there is no figure "{name}"\n  fix: {did_you_mean(name, ids)}')
    found = [
        drawing
        for drawing, *ids in names
        if (not chosen or any(name in ids for name in chosen))
        and (profile is None or drawing.profile == profile)
    ]
    if not found:
        raise NothingToDraw(
            f"{reproduction.name} has no figures" + f" of the profile {profile}" * (profile is not None)
        )
    return found


def _touched(study: StudyFile, name: str, sets: Sequence[tuple[str, str]]) -> Touched:
    try:
        reached = list(zip(sets, study.core.reach(list(sets)), strict=True))
    except _core.InvalidScenario as error:
        raise StudyError.from_core(error) from None
    return Touched(
        name,
        tuple(pair for pair, reach in reached if reach == EVERYWHERE),
        tuple(key for (key, _), reach in reached if reach == ABSENT),
        tuple(key for (key, _), reach in reached if reach == VARIED),
    )


def _refuse_idle(
    reproduction: Reproduction, touched: Mapping[str, Touched], sets: Sequence[tuple[str, str]]
) -> None:
    """A key that would change nothing: where a study varies it, or else the first scenario, says why."""
    for pair in sets:
        if any(pair in study.sets for study in touched.values()):
            continue
        varying = [name for name, study in touched.items() if pair[0] in study.varied]
        # It raises, with place and cure.
        plan(reproduction.studies[(varying or list(touched))[0]], [pair])


def _study(
    reproduction: Reproduction, file: StudyFile, sets: Sequence[tuple[str, str]], *, quick: bool
) -> Study:
    most = reproduction.quick_replications if quick else None
    fewer = None if most is None or file.stopping.maximum <= most else Stopping.fixed(most)
    return Study(plan(file, sets, fewer))


def _write(made: Compared, directory: Path) -> None:
    """Figures, page, and what both are made of."""
    with alone(directory):
        forget_derived(directory)
        files = figures.write(made.change.drawings, made.sources, directory / FIGURES)
        contents = {PAGE: _page(made, files).encode()}
        write_whole(directory / PAGE, contents[PAGE], lasting=False)
        known = written.digests(contents | {f"{FIGURES}/{file.name}": file.read_bytes() for file in files})
        sealed = written.seal({**summary(made), "files": known}, 1)
        write_whole(directory / COMPARISON_JSON, sealed, lasting=False)


def _page(made: Compared, files: Sequence[Path]) -> str:
    return render(
        "changed.html",
        title=f"{made.change.reproduction.name}: {made.change.reproduction.title}"
        + ", changed" * bool(made.change.sets),
        source=made.change.reproduction.source,
        sets=made.change.sets,
        quick=made.change.quick,
        studies=made.change.touched,
        pictures=[
            picture_of(drawing, path) for drawing, path in zip(made.change.drawings, files, strict=True)
        ],
    )


def summary(made: Compared) -> dict[str, Any]:
    """The object that `ropewalk reproduce --compare --json` prints."""
    return {
        "form": FORM,
        "reproduction": made.change.reproduction.name,
        "title": made.change.reproduction.title,
        "source": made.change.reproduction.source,
        "set": [list(pair) for pair in made.change.sets],
        "quick": made.change.quick,
        "version": _core.VERSION,
        "model_version": _core.MODEL_VERSION,
        "changed": [study.name for study in made.change.touched if study.sets],
        "unchanged": {study.name: study.said for study in made.change.touched if not study.sets},
        "figures": [
            {"id": drawing.id, "title": drawing.title, "file": f"{FIGURES}/{drawing.id}.png"}
            for drawing in made.change.drawings
        ],
    }
