"""The table of verdicts of a reproduction."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk.cli.progress import Progress
from ropewalk.cli.reporting import RUN_FAILED, UNEXPLAINED, WRONG_INPUT, fail, refuse_others
from ropewalk.cli.study import computing, spent
from ropewalk.cli.tables import printer
from ropewalk.cli.texts import show_texts
from ropewalk.numbers import count
from ropewalk.reproduce import files
from ropewalk.reproduce.conduct import reproduce, summary
from ropewalk.reproduce.counting import told, unexplained
from ropewalk.reproduce.verdicts import AGREEING, DIFFERING, LISTED, Verdict
from ropewalk.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

    from ropewalk.cli.texts import Printer
    from ropewalk.reproduce.conduct import Reproduced
    from ropewalk.reproduce.counting import RootRow
    from ropewalk.reproduce.model import Reproduction
    from ropewalk.reproduce.verdicts import VerdictRow

STYLES = {
    **dict.fromkeys(AGREEING, "green"),
    **dict.fromkeys(DIFFERING, "bold red"),
    **dict.fromkeys((*LISTED, Verdict.CANNOT), "dim"),
}


@dataclass(frozen=True, slots=True)
class ReproduceOrder:
    """The options of the command."""

    out: Path
    quick: bool
    profile: str | None
    jobs: int | None
    executor: str
    as_json: bool
    strict: bool


def list_all() -> None:
    """The reproductions that come with Ropewalk."""
    rows = []
    for name in files.names():
        found = files.load(name)
        quick = sum(claim.quick for claim in found.claims)
        rows.append([name, found.title, str(len(found.claims)), str(quick)])
    show_texts(printer(), ["name", "what", "claims", "quick"], rows)


def check_profile(reproduction: Reproduction, profile: str | None) -> None:
    """Ends the command if there is no such profile."""
    if profile is not None and profile not in reproduction.profiles:
        known = ", ".join(reproduction.profiles)
        fix = f"give one of these: {known}" if known else f"leave it out: {reproduction.name} has no profiles"
        fail(
            f'--profile: found "{profile}", which is no profile of {reproduction.name}\n  fix: {fix}',
            WRONG_INPUT,
        )


def execute(reproduction: Reproduction, order: ReproduceOrder) -> None:
    """Runs, judges, prints, writes."""
    refuse_others(order.out, "reproduction")
    with computing(order.out, order.executor), Progresses() as progress:
        made = reproduce(
            reproduction,
            order.out,
            quick=order.quick,
            profile=order.profile,
            jobs=order.jobs,
            executor=order.executor,
            progress=progress.update,
        )
    if order.as_json:
        sys.stdout.write(json.dumps(summary(made), ensure_ascii=False, allow_nan=False) + "\n")
    else:
        show(made)
    _say(made, order)


class Progresses:
    """The progress of one study after the other."""

    def __init__(self) -> None:
        self._study = ""
        self._shown: Progress | None = None

    def __enter__(self) -> Progresses:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._shown.__exit__()

    def update(self, study: str, done: int, total: int) -> None:
        """`done` of `total` replications of `study` are there."""
        if study != self._study or self._shown is None:
            self.__exit__()
            self._study, self._shown = study, Progress(study).__enter__()
        self._shown.update(done, total)


def show(made: Reproduced) -> None:
    """The table of verdicts, and why claims differ or cannot be checked."""
    out = printer()
    reproduction = made.reproduction
    kind = ", the quick claims" if made.quick else ""
    out.paragraph(f"{reproduction.name}: {reproduction.title}{kind}", style="bold")
    out.line()
    rows = [
        (
            *(_short(row.id, reproduction.name), _what(row), _published(row), row.measured or "-"),
            row.verdict.value,
        )
        for row in made.rows
    ]
    headers = ["claim", "what", "published", "measured", "verdict"]
    show_texts(out, headers, rows, [STYLES[row.verdict] for row in made.rows])
    for root in made.roots:
        _show_root(out, root, reproduction.name)
    causes: dict[str, str] = {}
    for verdict in (*DIFFERING, Verdict.SET_UP_OTHERWISE, Verdict.CANNOT):
        chosen = [row for row in made.rows if row.verdict is verdict]
        if chosen:
            out.paragraph(verdict.value.capitalize(), style="bold")
            out.line()
        for row in chosen:
            short = _short(row.id, reproduction.name)
            first = causes.setdefault(row.cause, short)
            cause = row.cause if first == short else f"as for {first}"
            out.paragraph(f"{short}: {_why(row, cause)}", indent=2, hanging=2)
        if chosen:
            out.line()
    for name, says in reproduction.readings.items():
        out.paragraph(f"{name}: {says}", hanging=2)
    if reproduction.readings:
        out.line()
    for line in told(made.counted):
        out.paragraph(line)


def _show_root(out: Printer, root: RootRow, name: str) -> None:
    """The roots that several differences share, before these are listed one by one."""
    out.paragraph(f"Root {root.name}: {root.title}", style="bold")
    value = f"value for all of them: {root.value}; " if root.value else ""
    given = f"{value}{len(root.given)} of {len(root.claims)} differences are accounted for"
    lines = [given, f"claims: {', '.join(_short(claim, name) for claim in root.claims)}"]
    lines += [f"cause: {root.cause}"] if root.cause else []
    lines += [
        f"it also predicts: {each.what}: {'so it is' if each.holds else 'NOT so'} ({each.words})"
        for each in root.predicted
    ]
    for line in lines:
        out.paragraph(line, indent=2, hanging=2)
    out.line()


def _short(claim: str, name: str) -> str:
    return claim.removeprefix(f"{name}.")


def _what(row: VerdictRow) -> str:
    return f"{row.what} ({row.conditions})" if row.conditions and row.conditions != "-" else row.what


def _published(row: VerdictRow) -> str:
    return f"{row.published} {row.unit}" if row.unit not in {"", "1", "-"} else row.published


def _why(row: VerdictRow, cause: str) -> str:
    """The reason, `cause` in place of that of the row, and whether the difference was expected."""
    parts = [row.reason]
    if row.verdict in DIFFERING:
        parts.append(f"published {_published(row)}")
        parts += [f"root: {row.root}"] if row.root else []
        parts += [f"cause: {cause}"] if row.cause else []
        parts += [f"({row.kind}) {row.shown}" if row.kind else row.shown] if row.shown else []
        if row.expected:
            parts.append("the document contradicts itself here: expected to differ")
    return "; ".join(parts)


def _say(made: Reproduced, order: ReproduceOrder) -> None:
    """The CPU time, and the places of all files."""
    lines = [f"failed: {text}" for text in made.runs.failures]
    runs = made.runs
    lines.append(spent(runs.computed, runs.found, runs.cpu_s, runs.elapsed_s))
    lines.append(f"verdicts.html, verdicts.csv, verdicts.json, figures, studies in {order.out}/")
    (sys.stderr if order.as_json else sys.stdout).write(visible("\n".join(lines)) + "\n")
    if made.runs.failures:
        fail(f"{count(len(made.runs.failures), 'run')} failed", RUN_FAILED)
    open_ones = unexplained(made.rows)
    if open_ones:
        names = ", ".join(_short(row.id, made.reproduction.name) for row in open_ones)
        claims = "claim differs" if len(open_ones) == 1 else "claims differ"
        message = f"{made.reproduction.name}: {len(open_ones)} {claims} UNEXPLAINED: {names}"
        if order.strict:
            fail(message, UNEXPLAINED)
        sys.stderr.write(f"{message}\n")
