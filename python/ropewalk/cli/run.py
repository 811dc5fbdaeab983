"""`ropewalk run`."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ropewalk import backends, disk, provenance, store
from ropewalk._core import RunFailed
from ropewalk.captures import BOTH, SNAP, Capture
from ropewalk.cli.progress import Progress
from ropewalk.cli.reporting import RUN_FAILED, WRONG_INPUT, describe, fail, next_step, refuse_others, tell
from ropewalk.problems import failed_commands
from ropewalk.results import TABLES
from ropewalk.stalls import has_outage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ropewalk.results import Results
    from ropewalk.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Order:
    """The options of the command."""

    file: Path
    """The scenario."""
    seeds: list[int]
    jobs: int | None
    out: Path | None
    as_json: bool
    trace: bool
    plots: bool
    backend: str
    overrides: tuple[str, ...]
    """As after `--set`."""
    capture: str | None = None
    """Where packets are captured."""
    snap: int = SNAP
    keep: bool = False
    """Earlier results in `out` are not replaced."""


def execute(scenario: Scenario, order: Order) -> None:
    """Runs, prints, writes."""
    able = next(one for one in backends.all_backends() if one["name"] == order.backend)
    if order.trace and not able["trace"]:
        fail(f"--trace: the back end {order.backend} records none\n  fix: leave it out", WRONG_INPUT)
    if order.out is not None:
        refuse_others(order.out, "run")
        try:
            store.check_writable(order.out)
            store.check_places(order.out, _files(order))
        except OSError as error:
            fail(f"--out {order.out}: cannot write there: {describe(error)}", WRONG_INPUT)
        if order.file.exists() and order.file.resolve() == (order.out / store.SCENARIO).resolve():
            fail(
                f"--out {order.out}: {store.SCENARIO} there is the scenario itself, which would be replaced\n"
                "  fix: name another directory",
                WRONG_INPUT,
            )
    if order.capture is not None and not able["capture"]:
        fail(f"--capture: the back end {order.backend} captures no packets\n  fix: leave it out", WRONG_INPUT)
    before = None if order.out is None else _earlier(order.out, keep=order.keep)
    results, failure = _written(scenario, order)
    _print(results, order)
    sys.stdout.flush()
    if failure is not None:
        raise failure
    if order.out is not None:
        _finish(results, order, order.out, before)
    if failed := failed_commands(results):
        kept = "" if order.out is None else f"; the results are kept in {order.out}/"
        fail(
            "\n".join(failed) + f"\n  fix: try the command in a shell{kept}",
            RUN_FAILED,
        )


def _files(order: Order) -> list[str]:
    """Files that the command will write, one of each folder."""
    captured = [f"{store.CAPTURES}/seed-1.pcapng"] if order.capture is not None else []
    more = [f"{store.TRACES}/seed-1.txt"] * order.trace + captured
    return [*(f"{name}.parquet" for name in TABLES), store.SCENARIO, store.SUMMARY, provenance.FILE, *more]


def _written(scenario: Scenario, order: Order) -> tuple[Results, OSError | None]:
    """Runs and writes; also returns the error if the results could not be written.

    Captures are written into a folder of their own: those of an earlier run, or of one at the same time,
    belong to its results until all files of this one are there.
    """
    out = order.out
    failure: OSError | None = None
    at = order.capture
    with disk.folder(out) if out is not None and at is not None else nullcontext() as place:
        with _refused(order, place), Progress(scenario.name, scenario.duration_s) as progress:
            results = scenario.run(
                order.seeds,
                jobs=order.jobs,
                progress=progress.update,
                simulated=progress.simulated,
                # Series are large: they end up in files, or in the longest stall.
                series=out is not None or (not order.as_json and has_outage(scenario)),
                trace=order.trace,
                backend=order.backend,
                capture=None if place is None else Capture(place, BOTH if at is None else at, order.snap),
            )
        # First the files: the reader of standard output may go away, as `head` does. Plots take longer.
        if out is not None:
            try:
                store.write(results, out, lambda: provenance.write(out, cpu_s=results.totals.cpu_s))
            except OSError as error:
                # The run took its time: its tables are printed in any case.
                failure = error
    return results, failure


@contextmanager
def _refused(order: Order, place: Path | None) -> Iterator[None]:
    """Ends the command if there is nothing to capture; errors name the final folder, not the temporary."""
    try:
        yield
    except RunFailed as error:
        # The name of a temporary folder tells the user nothing.
        named = order.out is not None and str(order.out / store.CAPTURES)
        raise RunFailed(str(error).replace(str(place), str(named)) if place else str(error)) from None
    except ValueError as error:
        if order.capture is None or isinstance(error, UnicodeError):
            raise
        fail(f"--capture {order.capture}: {error}", WRONG_INPUT)


def _earlier(out: Path, *, keep: bool) -> str | None:
    """The scenario of results that are in `out`; ends the command if they are to stay."""
    before = store.earlier(out)
    if keep and before is not None:
        fail(
            f"--out {out}: the results of {before} are there\n"
            "  fix: name another directory, or leave --no-clobber out",
            WRONG_INPUT,
        )
    return before


def _print(results: Results, order: Order) -> None:
    if order.as_json:
        sys.stdout.write(store.to_json(results))
        return
    from ropewalk.cli.tables import show_results

    if order.out is None:
        for text in results.traces.values():
            sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    show_results(results, [str(order.file), *(word for text in order.overrides for word in ("--set", text))])


def _finish(results: Results, order: Order, out: Path, before: str | None) -> None:
    """Writes the plots that are asked for, and says what has been written."""
    written = f"tables, {store.SUMMARY} and {store.SCENARIO} in {out}/"
    if results.traces:
        written += f", traces in {out / store.TRACES}/"
    if results.captures:
        written += f", captures in {out / store.CAPTURES}/"
    if order.plots:
        results.plot.write(out / store.PLOTS)
        written += f", plots in {out / store.PLOTS}/"
    if before is not None:
        written += f", in place of earlier results of {before}"
    tell(f"{written}\n{next_step(out)}", aside=order.as_json)
