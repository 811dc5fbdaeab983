"""`ropewalk study`."""

from __future__ import annotations

import errno
import json
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ropewalk.cli.columns import Column, show_table
from ropewalk.cli.progress import Progress
from ropewalk.cli.reporting import (
    RUN_FAILED,
    WRONG_INPUT,
    complain,
    describe,
    fail,
    next_step,
    refuse_others,
)
from ropewalk.cli.tables import FEW_SEEDS, NONE, few_seeds, narrow, printer
from ropewalk.executors import LOCAL, ExecutorError
from ropewalk.numbers import count, figure
from ropewalk.study import STORE, Study, stored
from ropewalk.study.conduct import StoreError
from ropewalk.study.summary import reservations
from ropewalk.visible import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ropewalk.cli.texts import Printer
    from ropewalk.study import Ran
    from ropewalk.study.metrics import Metric
    from ropewalk.study.results import StudyResults

MAX_CASES = 100
MAX_FAILURES = 5


@dataclass(frozen=True, slots=True)
class StudyOrder:
    """The options of the command."""

    jobs: int | None
    executor: str
    out: Path
    store: Path | None
    as_json: bool

    @property
    def place(self) -> Path:
        """Where the store is."""
        return self.out / STORE if self.store is None else self.store


def warn(study: Study) -> None:
    """Names on stderr the keys of the scenario file that a `kind` of some case leaves out."""
    cases: dict[str, list[str]] = {}
    for case in study.plan.cases:
        for key in case.left_out:
            cases.setdefault(key, []).append(case.name)
    for key, names in cases.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        complain(
            f"warning: {key} of the scenario has no effect in {names[0]}{more}: its kind does not have it"
        )


def dry_run(study: Study, order: StudyOrder) -> None:
    """Says what would be done."""
    plan = study.plan
    rule = plan.stopping
    have = stored(study, order.place)
    rows = [
        {"case": case.name, "levels": case.levels, "min": rule.minimum, "max": rule.maximum, "stored": there}
        for case, there in zip(plan.cases, have, strict=True)
    ]
    least = sum(max(0, rule.minimum - there) for there in have)
    most = sum(rule.maximum - there for there in have)
    if order.as_json:
        sys.stdout.write(
            json.dumps({"study": plan.study.name, "cases": rows, "least": least, "most": most}) + "\n"
        )
        return
    out = printer()
    wanted = str(rule.minimum) if rule.metric is None else f"{rule.minimum} to {rule.maximum}"
    listed = [
        [case.name, *case.levels.values(), wanted, str(there)]
        for case, there in zip(plan.cases, have, strict=True)
    ]
    _show(out, "Cases", ["case", *plan.factors, "runs", "stored"], listed, names=1 + len(plan.factors))
    runs = f"{least}" if least == most else f"{least} to {most}"
    out.paragraph(
        f"{count(len(plan.cases), 'case')}, {count(sum(have), 'run')} stored in {order.place}/, "
        f"{runs} to compute"
    )


def execute(study: Study, order: StudyOrder) -> None:
    """Runs, prints, writes."""
    refuse_others(order.out, "study")
    begun = time.monotonic()
    with computing(order.out, order.executor), Progress(study.plan.study.name) as progress:
        ran = study.run(
            order.out,
            store=order.store,
            jobs=order.jobs,
            executor=order.executor,
            progress=progress.update,
        )
    if order.as_json:
        sys.stdout.write(json.dumps(ran.results.summary(), ensure_ascii=False, allow_nan=False) + "\n")
    else:
        show(ran.results)
    _say(ran, order, time.monotonic() - begun)


@contextmanager
def computing(out: Path, executor: str) -> Iterator[None]:
    """Turns what can go wrong while runs are computed into a message with its cure and an exit code."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--out {out}: cannot write there: {describe(error)}", WRONG_INPUT)
    if executor != LOCAL:
        # Seconds may pass in which nothing is to be seen.
        sys.stderr.write(f"connecting to {executor}\n")
        sys.stderr.flush()
    try:
        yield
    except ExecutorError as error:
        fail(f"--executor {executor}: {error}", RUN_FAILED)
    except StoreError as error:
        fail(str(error), RUN_FAILED)
    except KeyboardInterrupt:
        sys.stderr.write("the finished runs are stored: the same command goes on from here\n")
        raise
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        cure = "make room" if full else "name a place that can be written to with --out"
        again = "then give the same command again: finished runs are not computed again"
        fail(describe(error, f"{cure}, {again}"), RUN_FAILED)


def _say(ran: Ran, order: StudyOrder, elapsed_s: float) -> None:
    """The outcome, and the places of all files."""
    done, failures = ran.conducted, ran.results.manifest.failures
    lines = [f"damaged and computed again: {text}" for text in ran.damaged]
    if done.lost:
        lines.append(f"{count(done.lost, 'unit')} of work given out again: the workers were lost")
    if failures:
        rest = "the figures are those of the others" if done.computed + done.found else "there are no others"
        lines.append(f"{count(len(failures), 'run')} failed; {rest}:")
        for failure in failures[:MAX_FAILURES]:
            message = failure.message.splitlines()[0]
            lines.append(f"  {failure.case}, seed {failure.seed}: {message}\n    repeat: {failure.command}")
        if len(failures) > MAX_FAILURES:
            lines.append(f"  and {len(failures) - MAX_FAILURES} more in {order.out / 'study.json'}")
    lines.append(spent(done.computed, done.found, done.cpu_s, elapsed_s))
    lines += [f"tables, estimates.csv, summary.json in {order.out}/", next_step(order.out)]
    (sys.stderr if order.as_json else sys.stdout).write(visible("\n".join(lines)) + "\n")
    if failures:
        fail(f"{count(len(failures), 'run')} failed", RUN_FAILED)


def spent(computed: int, found: int, cpu_s: float, elapsed_s: float) -> str:
    """How many runs were computed or found, and the time spent."""
    runs = f"{count(computed, 'run')} computed, {found} were there"
    return f"{runs}; {cpu_s:.2f} CPU s in the engine, {elapsed_s:.2f} s in all"


def show(results: StudyResults) -> None:
    """The tables that `ropewalk study` prints."""
    out = printer()
    m = results.manifest
    out.paragraph(
        f"{one_line(m.name)}: {count(len(m.cases), 'case')}, mean ± 95 % interval over replications",
        style="bold",
    )
    out.line()
    _show_cases(results, out)
    if results.comparisons is not None and results.comparisons.height:
        _show_comparisons(results, out)
    if results.pooled is not None and results.pooled.height:
        _show_pooled(results, out)
    for text in reservations(results):
        out.paragraph(text, style="bold red")
        out.line()
    if few_seeds(results.estimates.iter_rows(named=True)):
        out.paragraph(FEW_SEEDS)
        out.line()


def _show_cases(results: StudyResults, out: Printer) -> None:
    m = results.manifest
    by_case: dict[str, dict[str, dict[str, Any]]] = {}
    for row in results.estimates.iter_rows(named=True):
        by_case.setdefault(row["case"], {})[row["metric"]] = row
    shown = m.cases[:MAX_CASES]
    title = "Cases" if len(shown) == len(m.cases) else f"Cases: the first {len(shown)} of {len(m.cases)}"
    names = results.factors or ["case"]
    rows = []
    for entry in shown:
        found = by_case.get(entry.case, {})
        cells = [_cell(metric, found.get(metric.text)) for metric in m.metrics]
        rows.append([*(list(entry.levels.values()) or [entry.case]), str(entry.replications), *cells])
    _show(out, title, [*names, "runs", *map(_header, m.metrics)], rows, names=len(names))


def _show_comparisons(results: StudyResults, out: Printer) -> None:
    """Differences in percent of the baseline; a star where they are significant."""
    m = results.manifest
    comparisons = results.comparisons
    if comparisons is None:
        return
    means = {(row["case"], row["metric"]): row["mean"] for row in results.estimates.iter_rows(named=True)}
    rows: dict[str, dict[str, str]] = {}
    for row in comparisons.iter_rows(named=True):
        text = NONE
        if row["relative"] is not None:
            width, percent = row["ci95"], abs(means[row["baseline"], row["metric"]]) / 100
            change = narrow(row["difference"], width, percent)
            text = f"{'+' * (row['difference'] > 0)}{change} {'*' if row['differs'] else ' '}"
        rows.setdefault(row["case"], {})[row["metric"]] = text
    baseline = ", ".join((m.baseline or {}).values())
    headers = [f"{_header(metric).rpartition(chr(10))[0]}\n%" for metric in m.metrics]
    shown = [
        [*entry.levels.values(), *(rows[entry.case].get(metric.text, NONE) for metric in m.metrics)]
        for entry in m.cases
        if entry.case in rows
    ][:MAX_CASES]
    title = f"Difference from {baseline}, paired by seed"
    _show(out, title, [*results.factors, *headers], shown, names=len(results.factors))
    correction = " after Holm's correction" if m.treatment.correction == "holm" else ""
    out.paragraph(f"* differs: p < {m.treatment.alpha:g}{correction}")
    out.line()


def _show_pooled(results: StudyResults, out: Printer) -> None:
    m = results.manifest
    rest = [factor for factor in results.factors if factor not in m.treatment.pool]
    if results.pooled is None:
        return
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    units = {metric.text: metric.unit[1] for metric in m.metrics}
    for row in results.pooled.iter_rows(named=True):
        scale = units[row["metric"]]
        text = (
            f"{figure(row['mean'] / scale)} ({figure(row['sd'] / scale, 2)}){'' if row['poolable'] else ' !'}"
        )
        rows.setdefault(tuple(row[factor] for factor in rest), {})[row["metric"]] = text
    over = ", ".join(m.treatment.pool)
    listed = [
        [*levels, *(cells.get(metric.text, NONE) for metric in m.metrics)] for levels, cells in rows.items()
    ]
    _show(out, f"Pooled over {over}: mean (sd)", [*rest, *map(_header, m.metrics)], listed, names=len(rest))
    if not results.pooled["poolable"].all():
        out.paragraph(
            "! groups more than three pooled standard deviations apart: the mean of them means little"
        )
        out.line()


def _header(metric: Metric) -> str:
    """The name of a metric in short lines, its unit below."""
    name = metric.name if metric.function is None else f"{metric.function} {metric.name}"
    return f"{name}\n{metric.label}\n{metric.unit[0]}"


def _cell(metric: Metric, row: dict[str, Any] | None) -> str:
    if row is None:
        return NONE
    return narrow(row["mean"], row["ci95"], metric.unit[1])


def _show(
    out: Printer, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], names: int
) -> None:
    """A table whose first `names` columns say what the rows are about."""
    columns = [list(cells) for cells in zip(*rows, strict=True)] or [[] for _ in headers]
    show_table(
        out,
        title,
        [
            Column(header, cells, right=index >= names, names=index < names)
            for index, (header, cells) in enumerate(zip(headers, columns, strict=True))
        ],
    )
