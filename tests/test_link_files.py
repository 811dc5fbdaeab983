"""Scenarios that name files with measured values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars.testing
import pytest

from ropewalk import Scenario, ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

TEXT = """
duration = "5s"
[[path]]
name = "cell"
up = { rate = { kind = "opportunities", file = "traces/cell.up" }, delay = "20ms", queue = "codel" }
down = { rate = "10Mbit/s", delay = "20ms" }
[[flow]]
name = "bulk"
from = "terminal"
to = "server"
transport = { kind = "tcp" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario file with a trace of 12 Mbit/s in a folder beside it."""
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "cell.up").write_text("1\n2\n3\n4\n", encoding="utf-8")
    file = tmp_path / "cell.toml"
    file.write_text(TEXT, encoding="utf-8")
    return file


def test_the_trace_is_found_beside_the_scenario_and_bounds_the_rate(scenario: Path) -> None:
    results = Scenario.load(scenario).run()
    goodput = results.tables["flows"]["goodput_bit_s"][0]
    assert 8e6 < goodput < 12e6


def test_a_whole_scenario_gives_the_same_anywhere(scenario: Path) -> None:
    first = Scenario.load(scenario)
    again = Scenario.parse(first.whole())
    polars.testing.assert_frame_equal(first.run().tables["links"], again.run().tables["links"])
    assert "traces/cell.up" in first.show()
    before = first.whole()
    (scenario.parent / "traces" / "cell.up").write_text("1\n2\n3\n5\n", encoding="utf-8")
    assert Scenario.load(scenario).whole() != before


def test_a_wrong_line_is_named(scenario: Path) -> None:
    trace = scenario.parent / "traces" / "cell.up"
    trace.write_text("1\n-2\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(scenario)
    text = str(caught.value)
    assert f"{trace}:2: found the time -2, which is negative" in text
    assert "cell.toml:5:" in text
    assert "path.cell.up.rate.file" in text


def test_opportunities_do_not_replace_their_scenario(scenario: Path, ropewalk: Ropewalk) -> None:
    done = ropewalk("opportunities", scenario, "cell.up", "--out", scenario)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the scenario itself would be replaced" in done.stderr
    assert scenario.read_text(encoding="utf-8") == TEXT


def test_opportunities_are_written_and_read_back(scenario: Path, ropewalk: Ropewalk) -> None:
    out = scenario.parent / "written.up"
    done = ropewalk("opportunities", scenario, "cell.up", "--set", "duration=400ms", "--out", out)
    assert (done.returncode, done.stdout) == (0, f"400 times in {out}\n")
    assert out.read_text(encoding="utf-8") == "".join(f"{ms}\n" for ms in range(1, 401))
    first = Scenario.load(scenario)
    again = first.set("path.cell.up.rate.file", str(out))
    polars.testing.assert_frame_equal(first.run().tables["links"], again.run().tables["links"])


def test_a_random_rate_is_written_as_the_run_sees_it(scenario: Path, ropewalk: Ropewalk) -> None:
    markov = '{ kind = "markov", rates = ["2Mbit/s", "12Mbit/s"], dwell = ["1s", "1s"] }'
    text = scenario.read_text(encoding="utf-8").replace(
        '{ kind = "opportunities", file = "traces/cell.up" }', markov
    )
    scenario.write_text(text.replace("5s", "20s"), encoding="utf-8")
    loaded = Scenario.load(scenario)
    lines = [loaded.opportunities("cell.up", seed).splitlines() for seed in (1, 1, 2)]
    assert lines[0] == lines[1] != lines[2]
    # The capacity of the run: bytes carried over utilisation.
    links = loaded.run([1]).links.row(0, named=True)
    capacity = links["bytes"] / links["utilisation"]
    assert len(lines[0]) * 1500 == pytest.approx(capacity, abs=1500 * 3)
    done = ropewalk("opportunities", scenario, "cell.upp")
    assert done.returncode == 2
    assert "cell.up, cell.down" in done.stderr


SKY = """
duration = "5s"
[[path]]
name = "leo"
both.rate = "1Mbit/s"
both.delay = { kind = "sgp4", file = "sky.txt", epoch = "2006-06-26T00:00:00Z", PLACE }
[[flow]]
name = "bulk"
from = "terminal"
to = "server"
transport = { kind = "tcp" }
"""
PLACE = "terminal_lat = 57.7, terminal_lon = 12, gateway_lat = 53.6, gateway_lon = 10"


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        (b"", 1, "no element set"),
        (b"\x00\x01\xff", 1, "binary"),
        (b"DELTA 1 DEB\n1 06251U 62025E   06176.8\n", 2, "characters"),
        (b'[{"OBJECT_NAME": "A",\n "EPOCH": 5}]', 2, ""),
        (b"CCSDS_OMM_VERS = 2.0\nOBJECT_NAME = A\nINCLINATION = steep\n", 3, "steep"),
        (b"CCSDS_OMM_VERS = 2.0\nOBJECT_NAME = A\n", 1, "no MEAN_MOTION"),
    ],
)
def test_wrong_element_sets_name_file_and_line(
    tmp_path: Path, ropewalk: Ropewalk, content: bytes, line: int, what: str
) -> None:
    sets = tmp_path / "sky.txt"
    sets.write_bytes(content)
    file = tmp_path / "sky.toml"
    file.write_text(SKY.replace("PLACE", PLACE), encoding="utf-8")
    done = ropewalk("show", file)
    assert done.returncode == 2
    assert f"{sets.name}:{line}: " in done.stderr
    assert what in done.stderr
    assert "fix:" in done.stderr
