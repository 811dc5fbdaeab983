"""`ropewalk reproduce --compare`: the change, the studies that it reaches, the figures."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk.cli.reporting import RUN_FAILED, WRONG_INPUT, fail, refuse_others
from ropewalk.cli.study import computing, spent
from ropewalk.cli.tables import printer
from ropewalk.cli.texts import show_texts
from ropewalk.cli.verdicts import Progresses
from ropewalk.numbers import count
from ropewalk.reproduce.changed import Compared, NothingToDraw, change, compare, summary
from ropewalk.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.reproduce.model import Reproduction

LONGEST = 80
"""Characters of the name of a directory."""
_OTHER = re.compile(r"[^\w.=+-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class CompareOrder:
    """The options of the command."""

    sets: tuple[tuple[str, str], ...]
    figures: tuple[str, ...]
    quick: bool
    profile: str | None
    jobs: int | None
    executor: str
    as_json: bool


def usual_place(name: str, sets: Sequence[tuple[str, str]]) -> Path:
    """A directory for each change, so that none takes the place of another, nor of the verdicts."""
    words = "+".join(f"{key}={value}" for key, value in sets) or "compared"
    plain = _OTHER.sub("_", f"{name}+{words}")
    if plain != f"{name}+{words}" or len(plain) > LONGEST:
        plain = f"{plain[:LONGEST]}-{hashlib.sha256(words.encode()).hexdigest()[:8]}"
    return Path("results") / plain


def execute(reproduction: Reproduction, order: CompareOrder, out: Path | None) -> None:
    """Runs, draws, prints, writes."""
    if order.quick and reproduction.quick_replications is None:
        name = reproduction.name
        cure = f"leave it out and choose figures: --figure ID, of {name}/figures.toml"
        fail(f"--quick: {name} does not say how many replications that is\n  fix: {cure}", WRONG_INPUT)
    place = out or usual_place(reproduction.name, order.sets)
    refuse_others(place, "comparison")
    try:
        wanted = change(
            reproduction, order.sets, chosen=order.figures, quick=order.quick, profile=order.profile
        )
    except NothingToDraw as error:
        fail(str(error), WRONG_INPUT)
    with computing(place, order.executor), Progresses() as progress:
        made = compare(wanted, place, jobs=order.jobs, executor=order.executor, progress=progress.update)
    if order.as_json:
        sys.stdout.write(json.dumps(summary(made), ensure_ascii=False, allow_nan=False) + "\n")
    else:
        show(made)
    _say(made, place, as_json=order.as_json)


def show(made: Compared) -> None:
    """The change, the studies that it reaches, the figures."""
    out = printer()
    out.paragraph(f"{made.change.reproduction.name}: {made.change.reproduction.title}", style="bold")
    for key, value in made.change.sets:
        out.paragraph(f"changed: {key} = {value}", hanging=2)
    out.paragraph("Figures beside the published points; no verdicts, for the claims are about the document.")
    if made.change.sets:
        out.line()
        show_texts(
            out, ["study", "what the change comes to"], [[one.name, one.said] for one in made.change.touched]
        )
    out.line()
    titles = [[drawing.id, drawing.title.partition("\n")[0]] for drawing in made.change.drawings]
    show_texts(out, ["figure", "title"], titles)


def _say(made: Compared, place: Path, *, as_json: bool) -> None:
    runs = made.runs
    lines = [f"failed: {text}" for text in runs.failures]
    lines.append(spent(runs.computed, runs.found, runs.cpu_s, runs.elapsed_s))
    lines.append(f"comparison.html, comparison.json, figures, studies in {place}/")
    if as_json:
        sys.stderr.write(visible("\n".join(lines)) + "\n")
    else:
        out = printer()
        out.line()
        for line in lines:
            out.paragraph(line, hanging=2)
    if runs.failures:
        fail(f"{count(len(runs.failures), 'run')} failed", RUN_FAILED)
