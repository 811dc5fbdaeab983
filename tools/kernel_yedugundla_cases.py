"""The emulation of Yedugundla et al. 2016 on the kernel: its cases, and what is measured in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from kernel_record import Case, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernel_record import Sets
    from ropewalk.results import Results

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "crates" / "lab" / "tests" / "kernel" / "yedugundla2016.toml"
RECORD = ROOT / "validation" / "kernel-yedugundla2016.json"
SEEDS = {"video": 2, "game": 1, "page": 3}
AT_ONCE = 8
"""Runs side by side: most of their links carry a few Mbit/s."""


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
GAMES = ("1", "2", "3")
SITES = {
    "Wikipedia": 'main = "4608B", objects = 15, object = "4608B"',
    "Amazon": 'main = "19066B", objects = 54, object = "19065B"',
    "Huffington Post": 'main = "29482B", objects = 138, object = "29423B"',
}
UMTS_SECONDS = {"Wikipedia": 100, "Amazon": 160, "Huffington Post": 240}
"""Duration of a page over 3G behind the queue that 2 MiB of window fill."""
SECONDS = {"Wikipedia": 50, "Amazon": 65, "Huffington Post": 90}
"""Duration of the others with background, of which the page begins after 20 s."""


def game(number: str) -> Sets:
    """A session of ten minutes, from its beginning to its end."""
    file = f"../../../../reproductions/yedugundla2016/game-{number}.txt"
    return [
        ("flow.app.app", f'{{ kind = "replay", file = "{file}", message = "1428B" }}'),
        ("duration", '"630s"'),
    ]


def page(site: str, accesses: str, protocol: str) -> Sets:
    """A page, and time enough for it."""
    slow = accesses == "WLAN-3G" and protocol == "TCP 2"
    seconds = UMTS_SECONDS[site] if slow else SECONDS[site]
    return [
        ("flow.app.app", f'{{ kind = "http", page = "custom", {SITES[site]} }}'),
        ("duration", f'"{seconds}s"'),
    ]


def measured(results: Results) -> dict[str, float]:
    """Means over seeds: delay of messages in ms, and the share of path 1 of the document in percent."""
    delays = results.measures.filter(pl.col("flow").cast(pl.String) == "app")["delay_mean_s"]
    return {"delay": 1e3 * float(delays.sum()) / delays.len(), "share": share(results)}


def loaded(results: Results) -> dict[str, float]:
    """Means over seeds: load time of the page in ms, and the share of path 1 of the document in percent."""
    times = results.pages["load_time_s"]
    if times.null_count() or times.len() != len(results.origin.seeds):
        raise ValueError(f"a page is not complete: {times.to_list()}")
    return {"delay": 1e3 * float(times.sum()) / times.len(), "share": share(results)}


def share(results: Results) -> float:
    """Mean over seeds of the share of path 1 of the document in percent of the bytes of the connection.

    That is the path with the smaller delay where both are alike, else WLAN.
    """
    own = results.subflows.filter(pl.col("flow").cast(pl.String) == "app")
    first = own.filter(pl.col("path").cast(pl.String) == "one")
    shares = []
    for run in results.runs.iter_rows(named=True):
        carried, all_of_it = (
            float(table.filter(pl.col("run") == run["run"])["bytes_sent"].sum()) for table in (first, own)
        )
        one, two = (run[f"path.{path}.both.delay_s"] for path in ("one", "two"))
        of_one = 100.0 * carried / all_of_it
        shares.append(of_one if one <= two else 100.0 - of_one)
    return sum(shares) / len(shares)


def cases() -> dict[str, Case]:
    """By application, accesses, background and protocol; games first, which take longest."""
    made = {}

    def add(application: str, seeds: int, figures: Callable[[Results], dict[str, float]]) -> None:
        kind, _, which = application.partition(" ")
        for accesses, own in ACCESSES.items():
            for background, others in BACKGROUND.items():
                for protocol, transport in PROTOCOLS.items():
                    sets = own + others + transport
                    if kind == "game":
                        sets = sets + game(which)
                    elif kind == "page":
                        sets = sets + page(which, accesses, protocol)
                    made[f"{application} {accesses} {background} {protocol}"] = Case(sets, seeds, figures)

    for number in GAMES:
        add(f"game {number}", SEEDS["game"], measured)
    add("video", SEEDS["video"], measured)
    for site in SITES:
        add(f"page {site}", SEEDS["page"], loaded)
    return made


def run() -> None:
    """Runs what is not on record."""
    record(cases(), SCENARIO, RECORD, at_once=AT_ONCE)
