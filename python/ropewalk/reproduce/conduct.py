"""Runs the studies of a reproduction and judges its claims."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk import _core, written
from ropewalk.disk import alone, write_whole
from ropewalk.reproduce import figures
from ropewalk.reproduce.counting import Counted, RootRow, count, roots, to_csv, to_dicts, unexplained
from ropewalk.reproduce.page import page
from ropewalk.reproduce.sources import StudySource, check_configs
from ropewalk.reproduce.verdicts import VerdictRow, judge
from ropewalk.store import forget_derived
from ropewalk.study import Study
from ropewalk.study.plan import plan

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from ropewalk.reproduce.expressions import Source
    from ropewalk.reproduce.model import Claim, Reproduction
    from ropewalk.study.results import StudyResults

STORE, STUDIES = "store", "studies"
VERDICTS_JSON, VERDICTS_CSV, PAGE, FIGURES = "verdicts.json", "verdicts.csv", "verdicts.html", "figures"
FORM = 2


@dataclass(frozen=True, slots=True)
class Runs:
    """The work of a call."""

    computed: int
    """Replications computed by this call."""
    found: int
    """Replications that were there before."""
    cpu_s: float
    """CPU seconds inside the engine, over all threads."""
    elapsed_s: float
    """Seconds of this call."""
    failures: list[str]
    """Runs that failed: what, and the command that repeats each."""


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The outcome."""

    reproduction: Reproduction
    """Reproduction that is conducted."""
    quick: bool
    """Only the quick part."""
    rows: list[VerdictRow]
    """A verdict for each claim."""
    roots: list[RootRow]
    """The roots that differences share."""
    results: Mapping[str, StudyResults]
    """By the name of the study."""
    sources: Mapping[str, StudySource]
    """By profile."""
    runs: Runs
    """The work behind it."""

    @property
    def counted(self) -> Counted:
        """How many claims agree, reading by reading."""
        readings = {name: self.reproduction.readings.get(name, "") for name in self.sources}
        return count(self.rows, readings, self.reproduction.apart)


def reproduce(
    reproduction: Reproduction,
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    profile: str | None = None,
    jobs: int | None = None,
    executor: str = "local",
    progress: Callable[[str, int, int], object] | None = None,
) -> Reproduced:
    """Computes what is missing of the studies, judges the claims, writes `verdicts.csv` and `verdicts.json`.

    Args:
        reproduction: what to reproduce.
        out: a directory: studies in `studies/NAME`, finished replications of all of them in `store`.
        quick: only the claims marked so, with few replications.
        profile: only this reading of the document.
        jobs: units of work at the same time.
        executor: as of studies.
        progress: called with (study, done, total).

    Raises:
        ValueError: there is no such profile.
        StudyError, ScenarioError: a study has mistakes.
        StoreError, ExecutorError, OSError: it could not be computed or written.
        KeyboardInterrupt: Ctrl-C; finished replications are kept.
    """
    if profile is not None and profile not in reproduction.profiles:
        known = ", ".join(reproduction.profiles) or "it has none"
        raise ValueError(f'{reproduction.name} has no profile "{profile}"; profiles: {known}')
    profiles = (profile,) if profile is not None else reproduction.profiles or ("",)
    claims = [claim for claim in reproduction.claims if claim.quick or not quick]
    wanted = dict.fromkeys(study for claim in claims for study in reproduction.studies_of(claim, profiles))
    if not quick:
        drawn = [drawing for drawing in figures.load(reproduction) if drawing.profile in ("", *profiles)]
        wanted |= dict.fromkeys(study for drawing in drawn for study in sorted(drawing.studies))
    directory = Path(out)
    results: dict[str, StudyResults] = {}
    # A mistake in the last of them would otherwise show after the others have run.
    # In the order of the files.
    names = [name for name in reproduction.studies if name in wanted]
    studies = {name: _study(reproduction, name, quick=quick) for name in names}
    figures.load(reproduction)
    check_configs(reproduction, claims, profiles)
    sources = {name: StudySource(reproduction, name, results) for name in profiles}
    runs = run_all(studies, directory, sources, results, jobs=jobs, executor=executor, progress=progress)
    made = Reproduced(reproduction, quick, *_judged(reproduction, claims, sources), results, sources, runs)
    write(made, directory)
    return made


def run_all(
    studies: Mapping[str, Study],
    directory: Path,
    sources: Mapping[str, StudySource],
    results: dict[str, StudyResults],
    *,
    jobs: int | None,
    executor: str,
    progress: Callable[[str, int, int], object] | None,
) -> Runs:
    """Computes what is missing of studies, puts what came out into `results` and lets `sources` read it.

    Raises:
        StudyError: a metric names what the scenario does not have.
        StoreError, ExecutorError, OSError: it could not be computed or written.
        KeyboardInterrupt: Ctrl-C; finished replications are kept.
    """
    begun = time.monotonic()
    computed = found = 0
    cpu_s, failures = 0.0, []
    for name, study in studies.items():
        ran = study.run(
            directory / STUDIES / name,
            store=directory / STORE,
            jobs=jobs,
            executor=executor,
            progress=None if progress is None else partial(progress, name),
        )
        results[name] = ran.results
        # Its figures stay, its tables go: those of all studies together are gigabytes.
        for source in sources.values():
            source.read(name)
        ran.results.forget()
        computed += ran.conducted.computed
        found += ran.conducted.found
        cpu_s += ran.conducted.cpu_s
        failures += [
            f"{name}: {f.case}, seed {f.seed}: {f.message}\n    repeat: {f.command}"
            for f in ran.results.manifest.failures
        ]
    return Runs(computed, found, cpu_s, time.monotonic() - begun, failures)


def _judged(
    reproduction: Reproduction, claims: Sequence[Claim], sources: Mapping[str, Source]
) -> tuple[list[VerdictRow], list[RootRow]]:
    rows = judge(reproduction, claims, sources)
    return rows, roots(reproduction, rows, sources)


def _study(reproduction: Reproduction, name: str, *, quick: bool) -> Study:
    file = reproduction.studies[name]
    most = reproduction.quick_replications if quick else None
    if most is None or file.stopping.maximum <= most:
        return Study(plan(file))
    return Study.load(file.path, replications=most, reading=file.reading)


def write(made: Reproduced, directory: Path) -> None:
    """The verdicts as CSV, JSON and HTML, and the figures whose studies have been run; earlier ones go.

    Raises:
        OSError: they could not be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with alone(directory):
        forget_derived(directory)
        drawn = _drawn(made)
        files = figures.write(drawn, made.sources, directory / FIGURES) if drawn else []
        contents = {VERDICTS_CSV: to_csv(made.rows).encode()}
        contents[PAGE] = page(made, drawn, files, directory).encode()
        for name, content in contents.items():
            write_whole(directory / name, content, lasting=False)
        known = written.digests(contents | {f"{FIGURES}/{file.name}": file.read_bytes() for file in files})
        sealed = written.seal({**summary(made), "files": known}, 1)
        write_whole(directory / VERDICTS_JSON, sealed, lasting=False)


def _drawn(made: Reproduced) -> list[figures.Drawing]:
    """The figures whose studies have been run."""
    return [drawing for drawing in figures.load(made.reproduction) if drawing.studies <= set(made.results)]


def summary(made: Reproduced) -> dict[str, Any]:
    """The object that `ropewalk reproduce --json` prints."""
    reproduction = made.reproduction
    return {
        "form": FORM,
        "reproduction": reproduction.name,
        "title": reproduction.title,
        "source": reproduction.source,
        "quick": made.quick,
        "version": _core.VERSION,
        "model_version": _core.MODEL_VERSION,
        "studies": list(made.results),
        "counts": made.counted.verdicts,
        "checked": made.counted.checked,
        "readings": [asdict(reading) for reading in made.counted.readings],
        "roots": [asdict(root) for root in made.roots],
        "unexplained": [row.id for row in unexplained(made.rows)],
        "claims": to_dicts(made.rows),
        "figures": [
            {"id": drawing.id, "title": drawing.title, "file": f"{FIGURES}/{drawing.id}.png"}
            for drawing in _drawn(made)
        ],
    }
