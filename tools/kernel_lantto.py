"""The model test bed of Lantto and Svensson 2025 on the kernel: claims judged a third way, "on Linux 6.18".

`make compare ARGS=lantto2025` runs it, half an hour; runs of the kernel that are on record are kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import kernel_record
from ropewalk.comparison import OPEN, OUTSIDE, WITHIN, judged
from ropewalk.statistics import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernel_record import Sets
    from ropewalk.results import Results

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "crates" / "lab" / "tests" / "kernel" / "lantto2025.toml"
RECORD = ROOT / "validation" / "kernel-lantto2025.json"
CONTROLS = ("cubic", "lia", "olia", "balia", "wvegas")
TEST_CASES: dict[str, Sets] = {
    "M.Def": [],
    "M.Loss": [("path.path2.both.loss.probability", "0.1")],
    "M.Latency": [("path.path2.both.delay", '"350ms"')],
    "sockperf": [("flow.upload.app", '{ kind = "sockperf", duration = "30s" }')],
}
"""`sockperf` is M.Def with that generator."""
CASES = {
    f"{case} {control}": [*sets, ("flow.upload.transport.congestion", f'"{control}"')]
    for control in CONTROLS
    for case, sets in TEST_CASES.items()
}
SEEDS = 24
"""The standard deviation over seeds is 23 to 45 % of the mean of a bulk case: intervals are about a sixth."""
AT_ONCE = 10
"""Cases side by side; none takes a tenth of a core."""
PUBLISHED_SAR = 0.70
"""Mbit/s, Table 5.2, M.Def, Cubic with MinRatio."""
TOLERANCE, EVEN, GOODPUT = 0.25, 0.10, 0.10
SIDES = ("kernel", "simulator")


def record() -> None:
    """Runs what is not on record."""
    cases = {name: kernel_record.Case(sets, SEEDS, figures) for name, sets in CASES.items()}
    kernel_record.record(cases, SCENARIO, RECORD, at_once=AT_ONCE)


def figures(results: Results) -> kernel_record.Figures:
    """By seed: Mbit/s of the flow, share of the first path, Mbit/s at interfaces over 30 s (sar)."""
    up = results.links.filter(results.links["link"].cast(pl.String).str.ends_with(".up"))
    first = results.subflows.filter(results.subflows["path"].cast(pl.String) == "path1")
    sent = up.group_by("run", maintain_order=True).agg(pl.col("bytes").sum())
    return {
        "goodput": [round(float(value) / 1e6, 4) for value in results.flows["goodput_bit_s"]],
        "share": [round(float(value or 0.0), 4) for value in first["share"]],
        "sar": [round(8 * float(value) / 30e6, 4) for value in sent["bytes"]],
    }


def section() -> list[str]:
    """The part of the page that tells of it."""
    if not RECORD.exists():
        return []
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    found = {name: both for name, both in found.items() if both.keys() >= set(SIDES)}
    lines = [
        "",
        "## The model test bed of Lantto and Svensson 2025",
        "",
        "Two emulated GEO paths of 3 Mbit/s with 1 % loss in either direction, iperf3 for 20 s after 10 s,",
        f"with the scheduler of the kernel, the only one that it has; {SEEDS} seeds, the same on both, and",
        "95 % intervals. The authors had Linux 5.15 and published no source of their MinRatio",
        "([the reproduction](reproductions/lantto2025.md)). `sockperf` is M.Def with that generator.",
        "",
        "| test case | control | kernel, Mbit/s | simulator | difference, % | within 10 % "
        "| kernel: share of path 1 | simulator |",
        "|---|---|---|---|---|---|---|---|",
    ]
    verdicts: dict[str, list[str]] = {WITHIN: [], OPEN: [], OUTSIDE: []}
    for name, both in found.items():
        difference, interval, verdict = apart(both)
        verdicts[verdict].append(name)
        cells = [_told(both[side]["goodput"]) for side in SIDES]
        cells += [f"{100 * difference:+.0f} ± {100 * interval:.0f}", verdict]
        cells += [_told(both[side]["share"]) for side in SIDES]
        lines.append(f"| {' | '.join([*name.split(' '), *cells])} |")
    lines += [
        "",
        f"{len(verdicts[WITHIN])} of {len(found)} goodputs are within 10 %, {len(verdicts[OPEN])} open: the",
        "interval of the difference has room for both. More than 10 % apart:",
        f"{', '.join(verdicts[OUTSIDE]) or 'none'}. With `sockperf` it matters how many of its",
        "messages of 14 bytes a socket buffer takes, which counts as much as one of full segments: a trial",
        "build that keeps them as the kernel does, seventeen fragments to a buffer, has 0.81 ± 0.07 Mbit/s",
        "with CUBIC and 0.34 to 0.38 with the others, 14 to 24 % above the kernel. There a program",
        "takes time to write; here it fills a buffer at once.",
    ]
    return lines + claims(found)


def _told(values: Sequence[float]) -> str:
    """A mean with its interval."""
    found = _estimate(values)
    return f"{found.mean:.2f} ± {found.ci95 or 0.0:.2f}"


def _estimate(values: Sequence[float]) -> Estimate:
    found = estimate(values)
    if found is None:
        raise ValueError("a case without runs is on record")
    return found


def apart(both: dict[str, Any]) -> tuple[float, float, str]:
    """The paired difference of the goodputs over the mean of the kernel, its interval, and the verdict."""
    kernel = _estimate(both["kernel"]["goodput"]).mean
    pairs = zip(both["simulator"]["goodput"], both["kernel"]["goodput"], strict=True)
    found = _estimate([ours - theirs for ours, theirs in pairs])
    difference, interval = found.mean / kernel, (found.ci95 or 0.0) / kernel
    return difference, interval, judged(difference, interval, GOODPUT)


def claims(found: dict[str, Any]) -> list[str]:
    """Claims of the document, judged by the kernel."""
    heading = [
        "",
        "Claims of the document on Linux 6.18, with the tolerances of the reproduction:",
        "",
    ]
    lines: list[str] = []
    if "sockperf cubic" in found:
        ours = {side: found["sockperf cubic"][side]["sar"] for side in SIDES}
        holds = abs(_estimate(ours["kernel"]).mean / PUBLISHED_SAR - 1.0) <= TOLERANCE
        lines.append(
            "* T5_2.r1, throughput during sockperf with Cubic and MinRatio, "
            f"{PUBLISHED_SAR:.2f} Mbit/s within 25 %: "
            f"{'holds' if holds else 'does not hold'}, {_told(ours['kernel'])} on the kernel, "
            f"{_told(ours['simulator'])} in the simulator."
        )
    shares = {
        name: _estimate(both["kernel"]["share"]).mean
        for name, both in found.items()
        if name.startswith("M.Def ")
    }
    if len(shares) == len(CONTROLS):
        uneven = [
            f"{name.split()[1]} {share:.2f}" for name, share in shares.items() if abs(share - 0.5) > EVEN
        ]
        lines.append(
            "* F5_5.c2, its half of the model test bed, even shares within 20 points: "
            + (f"does not hold, {', '.join(uneven)} on the first path." if uneven else "holds.")
        )
    return heading + lines if lines else []
