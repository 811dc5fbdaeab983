"""Captures of every shipped scenario give the tables of their runs."""

import math
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ropewalk as rw
from conftest import ROOT

SCENARIOS = sorted(file.stem for file in (ROOT / "scenarios").glob("*.toml"))
NO_BYTES = {"space-transports": "stp"}
"""The flow over STP, whose packets have no published format, is left out."""
SLOWER = {
    "sctp-failover": [
        ("path.wlan.both.rate", "1Mbit/s"),
        ("path.lte.up.rate", "500kbit/s"),
        ("path.lte.down.rate", "1.5Mbit/s"),
    ]
}
"""Its outage ends after 80 s, and whole packets are needed: at its own rates the capture has a gigabyte."""
ASSOCIATIONS = {"wlan-lte-cmt", "sctp-failover"}
PROXIES = {
    "converter-beside-the-way": ["pop"],
    "geo-split-proxy": ["gateway"],
    "hybrid-access-proxies": ["box", "gateway"],
    "proxy-on-one-subflow": ["gateway"],
}
"""Nodes with proxies: a flow is two connections or more, each of them captured at one end."""
ANSWERS = {("converter-beside-the-way", 1, 0): 28}
"""Bytes that a converter says in its SYN/ACK: they have sequence numbers in captures alone."""
DURATION = {"leo-handovers": "14s", "path-outage": "40s", "path-removal": "17s", "geo-rain-fade": "20s"}
DURATION |= {"sctp-failover": "100s"}
"""Other scenarios are cut to 12 s; these have events later."""
NAMES = {"run", "flow", "path", "connection", "subflow", "side"}
BOUNDS = {"srtt_mean_s": (1e-3, 0.01), "wire_bit_s": (0.0, 0.001), "wire_bytes": (0.0, 0.001)}
"""Absolute and relative. The simulator knows to the nanosecond when a packet was sent, a timestamp to the
millisecond; without timestamps the handshake is no sample. Packets that close a connection count here."""
SENDER = ["segments_sent", "retransmitted_segments", "reinjected_bytes", "bytes_sent"]
RECEIVER = ["segments_received", "seen_retransmitted_share", "seen_late_share", "ofo_max_bytes"]
CLOSED = {"completed", "end_s", "goodput_bit_s", "completion_s", "wire_bit_s"}
"""A transfer without a size that stops is complete for a capture, and not for the run."""
OF_DATAGRAMS = {"start_s", "goodput_bit_s", "wire_bit_s"}
"""The first datagram tells when a flow begins: a source that is silent at first has begun before."""
GIVEN_UP = {("sctp-failover", 0)}
"""Scenario and subflow. When a path fails its sender gives up chunks that it has not sent again yet; a late
answer is no round trip for it, and a very long one for a capture."""
QUEUED = {"path-outage"}
"""Another subflow is given what one has in its queue, too. The run counts it at the one that was given it
later, a capture at the one that sent it later."""
OF_LEGS = ["segments_sent", "retransmitted_segments", "bytes_sent", "wire_bytes", "srtt_mean_s"]
SUMS = ["segments_sent", "retransmitted_segments", "reinjected_bytes", "delivered_bytes"]
OTHERS = [("path-removal", seed) for seed in (5, 8, 10, 11)]
"""Further seeds: a beam is removed while its receiver holds data behind a gap of it."""
ONE_SIDED = [
    "bufferbloat-lte",
    "geo-leo-lte",
    "geo-plus-lte",
    "geo-rain-fade",
    "path-join",
    "path-outage",
    "path-removal",
    "shared-bottleneck",
    "three-geo-beams",
    "two-geo-beams",
]
"""Scenarios of flows between two hosts without proxies, of TCP and MPTCP, that last to the end."""
TIMES = ["start_s", "end_s", "last_delivery_s", "established_s"]
WAY_S = 0.35
"""A capture at one end sees the other one earlier or later by the way of a packet, up to 0.3 s."""
LOST_SYN = {("shared-bottleneck", 11): 1.02}
"""The receiver sees the second SYN of a flow first."""
MEANS = ["wire_bit_s", "ofo_mean_bytes", "meta_ofo_mean_bytes"]
"""Averages over the time of the flow, which begins later at its receiver."""
PERCENTILES = ["ofo_p95_bytes", "meta_ofo_p95_bytes"]
OF_TIME = {*TIMES, *MEANS, *PERCENTILES, "goodput_bit_s", "share", "delivered_bytes"}
"""Columns that depend on when a capture at one end begins, or on what is acknowledged when it ends."""
FEW = [
    ("three-geo-beams", 12),
    ("three-geo-beams", 6),
    ("path-join", 9),
    ("path-join", 13),
    ("shared-bottleneck", 11),
]
"""Further seeds: those with the largest differences of 15."""
ORDER = ["delivered_bytes", "segments_sent", "start_s"]


def captured(
    name: str, folder: Path, at: str, seed: int = 1
) -> tuple[pl.DataFrame, pl.DataFrame, rw.Reading]:
    """The flows, their subflows that were established, and the reading."""
    results, reading = read_back(name, folder, at, seed)
    own = ~pl.col("flow").cast(pl.String).str.contains("@")
    flows = results.flows.filter(own & (pl.col("segments_sent") > 0))
    subflows = results.subflows.filter(own & pl.col("established_s").is_not_null())
    return flows, subflows, reading


def without(text: str, flow: str) -> str:
    """A scenario without one of its flows."""
    first, *others = text.split("[[flow]]")
    kept = [other for other in others if f'"{flow}"' not in other.splitlines()[1]]
    assert len(kept) == len(others) - 1
    return "[[flow]]".join([first, *kept])


def read_back(name: str, folder: Path, at: str, seed: int = 1) -> tuple[rw.Results, rw.Reading]:
    """A run, and its capture."""
    changes = [("duration", DURATION.get(name, "12s")), *SLOWER.get(name, [])]
    file = ROOT / "scenarios" / f"{name}.toml"
    if name in NO_BYTES:
        file = folder / file.name
        text = (ROOT / "scenarios" / file.name).read_text(encoding="utf-8")
        file.write_text(without(text, NO_BYTES[name]), encoding="utf-8")
    scenario = rw.Scenario.load(file, changes)
    # 96 bytes cut the gap blocks of long SACKs, and with them round trips.
    snap = 0 if name in ASSOCIATIONS else 96
    results = scenario.run([seed], capture=rw.Capture(folder, at=at, snap=snap))
    reading = rw.read([results.captures[seed]])
    assert reading.problems == []
    return results, reading


def columns(told: dict[str, object], found: dict[str, object], passed: set[str]) -> list[str]:
    """Columns that differ, of those that the capture knows."""
    wrong = []
    for column, value in told.items():
        other = found.get(column)
        if other is None or column in passed:
            continue
        absolute, relative = BOUNDS.get(column, (1e-9, 1e-14))
        if isinstance(value, (int, float)) and isinstance(other, (int, float)):
            same = math.isclose(value, other, rel_tol=relative, abs_tol=absolute)
        else:
            same = value == other
        if not same:
            wrong.append(f"{column}: {value} in the run, {other} in the capture")
    return wrong


FIRST = [(name, 1) for name in SCENARIOS if name not in PROXIES]


@pytest.mark.parametrize(("name", "seed"), [*FIRST, *OTHERS])
def test_both_ends_give_the_tables_of_the_run(name: str, seed: int, tmp_path: Path) -> None:
    flows, subflows, reading = captured(name, tmp_path, "both", seed)
    connections = subflows.group_by("flow").agg(pl.col("connection").max())
    several = set(connections.filter(pl.col("connection") > 0)["flow"].cast(pl.String))
    # The first packet of all may be later than the start of the run.
    late = flows["start_s"].min()
    assert isinstance(late, float)
    if several:
        told = flows.select(pl.col(SUMS).sum()).row(0)
        # Requests travel the other way.
        downloads = reading.flows.sort("bytes").group_by("connection").last()
        found = downloads.select(pl.col(SUMS).sum()).row(0)
        assert found == told
        return
    shift = [pl.col(column) + late for column in ("start_s", "end_s", "last_delivery_s")]
    read = reading.flows.with_columns(shift).sort(ORDER)
    run = flows.sort(ORDER)
    assert read.height == run.height
    for told_row, found_row in zip(run.to_dicts(), read.to_dicts(), strict=True):
        # Packets do not tell whether an association uses its paths at once.
        found_row["transport"] = "cmt-sctp" if told_row["transport"] == "cmt-sctp" else found_row["transport"]
        stopped = found_row["completed"] and not told_row["completed"]
        passed = NAMES | (CLOSED if stopped else set())
        if told_row["transport"] == "udp":
            passed |= OF_DATAGRAMS
            spans = [row["end_s"] - row["start_s"] for row in (told_row, found_row)]
            for rate in ("goodput_bit_s", "wire_bit_s"):
                assert told_row[rate] * spans[0] == pytest.approx(found_row[rate] * spans[1], rel=1e-12)
        assert columns(told_row, found_row, passed) == [], told_row["flow"]
        mine = subflows.filter(pl.col("flow").cast(pl.String) == told_row["flow"])
        theirs = reading.subflows.filter(pl.col("flow").cast(pl.String) == found_row["flow"])
        theirs = theirs.filter(pl.col("established_s").is_not_null())
        theirs = theirs.with_columns(pl.col("established_s") + late).sort("established_s")
        for told_sub, found_sub in zip(mine.sort("established_s").to_dicts(), theirs.to_dicts(), strict=True):
            passed = NAMES | ({"goodput_bit_s", "wire_bytes"} if stopped else set())
            passed |= {"srtt_mean_s"} if (name, told_sub["subflow"]) in GIVEN_UP else set()
            passed |= {"reinjected_bytes"} if name in QUEUED else set()
            assert columns(told_sub, found_sub, passed) == [], (told_row["flow"], told_sub["subflow"])


@pytest.mark.parametrize("name", PROXIES)
def test_nodes_with_proxies_give_the_table_of_legs(name: str, tmp_path: Path) -> None:
    """Each leg is captured at its sender: the first at an end of the flow, others at the proxies."""
    found: list[dict[str, object]] = []
    for at in ("both", *PROXIES[name]):
        results, reading = read_back(name, tmp_path / at, at)
        found += reading.subflows.filter(pl.col("segments_sent") > 0).to_dicts()
    own = ~pl.col("flow").cast(pl.String).str.contains("@")
    for leg in results.tables["legs"].filter(own & (pl.col("segments_sent") > 0)).to_dicts():
        told = {column: leg[column] for column in OF_LEGS}
        more = ANSWERS.get((name, leg["leg"], leg["subflow"]))
        if more is not None:
            told["segments_sent"] += 1
            told["bytes_sent"] += more
        assert any(columns(told, row, set()) == [] for row in found), leg


@pytest.mark.parametrize("via", ["a1", "a2"], ids=["joins", "opens"])
def test_a_subflow_beyond_a_proxy_counts_once(via: str, tmp_path: Path) -> None:
    """The proxy gives it other ends and passes on the options of its handshake, by which it is known."""
    file = ROOT / "scenarios" / "proxy-on-one-subflow.toml"
    results = rw.Scenario.load(file, [("flow.upload.via", via)]).run([1], capture=rw.Capture(tmp_path))
    reading = rw.read([results.captures[1]])
    [flow] = reading.flows.to_dicts()
    assert (flow["subflows"], flow["side"]) == (2, "both")
    told, found = (
        table.sort("established_s")["share"].to_list() for table in (results.subflows, reading.subflows)
    )
    assert found == pytest.approx(told, abs=1e-12)
    assert flow["delivered_bytes"] == results.flows["delivered_bytes"][0]


def seconds(row: dict[str, Any]) -> float:
    """Time over which its averages are taken."""
    return float(row["end_s"] - row["start_s"])


def one_end(told: dict[str, Any], found: dict[str, Any], spans: tuple[float, float], late: float) -> None:
    """Columns that one end knows, but for what has arrived."""
    for column in TIMES:
        if found.get(column) is not None:
            assert found[column] == pytest.approx(told[column], rel=0, abs=late), column
    for column in MEANS:
        if found.get(column) is not None:
            relative = max(BOUNDS.get(column, (0.0, 1e-9)))
            assert found[column] * spans[1] == pytest.approx(told[column] * spans[0], rel=relative), column
    for column in PERCENTILES:
        if found.get(column) is not None:
            # The time that is missing is one in which nothing was held.
            assert told[column] <= found[column] <= found[column.replace("p95", "max")], column


def arrivals(
    told: list[dict[str, Any]], found: list[dict[str, Any]], spans: tuple[float, float], sends: bool
) -> None:
    """The bytes that arrived over subflows: at the sender, between those acknowledged and those sent."""
    arrived = [row["goodput_bit_s"] * spans[0] / 8 for row in told]
    least = [row["goodput_bit_s"] * spans[1] / 8 for row in found]
    sent = [row["bytes"] - row["retransmitted_bytes"] if sends else least[i] for i, row in enumerate(found)]
    for i, (known, row) in enumerate(zip(told, found, strict=True)):
        assert least[i] - 1e-3 <= arrived[i] <= sent[i] + 1e-3
        assert row["share"] == pytest.approx(least[i] / sum(least), rel=1e-9)
        lowest = least[i] / (least[i] + sum(sent) - sent[i])
        highest = sent[i] / (sent[i] + sum(least) - least[i])
        assert lowest - 1e-9 <= known["share"] <= highest + 1e-9


def delivered_before(name: str, seed: int) -> dict[str, int]:
    """The bytes of each flow a second before the end: acknowledgements of them have come back since."""
    shorter = int(DURATION.get(name, "12s").removesuffix("s")) - 1
    scenario = rw.Scenario.load(ROOT / "scenarios" / f"{name}.toml", [("duration", f"{shorter}s")])
    flows = scenario.run([seed]).flows
    return dict(zip(flows["flow"].cast(pl.String), flows["delivered_bytes"], strict=True))


@pytest.mark.parametrize("sends", [True, False], ids=["sender", "receiver"])
@pytest.mark.parametrize(("name", "seed"), [*((name, 1) for name in ONE_SIDED), *FEW])
def test_one_end_gives_what_it_knows(name: str, seed: int, sends: bool, tmp_path: Path) -> None:
    """Each column that it fills is that of the run to the last digit, but for those with a derived bound."""
    flow = tomllib.loads((ROOT / "scenarios" / f"{name}.toml").read_text(encoding="utf-8"))["flow"][0]
    flows, subflows, reading = captured(name, tmp_path, flow["from" if sends else "to"], seed)
    known, unknown = (SENDER, "segments_received") if sends else (RECEIVER, "segments_sent")
    assert reading.subflows[known].sum_horizontal().null_count() == 0
    assert reading.subflows[unknown].null_count() == reading.subflows.height
    assert set(reading.flows["side"]) <= {"client", "server"}
    first = flows["start_s"].min()
    assert isinstance(first, float)
    before = delivered_before(name, seed)
    late = WAY_S + LOST_SYN.get((name, seed), 0.0)

    def rows(table: pl.DataFrame, flow: str | None, shift: float) -> list[dict[str, Any]]:
        of_flow = pl.lit(True) if flow is None else pl.col("flow").cast(pl.String) == flow
        times = [pl.col(column) + shift for column in TIMES if column in table.columns]
        order = "start_s" if flow is None else "established_s"
        return table.filter(of_flow).with_columns(times).sort(order).to_dicts()

    for told, found in zip(rows(flows, None, 0.0), rows(reading.flows, None, first), strict=True):
        spans = (seconds(told), seconds(found))
        assert columns(told, found, NAMES | OF_TIME) == []
        one_end(told, found, spans, late)
        assert found["goodput_bit_s"] * spans[1] / 8 == pytest.approx(found["delivered_bytes"], rel=1e-9)
        if sends:
            assert found["delivered_bytes"] <= told["delivered_bytes"] <= found["bytes"]
            assert found["delivered_bytes"] >= before[told["flow"]]
        else:
            assert found["delivered_bytes"] == told["delivered_bytes"]
        mine = rows(subflows, told["flow"], 0.0)
        theirs = rows(reading.subflows, found["flow"], first)
        arrivals(mine, theirs, spans, sends)
        for told_sub, found_sub in zip(mine, theirs, strict=True):
            queued = {"reinjected_bytes"} if name in QUEUED else set()
            assert columns(told_sub, found_sub, NAMES | OF_TIME | queued) == []
            one_end(told_sub, found_sub, spans, late)


@pytest.mark.parametrize("taken", ["true", "false"])
def test_data_before_the_cookie_ack(taken: str, tmp_path: Path) -> None:
    """Data overtakes the COOKIE ACK on the other path; a capture tells whether the client takes it."""
    changes = [("duration", "12s"), ("flow.download.transport.data_is_cookie_ack", taken)]
    scenario = rw.Scenario.load(ROOT / "scenarios" / "wlan-lte-cmt.toml", changes)
    results = scenario.run([6], capture=rw.Capture(tmp_path, snap=0))
    reading = rw.read([results.captures[6]])
    [told], [found] = results.flows.to_dicts(), reading.flows.to_dicts()
    assert columns(told, found, NAMES | {"transport"}) == []
    paths = [table.sort("established_s").to_dicts() for table in (results.subflows, reading.subflows)]
    for of_run, of_capture in zip(*paths, strict=True):
        # Chunks that are marked to be sent again, and acknowledged before, are no round trips of the run.
        assert columns(of_run, of_capture, NAMES | {"srtt_mean_s"}) == []


REFUSED = """\
name = "a fallback, and a subflow that is refused"
duration = "5s"

[[path]]
name = "a"
both = { rate = "7Mbit/s", delay = "33ms", queue = "90kB" }
up = { strip_mptcp = 5 }

[[path]]
name = "b"
both = { rate = "3Mbit/s", delay = "80ms", queue = "50kB" }

[[flow]]
name = "up"
from = "terminal"
to = "server"
app = "bulk"
transport = { kind = "mptcp", profile = "linux" }
"""


@pytest.mark.parametrize("at", ["both", "terminal", "server"])
def test_a_fallback_is_seen_beside_a_refused_subflow(at: str, tmp_path: Path) -> None:
    """Its SYN is in the file, and no answer but a reset."""
    results = rw.Scenario.parse(REFUSED).run([1], capture=rw.Capture(tmp_path, at=at))
    assert results.flows["fell_back"].to_list() == [True]
    reading = rw.read([results.captures[1]])
    assert reading.flows["fell_back"].to_list() == [True]
    assert reading.subflows["unmapped_bytes"].sum() == 0
    told, found = (table["delivered_bytes"][0] for table in (results.flows, reading.flows))
    assert found == pytest.approx(told, rel=0.05 if at == "terminal" else 0.0)


OVER_IPV6 = """\
name = "IPv6"
duration = "10s"

[[path]]
name = "a"
both = { rate = "5Mbit/s", delay = "45ms", queue = "60kB", loss = { kind = "packet", probability = 0.003 } }

[[flow]]
name = "down"
from = "server"
to = "terminal"
opened_by = "receiver"
app = { kind = "bulk", size = "3MB" }
transport = { kind = "tcp", profile = "linux", header = "60B" }
"""


@pytest.mark.parametrize("kind", ["tcp", "mptcp"])
def test_options_of_ipv6_are_kept(kind: str, tmp_path: Path) -> None:
    """40 bytes of options behind 60 of headers: 96 bytes cut the last SACK block, or the DSS option."""
    text = OVER_IPV6.replace('"tcp"', f'"{kind}"')
    results = rw.Scenario.parse(text).run([1], capture=rw.Capture(tmp_path))
    reading = rw.read([results.captures[1]])
    assert reading.problems == []
    for run, read in ((results.flows, reading.flows), (results.subflows, reading.subflows)):
        [told], [found] = run.to_dicts(), read.to_dicts()
        assert columns(told, found, NAMES) == []


def test_sack_blocks_that_are_cut_off_are_said(tmp_path: Path) -> None:
    """Round trips are those of other ACKs then."""
    scenario = rw.Scenario.parse(OVER_IPV6.replace(', header = "60B"', ""))
    results = scenario.run([1], capture=rw.Capture(tmp_path, snap=78))
    [problem] = rw.read([results.captures[1]]).problems
    assert "SACK blocks or timestamps of " in problem
    assert "-s 128" in problem
