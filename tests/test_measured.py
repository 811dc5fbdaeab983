"""Measured traces as users have them: units, headers, clocks, round trips, links that carry nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ropewalk import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

TEXT = """
duration = "20s"
[[path]]
name = "sat"
down = {{ rate = {rate}, delay = {delay} }}
up = {{ rate = "5Mbit/s", delay = {delay} }}
[[flow]]
name = "dl"
from = "server"
to = "terminal"
opened_by = "receiver"
transport = {{ kind = "tcp" }}
"""
TABLE = "timestamp,rtt_ms,throughput_mbps\n" + "".join(
    f"{1714564800 + second},{44 + second % 3},{30 + second % 7}\n" for second in range(30)
)
RATE = '{ kind = "series", file = "t.csv", column = "throughput_mbps", origin = "first" }'
DELAY = '{ kind = "series", file = "t.csv", column = "rtt_ms", origin = "first", rtt = true }'


def scenario(folder: Path, rate: str = '"20Mbit/s"', delay: str = '"20ms"', trace: str = TABLE) -> Path:
    (folder / "t.csv").write_text(trace, encoding="utf-8")
    file = folder / "s.toml"
    file.write_text(TEXT.format(rate=rate, delay=delay), encoding="utf-8")
    return file


def test_a_table_of_a_data_set_is_a_link(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = scenario(tmp_path, RATE, DELAY)
    results = Scenario.load(file).run(series=False)
    # 30 to 36 Mbit/s, less headers and slow start; half of 44 to 46 ms one way.
    assert 28e6 < results.flows["goodput_bit_s"][0] < 33e6
    assert results.subflows["srtt_min_s" if "srtt_min_s" in results.subflows else "srtt_mean_s"][0] > 0.044
    shown = ropewalk("show", file)
    assert shown.returncode == 0, shown.stderr
    (tmp_path / "again.toml").write_text(shown.stdout)
    assert Scenario.load(tmp_path / "again.toml").run(series=False).flows.equals(results.flows)


PLAIN = '{ kind = "series", file = "t.csv" }'
MISREAD = [
    (PLAIN, None, "0,41.7\n", '41.7" without a unit', 'unit = "Mbit/s"'),
    (None, PLAIN, "0,22.5\n", '22.5" without a unit', 'unit = "ms"'),
    (PLAIN, None, "1714564800,3Mbit/s\n", "a time of a clock, but the run ends at 20s", 'origin = "first"'),
    (None, PLAIN.replace(" }", ', column = "rtt_ms" }'), TABLE, "round-trip times", "rtt = true"),
    (PLAIN, None, TABLE, "number of columns: found 3", "throughput_mbps"),
    (
        PLAIN.replace(" }", ', column = "rate" }'),
        None,
        TABLE,
        'no column "rate"',
        "timestamp, rtt_ms, throughput_mbps",
    ),
]


@pytest.mark.parametrize("case", MISREAD)
def test_a_trace_that_could_be_misread_is_refused_with_its_cure(
    ropewalk: Ropewalk, tmp_path: Path, case: tuple[str | None, str | None, str, str, str]
) -> None:
    rate, delay, trace, message, cure = case
    file = scenario(tmp_path, rate or '"20Mbit/s"', delay or '"20ms"', trace)
    done = ropewalk("run", file)
    assert done.returncode == 2
    assert message in done.stderr
    assert "t.csv" in done.stderr
    assert any(cure in line for line in done.stderr.splitlines() if line.strip().startswith("fix: "))


def test_a_trace_that_never_delivers_says_so(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = scenario(tmp_path, '{ kind = "series", file = "t.csv" }', trace="0,0\n60,5Mbit/s\n")
    done = ropewalk("run", file)
    assert done.returncode == 0
    said = " ".join(done.stdout.split())
    assert "never established; sat.down carries nothing: its rate is 0 during the whole run" in said
    assert "sat.up" not in said.split("sat.down carries")[0]


def test_a_satellite_that_is_never_in_view_says_so(tmp_path: Path) -> None:
    # One satellite over the equator, seen from the far north.
    sky = (
        '{ kind = "walker", altitude = 550, inclination = 0, planes = 1, per_plane = 1, '
        "terminal_lat = 57.7, terminal_lon = 12, gateway_lat = 55, gateway_lon = 12 }"
    )
    for way in ("wait", "lose"):
        delay = sky.replace(" }", f', while_out = "{way}" }}')
        flows = Scenario.load(scenario(tmp_path, delay=delay)).run(series=False).flows
        failure = flows["failure"][0]
        assert failure.startswith("the connection was never established; "), failure
        assert "sat.down carries nothing: no satellite is in view" in failure


def test_other_failures_are_told_as_before(tmp_path: Path) -> None:
    file = scenario(tmp_path)
    lossy = Scenario.load(file).set("path.sat.both.loss", {"kind": "packet", "probability": 1.0})
    assert lossy.run(series=False).flows["failure"].to_list() == ["the connection was never established"]
    assert Scenario.load(file).run(series=False).flows["failure"].to_list() == [None]
