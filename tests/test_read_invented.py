"""Captures of scenarios that are unlike the shipped ones give the tables of their runs."""

from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from test_read_runs import NAMES, OF_LEGS, OF_TIME, columns

ORBIT = """\
kind = "walker"
altitude = 550
inclination = 53
planes = 72
per_plane = 22
phasing = 39
terminal_lat = 48.1
terminal_lon = 11.5
phase = "4s"
outage = "120ms"
extra = "6ms"
"""
PROXY_OVER_LEO = f"""\
name = "a proxy behind two ways over a low orbit"
duration = "12s"

[[path]]
name = "one"
to = "gateway"
[path.both]
rate = "9Mbit/s"
queue = "40p"
loss = {{ kind = "packet", probability = 0.002 }}
[path.both.delay]
gateway_lat = 50.1
gateway_lon = 8.6
{ORBIT}
[[path]]
name = "other"
to = "gateway"
[path.both]
rate = "5Mbit/s"
queue = "40p"
[path.both.delay]
rank = 2
gateway_lat = 45.5
gateway_lon = 9.2
{ORBIT}
[[path]]
name = "net"
from = "gateway"

[path.both]
rate = "60Mbit/s"
delay = "12ms"
queue = "200p"
loss = {{ kind = "packet", probability = 0.004 }}

[[proxy]]
name = "pep"
node = "gateway"
kind = "mptcp"
client = {{ kind = "mptcp", profile = "linux" }}
server = {{ kind = "tcp", profile = "linux" }}

[[flow]]
name = "download"
from = "server"
to = "terminal"
opened_by = "receiver"
app = {{ kind = "bulk", size = "6MB" }}
transport = {{ kind = "mptcp", profile = "linux" }}

[[flow]]
name = "upload"
from = "terminal"
to = "server"
start = "1.3s"
app = {{ kind = "bulk", size = "3MB" }}
transport = {{ kind = "mptcp", profile = "linux" }}
"""
THREE = """\
name = "three subflows, one of them a backup, and one that joins late"
duration = "14s"

[[path]]
name = "a"
both = { rate = "6Mbit/s", delay = "18ms", queue = "60kB", loss = { kind = "packet", probability = 0.002 } }

[[path]]
name = "b"
both = { rate = "4Mbit/s", delay = "55ms", queue = "60kB" }

[[path]]
name = "c"
both = { rate = "3Mbit/s", delay = "140ms", queue = "90kB", loss = { kind = "packet", probability = 0.004 } }

[[flow]]
name = "up"
from = "terminal"
to = "server"
app = "bulk"

[flow.transport]
kind = "mptcp"
profile = "linux"
path_manager = { kind = "in-kernel", subflows = 3 }
endpoints = [
    { path = "a", flags = ["subflow"] },
    { path = "b", flags = ["subflow", "backup"] },
    { path = "c", flags = ["subflow"] },
]

[[event]]
at = "5.5s"
flow = "up"
do = { join = "c" }
"""
DOWN = '\n[[event]]\nat = "9s"\nlink = "a"\nset = { up = false }\n'


def test_legs_over_a_low_orbit(tmp_path: Path) -> None:
    """The hand-overs of both ways are outages; each leg is captured at its sender."""
    found: list[dict[str, object]] = []
    for at in ("both", "gateway"):
        results = rw.Scenario.parse(PROXY_OVER_LEO).run([1], capture=rw.Capture(tmp_path / at, at=at))
        reading = rw.read([results.captures[1]])
        assert reading.problems == []
        found += reading.subflows.filter(pl.col("segments_sent") > 0).to_dicts()
    legs = results.tables["legs"].filter(pl.col("segments_sent") > 0)
    assert legs.height >= 6
    for leg in legs.to_dicts():
        told = {column: leg[column] for column in OF_LEGS}
        assert any(columns(told, row, set()) == [] for row in found), leg


PRIO = '\n[[event]]\nat = "9s"\nflow = "up"\ndo = { backup = "a" }\n'


def test_a_subflow_that_becomes_a_backup(tmp_path: Path) -> None:
    results = rw.Scenario.parse(THREE + PRIO).run([1], capture=rw.Capture(tmp_path))
    reading = rw.read([results.captures[1]])
    assert reading.subflows.sort("established_s")["backup"].to_list() == [True, True, False]
    assert reading.mptcp_options["MP_PRIO"] > 0


@pytest.mark.parametrize("more", ["", DOWN], ids=["all work", "one fails"])
@pytest.mark.parametrize("at", ["both", "server"])
def test_three_subflows(at: str, more: str, tmp_path: Path) -> None:
    """Data in the queue of a subflow that failed is given to others: the run alone counts it."""
    results = rw.Scenario.parse(THREE + more).run([1], capture=rw.Capture(tmp_path, at=at))
    reading = rw.read([results.captures[1]])
    assert reading.subflows.sort("established_s")["backup"].to_list() == [False, True, False]
    # Its means begin later, and end earlier.
    one_end = {"wire_bytes", *OF_TIME}
    for run, read in ((results.flows, reading.flows), (results.subflows, reading.subflows)):
        passed = NAMES | (one_end if at == "server" else set())
        passed |= {"reinjected_bytes"} if more else set()
        rows = zip(run.to_dicts(), read.to_dicts(), strict=True)
        assert [columns(told, found, passed) for told, found in rows] == [[]] * run.height
