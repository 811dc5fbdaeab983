"""Captures of every shipped scenario give the tables of their runs."""

import math
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from conftest import ROOT

SCENARIOS = sorted(file.stem for file in (ROOT / "scenarios").glob("*.toml"))
NO_BYTES = {"space-transports"}
"""Flows over STP, whose packets have no published format."""
LONG = {"sctp-failover"}
"""Its outage ends after 80 s, and whole packets are needed: the capture would have a gigabyte."""
ASSOCIATIONS = {"wlan-lte-cmt"}
PROXIES = {"geo-split-proxy", "hybrid-access-proxies", "proxy-on-one-subflow"}
"""A flow is two connections or more, each of them captured at one end."""
DURATION = {"leo-handovers": "14s", "path-outage": "25s", "path-removal": "17s", "geo-rain-fade": "20s"}
"""Other scenarios are cut to 12 s; these have events later."""
NAMES = {"run", "flow", "path", "connection", "subflow", "side"}
BOUNDS = {"srtt_mean_s": (1e-3, 0.01), "wire_bit_s": (0.0, 0.001), "wire_bytes": (0.0, 0.001)}
"""Absolute and relative. The simulator knows to the nanosecond when a packet was sent, a timestamp to the
millisecond; without timestamps the handshake is no sample. Packets that close a connection count here."""
SENDER = ["segments_sent", "retransmitted_segments", "reinjected_bytes", "bytes_sent"]
RECEIVER = ["segments_received", "seen_retransmitted_share", "seen_late_share", "ofo_max_bytes"]
CLOSED = {"completed", "end_s", "goodput_bit_s", "completion_s", "wire_bit_s"}
"""A transfer without a size that stops is complete for a capture, and not for the run."""
SUMS = ["segments_sent", "retransmitted_segments", "reinjected_bytes", "delivered_bytes"]
ORDER = ["start_s", "delivered_bytes", "segments_sent"]


def captured(name: str, folder: Path, at: str) -> tuple[pl.DataFrame, pl.DataFrame, rw.Reading]:
    """Flows of TCP and MPTCP, their subflows that were established, and the reading."""
    scenario = rw.Scenario.load(
        ROOT / "scenarios" / f"{name}.toml", [("duration", DURATION.get(name, "12s"))]
    )
    # 96 bytes cut the gap blocks of long SACKs, and with them round trips.
    snap = 0 if name in ASSOCIATIONS else 96
    results = scenario.run([1], capture=rw.Capture(folder, at=at, snap=snap))
    own = ~pl.col("flow").cast(pl.String).str.contains("@")
    flows = results.flows.filter(own & (pl.col("transport") != "udp") & (pl.col("segments_sent") > 0))
    subflows = results.subflows.filter(own & pl.col("established_s").is_not_null())
    reading = rw.read([results.captures[1]])
    assert reading.problems == []
    return flows, subflows, reading


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


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in NO_BYTES | PROXIES | LONG])
def test_both_ends_give_the_tables_of_the_run(name: str, tmp_path: Path) -> None:
    flows, subflows, reading = captured(name, tmp_path, "both")
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
        assert columns(told_row, found_row, NAMES | (CLOSED if stopped else set())) == [], told_row["flow"]
        mine = subflows.filter(pl.col("flow").cast(pl.String) == told_row["flow"])
        theirs = reading.subflows.filter(pl.col("flow").cast(pl.String) == found_row["flow"])
        theirs = theirs.filter(pl.col("established_s").is_not_null())
        theirs = theirs.with_columns(pl.col("established_s") + late).sort("established_s")
        for told_sub, found_sub in zip(mine.sort("established_s").to_dicts(), theirs.to_dicts(), strict=True):
            passed = NAMES | ({"goodput_bit_s", "wire_bytes"} if stopped else set())
            assert columns(told_sub, found_sub, passed) == [], (told_row["flow"], told_sub["subflow"])


@pytest.mark.parametrize(("name", "sender", "receiver"), [("two-geo-beams", "terminal", "server")])
def test_one_end_gives_what_it_knows(name: str, sender: str, receiver: str, tmp_path: Path) -> None:
    """Goodput within 5 %, as that of the last acknowledgement, or from the first packet that arrived."""
    flows, subflows, reading = captured(name, tmp_path, sender)
    assert reading.subflows.select(SENDER).rows() == subflows.select(SENDER).rows()
    assert reading.subflows["segments_received"].null_count() == reading.subflows.height
    assert reading.flows["goodput_bit_s"][0] == pytest.approx(flows["goodput_bit_s"][0], rel=0.05)
    flows, subflows, reading = captured(name, tmp_path, receiver)
    assert reading.subflows.select(RECEIVER).rows() == subflows.select(RECEIVER).rows()
    assert reading.subflows["segments_sent"].null_count() == reading.subflows.height
    assert reading.flows["delivered_bytes"][0] == flows["delivered_bytes"][0]
    assert reading.flows["goodput_bit_s"][0] == pytest.approx(flows["goodput_bit_s"][0], rel=0.05)
