"""`make compare`: the simulator beside the kernel of this machine, K1 to K20; writes the record and the page.

Without arguments: runs everything, six scenarios at a time, as root on a machine with little other work.
`--page` writes the page from the record alone, `--one NAME` prints what a scenario has, as JSON. A run
that was not exact enough is repeated.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import kernel_lantto
import kernel_yedugundla
import kernel_yedugundla_cases
import ropewalk as rw
from ropewalk.comparison import Compared, cells, compare, markdown
from ropewalk.statistics import Estimate

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = ROOT / "crates" / "lab" / "tests" / "kernel"
RECORD = ROOT / "validation" / "kernel-recorded.json"
PAGE = ROOT / "docs" / "explanation" / "kernel.md"
COUPLED = ("lia", "olia", "olia-limited", "balia")
"""Coupled controls; `limited`: a subflow takes no more while 16 KiB wait on it."""
NAMES = (
    *(f"k{number}" for number in range(1, 21)),
    *(f"k6-{control}" for control in COUPLED),
    *(f"unequal-{control}" for control in ("newreno", *COUPLED)),
)
SEEDS = {
    **dict.fromkeys(("k4", "k6", "k15", "k20"), 5),
    **dict.fromkeys(("k2", "k12"), 6),
    **dict.fromkeys(("k3", "k7", "k9", "k13", "k19"), 8),
    **{f"unequal-{control}": 8 for control in ("newreno", *COUPLED)},
    "k10": 10,
    **{f"k6-{control}": 12 for control in COUPLED},
    "k16": 16,
}
"""Replications; others have three. Divided goodputs need most, then drops in few episodes and losses."""
AT_A_TIME = 6
"""Scenarios that run side by side: packets are still late by a fraction of a millisecond on two cores."""
CAUSES = ROOT / "validation" / "kernel-causes.json"
"""Causes of differences by scenario, flow or link, and quantity; one without is called unexplained."""

INTRODUCTION = """# The simulator beside the Linux kernel

The back end [`linux`](../howto/run-on-linux.md) runs a scenario on the kernel: TCP and MPTCP of Linux at
both ends, and between them the links of the simulator with the same random numbers. `make compare` runs
twenty scenarios (`crates/lab/tests/kernel/`) on both under the same seeds, nine more with
[coupled congestion controls](../howto/coupled-control-on-my-server.md) and two published test beds, and
writes this page. `ropewalk compare FILE` does it for any scenario that the kernel can run.

The difference is that of the means over the kernel's mean, with the half width of its 95 % interval over
pairs of seeds. Goodput and completion time are within their tolerance if they differ by 10 % at most,
shares and round-trip times by 25 %; `open` means that the interval has room for both. A round-trip time
is the mean over time of the smoothed one of a subflow (time series `srtt_s`). Drops and retransmissions
come in few episodes and range widely in the kernel ([decision
0014](../decisions/0014-drops-of-the-kernel-are-a-range.md)): the mean of the simulator is to be within 25 %
of the range of the kernel's runs. Time in the kernel is real: two runs with the same seed differ. Packets
over several paths have a jitter of 0.1 ms, on both by the same random numbers: a slow start over paths
without chance can end in several ways, and each run would end in the same one.
"""


COUPLING = {"uncoupled": (1.8, 2.1), "coupled": (0.85, 1.15)}
"""Goodput of two subflows over that of one TCP on the same link."""


MORE_RUNS = {"olia": ", as in 99 more runs (0.83)"}
"""Runs with other seeds that are not on record."""


def one(name: str) -> dict[str, Any]:
    """Runs one scenario on both."""
    found = compare(rw.Scenario.load(SCENARIOS / f"{name}.toml"), SEEDS.get(name, 3))
    if left_out := found.missing():
        raise rw.RunFailed(f"{name}: {left_out}")
    return found.to_dict()


def apart(name: str) -> tuple[str, dict[str, Any]]:
    """The same in a process of its own: one has a single run on the kernel at a time."""
    command = [sys.executable, __file__, "--one", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return name, json.loads(done.stdout)


def record(names: tuple[str, ...]) -> None:
    """Runs and keeps."""
    found = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"scenarios": {}}
    found["kernel"] = platform.release()
    with ThreadPoolExecutor(AT_A_TIME) as workers:
        # The longest come first, so that none is left alone at the end.
        longest = sorted(names, key=lambda name: -SEEDS.get(name, 3))
        for running in as_completed([workers.submit(apart, name) for name in longest]):
            name, scenario = running.result()
            found["scenarios"][name] = scenario
            RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            for row in compared(scenario):
                sys.stdout.write(f"{name}: {', '.join(cells(row))}\n")
            sys.stdout.flush()


def compared(scenario: dict[str, Any]) -> list[Compared]:
    """The rows of a scenario on record."""
    rows = []
    for row in scenario["rows"]:
        both = {name: Estimate(**row[name]) for name in ("kernel", "simulator")}
        rows.append(Compared(**{**row, **both}))
    return rows


def goodput(scenario: dict[str, Any], flow: str, side: str) -> float:
    """Mean goodput of a flow on the kernel or in the simulator, bit/s."""
    [row] = [row for row in compared(scenario) if (row.what, row.quantity) == (flow, "goodput_bit_s")]
    return float(getattr(row, side).mean)


def share(scenario: dict[str, Any], side: str) -> float:
    """Mean share of the path with fewer losses."""
    [row] = [row for row in compared(scenario) if (row.what, row.quantity) == ("up 0 a", "share")]
    return float(getattr(row, side).mean)


def in_range_alone(row: Compared) -> bool:
    """Means that differ by more than the tolerance and chance, and are near runs of the kernel."""
    apart = abs(row.difference or 0.0)
    return row.verdict == "within" and apart > max(row.tolerance, row.ci95 or 0.0)


def coupling(scenarios: dict[str, Any], causes: dict[str, dict[str, str]]) -> list[str]:
    """Coupled and uncoupled subflows beside one TCP, and where they send on unequal paths."""
    lines = [
        "",
        "## Coupled congestion controls",
        "",
        "Two subflows over one link of 20 Mbit/s with losses by chance, beside one TCP (K6): goodput of the",
        "connection over that of the TCP, which is to be 0.85 to 1.15 with a coupled control and 1.8 to 2.1",
        "without. Two paths alike but for losses, 0.05 % on the first and 0.5 % on the second: share of the",
        "first. On the kernel the controls are the BPF programs of `deploy/bpf`. `olia-limited`: a subflow",
        "takes no more while 16 KiB wait on it (`subflow_unsent_limit`). Without it OLIA gets less",
        "([how much, and why](../howto/coupled-control-on-my-server.md#a-limit-for-what-waits)).",
        "",
        "| control | kernel: connection / TCP | simulator | wanted | verdict | kernel: share of the first "
        "| simulator |",
        "|---|---|---|---|---|---|---|",
    ]
    differing: list[str] = []
    for control in ("newreno", *COUPLED):
        name = "k6" if control == "newreno" else f"k6-{control}"
        k6 = scenarios.get(name)
        unequal = scenarios.get(f"unequal-{control}")
        if k6 is None or unequal is None:
            continue
        ratios = [
            goodput(k6, "up", side) / goodput(k6, "competitor", side) for side in ("kernel", "simulator")
        ]
        least, most = COUPLING["uncoupled" if control == "newreno" else "coupled"]
        verdict = "within" if least <= ratios[0] <= most else "outside"
        more = MORE_RUNS.get(control, "")
        if verdict == "outside":
            differing += ["", f"{control}: {causes.get(name, {}).get('ratio', 'unexplained')}."]
        shares = [share(unequal, side) for side in ("kernel", "simulator")]
        lines.append(
            f"| {control} | {ratios[0]:.2f} | {ratios[1]:.2f} | {least} to {most} | {verdict}{more} "
            f"| {shares[0]:.2f} | {shares[1]:.2f} |"
        )
    return lines + differing


def page() -> str:
    """The page of what is on record."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    causes = json.loads(CAUSES.read_text(encoding="utf-8")) if CAUSES.exists() else {}
    scenarios = found["scenarios"]
    late = [one["p99_s"] for scenario in scenarios.values() for one in scenario["accuracy"]]
    share = [one["cpu_share"] for scenario in scenarios.values() for one in scenario["accuracy"]]
    verdicts = [row.verdict for scenario in scenarios.values() for row in compared(scenario)]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in ("within", "outside", "open"))
    by_range = sum(in_range_alone(row) for scenario in scenarios.values() for row in compared(scenario))
    lines = [
        INTRODUCTION,
        f"On record: Linux {found['kernel']}, {len(late)} runs. The 99th percentile of lateness was "
        f"{1e6 * min(late):.0f} to {1e6 * max(late):.0f} us; the links took {100 * min(share):.0f} to "
        f"{100 * max(share):.0f} % of a core.",
        "",
        f"Of {len(verdicts)} figures, {counts}. Means of {by_range} of those within differ by more than",
        "the tolerance and chance: drops and retransmissions, which are in the range of the kernel's runs.",
        "The two published test beds at the end of the page are not among them; figures of theirs differ.",
    ]
    lines += coupling(scenarios, causes)
    for name in sorted(scenarios, key=NAMES.index):
        scenario = scenarios[name]
        rows = compared(scenario)
        seeds = len(scenario["seeds"])
        lines += ["", f"## {scenario['scenario']}", "", f"{seeds} seeds.", "", *markdown(rows)]
        for row in rows:
            cause = causes.get(name, {}).get(f"{row.what} {row.quantity}", "unexplained")
            if row.verdict == "outside":
                lines += ["", f"{row.what}, {cells(row)[1]}: {cause}."]
            elif in_range_alone(row):
                lines += ["", f"{row.what}, {cells(row)[1]}: means apart, within the range; {cause}."]
    return "\n".join(lines + kernel_lantto.section() + kernel_yedugundla.section()) + "\n"


def main(arguments: list[str]) -> None:
    """Runs what is asked for, and writes the page."""
    if arguments == ["lantto2025"]:
        kernel_lantto.record()
    elif arguments == ["yedugundla2016"]:
        kernel_yedugundla_cases.run()
    elif arguments[:1] == ["--one"]:
        json.dump(one(arguments[1]), sys.stdout)
        return
    elif arguments != ["--page"]:
        record(tuple(arguments) or NAMES)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
