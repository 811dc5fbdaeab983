"""`ropewalk import`: what other tools measured becomes a link that runs."""

from __future__ import annotations

import gzip
import json
import os
import random
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT
from ropewalk import Scenario
from ropewalk.measured import iperf3, irtt, ping, table
from ropewalk.measured.link import combine, files, read, scenario
from ropewalk.measured.model import MeasurementError, Options, Quantity, Series, Source
from terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

ROUNDS = int(os.environ.get("ROPEWALK_FUZZ", "60"))
MEASURED = ROOT / "examples" / "measured"
SHIPPED = {
    "ping": (["ping.txt", "--down", "20Mbit/s"], {"rtt", "loss"}),
    "irtt": (["irtt.json", "--down", "20Mbit/s", "--up", "5Mbit/s"], {"rtt", "loss-down", "loss-up"}),
    "iperf3": (["iperf3.json", "--delay", "20ms"], {"down"}),
    "flent": (["rrul.flent"], {"down", "up", "rtt"}),
    "mahimahi": (["cell.down", "cell.up", "--delay", "30ms"], {"down", "up"}),
    "csv": (["starlink.csv"], {"down", "up", "rtt", "loss"}),
    "both": (["ping.txt", "iperf3.json"], {"down", "rtt", "loss"}),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_each_shipped_example_becomes_a_link_that_runs(ropewalk: Ropewalk, tmp_path: Path, name: str) -> None:
    arguments, expected = SHIPPED[name]
    done = ropewalk("import", *arguments, "--name", "sat", "--out", tmp_path / "made", cwd=MEASURED)
    assert done.returncode == 0, done.stderr
    assert f"ropewalk run {tmp_path}/made/sat.toml" in done.stdout
    traces = {path.name for path in (tmp_path / "made").iterdir()} - {"sat.toml"}
    ending = {"sat.down": "down", "sat.up": "up"}
    assert {ending.get(one, one.removeprefix("sat-").removesuffix(".csv")) for one in traces} == expected
    file = tmp_path / "made" / "sat.toml"
    assert ropewalk("show", file).returncode == 0
    results = Scenario.load(file, [("duration", "3s")]).run(series=False)
    assert results.flows["failure"].null_count() == 1
    assert results.flows["goodput_bit_s"][0] > 1e6
    again = ropewalk("import", *arguments, "--name", "sat", "--out", tmp_path / "made", cwd=MEASURED)
    assert (again.returncode, "already" in again.stderr) == (2, True)


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_what_was_imported_is_told_on_any_terminal(tmp_path: Path, columns: int) -> None:
    files = [MEASURED / "ping.txt", MEASURED / "iperf3.json"]
    code, shown = on_terminal(columns, "import", *files, "--name", "sat", cwd=tmp_path)
    assert code == 0, shown
    words = [line for line in shown.splitlines() if str(ROOT) not in line]
    assert max(map(len, words)) <= columns
    assert "  ropewalk run sat.toml" in shown
    assert "round trip: 46.7 ms (34.4 to 68, 56 samples)" in shown.replace("\n ", "")


def source(text: str, tmp_path: Path, name: str = "x", **options: object) -> Source:
    return Source(tmp_path / name, text, Options(**options))  # type: ignore[arg-type]


def of(found: list[Series], quantity: Quantity) -> Series:
    return next(one for one in found if one.quantity is quantity)


def test_ping_of_linux_macos_and_windows(tmp_path: Path) -> None:
    linux = (
        "PING a (1.2.3.4) 56(84) bytes of data.\n"
        "64 bytes from 1.2.3.4: icmp_seq=1 ttl=57 time=12.5 ms\n"
        "64 bytes from 1.2.3.4: icmp_seq=3 ttl=57 time=14 ms\n"
        "64 bytes from 1.2.3.4: icmp_seq=3 ttl=57 time=15 ms (DUP!)\n"
        "--- a ping statistics ---\n5 packets transmitted, 2 received, 60% packet loss, time 4000ms\n"
    )
    found = ping.read(source(linux, tmp_path, window=100.0))
    assert of(found, Quantity.RTT).times == (0.0, 2.0)
    assert of(found, Quantity.RTT).values == pytest.approx((0.0125, 0.014))
    assert of(found, Quantity.LOSS).values == (0.6,)
    mac = (
        "PING a: 56 data bytes\n64 bytes from 1.2.3.4: icmp_seq=0 ttl=5 time=1.5 ms\n"
        "Request timeout for icmp_seq 1\n"
    )
    found = ping.read(source(mac, tmp_path))
    assert of(found, Quantity.LOSS).values == (0.5,)
    begun_late = linux.replace("icmp_seq=1 ", "icmp_seq=2 ")
    found = ping.read(source(begun_late, tmp_path, window=100.0))
    assert of(found, Quantity.LOSS).values == (0.6,)
    cut = "\n".join(linux.replace("icmp_seq=1 ", "icmp_seq=2 ").splitlines()[:-1])
    assert len(ping.read(source(cut, tmp_path))) == 1
    windows = (
        "Pinging a with 32 bytes\nReply from 1.2.3.4: bytes=32 time=12ms TTL=57\nRequest timed out.\n"
        "Reply from 1.2.3.4: bytes=32 time<1ms TTL=57\n"
    )
    found = ping.read(source(windows, tmp_path, interval=0.5))
    assert of(found, Quantity.RTT).times == (0.0, 1.0)
    assert of(found, Quantity.LOSS).values == pytest.approx((1 / 3,))


def test_the_name_of_a_file_forges_no_line(ropewalk: Ropewalk, tmp_path: Path) -> None:
    """It was printed with its line ends, and what followed looked like lines of Ropewalk."""
    file = tmp_path / "a\nwritten: elsewhere\n\x1b[31m.txt"
    file.write_bytes((MEASURED / "ping.txt").read_bytes())
    told = ropewalk("import", file, "--down", "20Mbit/s", "--out", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert "a\\nwritten: elsewhere\\n\\u001b[31m.txt" in told.stdout
    assert [line.startswith(f"written: {tmp_path}") for line in told.stdout.splitlines()].count(True) == 1
    assert not any(line.startswith("written: elsewhere") for line in told.stdout.splitlines())


def test_numbers_of_ping_start_again(tmp_path: Path) -> None:
    text = "PING a\n" + "".join(
        f"[{n}.0] 64 bytes from a: icmp_seq={n % 65536} ttl=5 time=1.0 ms\n" for n in range(65530, 65545)
    )
    found = ping.read(source(text, tmp_path))
    assert [one.quantity for one in found] == [Quantity.RTT]
    assert len(found[0].times) == 15


def test_iperf3_in_both_directions_and_losses_of_udp(tmp_path: Path) -> None:
    part = {"start": 0.0, "bits_per_second": 1e6, "lost_packets": 5, "packets": 100}
    start = {"test_start": {"reverse": 0}, "timestamp": {"timesecs": 5}}
    both = {
        "start": start,
        "intervals": [{"sum": part, "sum_bidir_reverse": {**part, "bits_per_second": 2e6}}],
    }
    found = iperf3.read(source(json.dumps(both), tmp_path))
    assert of(found, Quantity.UP).values == (1e6,)
    assert of(found, Quantity.DOWN).values == (2e6,)
    assert of(found, Quantity.LOSS_DOWN).values == (0.05,)
    omitted = {
        "start": start,
        "intervals": [{"sum": {**part, "omitted": True}}, {"sum": {**part, "start": 1.0}}],
    }
    assert len(of(iperf3.read(source(json.dumps(omitted), tmp_path)), Quantity.UP).values) == 1


def test_irtt_knows_the_direction_of_losses(tmp_path: Path) -> None:
    def trip(n: int, lost: str) -> dict[str, object]:
        delay = {} if lost != "false" else {"rtt": 40_000_000}
        return {"lost": lost, "delay": delay, "timestamps": {"client": {"send": {"wall": n * 10**9}}}}

    fates = ["false", "true_down", "false", "false", "true_up"]
    text = json.dumps({"round_trips": [trip(n, lost) for n, lost in enumerate(fates)]})
    found = irtt.read(source(text, tmp_path))
    assert of(found, Quantity.LOSS_DOWN).values == (0.2,)
    assert of(found, Quantity.LOSS_UP).values == (0.2,)
    assert of(found, Quantity.RTT).values == (0.04, 0.04, 0.04)
    unknown = json.dumps({"round_trips": [trip(0, "false"), trip(1, "true")]})
    assert of(irtt.read(source(unknown, tmp_path)), Quantity.LOSS).values == (0.5,)


def test_clocks_that_overlap_are_kept(tmp_path: Path) -> None:
    rtt = Series(Quantity.RTT, "p", (0.0, 1.0, 2.0, 3.0), (0.01, 0.02, 0.03, 0.04), 100.0)
    rate = Series(Quantity.DOWN, "i", (0.0, 1.0, 2.0), (1e6, 2e6, 3e6), 101.5)
    link = combine("a", [rtt, rate], {}, None)
    moved = link.parts[Quantity.RTT]
    assert isinstance(moved, Series)
    assert moved.times == (0.0, 0.5, 1.5)
    assert moved.values == (0.02, 0.03, 0.04)
    late = Series(Quantity.DOWN, "i", (0.0, 1.0), (1e6, 2e6), 500.0)
    assert combine("a", [rtt, late], {}, None).parts[Quantity.RTT] == rtt
    for file, text in files(link).items():
        (tmp_path / file).write_text(text)
    (tmp_path / "a.toml").write_text(scenario(link))
    assert Scenario.load(tmp_path / "a.toml").duration_s == 2.0


def test_units_in_headers_are_those_that_the_simulator_knows(tmp_path: Path) -> None:
    for unit, factor in {**table.RATES}.items():
        (tmp_path / "t.csv").write_text(f"time_s,rate_{unit}\n0,8\n")
        text = (
            'duration = "1s"\n[[path]]\nname = "a"\n'
            'both = { rate = { kind = "series", file = "t.csv" }, delay = "1ms" }\n'
            '[[flow]]\nname = "f"\nfrom = "terminal"\nto = "server"\ntransport = { kind = "tcp" }\n'
        )
        (tmp_path / "s.toml").write_text(text)
        assert Scenario.load(tmp_path / "s.toml").name == "s"
        found = table.read(source(f"time_s,rate_{unit}\n0,8\n", tmp_path))
        assert found[0].values == (8 * factor,)


def test_a_compressed_file_and_missing_cells(tmp_path: Path) -> None:
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"time;dl [MB/s];ping_ms\n0;1;\n1;NaN;20\n2;3;30\n"))
    found = read(packed, None, Options())
    rates = of([one for one in found if isinstance(one, Series)], Quantity.DOWN)
    assert (rates.times, rates.values) == ((0.0, 2.0), (8e6, 24e6))


def test_columns_of_known_data_sets_are_found(tmp_path: Path) -> None:
    starlink = (
        "datetimestamp_utc,uptime,pop_ping_drop_rate,downlink_throughput_bps,uplink_throughput_bps,"
        "pop_ping_latency_ms\n2024-05-01T12:00:00Z,7,0.25,1e8,1e7,40\n2024-05-01T12:00:01Z,8,0,2e8,1e7,50\n"
    )
    found = table.read(source(starlink, tmp_path))
    values = {one.quantity: one.values for one in found}
    assert values == {
        Quantity.LOSS: (0.25, 0.0),
        Quantity.DOWN: (1e8, 2e8),
        Quantity.UP: (1e7, 1e7),
        Quantity.RTT: (0.04, 0.05),
    }
    lte = (
        "Timestamp,Longitude,Speed,DL_bitrate,UL_bitrate,PINGAVG,PINGLOSS\n"
        "2019.12.14_10.16.30,-8.4,0,2500,300,-,-\n2019.12.14_10.16.31,-8.4,0,3000,310,40,0\n"
    )
    with pytest.raises(
        MeasurementError, match="--column down=DL_bitrate:Mbit/s; or leave it out: --column down="
    ):
        table.read(source(lte, tmp_path, columns={"up": ("", None), "rtt": ("", None)}))
    columns = {
        "down": ("DL_bitrate", "kbit/s"),
        "up": ("", None),
        "rtt": ("PINGAVG", "ms"),
        "loss": ("", None),
    }
    found = table.read(source(lte, tmp_path, columns=columns))
    assert {one.quantity: (one.times, one.values) for one in found} == {
        Quantity.DOWN: ((0.0, 1.0), (2.5e6, 3e6)),
        Quantity.RTT: ((0.0,), (0.04,)),
    }


WRONG = [
    ('{\n"intervals": [,\n"start"', "x:2: not JSON", "whole file"),
    ('{"start": {}, "intervals": []}', "x: no intervals", "--json"),
    (
        '{"start": {}, "intervals": [{"sum": {"start": 0}}]}',
        "intervals[0].sum.bits_per_second is missing",
        "iperf3",
    ),
    ('{"start": {}, "intervals": [], "error": "refused"}', 'iperf3 says "refused"', "again"),
    ('{"round_trips": []}', "no round_trips", "-o FILE"),
    ('{"round_trips": [{"lost": "false"}]}', "round_trips[0].timestamps", "irtt"),
    ('{"x_values": [0, 1], "results": {"TCP download": [1]}}', "another length", "flent"),
    ('{"x_values": [0], "results": {"Qdisc": [1]}}', "series: Qdisc", "TCP or ping"),
    ("1\n2\n\n1\n", "x:4: found 1, which is before", "sort"),
    ("1\n2\nthree\n", 'x:3: found "three"', "milliseconds"),
    ("PING a\nRequest timeout for icmp_seq 0\n", "x: no answer", "ping"),
    ("time,rate\n0,1\n", 'x:1: the column "rate" has no unit', "--column down=rate:Mbit/s"),
    ("# c\ntime,rate_mbps\n0,fast\n", 'x:3: found "fast" in the column "rate_mbps"', "number"),
    ("time,rate_mbps\n0,1,2\n", "x:2: found 3 cells below 2 names", "one cell"),
    ("time,rate_mbps\nlater,1\n", 'x:2: found "later", which is not a time', "2024-05-01"),
    ("hour,humidity\n1,2\n", "x:1: no column that holds time", "--column down=NAME"),
    ("time,dl_mbps,loss\n0,1,2.5\n", 'x:2: found "2.5" as a share of packets', "--column loss=loss:%"),
    ("just a letter", "x:1: the form of this file is not recognised", "--format"),
    ("", "x:1: the form of this file is not recognised", "--format"),
]


@pytest.mark.parametrize(("text", "found", "cure"), WRONG)
def test_what_is_wrong_has_its_place_and_its_cure(tmp_path: Path, text: str, found: str, cure: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(MeasurementError) as caught:
        read(tmp_path / "x", None, Options())
    message, _, fix = str(caught.value).partition("\n  fix: ")
    assert found in message.replace(f"{tmp_path}/", "")
    assert cure in fix


@pytest.mark.parametrize(
    "name", ["ping.txt", "irtt.json", "iperf3.json", "rrul.flent", "cell.up", "starlink.csv"]
)
def test_damaged_files_are_refused_or_make_sense(tmp_path: Path, name: str) -> None:
    good = (MEASURED / name).read_text()[:6000]
    words = [
        "",
        "9" * 400,
        "-1",
        "1e999",
        "nan",
        "null",
        "[" * 2000,
        '"',
        "\n",
        ",,",
        "{}",
        "\x00",
        "9" * 5000,
    ]
    refused = 0
    for seed in range(ROUNDS):
        chance = random.Random(seed)
        text = (MEASURED / name).read_text() if chance.random() < 0.5 else good
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(len(text))
            text = text[:start] + chance.choice(words) + text[start + chance.randint(0, 30) :]
        (tmp_path / name).write_text(text)
        try:
            parts = read(tmp_path / name, None, Options())
            rates = (
                {Quantity.DOWN: "1Mbit/s"} if all(one.quantity is not Quantity.DOWN for one in parts) else {}
            )
            delay = None if any(one.quantity is Quantity.RTT for one in parts) else "1ms"
            link = combine("a", parts, rates, delay)
            assert scenario(link), seed
            assert files(link), seed
        except MeasurementError:
            refused += 1
    assert refused > 0


def test_what_is_no_file_is_not_read(ropewalk: Ropewalk, tmp_path: Path) -> None:
    for place in ("/dev/zero", tmp_path):
        done = ropewalk("import", place, cwd=tmp_path)
        assert (done.returncode, "not a file" in done.stderr) == (2, True)


def test_what_a_link_lacks_is_asked_for(ropewalk: Ropewalk, tmp_path: Path) -> None:
    for arguments, found in [
        (["ping.txt"], "no rate\n  fix: add --down"),
        (["iperf3.json"], "no delay\n  fix: add --delay"),
        (["iperf3.json", "ping.txt", "--delay", "3ms"], "--delay: ping.txt has round-trip times"),
        (["iperf3.json", "ping.txt", "--down", "3Mbit/s"], "--down: iperf3.json has the rate down"),
        (["iperf3.json", "rrul.flent"], "a second rate down"),
        (["nowhere.txt"], "nowhere.txt: No such file"),
        (["ping.txt", "--down", "20Mbps"], '--down: found "20Mbps"'),
        (["ping.txt", "--name", "a b"], '--name: found "a b"'),
        (["ping.txt", "--column", "x=y"], "KEY is one of time, down"),
        (["ping.txt", "--format", "irtt", "--down", "1Mbit/s"], "ping.txt:1: not JSON"),
    ]:
        done = ropewalk("import", *arguments, "--out", tmp_path, cwd=MEASURED)
        assert done.returncode == 2, arguments
        assert found in done.stderr
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("time_s,down_mbit,rtt_ms\n0,1,20\n1,1e302,20\n", "down of 1e+308 at 1 s"),
        ("time_s,down_mbit,rtt_ms\n0,1,20\n1,1,1e308\n", "rtt of 1e+305 at 1 s"),
        ("time_s,down_mbit,rtt_ms\n0,1,20\n3e9,1,20\n", r"samples over 3e\+09 s"),
    ],
)
def test_numbers_that_no_link_can_have_are_refused(tmp_path: Path, text: str, found: str) -> None:
    """Such values were written into a scenario that could not be read, or ended in a traceback."""
    file = tmp_path / "numbers.csv"
    file.write_text(text, encoding="utf-8")
    columns: dict[str, tuple[str, str | None]] = {"down": ("down_mbit", "Mbit/s")}
    with pytest.raises(MeasurementError, match=found.replace("+3", r"\+3")):
        read(file, "csv", Options(columns=columns))


def test_a_probe_at_no_time_is_refused(tmp_path: Path) -> None:
    trip = '{{"timestamps": {{"client": {{"send": {{"wall": {}}}}}}}, "delay": {{"rtt": 2e7}}, "lost": "{}"}}'
    trips = f"{trip.format(17e17, 'false')}, {trip.format('NaN', 'true_up')}"
    file = tmp_path / "irtt.json"
    file.write_text(f'{{"round_trips": [{trips}]}}', encoding="utf-8")
    with pytest.raises(MeasurementError, match="a probe at nan s"):
        read(file, "irtt", Options())


def test_a_measurement_of_weeks_becomes_a_scenario_that_can_be_read(
    ropewalk: Ropewalk, tmp_path: Path
) -> None:
    """A duration of more than a million seconds was written with an exponent, which no scenario has."""
    file = tmp_path / "weeks.csv"
    rows = "".join(f"{at},1,20\n" for at in (0, 1_234_567, 2_345_678))
    file.write_text(f"time_s,down_mbit,rtt_ms\n{rows}", encoding="utf-8")
    done = ropewalk("import", file, "--out", tmp_path, "--column", "down=down_mbit:Mbit/s")
    assert done.returncode == 0, done.stderr
    assert Scenario.load(tmp_path / "link.toml").duration_s == pytest.approx(3_518_517)


@pytest.mark.parametrize(
    "option",
    [["--down", "1e18bit/s"], ["--down", "99999999Gbit/s"], ["--up", "-1bit/s"], ["--delay", "1e18s"]],
)
def test_an_option_that_no_link_can_have_leaves_no_file(
    ropewalk: Ropewalk, tmp_path: Path, option: list[str]
) -> None:
    file = tmp_path / "rtt.csv"
    file.write_text("time_s,down_mbit\n0,20\n1,20\n", encoding="utf-8")
    done = ropewalk("import", file, "--out", tmp_path / "made", *option)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{option[0]}: found ")
    assert not (tmp_path / "made").exists()
