"""Runs the real SCTP stack over links of the simulator and compares with runs of the same library elsewhere.

`make validate-sctp`. Finished runs are in results/validation-sctp and are not repeated. Without a choice of
cases it writes validation/sctp-recorded.toml and docs/explanation/validation-sctp.md. 1 if a figure
lies outside and sctp.toml names no cause, or names one for a figure that does not.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import random
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "validation" / "sctp.toml"
RECORD = ROOT / "validation" / "sctp-recorded.toml"
PAGE = ROOT / "docs" / "explanation" / "validation-sctp.md"
RUNS = ROOT / "results" / "validation-sctp"
TOLERANCE = 0.10
DIGITS = 2
COUNTED = ("fast", "t3")
JUDGED = ("goodput", "second_half", "share_1", "rtx_percent", "delay_mean_ms", "ratio")

Figures = dict[str, float]
Case = dict[str, Any]
"""One table of sctp.toml: data of many kinds."""


def cases() -> list[tuple[Case, Case]]:
    """Groups and their cases."""
    with CASES.open("rb") as file:
        groups = tomllib.load(file)["group"]
    return [(group, case) for group in groups for case in group["case"]]


def name(group: Case, case: Case) -> str:
    """As `--only` takes it."""
    return f"{group['name']}/{case['name']}"


def scenario(group: Case, seed: int) -> str:
    """The text of the scenario of one seed."""
    draws = random.Random(f"{group['name']}/{seed}")  # noqa: S311

    def drawn(value: float | list[float]) -> float:
        if not isinstance(value, list):
            return value
        return draws.uniform(*value) if seed else fmean(value)

    def direction(path: Case) -> str:
        rate, delay = drawn(path["rate"]), drawn(path["delay_ms"])
        loss = drawn(path.get("loss_percent", 0)) / 100
        lost = f', loss = {{ kind = "packet", probability = {loss:.6f} }}' if loss else ""
        queue = f'queue = "{path["queue"]}p"'
        return f'both = {{ rate = "{rate:.3f}Mbit/s", delay = "{delay:.4f}ms", {queue}{lost} }}'

    text = [f'duration = "{group["duration_s"]}s"']
    if shared := group.get("shared"):
        access = 'both = { rate = "1Gbit/s", delay = "10us", queue = "1000p" }'
        names = ("left", "right")
        text += [f'[[node]]\nname = "{node}"\nforward = true' for node in names]
        text += [f'[[node]]\nname = "{node}"' for node in ("terminal", "server", "rival", "far")]
        text += [f'[[link]]\nname = "shared"\nends = ["left", "right"]\n{direction(shared)}']
        ends = ("terminal left", "right server", "terminal left", "right server", "rival left", "right far")
        for number, pair in enumerate(ends):
            one, other = pair.split()
            text += [f'[[link]]\nname = "access{number}"\nends = ["{one}", "{other}"]\n{access}']
    else:
        text += [f'[[path]]\nname = "path{i}"\n{direction(path)}' for i, path in enumerate(group["paths"])]
    text += ['[[flow]]\nname = "unused"\nfrom = "terminal"\nto = "server"\ntransport = { kind = "tcp" }']
    return "\n".join(text) + "\n"


def request(group: Case, case: Case, seed: int) -> Case:
    """The request of one run to the program."""
    common = group["association"]
    associations = [{"from": "terminal", "to": "server", **common, **case["association"]}]
    if "shared" in group:
        start = random.Random(f"start/{seed}").uniform(0, 1)  # noqa: S311
        associations.append({"from": "rival", "to": "far", "start_s": round(start, 3), **common})
    return {
        "folder": str(RUNS / "program"),
        "scenario": scenario(group, seed),
        "seed": seed,
        "measure_s": group["measure_s"],
        "associations": associations,
    }


def run(program: Path, group: Case, case: Case, seed: int) -> Figures:
    """Figures of one run, from the store if it is there."""
    asked = json.dumps(request(group, case, seed), sort_keys=True)
    sources = [path.read_bytes() for path in sorted((ROOT / "crates/lab/usrsctp").glob("*.[ch]"))]
    key = hashlib.sha256(b"".join(sources) + asked.replace(str(ROOT), "").encode()).hexdigest()[:16]
    stored = RUNS / f"{name(group, case).replace('/', '-').replace(' ', '-')}-{seed}-{key}.json"
    if not stored.exists():
        done = subprocess.run([program], input=asked, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{name(group, case)}, seed {seed}: {done.stderr.strip()}")
        stored.write_text(done.stdout)
    associations = json.loads(stored.read_text())["associations"]
    figures: Figures = associations[0]
    if len(associations) > 1:
        figures["ratio"] = figures["goodput"] / associations[1]["goodput"]
    return figures


def verdict(ours: list[float], reference: list[float]) -> str:
    """One mean lies in the range of the other's runs, or they are within a tenth; else empty."""
    (one, *here), (other, *there) = [[round(figure, DIGITS) for figure in each] for each in (ours, reference)]
    if there[0] <= one <= there[1] or here[0] <= other <= here[1]:
        return "in the spread"
    return "within 10 %" if abs(one - other) <= TOLERANCE * other else ""


def summary(values: list[float]) -> list[float]:
    """Mean, least and greatest."""
    return [fmean(values), min(values), max(values)]


def reference_of(case: Case, metric: str) -> list[float] | None:
    """Mean, least and greatest of the reference; the mean three times if its range is not known."""
    found = case["reference"].get(metric)
    return found if found is None or isinstance(found, list) else [found] * 3


def build() -> Path:
    """The program that runs associations."""
    command = ["cargo", "build", "--quiet", "--locked", "--package", "lab", "--example", "associations"]
    subprocess.run(command, cwd=ROOT, check=True)
    told = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps"],  # noqa: S607
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(told.stdout)["target_directory"]) / "debug" / "examples" / "associations"


def ranged(figures: list[float]) -> str:
    """Mean, and the range if there is one."""
    mean, least, greatest = figures
    return f"{mean:.2f}" if least == greatest else f"{mean:.2f} [{least:.2f}, {greatest:.2f}]"


def record(rows: list[tuple[Case, Case, list[Figures]]]) -> str:
    """The figures as TOML: mean, least and greatest."""
    text = [
        "# Figures of libusrsctp over links of the simulator: mean, least, greatest.\n"
        "# Written by `make validate-sctp`."
    ]
    for group, case, runs in rows:
        text.append(f'\n["{name(group, case)}"]\nruns = {len(runs)}')
        for metric in (*JUDGED, *COUNTED):
            if metric in case["reference"]:
                figures = ", ".join(f"{figure:.4f}" for figure in summary([one[metric] for one in runs]))
                text.append(f"{metric} = [{figures}]")
    return "\n".join(text) + "\n"


def page() -> str:
    """The page, from what is recorded."""
    with RECORD.open("rb") as file:
        recorded = tomllib.load(file)
    with CASES.open("rb") as file:
        text = [tomllib.load(file)["head"].strip()]
    last = ""
    for group, case in cases():
        if name(group, case) not in recorded:
            continue
        if group["name"] != last:
            last = group["name"]
            note = [group["note"].strip(), ""] if "note" in group else []
            text += ["", f"## {group['title']}", "", *note, *TABLE]
        ours, theirs = recorded[name(group, case)], case["reference"]
        for metric in JUDGED:
            other = reference_of(case, metric)
            if other is None or (metric == "goodput" and "delay_mean_ms" in theirs):
                continue
            one = ours[metric]
            said = verdict(one, other) or "**outside**"
            row = [case["name"], LABELS[metric], str(ours["runs"]), ranged(one), ranged(other), said]
            text.append(f"| {' | '.join(row)} |")
        for metric, cause in case.get("outside", {}).items():
            text.append(f"| | {LABELS[metric]}: {cause} | | | | |")
        counts = ", ".join(f"{LABELS[m]} {ours[m][0]:.4g} / {theirs[m]:.4g}" for m in COUNTED)
        text.append(f"| | {counts} | | | | |")
    return "\n".join(text) + "\n"


LABELS = {
    "goodput": "goodput, Mbit/s",
    "second_half": "goodput of the second half, Mbit/s",
    "delay_mean_ms": "mean delay of messages, ms",
    "ratio": "ratio to the other association",
    "share_1": "share of path 1",
    "rtx_percent": "retransmitted %",
    "fast": "fast retransmissions",
    "t3": "expiries of T3",
}
TABLE = ("| Case | Figure | Runs | Here | Reference | Verdict |", "|---|---|---|---|---|---|")


def unexpected(group: Case, case: Case, runs: list[Figures], whole: bool) -> int:
    """Prints the verdicts of one case, and returns how many are not as sctp.toml has them.

    A cause has to be needed in `whole` runs alone.
    """
    count = 0
    for metric in JUDGED:
        if reference := reference_of(case, metric):
            ours = summary([one[metric] for one in runs])
            said, cause = verdict(ours, reference), case.get("outside", {}).get(metric)
            row = f"{name(group, case):<30} {metric:<14} {ranged(ours):<20} {ranged(reference):<20}"
            if said and cause and whole:
                said += f", NOT AS NAMED: {cause}"
                count += 1
            elif not said:
                count += not cause
                said = f"outside: {cause}" if cause else "OUTSIDE"
            print(row, said, flush=True)
    return count


def main() -> int:
    """1 if a figure lies outside without a cause."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cases, such as 'equal/*'")
    parser.add_argument("--seeds", type=int, help="runs of each case")
    parser.add_argument(
        "--page", action="store_true", help="write the page from what is recorded, and run nothing"
    )
    parser.add_argument(
        "--program", type=Path, help="a program that is built already, in place of that of these sources"
    )
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page())
        return 0
    program = options.program or build()
    RUNS.mkdir(parents=True, exist_ok=True)
    rows, wrong = [], 0
    for group, case in cases():
        if not fnmatch.fnmatch(name(group, case), options.only):
            continue
        seeds: int = options.seeds or case.get("seeds") or group["seeds"]
        runs = [run(program, group, case, seed) for seed in range(seeds)]
        rows.append((group, case, runs))
        wrong += unexpected(group, case, runs, whole=options.seeds is None)
    if not rows:
        sys.exit(
            f"no case is called {options.only}\n  fix: one of {', '.join(name(*pair) for pair in cases())}"
        )
    if options.only == "*":
        RECORD.write_text(record(rows))
        PAGE.write_text(page())
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
