"""The emulation of Yedugundla et al. 2016 on the kernel: claims about video judged a third way.

`make compare ARGS=yedugundla2016` runs it, forty minutes; runs of the kernel that are on record are kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import kernel_record

if TYPE_CHECKING:
    from kernel_record import Sets
    from ropewalk.results import Results

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "crates" / "lab" / "tests" / "kernel" / "yedugundla2016.toml"
RECORD = ROOT / "validation" / "kernel-yedugundla2016.json"
SEEDS = 2
SIDES = ("kernel", "simulator")


def umts(path: str) -> Sets:
    """A path of 3G, and the background on it."""
    number = {"one": "1", "two": "2"}[path]
    return [
        (
            f"path.{path}.both.rate",
            '{ draw = "uniform", from = "3Mbit/s", to = "5Mbit/s" }',
        ),
        (f"path.{path}.both.delay", '{ draw = "uniform", from = "65ms", to = "75ms" }'),
        (f"path.{path}.both.queue", '"3750p"'),
        (f"path.{path}.both.loss", '"none"'),
        (f"flow.udp{number}-.app.rate", '"200kbit/s"'),
        (f"flow.udp{number}-.app.packet", '"1000B"'),
    ]


def buffers(size: str) -> Sets:
    """SO_RCVBUF of all TCP and MPTCP."""
    return [
        (f"flow.{flow}.transport.{key}", f'"{size}"')
        for flow in ("app", "tcp1-")
        for key in ("receive_buffer", "receive_buffer_max")
    ]


ACCESSES: dict[str, Sets] = {
    "WLAN-WLAN": [],
    "3G-3G": umts("one") + umts("two") + buffers("207KiB"),
    "WLAN-3G": umts("two"),
}
"""The kernel offers 1.23 times SO_RCVBUF: 256 KiB, and 2 MiB elsewhere."""
BACKGROUND: dict[str, Sets] = {
    "no": [(f"flow.{kind}{path}-.count", "0") for kind in ("tcp", "udp") for path in (1, 2)]
    + [("flow.app.start", '"1s"'), ("duration", '"45s"')],
    "yes": [],
}
"""Without it nothing has to fill up first."""
PROTOCOLS: dict[str, Sets] = {
    "MPTCP": [
        ("flow.app.transport.kind", '"mptcp"'),
        ("flow.app.transport.congestion", '"olia"'),
        (
            "flow.app.transport.path_manager",
            '{ kind = "in-kernel", subflows = 1, add_addr_accepted = 1 }',
        ),
        (
            "flow.app.transport.endpoints",
            '[{ path = "two", end = "server", flags = ["signal"] }]',
        ),
    ],
    "TCP 1": [],
    "TCP 2": [("flow.app.via", '"two"')],
}
CASES = {
    f"{accesses} {background} {protocol}": ACCESSES[accesses] + BACKGROUND[background] + PROTOCOLS[protocol]
    for accesses in ACCESSES
    for background in BACKGROUND
    for protocol in PROTOCOLS
}


def record() -> None:
    """Runs what is not on record."""
    kernel_record.record(CASES, SCENARIO, SEEDS, figures, RECORD)


def figures(results: Results) -> dict[str, float]:
    """Means over seeds: delay of messages in ms, and the share of path 1 of the document in percent.

    That is the path with the smaller delay where both are alike, else WLAN.
    """
    delays = results.measures.filter(pl.col("flow").cast(pl.String) == "app")["delay_mean_s"]
    own = results.subflows.filter(pl.col("flow").cast(pl.String) == "app")
    first = own.filter(pl.col("path").cast(pl.String) == "one")
    shares = []
    for run in results.runs.iter_rows(named=True):
        carried, all_of_it = (
            float(table.filter(pl.col("run") == run["run"])["bytes_sent"].sum()) for table in (first, own)
        )
        one, two = (run[f"path.{path}.both.delay_s"] for path in ("one", "two"))
        share = 100.0 * carried / all_of_it
        shares.append(share if one <= two else 100.0 - share)
    return {
        "delay": 1e3 * float(delays.sum()) / delays.len(),
        "share": sum(shares) / len(shares),
    }


SHARES = {
    "T5_r1": ("no", {"WLAN-WLAN": 54.19, "3G-3G": 99.84, "WLAN-3G": 51.96}),
    "T5_r2": ("yes", {"WLAN-WLAN": 55.67, "3G-3G": 85.24, "WLAN-3G": 51.98}),
}
"""Published shares of path 1 in percent, Table 5."""
POINTS, SPLIT_POINTS, ALIKE, HALF = 15.0, 10.0, 0.10, 50.0


class Side:
    """The figures of one side."""

    def __init__(self, found: dict[str, Any], side: str) -> None:
        self._found = found
        self._side = side

    def share(self, accesses: str, background: str) -> float:
        """Share of path 1 with MPTCP, percent."""
        return float(self._found[f"{accesses} {background} MPTCP"][self._side]["share"])

    def delay(self, accesses: str, background: str, *protocols: str) -> float:
        """Mean delay of messages in ms, over `protocols` in equal parts."""
        cases = [self._found[f"{accesses} {background} {protocol}"][self._side] for protocol in protocols]
        return float(sum(case["delay"] for case in cases)) / len(cases)

    def mptcp_over_tcp(self, accesses: str, background: str) -> float:
        """Delay with MPTCP over the mean of TCP on either path."""
        tcp = self.delay(accesses, background, "TCP 1", "TCP 2")
        return self.delay(accesses, background, "MPTCP") / tcp

    def background_over_none(self, accesses: str, *protocols: str) -> float:
        """Delay with background over that without."""
        return self.delay(accesses, "yes", *protocols) / self.delay(accesses, "no", *protocols)


Claim = tuple[str, str, bool, str]
"""Number, text, whether it holds, the figure."""


def shares(one: Side) -> list[Claim]:
    """Table 5: the same dominant path, within 15 points."""
    rows = []
    for number, (background, published) in SHARES.items():
        for accesses, expected in published.items():
            share = one.share(accesses, background)
            holds = abs(share - expected) <= POINTS and (share > HALF) == (expected > HALF)
            text = f"{accesses}, background {background}: {expected} % on path 1"
            rows.append((f"{number}.{accesses.lower()}", text, holds, f"{share:.1f} %"))
    split = one.share("3G-3G", "yes")
    text = "3G-3G with background: 85 % on path 1, within 10 points"
    return [
        *rows,
        ("F7b.c4", text, abs(split - 85.0) <= SPLIT_POINTS, f"{split:.1f} %"),
    ]


def delays(one: Side) -> list[Claim]:
    """Figure 7: orders and near equalities of mean delays."""

    def ratio(number: str, text: str, value: float, *, below: bool) -> Claim:
        return number, text, value < 1.0 if below else value > 1.0, f"{value:.2f}"

    over = {f"{a} {b}": one.mptcp_over_tcp(a, b) for a in ("WLAN-WLAN", "3G-3G") for b in ("no", "yes")}
    mixed = {b: one.delay("WLAN-3G", b, "MPTCP") / one.delay("WLAN-3G", b, "TCP 1") for b in ("no", "yes")}
    grown = (
        one.background_over_none("WLAN-WLAN", "MPTCP"),
        one.background_over_none("WLAN-WLAN", "TCP 1", "TCP 2"),
    )
    across = (
        one.delay("WLAN-3G", "yes", "MPTCP") / one.delay("3G-3G", "yes", "MPTCP"),
        one.delay("WLAN-3G", "yes", "TCP 2") / one.delay("3G-3G", "yes", "TCP 1", "TCP 2"),
    )
    alike = over["3G-3G no"]
    return [
        ratio("F7a.c1", "WLAN-WLAN: MPTCP below TCP", over["WLAN-WLAN no"], below=True),
        (
            "F7a.c3",
            "3G-3G: MPTCP as TCP, within 10 %",
            abs(alike - 1.0) <= ALIKE,
            f"{alike:.2f}",
        ),
        ratio("F7a.c4", "WLAN-3G: MPTCP above TCP over WLAN", mixed["no"], below=False),
        (
            "F7b.c1",
            "WLAN-WLAN: background changes neither, within 10 %",
            all(abs(value - 1.0) <= ALIKE for value in grown),
            f"{grown[0]:.2f} and {grown[1]:.2f}",
        ),
        ratio(
            "F7b.c3",
            "3G-3G with background: MPTCP below TCP",
            over["3G-3G yes"],
            below=True,
        ),
        ratio(
            "F7b.c5",
            "WLAN-3G with background: MPTCP above TCP over WLAN",
            mixed["yes"],
            below=False,
        ),
        (
            "F7b.c6",
            "with background WLAN-3G above 3G-3G, MPTCP and TCP over 3G",
            min(across) > 1.0,
            f"{across[0]:.2f} and {across[1]:.2f}",
        ),
        ratio(
            "F7b.c7",
            "WLAN-3G with MPTCP: background above none",
            one.background_over_none("WLAN-3G", "MPTCP"),
            below=False,
        ),
    ]


def section() -> list[str]:
    """The part of the page that tells of it."""
    if not RECORD.exists():
        return []
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    if any(side not in found.get(name, {}) for name in CASES for side in SIDES):
        return []
    sides = {side: Side(found, side) for side in SIDES}
    judged = {side: [*shares(one), *delays(one)] for side, one in sides.items()}
    lines = [
        "",
        "## The emulation of Yedugundla and others 2016",
        "",
        "Video of 950 kbit/s over two accesses with losses and background traffic (Tables 1 and 3), MPTCP",
        f"with OLIA and TCP; {SEEDS} seeds of 18 cases, with the scheduler, recovery and buffers of Linux 6.",
        "The authors had MPTCP 0.89.3 in Linux 3.14 ([the reproduction](reproductions/yedugundla2016.md)).",
        "Without background the video starts after 1 s.",
        "",
        "| claim | | kernel | | simulator | |",
        "|---|---|---|---|---|---|",
    ]
    for kernel, simulator in zip(*judged.values(), strict=True):
        number, text, holds, figure = kernel
        verdicts = ["holds" if each else "does not hold" for each in (holds, simulator[2])]
        lines.append(f"| {number} | {text} | {verdicts[0]} | {figure} | {verdicts[1]} | {simulator[3]} |")
    counts = [sum(holds for _, _, holds, _ in rows) for rows in judged.values()]
    agreeing = sum(k[2] == s[2] for k, s in zip(*judged.values(), strict=True))
    return [
        *lines,
        "",
        f"On Linux 6.18 {counts[0]} of {len(judged['kernel'])} hold, in the simulator {counts[1]}; "
        f"{agreeing} verdicts agree. Not run there: F7a.c2",
        "and F7b.c2, which ask for ten runs of each case, games (ten minutes each) and pages (two to four",
        "minutes, 54 cases), and CMT-SCTP, which the kernel does not have.",
    ]
