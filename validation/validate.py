"""Runs the same work on ns-3 and on Ropewalk and compares.

`make validate`. Prints the table, writes it to docs/explanation/validation.md with the written explanations,
and keeps figures of ns-3 in recorded.toml for the tests. 1 if a difference is not explained.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
import page
import simulators
import verdicts

ROOT = Path(__file__).resolve().parent.parent


def compare(chosen: list[cases.Case], ns3: simulators.Ns3, jobs: int) -> list[verdicts.Row]:
    """All rows, each case printed as soon as it is done."""
    rows = []
    why = verdicts.explanations()
    with ThreadPoolExecutor(jobs) as pool:
        pending = [
            (
                case,
                [pool.submit(ns3.run, case, seed) for seed in range(1, case.seeds + 1)],
                [pool.submit(simulators.ropewalk, case, seed) for seed in range(1, case.seeds + 1)],
            )
            for case in chosen
        ]
        try:
            for case, theirs, ours in pending:
                for metric in case.metrics:
                    one = [run.result().metric(metric) for run in theirs]
                    other = [run.result().metric(metric) for run in ours]
                    row = verdicts.row(case.name, metric, one, other)
                    rows.append(row)
                    print(page.line(row, why), flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return rows


def main() -> int:
    """Compares; see above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="*", help="cases to run, as chain/NewReno/*; nothing is written")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    options = parser.parse_args()
    version = simulators.install_ns3()
    ns3 = simulators.Ns3(ROOT / "results" / "validation", version)
    chosen = [case for case in cases.load() if fnmatch.fnmatchcase(case.name, options.only)]
    if not chosen:
        sys.exit(f"no case is called {options.only}; they are called as {cases.load()[0].name}")
    for program in sorted({case.program for case in chosen}):
        ns3.build(program)
    before = time.monotonic()
    rows = compare(chosen, ns3, options.jobs)
    why = verdicts.explanations()
    unexplained = sum(row.verdict(why) == verdicts.UNEXPLAINED for row in rows)
    took = time.monotonic() - before
    print(f"{len(rows)} figures in {took:.0f} s, {unexplained} differ without explanation")
    if options.only == "*":
        made = page.Made(datetime.date.today().isoformat(), version)
        (ROOT / page.PAGE).write_text(page.written(rows, made), encoding="utf-8")
        page.record(rows, [case for case in chosen if case.recorded], made)
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
