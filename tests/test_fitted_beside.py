"""Fits beyond the packets of one connection: others on its paths, and trials of what packets do not tell."""

import re
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from ropewalk import shared
from test_fitted import KERNEL, compared, made, scenario_of

SEVERAL = 'app = "bulk"\ntransport = { kind = "mptcp", profile = "linux" }'
TWO = [
    'both = { rate = "8Mbit/s", delay = "15ms", queue = "60kB" }',
    'both = { rate = "6Mbit/s", delay = "60ms", queue = "100kB" }',
]
FROM_SERVER = 'from = "server"\nto = "terminal"'
OTHER = """
[[flow]]
name = "other"
from = "terminal"
to = "server"
via = "p0"
start = "6s"
app = "bulk"
transport = { kind = "tcp", profile = "linux" }
"""


def test_a_connection_of_the_kernel_over_the_same_path_is_a_flow_beside_it() -> None:
    """`captures/README.md`: 1 Mbit/s, 20 ms, 25 kB, which a TCP shares, and 600 kbit/s, 50 ms, 20 kB."""
    reading = rw.read([KERNEL / "shared.pcapng"])
    fitted = reading.fitted
    assert len(fitted.beside) == 1
    assert [path.rate.value for path in fitted.paths] == pytest.approx((1e6, 0.6e6), rel=0.02)
    assert [path.delay.value for path in fitted.paths] == pytest.approx((0.02, 0.05), abs=0.0015)
    assert [path.queue.value for path in fitted.paths] == pytest.approx((25e3, 20e3), rel=0.12)
    # All 66 losses were those of full queues.
    assert [path.lost for path in fitted.paths] == [[], []]
    assert 'name = "beside1"\n' in fitted.text
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


def test_a_connection_that_comes_later_takes_its_part(tmp_path: Path) -> None:
    """Without it the fitted scenario has 1.3 times the goodput."""
    reading = made(scenario_of("20s", TWO, SEVERAL) + OTHER, tmp_path)
    assert 'via = "path1"\n' in reading.fitted.text
    assert "start = " in reading.fitted.text
    assert [path.rate.value for path in reading.fitted.paths] == pytest.approx((8e6, 6e6), rel=0.02)
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


def test_a_connection_over_other_addresses_is_not_beside_it(tmp_path: Path) -> None:
    """It may share a link; packets do not tell."""
    link = 'both = { rate = "6Mbit/s", delay = "60ms", queue = "100kB" }'
    alone = OTHER.replace('via = "p0"', 'via = "p1"')
    tcp = 'via = "p0"\napp = "bulk"\ntransport = { kind = "tcp", profile = "linux" }'
    reading = made(scenario_of("12s", [link, link], tcp) + alone, tmp_path)
    assert reading.flows.height == 2
    assert reading.fitted.beside == ()
    assert reading.fitted.text.count("[[flow]]") == 1


def test_more_connections_than_a_file_lists_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shared, "MOST", 1)
    more = OTHER.replace('name = "other"', 'name = "other"\ncount = 3\nspacing = "100ms"')
    tcp = 'via = "p0"\napp = "bulk"\ntransport = { kind = "tcp", profile = "linux" }'
    reading = made(scenario_of("12s", TWO, tcp) + more, tmp_path)
    assert len(reading.fitted.beside) == 1
    assert "# 2 more connections with " in reading.fitted.text


def test_a_connection_that_began_earlier_moves_the_start(tmp_path: Path) -> None:
    """Times of the scenario count from the first of both."""
    earlier = OTHER.replace('start = "6s"\n', "")
    slow = TWO[0].replace('"8Mbit/s"', '"3Mbit/s"')
    outage = '\n[[event]]\nat = "9s"\nlink = "p1"\nset = { up = false }\n'
    back = '\n[[event]]\nat = "12s"\nlink = "p1"\nset = { up = true }\n'
    flow = f'start = "4s"\n{SEVERAL}'
    reading = made(scenario_of("20s", [slow, TWO[1]], flow) + earlier + outage + back, tmp_path)
    assert reading.fitted.paths[1].outages == [pytest.approx((9.0, 12.0), abs=0.01)]
    [own, *_] = [line for line in reading.fitted.text.splitlines() if line.startswith("start = ")]
    assert int(own.partition('"')[2].partition("us")[0]) == pytest.approx(4e6, abs=1e4)
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


PAGE = """\
app = { kind = "http", page = "custom", main = "30kB", objects = 40, object = "120kB", domains = 3 }
transport = { kind = "mptcp", profile = "linux" }
"""


def test_connections_of_a_page_are_compared_together(tmp_path: Path) -> None:
    """Chance decides which one is fast. One that sent over one path has no other one in the file."""
    page = scenario_of("10s", TWO, PAGE).replace('from = "terminal"\nto = "server"', FROM_SERVER)
    reading = made(page, tmp_path)
    fitted = reading.nearest()
    assert len(fitted.beside) >= 15
    assert len(fitted.paths) == 2
    carried = reading.subflows.filter((pl.col("bytes_sent") > 1000) & pl.col("established_s").is_not_null())
    names = pl.col("flow").cast(pl.String)
    of_one = carried.group_by(names).len().filter(pl.col("len") == 1)["flow"].to_list()
    alone = [name for name in fitted.beside if name in of_one]
    assert fitted.text.count("subflows = 0") == len(alone)
    told = re.search(r"([\d.]+) of the goodput, shares within (\d+) points", fitted.text)
    assert told is not None
    assert float(told[1]) == pytest.approx(1.0, abs=0.1)
    assert int(told[2]) < 10


def test_writes_that_follow_closely_are_told_apart_by_runs(tmp_path: Path) -> None:
    """A frame in 40 ms: two look like one on the slower path, and would all fit on the faster one."""
    video = 'app = { kind = "video", rate = "3Mbit/s", frames = 25 }\n'
    reading = made(scenario_of("20s", TWO, video + SEVERAL.partition("\n")[2]), tmp_path)
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


def test_small_buffers_of_a_multipath_connection_are_tried(tmp_path: Path) -> None:
    """Where one limits, goodput moves by a fifth from size to size in its interval: one of four is off."""
    paths = [
        'both = { rate = "10Mbit/s", delay = "30ms", queue = "120kB" }',
        'both = { rate = "6Mbit/s", delay = "110ms", queue = "150kB" }',
    ]
    ratios = []
    for size in ("150kB", "256kB", "280kB", "320kB"):
        keys = f'receive_buffer = "{size}", receive_buffer_max = "{size}"'
        flow = f'app = "bulk"\ntransport = {{ kind = "mptcp", profile = "linux", {keys} }}'
        ratio, apart = compared(made(scenario_of("30s", paths, flow), tmp_path / size))
        ratios.append(ratio)
        assert apart < 0.1, size
    assert ratios == pytest.approx([1.0] * 4, abs=0.2)
    assert sum(abs(ratio - 1.0) < 0.1 for ratio in ratios) >= 3, ratios


def test_a_queue_is_full_at_any_rate(tmp_path: Path) -> None:
    """120 kB are a delay of 80 to 320 ms here; a repair hides the rate."""
    steps = 'times = ["0s", "5s", "10s", "15s"], rates = ["8Mbit/s", "3Mbit/s", "12Mbit/s", "5Mbit/s"]'
    paths = [
        f'both = {{ rate = {{ kind = "steps", {steps} }}, delay = "25ms", queue = "120kB" }}',
        'both = { rate = "4Mbit/s", delay = "70ms", queue = "100kB" }',
    ]
    first = made(scenario_of("20s", paths, SEVERAL), tmp_path).fitted.paths[0]
    assert first.steps
    assert first.lost == []
    assert first.queue.value == pytest.approx(120e3, rel=0.1)


def test_samples_of_several_subflows_are_those_of_one() -> None:
    """Round trips that are old, of a subflow that repairs its losses, do not count."""
    names = ("t_s", "acked_bytes", "inflight_bytes", "rtt_s", "retransmitted_segments")

    def part(*rows: tuple[float, int, int, float, int]) -> pl.DataFrame:
        return pl.DataFrame(list(rows), schema=list(names), orient="row")

    first = part((0.0, 0, 1000, 0.1, 0), (0.2, 1000, 3000, 0.2, 0), (0.4, 4000, 0, 0.2, 1))
    second = part((0.1, 0, 5000, 0.5, 0), (0.2, 500, 4500, 0.5, 0), (0.3, 5000, 0, 0.9, 0))
    losses = pl.DataFrame({"packet": [1], "t_s": [0.2]})
    samples, lost = shared.together([first, second], losses, 1000)
    assert samples["t_s"].to_list() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert samples["acked_bytes"].to_list() == [0, 0, 1500, 6000, 9000]
    assert samples["inflight_bytes"].to_list() == [1000, 6000, 7500, 3000, 0]
    assert samples["retransmitted_segments"].to_list() == [0, 0, 0, 0, 1]
    assert samples["rtt_s"].to_list() == [0.1, 0.5, 0.2, 0.2, None]
    # 9,000 bytes had been sent.
    assert lost.rows() == [(10, 0.2)]
