"""Scenarios that are fitted to captures: of a kernel, and of runs."""

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from conftest import ROOT, Ropewalk

KERNEL = ROOT / "crates" / "dissect" / "tests" / "captures"


def compared(reading: rw.Reading) -> tuple[float, float]:
    """Goodput of the fitted scenario over that of the capture, and the largest difference of shares."""
    fitted = reading.nearest()
    results = fitted.scenario.run(5)
    row = next(one for one in reading.flows.to_dicts() if one["flow"] == fitted.flow)
    mine = reading.subflows.filter(pl.col("flow").cast(pl.String) == fitted.flow).sort("subflow")
    found = dict(results.shares().group_by("path").agg(pl.col("share").mean()).iter_rows())
    pairs = zip((found[path.name] for path in fitted.paths), mine["share"], strict=True)
    return results.flows["goodput_bit_s"].mean() / row["goodput_bit_s"], max(abs(a - b) for a, b in pairs)


@pytest.mark.parametrize(
    ("name", "rates", "delays", "points"),
    [("two-subflows", (4e6, 4e6), (0.02, 0.06), 4), ("reinjection", (2e6, 2e6), (0.02, 0.05), 11)],
)
def test_a_scenario_behaves_like_the_kernel(
    name: str, rates: tuple[float, ...], delays: tuple[float, ...], points: int
) -> None:
    """Goodput within 10 %; shares as far apart as the page says."""
    reading = rw.read([KERNEL / f"{name}.pcapng"])
    assert [path.rate.value for path in reading.fitted.paths] == pytest.approx(rates, rel=0.01)
    assert [path.delay.value for path in reading.fitted.paths] == pytest.approx(delays, abs=0.001)
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert round(100 * apart) == points
    page = (ROOT / "docs" / "howto" / "my-own-capture.md").read_text(encoding="utf-8")
    said = rf"`{name}` comes to ([\d.]+) (?:of its goodput )?and (?:shares within )?(\d+) points"
    told = re.search(said, page)
    assert told is not None
    assert (float(told[1]), int(told[2])) == (round(ratio, 2), points)


def test_figures_of_the_kernel_are_found() -> None:
    """`captures/README.md`: queues of 60 kB, an outage from 0.6 to 3 s, an address that comes at 1.062 s."""
    for path in rw.read([KERNEL / "two-subflows.pcapng"]).fitted.paths:
        assert path.queue.low is not None
        assert path.queue.high is not None
        assert path.queue.low < 60e3 < path.queue.high
    first, second = rw.read([KERNEL / "reinjection.pcapng"]).fitted.paths
    assert first.outages == []
    assert second.outages == [pytest.approx((0.6, 3.0), abs=0.01)]
    # 2 % were lost.
    assert first.loss.low is not None
    assert first.loss.low - 0.002 < 0.02 < (first.loss.high or 0.0)
    late = rw.read([KERNEL / "late-add-addr.pcapng"]).fitted.paths
    assert [path.joined_s for path in late] == [None, pytest.approx(1.062, abs=0.001)]


@pytest.mark.parametrize(
    ("name", "sets"),
    [
        ("geo-plus-lte", []),
        # A rate that jumps, and a receive buffer above that of Linux.
        ("bufferbloat-lte", []),
        ("three-geo-beams", []),
    ],
    ids=["geo-plus-lte", "bufferbloat-lte", "three-geo-beams"],
)
def test_the_loop_is_closed(name: str, sets: list[tuple[str, str]], tmp_path: Path) -> None:
    """With the congestion control that is assumed: packets do not tell it."""
    scenario = rw.Scenario.load(ROOT / "scenarios" / f"{name}.toml", sets)
    results = scenario.run([1], capture=rw.Capture(tmp_path))
    ratio, apart = compared(rw.read([results.captures[1]]))
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


def test_an_outage_is_an_event_without_losses(tmp_path: Path) -> None:
    """Packets in the queue of the link that failed are sent again, and not lost; the page has the figures."""
    scenario = rw.Scenario.load(
        ROOT / "scenarios" / "path-outage.toml", [("flow.upload.transport.congestion", "cubic")]
    )
    reading = rw.read([scenario.run([1], capture=rw.Capture(tmp_path)).captures[1]])
    paths = reading.fitted.paths
    assert [path.outages for path in paths] == [[], [pytest.approx((12.0, 20.0), abs=0.01)]]
    assert [path.lost for path in paths] == [[], []]
    assert "# outage: 12 to 20 s: no answer from 12.3 to 20.3 s" in reading.fitted.text
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1
    page = (ROOT / "docs" / "howto" / "my-own-capture.md").read_text(encoding="utf-8")
    assert f"| `path-outage` with CUBIC | {ratio:.2f} | {100 * apart:.0f} |" in page


def test_a_subflow_that_is_closed_leaves_by_an_event() -> None:
    """Two SYNs without an answer are no paths, and shift no share to another one."""
    reading = rw.read([KERNEL / "removed.pcapng"])
    assert reading.subflows["share"].to_list() == pytest.approx([0.535, 0.154, 0, 0, 0.311], abs=0.001)
    fitted = reading.nearest()
    assert [path.left_s for path in fitted.paths] == [None, pytest.approx(1.2, abs=0.1), None]
    assert [path.outages for path in fitted.paths] == [[], [], []]
    assert fitted.text.count("do = { leave = ") == 1
    told = next(line for line in fitted.text.splitlines() if line.startswith("# scheduler"))
    assert int(told.partition("shares within ")[2].partition(" ")[0]) < 10


BACKUP = """\
name = "a backup takes over"
duration = "15s"

[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "20ms", queue = "60kB" }

[[path]]
name = "b"
both = { rate = "2Mbit/s", delay = "50ms", queue = "60kB" }

[[flow]]
name = "up"
from = "terminal"
to = "server"
app = "bulk"

[flow.transport]
kind = "mptcp"
path_manager = { kind = "in-kernel", subflows = 2 }
endpoints = [{ path = "a", flags = ["subflow"] }, { path = "b", flags = ["subflow", "backup"] }]

[[event]]
at = "4s"
link = "a"
set = { up = false }
"""


def test_a_backup_is_one_in_the_fitted_scenario(tmp_path: Path) -> None:
    reading = rw.read([rw.Scenario.parse(BACKUP).run([1], capture=rw.Capture(tmp_path)).captures[1]])
    assert reading.subflows["backup"].to_list() == [False, True]
    assert [path.backup for path in reading.fitted.paths] == [False, True]
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


SMALL_BUFFER = """\
name = "a small buffer"
duration = "15s"

[[path]]
name = "a"
both = { rate = "10Mbit/s", delay = "100ms", queue = "250kB" }

[[flow]]
name = "up"
from = "terminal"
to = "server"
app = "bulk"
transport = { kind = "tcp", profile = "linux", receive_buffer = "150kB", receive_buffer_max = "150kB" }
"""


def test_a_receive_buffer_that_limits_is_found(tmp_path: Path) -> None:
    """And where none limits, the file says that its size is not known."""
    results = rw.Scenario.parse(SMALL_BUFFER).run([1], capture=rw.Capture(tmp_path))
    reading = rw.read([results.captures[1]])
    assert reading.flows["window_full_s"][0] > 1.0
    text = reading.fitted.text
    found = next(line for line in text.splitlines() if "receive_buffer_max" in line)
    size = int(found.partition('receive_buffer_max = "')[2].partition("B")[0])
    assert size == pytest.approx(150_000, rel=0.03)
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1
    kernel = rw.read([KERNEL / "two-subflows.pcapng"]).fitted.text
    assert "receive_buffer_max" not in kernel
    assert "# receive buffer: " in kernel
    assert "# send buffer: " in kernel


def test_the_command_writes_a_scenario_that_runs(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "fitted.toml"
    done = ropewalk("read", str(KERNEL / "two-subflows.pcapng"), "--scenario", str(file))
    assert done.returncode == 0, done.stderr
    text = file.read_text(encoding="utf-8")
    assert "# rate: " in text
    assert "not identifiable" in text
    assert [path["name"] for path in tomllib.loads(text)["path"]] == ["path1", "path2"]
    assert ropewalk("run", str(file), "--seed", "1").returncode == 0
    why = ropewalk("why", str(file), "--effort", "quick")
    assert why.returncode == 0, why.stderr


def test_nothing_to_fit_is_said(ropewalk: Ropewalk, tmp_path: Path) -> None:
    """Captured at the receiver alone: the sender is not known."""
    scenario = rw.Scenario.load(ROOT / "scenarios" / "two-geo-beams.toml", [("duration", "3s")])
    results = scenario.run([1], capture=rw.Capture(tmp_path, at="server"))
    done = ropewalk("read", str(results.captures[1]), "--scenario", str(tmp_path / "fitted.toml"))
    assert done.returncode == 1
    assert "no connection whose sender was captured" in done.stderr
    assert not (tmp_path / "fitted.toml").exists()
