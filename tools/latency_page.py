"""Writes the tables of docs/explanation/multipath-for-latency.md from the results of its three studies.

.venv/bin/ropewalk study studies/multipath-for-video.toml    and games and pages, then
.venv/bin/python tools/latency_page.py [results]
"""

from __future__ import annotations

import math
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import ropewalk as rw

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "multipath-for-latency.md"
FASTER = 0.99
"""A scheduler is faster if it takes this part of the time at most."""
CHANCE = 0.05
HEAD = "| | Best single path | Best scheduler | The usual one |\n|---|---|---|---|\n"
SINGLE = {"MPTCP": "TCP", "CMT": "SCTP"}
USUAL = {"MPTCP": "minrtt", "CMT": "primary_first"}
FAMILY = {"MPTCP": "MPTCP", "CMT": "CMT-SCTP"}
STUDIES = {
    "Video": ("video", {}, "measure.app.message."),
    "Game": ("games", {}, "measure.app.down."),
    "Page of 72 KiB": ("pages", {"page": "72 KiB"}, None),
    "Page of 1024 KiB": ("pages", {"page": "1024 KiB"}, None),
}


@dataclass(frozen=True)
class Row:
    """A row of the page: the quantity, and the place of its numbers."""

    of: str
    family: str
    metric: str | None
    told: str


ROWS = {
    "no": (
        Row("Video", "MPTCP", "delay_mean_s", "Video, MPTCP: mean delay"),
        Row("Video", "MPTCP", "delay_p99_s", "99 % of messages within"),
        Row("Video", "CMT", "delay_mean_s", "Video, CMT-SCTP: mean delay"),
        Row("Game", "MPTCP", "delay_mean_s", "Game, MPTCP: mean delay"),
        Row("Game", "MPTCP", "delay_p99_s", "99 % of messages within"),
        Row("Game", "CMT", "delay_mean_s", "Game, CMT-SCTP: mean delay"),
        Row("Page of 72 KiB", "MPTCP", None, "Page of 72 KiB, MPTCP"),
        Row("Page of 1024 KiB", "MPTCP", None, "Page of 1024 KiB, MPTCP"),
        Row("Page of 72 KiB", "CMT", None, "Page of 72 KiB, CMT-SCTP"),
        Row("Page of 1024 KiB", "CMT", None, "Page of 1024 KiB, CMT-SCTP"),
    ),
    "yes": (
        Row("Video", "MPTCP", "delay_mean_s", "Video, MPTCP: mean delay"),
        Row("Video", "CMT", "delay_mean_s", "Video, CMT-SCTP: mean delay"),
        Row("Game", "MPTCP", "delay_mean_s", "Game, MPTCP: mean delay"),
        Row("Game", "CMT", "delay_mean_s", "Game, CMT-SCTP: mean delay"),
        Row("Page of 72 KiB", "MPTCP", None, "Page of 72 KiB, MPTCP"),
        Row("Page of 1024 KiB", "MPTCP", None, "Page of 1024 KiB, MPTCP"),
        Row("Page of 1024 KiB", "CMT", None, "Page of 1024 KiB, CMT-SCTP"),
    ),
}
"""Rows by whether there is other traffic."""


def seconds(value: float) -> str:
    """With three digits."""
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def cell(values: dict[int, float], single: dict[int, float]) -> str:
    """Median, ratio and replications that were faster, in bold if a sign test finds more than chance."""
    ratios = [values[run] / single[run] for run in sorted(values.keys() & single.keys())]
    faster = sum(ratio <= FASTER for ratio in ratios)
    ratio = statistics.median(ratios)
    told = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.2g}"  # noqa: PLR2004
    cell = f"{seconds(statistics.median(values.values()))} ({told}; {faster} of {len(ratios)})"
    return f"**{cell}**" if sign_test(faster, len(ratios)) < CHANCE else cell


def sign_test(faster: int, of: int) -> float:
    """The probability that one side has so many of `of` where both are as likely; 1 for half at most."""
    ways = sum(math.comb(of, n) for n in range(faster, of + 1))
    return float(min(1.0, 2 * ways / 2**of))


def table(row: Row, background: str, results: dict[str, rw.StudyResults]) -> str:
    """The row in Markdown."""
    study, levels, prefix = STUDIES[row.of]
    found = results[study]
    [metric] = [name for name in found.metrics if prefix is None or name == f"{prefix}{row.metric}"]
    samples = found.samples(metric)
    wanted = {"background": background, **levels}
    cases = {
        case["transport"]: samples[case["case"]]
        for case in found.cases.iter_rows(named=True)
        if all(case[factor] == level for factor, level in wanted.items())
    }
    schedulers = {
        name.removeprefix(f"{row.family}, "): values
        for name, values in cases.items()
        if name.startswith(f"{row.family}, ") and not name.endswith("streams")
    }
    paths = {place: cases[f"{SINGLE[row.family]}, {place}"] for place in ("WLAN", "3G")}
    best_path = min(paths, key=lambda place: statistics.median(paths[place].values()))
    # A page that is not there in time has no value.
    single = {
        run: min(values[run] for values in paths.values() if run in values)
        for run in set().union(*paths.values())
    }
    cells = {name: cell(values, single) for name, values in schedulers.items()}
    least = min(schedulers, key=lambda name: statistics.median(schedulers[name].values()))
    alike = sorted(name for name, told in cells.items() if told == cells[least])
    path = f"{best_path} {seconds(statistics.median(paths[best_path].values()))}"
    usual = USUAL[row.family]
    last = "the same" if usual in alike else f"`{usual}` {cells[usual]}"
    return f"| {row.told} | {path} | {_names(alike, set(cells))} {cells[least]} | {last} |\n"


def _names(alike: list[str], every: set[str]) -> str:
    others = sorted(every - set(alike))
    if len(others) < len(alike):
        return "all but " + ", ".join(f"`{name}`" for name in others) if others else "all"
    return ", ".join(f"`{name}`" for name in alike)


def main() -> None:
    """Writes the page."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results"
    results = {
        study: rw.StudyResults.read(folder / f"multipath-for-{study}")
        for study in ("video", "games", "pages")
    }
    tables = iter([HEAD + "".join(table(row, key, results) for row in rows) for key, rows in ROWS.items()])
    page = PAGE.read_text(encoding="utf-8")
    written, count = re.subn(re.escape(HEAD) + r"(?:\|.*\n)+", lambda _: next(tables), page)
    if count != len(ROWS):
        sys.exit(f"{PAGE}: {count} tables, {len(ROWS)} wanted")
    PAGE.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
