"""`ropewalk why` of CMT-SCTP: limits as in the tables, gains that few replications leave open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import ropewalk as rw
from ropewalk.limits import limits

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

CMT = """\
name = "cmt"
duration = "30s"
path = [
    { name = "wlan", both = { rate = "25Mbit/s", delay = "22ms", queue = "92p", loss = LOSS } },
    { name = "lte", both = { rate = "12Mbit/s", delay = "35ms", queue = "70p" } },
]
flow = [{ name = "dl", from = "server", to = "terminal", opened_by = "receiver",
          transport = { kind = "cmt-sctp", receive_buffer = "SIZE" } }]
""".replace("LOSS", '{ kind = "packet", probability = 0.002 }')
GAP = """
[[event]]
at = "10s"
link = "wlan"
set = { up = false }

[[event]]
at = "13s"
link = "wlan"
set = { up = true }
"""


def test_the_limits_of_why_are_those_of_the_tables(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "cmt.toml"
    file.write_text(CMT.replace("SIZE", "128KiB"))
    [flow] = json.loads(ropewalk("why", file, "--seeds", "3", "--json").stdout)["flows"]
    table = limits(rw.Scenario.load(file).run(seeds=3))[0]
    assert table.path == "all"
    shares = {limit.replace(" ", "_"): share for limit, share in table.shares.items()}
    assert {name: shares[name] for name in flow["budget"]} == pytest.approx(flow["budget"])
    assert flow["budget"]["scheduler"] > 0.1
    # The part of a split buffer is a matter of its size.
    first = flow["reasons"][0]
    assert first["cause"] == "receive_window"
    assert (
        f"{100 * flow['budget']['receive_window']:.0f} % of the time the receive window was full"
        in first["evidence"]
    )
    assert f"{100 * flow['budget']['scheduler']:.0f} % a path had used up its part of it" in first["evidence"]


def test_a_gain_that_three_replications_leave_open_is_told(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "gap.toml"
    file.write_text(CMT.replace("SIZE", "256KiB") + GAP)
    [flow] = json.loads(ropewalk("why", file, "--seeds", "3", "--json").stdout)["flows"]
    assert "receive_window" not in [reason["cause"] for reason in flow["reasons"]]
    [told] = flow["unproven"]
    assert told.startswith("receive_window: ")
    assert "with 3 seeds, which is not proven to be more than chance: --seeds 10" in told
    assert "Not proven: receive_window" in ropewalk("why", file, "--seeds", "3").stdout
