"""Scenarios that are fitted to captures: of a kernel, and of runs."""

import random
import re
import tomllib
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from conftest import ROOT, Ropewalk
from ropewalk import ended
from ropewalk.bursts import bursts
from ropewalk.trials import nearest

KERNEL = ROOT / "crates" / "dissect" / "tests" / "captures"


def compared(reading: rw.Reading) -> tuple[float, float]:
    """Goodput of the fitted scenario over that of the capture, and the largest difference of shares."""
    fitted = reading.nearest()
    results = fitted.scenario.run(5)
    row = next(one for one in reading.flows.to_dicts() if one["flow"] == fitted.flow)
    mine = reading.subflows.filter(pl.col("flow").cast(pl.String) == fitted.flow).sort("subflow")
    # Others share its paths.
    own = pl.col("flow").cast(pl.String) == "flow"
    found = dict(results.shares().filter(own).group_by("path").agg(pl.col("share").mean()).iter_rows())
    pairs = zip((found[path.name] for path in fitted.paths), mine["share"], strict=True)
    goodput = results.flows.filter(own)["goodput_bit_s"].mean()
    return goodput / row["goodput_bit_s"], max(abs(a - b) for a, b in pairs)


@pytest.mark.parametrize(
    ("name", "rates", "delays", "points"),
    [
        ("two-subflows", (4e6, 4e6), (0.02, 0.06), 4),
        ("reinjection", (2e6, 2e6), (0.02, 0.05), 8),
        ("late-add-addr", (1e6, 1e6), (0.02, 0.06), 3),
    ],
)
def test_a_scenario_behaves_like_the_kernel(
    name: str, rates: tuple[float, ...], delays: tuple[float, ...], points: int
) -> None:
    """Goodput within 10 %; shares as far apart as the page says."""
    reading = rw.read([KERNEL / f"{name}.pcapng"])
    assert [path.rate.value for path in reading.fitted.paths] == pytest.approx(rates, rel=0.01)
    # Runs take one of the interval.
    assert [path.delay.high for path in reading.fitted.paths] == pytest.approx(delays, abs=0.001)
    assert [path.delay.value for path in reading.fitted.paths] == pytest.approx(delays, abs=0.003)
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert round(100 * apart) == points
    page = (ROOT / "docs" / "howto" / "my-own-capture.md").read_text(encoding="utf-8")
    said = rf"`{name}` comes to ([\d.]+) (?:of its goodput )?and (?:shares within )?(\d+) points"
    told = re.search(said, page)
    assert told is not None
    assert (float(told[1]), int(told[2])) == (round(ratio, 2), points)


def test_the_memory_of_a_segment_in_the_kernel_of_the_sender_is_tried() -> None:
    """The first subflow had been given 262 of 300 kB when the second one joined: MAX_TCP_HEADER is 192 there.

    With the memory of a distribution it is given more, and its share differs.
    """
    reading = rw.read([KERNEL / "late-add-addr.pcapng"])
    text = reading.nearest().text
    assert 'scheduler = "minratio", reinjection = "upstream", header_room = "192B"' in text
    known = reading.subflows.sort("subflow")["share"][0]
    large = text.replace(', header_room = "192B"', "")
    small, large = (rw.Scenario.parse(one, "late").run([1]).shares()["share"][0] for one in (text, large))
    assert abs(small - known) < 0.05
    assert abs(large - known) > 0.08


def test_figures_of_the_kernel_are_found() -> None:
    """`captures/README.md`: queues of 60 kB, an outage from 0.6 to 3 s, an address that comes at 1.062 s."""
    for path in rw.read([KERNEL / "two-subflows.pcapng"]).fitted.paths:
        assert path.queue.low is not None
        assert path.queue.high is not None
        assert path.queue.low < 60e3 < path.queue.high
    first, second = rw.read([KERNEL / "reinjection.pcapng"]).fitted.paths
    assert first.outages == []
    assert second.outages == [pytest.approx((0.6, 3.0), abs=0.01)]
    # 2 % were lost, and 12 of 243 packets were sent again: the page says why that may be.
    assert first.loss.value == pytest.approx(12 / 243)
    assert second.loss.low is not None
    assert second.loss.low < 0.02 < (second.loss.high or 0.0)
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
    assert fitted.near is not None
    assert max(fitted.near.apart) < 0.1


def test_an_address_that_is_removed_leaves_without_a_fin(tmp_path: Path) -> None:
    """REMOVE_ADDR on the other subflow tells it."""
    paths = [
        'both = { rate = "5Mbit/s", delay = "30ms", queue = "100kB" }',
        'both = { rate = "8Mbit/s", delay = "50ms", queue = "150kB" }',
    ]
    points = 'endpoints = [{ path = "p0", flags = ["subflow"] }, { path = "p1", flags = ["subflow"] }]'
    manager = 'path_manager = { kind = "in-kernel", subflows = 2 }'
    flow = f'app = "bulk"\ntransport = {{ kind = "mptcp", profile = "linux", {points}, {manager} }}'
    event = '\n[[event]]\nat = "12s"\nflow = "up"\ndo = { leave = "p1" }\n'
    reading = made(scenario_of("40s", paths, flow) + event, tmp_path)
    assert [path.left_s for path in reading.fitted.paths] == [None, pytest.approx(12.0, abs=0.001)]
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


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


def scenario_of(duration: str, paths: list[str], flow: str) -> str:
    parts = [f'[[path]]\nname = "p{number}"\n{keys}\n' for number, keys in enumerate(paths)]
    ends = 'name = "up"\nfrom = "terminal"\nto = "server"\n'
    return f'name = "made"\nduration = "{duration}"\n\n' + "\n".join(parts) + f"\n[[flow]]\n{ends}{flow}\n"


def made(text: str, folder: Path) -> rw.Reading:
    return rw.read([rw.Scenario.parse(text).run([1], capture=rw.Capture(folder)).captures[1]])


def test_losses_in_bursts_are_no_independent_losses(tmp_path: Path) -> None:
    """As independent losses they halve the goodput. Runs of the scenario differ by 26 %: six captures."""
    loss = '{ kind = "gilbert_elliott", p = 0.001, r = 0.2, e_good = 0, e_bad = 0.5 }'
    rest = 'rate = "8Mbit/s", delay = "60ms", queue = "150kB"'
    flow = 'app = "bulk"\ntransport = { kind = "tcp", profile = "linux" }'
    paths = [f"up = {{ {rest}, loss = {loss} }}\ndown = {{ {rest} }}"]
    results = rw.Scenario.parse(scenario_of("40s", paths, flow)).run(6, capture=rw.Capture(tmp_path))
    readings = [rw.read([file]) for file in results.captures.values()]
    assert all(reading.fitted.paths[0].bursts is not None for reading in readings)
    assert 'kind = "gilbert_elliott"' in readings[0].fitted.text
    ratios = [compared(reading)[0] for reading in readings]
    assert sum(ratios) / len(ratios) == pytest.approx(1.0, abs=0.1)


def test_losses_by_chance_are_no_pauses_of_an_application(tmp_path: Path) -> None:
    """In seed 3 more are lost early than in the mean: beside the capture a run meets the same losses."""
    loss = '{ kind = "gilbert_elliott", p = 0.002, r = 0.2, e_good = 0, e_bad = 0.8 }'
    paths = [f'both = {{ rate = "8Mbit/s", delay = "30ms", queue = "80kB", loss = {loss} }}']
    flow = 'app = "bulk"\ntransport = { kind = "tcp", profile = "linux" }'
    scenario = rw.Scenario.parse(scenario_of("20s", paths, flow))
    reading = rw.read([scenario.run([3], capture=rw.Capture(tmp_path)).captures[3]])
    assert len(reading.fitted.paths[0].lost) > 30
    text = reading.nearest().text
    assert "# application: " not in text
    assert 'kind = "gilbert_elliott"' in text
    told = re.search(r"# a run with each loss where it was: .*?([\d.]+) of the goodput", text)
    assert told is not None
    assert float(told[1]) == pytest.approx(1.0, abs=0.03)


def test_the_model_of_bursts_is_found_again() -> None:
    """And independent losses have none."""
    chance = random.Random(1)
    bad, lost = False, []
    for number in range(1, 200_001):
        bad = chance.random() < (0.8 if bad else 0.002)
        if bad and chance.random() < 0.5:
            lost.append(number)
    found = bursts(lost, 200_000)
    assert found is not None
    assert (found.into, found.out, found.bad) == pytest.approx((0.002, 0.2, 0.5), rel=0.2)
    for seed in range(20):
        chance = random.Random(seed)
        alone = [number for number in range(1, 20_001) if chance.random() < 0.01]
        assert bursts(alone, 20_000) is None, seed
    assert bursts([], 100) is None
    assert bursts([1], 0) is None


def test_an_application_that_pauses_writes_at_times(tmp_path: Path) -> None:
    """A video, never without outstanding data; and bursts between which everything is acknowledged."""
    paths = [
        'both = { rate = "6Mbit/s", delay = "30ms", queue = "100kB" }',
        'both = { rate = "3Mbit/s", delay = "60ms", queue = "100kB" }',
    ]
    video = '{ kind = "video", rate = "2Mbit/s", frames = 25 }'
    several = 'transport = { kind = "mptcp", profile = "linux" }'
    reading = made(scenario_of("40s", paths, f"app = {video}\n{several}"), tmp_path)
    fitted = reading.nearest()
    assert "# application: " in fitted.text
    assert 'app = { kind = "onoff", rate = "' in fitted.text
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1
    # Writes that follow each other too closely to be told apart, over paths that hold many of them.
    slow = [keys.replace('"30ms"', '"120ms"').replace('"60ms"', '"280ms"') for keys in paths]
    often = video.replace("25", "50").replace("2Mbit/s", "3Mbit/s")
    reading = made(scenario_of("40s", slow, f"app = {often}\n{several}"), tmp_path / "slow")
    assert "neither losses nor the receive window limit" in reading.nearest().text
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1
    bursts_of = '{ kind = "onoff", rate = "400kbit/s", packet = "100kB", off = "0s" }'
    alone = 'transport = { kind = "tcp", profile = "linux" }'
    reading = made(scenario_of("30s", paths[:1], f"app = {bursts_of}\n{alone}"), tmp_path / "bursts")
    found = re.search(r'rate = "(\d+)bit/s", packet = "(\d+)B"', reading.fitted.text)
    assert found is not None
    assert (int(found[1]), int(found[2])) == pytest.approx((400_000, 100_000), rel=0.02)
    ratio, _ = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)


def test_a_rate_in_steps_is_found_though_one_of_them_is_frequent(tmp_path: Path) -> None:
    """Losses of a full queue are told from those of the link by what is outstanding: its delay changes."""
    steps = 'times = ["0s", "8s", "16s", "26s"], rates = ["10Mbit/s", "3Mbit/s", "15Mbit/s", "6Mbit/s"]'
    paths = [
        f'both = {{ rate = {{ kind = "steps", {steps} }}, delay = "25ms", queue = "150kB" }}',
        'both = { rate = "4Mbit/s", delay = "80ms", queue = "120kB" }',
    ]
    flow = 'app = "bulk"\ntransport = { kind = "mptcp", profile = "linux" }'
    reading = made(scenario_of("40s", paths, flow), tmp_path)
    first, second = reading.fitted.paths
    assert len(first.steps) >= 4
    assert second.steps == []
    # The longest round trip has a delayed ACK in it.
    assert second.queue.value == pytest.approx(120e3, rel=0.03)
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


def test_a_queue_that_overflows_while_the_rate_is_high_loses_nothing_of_the_link(tmp_path: Path) -> None:
    """Its delay is a fifth of what it was at the lowest rate."""
    scenario = rw.Scenario.load(ROOT / "scenarios" / "bufferbloat-lte.toml")
    reading = rw.read([scenario.run([2], capture=rw.Capture(tmp_path)).captures[2]])
    first = reading.fitted.paths[0]
    assert first.lost == []
    assert first.queue.low is not None
    assert first.queue.low < 2e6 < (first.queue.high or 0.0)
    _, apart = compared(reading)
    assert apart < 0.1


def test_a_window_at_the_most_of_its_scale_leaves_the_buffer_open(tmp_path: Path) -> None:
    """64 kB x 4: any buffer from 212 to 262 kB has it."""
    paths = [
        'both = { rate = "10Mbit/s", delay = "30ms", queue = "120kB" }',
        'both = { rate = "6Mbit/s", delay = "110ms", queue = "150kB" }',
    ]
    size = 'receive_buffer = "256kB", receive_buffer_max = "256kB"'
    flow = f'app = "bulk"\ntransport = {{ kind = "mptcp", profile = "linux", {size} }}'
    text = made(scenario_of("30s", paths, flow), tmp_path).fitted.text
    assert "# receive buffer: 210 to 262 kB: " in text
    assert "the most that its scale can tell" in text


def test_a_window_that_fills_is_no_fixed_buffer_where_linux_has_it_by_itself(tmp_path: Path) -> None:
    """And one of 1 MB is."""
    paths = [
        'both = { rate = "20Mbit/s", delay = "35ms", queue = "300kB" }',
        'both = { rate = "10Mbit/s", delay = "275ms", queue = "700kB" }',
    ]
    flow = 'app = "bulk"\ntransport = { kind = "mptcp", profile = "linux"%s }'
    reading = made(scenario_of("20s", paths, flow % ""), tmp_path / "linux")
    assert reading.flows["window_full_s"][0] > 0.05 * 20.0
    assert "# receive buffer: that of Linux, 6291 kB at most: " in reading.fitted.text
    assert "receive_buffer" not in reading.fitted.text
    size = ', receive_buffer = "1MB", receive_buffer_max = "1MB"'
    assert "receive_buffer = " in made(scenario_of("20s", paths, flow % size), tmp_path / "fixed").fitted.text


def test_a_transfer_ends_with_its_last_byte_though_the_connection_stays_open(tmp_path: Path) -> None:
    """Browsers keep connections open: the time behind the last byte is no part of the goodput."""
    paths = ['both = { rate = "8Mbit/s", delay = "15ms", queue = "60kB" }']
    flow = 'app = { kind = "bulk", size = "2MB" }\ntransport = { kind = "tcp", profile = "linux" }'
    reading = made(scenario_of("20s", paths, flow), tmp_path)
    # As if the file had gone on for ten seconds, without a FIN.
    idle = pl.col("nothing_to_send_s") + 10.0
    goodput = 8.0 * pl.col("delivered_bytes") / (pl.col("end_s") + 10.0 - pl.col("start_s"))
    kept = reading.flows.with_columns(
        pl.lit(value=False).alias("completed"),
        pl.col("end_s") + 10.0,
        idle.alias("nothing_to_send_s"),
        goodput.alias("goodput_bit_s"),
    )
    _, packets = reading._kept
    told = {**reading.tables, "flows": kept}
    fitted = nearest("kept", told, packets)
    assert fitted.application is None
    [row] = ended.of_data(kept.filter(pl.col("bytes") > 0), packets.samples).to_dicts()
    before = reading.flows.row(0, named=True)
    assert row["end_s"] == pytest.approx(before["end_s"], abs=0.1)
    assert row["goodput_bit_s"] == pytest.approx(before["goodput_bit_s"], rel=0.05)
    assert row["nothing_to_send_s"] == pytest.approx(before["nothing_to_send_s"], abs=0.1)
    assert 'size = "2000000B"' in fitted.text
    # One whose end was captured stays as it is, and so does one with data outstanding.
    assert ended.of_data(reading.flows, packets.samples).equals(reading.flows)
    outstanding = kept.with_columns(pl.col("delivered_bytes") - 1)
    assert ended.of_data(outstanding, packets.samples).equals(outstanding)


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


NUMBERED = """
name = "numbers"
duration = "20s"

[[path]]
name = "a"
{up} = {{ rate = "6Mbit/s", delay = "20ms", queue = "200kB", loss = {first} }}
{down} = {{ rate = "6Mbit/s", delay = "20ms", queue = "200kB" }}

[[path]]
name = "b"
{up} = {{ rate = "4Mbit/s", delay = "50ms", queue = "200kB", loss = {second} }}
{down} = {{ rate = "4Mbit/s", delay = "50ms", queue = "200kB" }}

[[flow]]
name = "flow"
from = "{sender}"
to = "{receiver}"
{opened}
app = {{ kind = "bulk", size = "2MB" }}
transport = {{ kind = "mptcp", profile = "linux" }}
"""


@pytest.mark.parametrize("download", [False, True])
def test_losses_have_the_numbers_of_a_run(tmp_path: Path, download: bool) -> None:
    """The packets that a scenario loses by number are those that its fit loses."""
    up, down = ("down", "up") if download else ("up", "down")
    sender, receiver = ("server", "terminal") if download else ("terminal", "server")
    opened = 'opened_by = "receiver"' if download else ""
    lists = [[10, 20, 250, 251, 700], [31, 300]]
    first, second = (f'{{ kind = "list", packets = {packets} }}' for packets in lists)
    names = {"up": up, "down": down, "sender": sender, "receiver": receiver, "opened": opened}
    text = NUMBERED.format(first=first, second=second, **names)
    captures = rw.Scenario.parse(text, "numbers").run([1], capture=rw.Capture(str(tmp_path), sender)).captures
    paths = rw.read([captures[1]]).fitted.paths
    assert [path.lost for path in paths] == lists


def test_bare_acknowledgements_of_a_kernel_have_no_numbers() -> None:
    """The tenth and the twentieth packet are lost: two bare ACKs of the kernel are before them, or one."""
    first, second = rw.read([KERNEL / "reinjection.pcapng"]).fitted.paths
    assert first.lost[:2] == [9, 18]
    # SYN, and the third ACK that a run has, too: number 39 of all.
    assert second.lost == [39]
