"""Columns of `ropewalk run` that matter most: stalls where a path goes down, what came late."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

import ropewalk as rw
from ropewalk.stalls import longest
from terminal import lines_on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

OUTAGE = """\
name = "outage"
duration = "8s"
seeds = 2
path = [{ name = "a", both = { rate = "4Mbit/s", delay = "10ms" } },
        { name = "b", both = { rate = "2Mbit/s", delay = "40ms" } }]
flow = [{ name = "down", from = "server", to = "terminal", compare_paths = true,
          transport = { kind = "mptcp" } }]
[[event]]
at = "2s"
link = "a"
set = { up = false }
[[event]]
at = "4s"
link = "a"
set = { up = true }
"""
VIDEO = """\
name = "video"
duration = "5s"
seeds = 2
path = [{ name = "wlan", both = { rate = "25Mbit/s", delay = "22ms", loss = LOSS } },
        { name = "lte", both = { rate = "12Mbit/s", delay = "35ms" } }]
flow = [{ name = "download", from = "server", to = "terminal", app = "video",
          transport = { kind = "cmt-sctp" } }]
""".replace("LOSS", '{ kind = "packet", probability = 0.01 }')


def test_the_longest_stall_is_a_column_where_a_path_goes_down(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "outage.toml"
    file.write_text(OUTAGE)
    found = longest(rw.Scenario.load(file).run())
    # Alone the path is down for two seconds, and the retransmission timer goes off some time later.
    assert 1.9 <= found["down@a"].mean < 4.0
    assert found["down"].mean < found["down@a"].mean
    assert found["down@b"].mean < 1.0
    for out in ([], ["--out", tmp_path / "out"]):
        done = ropewalk("run", file, *out)
        assert done.returncode == 0, done.stderr
        head, rows = done.stdout.partition("Flows")[2].split("───", 1)
        assert re.search(r"longest\s", head)
        row = next(line for line in rows.splitlines() if line.startswith(" down@a "))
        assert float(row.split()[2].partition("±")[0]) == pytest.approx(found["down@a"].mean, rel=0.01)
    file.write_text(OUTAGE.partition("[[event]]")[0])
    assert "stall" not in ropewalk("run", file).stdout.replace(str(file), "FILE")


def test_what_came_late_is_told_on_a_narrow_terminal(tmp_path: Path) -> None:
    file = tmp_path / "video.toml"
    file.write_text(VIDEO)
    lines = lines_on_terminal(80, "run", file)
    messages = "\n".join(lines).partition("Messages")[2].partition("Subflows")[0]
    assert "late or" in messages
    assert "lost" in messages
    assert "p95" in messages
    assert "Left out: jitter" in messages
    assert max(map(len, lines)) <= 80


def test_json_of_a_run_stays_as_it_is(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "outage.toml"
    file.write_text(OUTAGE)
    assert "stall" not in json.dumps(json.loads(ropewalk("run", file, "--json").stdout))
