"""Runs the same work on ns-3 and on Ropewalk and compares.

`make validate`. Prints the table, writes it to docs/explanation/validation.md with the written explanations,
and keeps figures of ns-3 in recorded.toml for the tests; with other numbers or a choice of cases it only
prints. 1 if a difference is not explained.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import cases
import page
import ropewalk as rw
import simulators
import verdicts
from ropewalk.scenario import available_processors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ropewalk.statistics import Estimate

ROOT = Path(__file__).resolve().parent.parent
EXPLAINED = "3.37"
AS_HERE = "fix: links, queues and transports as in validation/scenarios/chain.toml have counterparts"
FEW = 8
"""Runs that are enough to say that a figure differs."""


def compare(chosen: list[cases.Case], ns3: simulators.Ns3, jobs: int) -> list[verdicts.Row]:
    """All rows, each case printed as soon as it is done."""
    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        pending = [(case, _runs(pool, ns3, case), _our_runs(pool, case)) for case in chosen]
        try:
            for case, theirs, ours in pending:
                for metric in case.metrics:
                    one = verdicts.figure(
                        case, metric, "ns-3", (run.result().metric(metric) for run in theirs)
                    )
                    other = verdicts.figure(
                        case, metric, "Ropewalk", (run.result().metric(metric) for run in ours)
                    )
                    rows.append(verdicts.Row(case, metric, one, other))
                    print(page.line(rows[-1], rows[-1].agreement or "differs, see below"), flush=True)
            differing = sum(not row.agreement for row in rows)
            if differing:
                print(f"not alike: {_figures(differing)}; with lines of ns-3 mended:", flush=True)
                print(page.HEADING, flush=True)
            for i, row in enumerate(rows):
                rows[i] = verdicts.explain(row, partial(_mended, pool, ns3, row))
                if not row.agreement:
                    print(page.line(rows[i], rows[i].verdict), flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return rows


def _figures(count: int) -> str:
    return f"{count} figure{'' if count == 1 else 's'}"


Runs = list[Future[simulators.Outcome]]


def _runs(pool: ThreadPoolExecutor, ns3: simulators.Ns3, case: cases.Case, mends: Iterable[str] = ()) -> Runs:
    return [pool.submit(ns3.run, case, seed, mends) for seed in range(1, case.seeds + 1)]


def _our_runs(pool: ThreadPoolExecutor, case: cases.Case) -> Runs:
    return [pool.submit(simulators.ropewalk, case, seed) for seed in range(1, case.runs + 1)]


def _mended(pool: ThreadPoolExecutor, ns3: simulators.Ns3, row: verdicts.Row, mends: list[str]) -> Estimate:
    """The figure of a row with ns-3 mended; of a part of the runs where that is far from ours already."""
    part = dataclasses.replace(row.case, seeds=min(row.case.seeds, max(FEW, row.case.seeds // 4)))
    found = _figure_of(row, _runs(pool, ns3, part, mends))
    if part.seeds == row.case.seeds or not verdicts.agreement(found, row.ours):
        return found
    return _figure_of(row, _runs(pool, ns3, row.case, mends))


def _figure_of(row: verdicts.Row, runs: Runs) -> Estimate:
    return verdicts.figure(row.case, row.metric, "ns-3", (run.result().metric(row.metric) for run in runs))


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="*", help="cases to run, as chain/NewReno/*")
    parser.add_argument("--scenario", type=Path, help="a scenario of its own in the place of the cases")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="overrides",
        help="other numbers, as link.up.both.rate=50Mbit/s, for both simulators; again for more",
    )
    parser.add_argument("--seeds", type=int, help="runs of each case on ns-3")
    parser.add_argument("--flows", type=int, help="flows in the place of each flow of the scenario")
    parser.add_argument("--jobs", type=int, default=available_processors(), help="runs at a time")
    return parser.parse_args(words)


def choose(options: argparse.Namespace) -> list[cases.Case]:
    """The cases to run, with the numbers of the command line."""
    if options.scenario and not options.scenario.is_file():
        sys.exit(f"--scenario {options.scenario}: there is no such file\n  {AS_HERE}")
    known = [cases.of_scenario(options.scenario)] if options.scenario else cases.load()
    chosen = [case for case in known if fnmatch.fnmatchcase(case.name, options.only)]
    if not chosen:
        sys.exit(f"no case is called {options.only}; they are called as {known[0].name}")
    for name in ("seeds", "flows", "jobs"):
        number = getattr(options, name)
        if number is not None and number < 1:
            sys.exit(f"--{name} {number}: at least 1 is needed")
    for text in options.overrides:
        if "=" not in text:
            sys.exit(f"--set {text}: KEY=VALUE is needed, as link.up.both.rate=50Mbit/s")
    overrides = dict(text.split("=", 1) for text in options.overrides)
    return [
        dataclasses.replace(
            case,
            keys=case.keys | overrides,
            seeds=case.seeds if options.seeds is None else options.seeds,
            flows=case.flows if options.flows is None else options.flows,
        )
        for case in chosen
    ]


def main() -> int:
    """Compares; see above."""
    options = arguments()
    chosen = choose(options)
    for case in chosen:
        try:
            case.document(1).ns3_arguments()
        except rw.ScenarioError as why:
            sys.exit(f"{why}\n  {AS_HERE}")
    version = simulators.install_ns3()
    if not version.startswith(EXPLAINED):
        print(f"the explanations name lines of ns-3 {EXPLAINED}; version {version} may differ elsewhere")
    print(f"ns-3 {version}, Ropewalk {rw.__version__}; 95 % intervals\n{page.HEADING}", flush=True)
    ns3 = simulators.Ns3(ROOT / "results" / "validation")
    before = time.monotonic()
    rows = compare(chosen, ns3, options.jobs)
    unexplained = sum(row.verdict == verdicts.UNEXPLAINED for row in rows)
    took = time.monotonic() - before
    print(f"{_figures(len(rows))} in {took:.0f} s, {unexplained} without explanation")
    if chosen == cases.load():
        made = page.Made(datetime.date.today().isoformat(), version)
        (ROOT / page.PAGE).write_text(page.written(rows, made), encoding="utf-8")
        page.record(rows, [case for case in chosen if case.recorded], made)
        print(f"written: {page.PAGE}, {page.RECORD.relative_to(ROOT)}")
    return int(bool(unexplained))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, rw.ScenarioError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; what has been run is kept, and the next time goes on from there")
