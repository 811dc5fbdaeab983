"""Captures read back: of runs, whose tables they give, and of a kernel, as other programs read them."""

import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from capture_files import packets, pcap
from conftest import ROOT, Ropewalk
from terminal import lines_on_terminal

KERNEL = ROOT / "crates" / "dissect" / "tests" / "captures"


LISTED = [
    "geo-leo-lte",
    "geo-plus-lte",
    "path-join",
    "shared-bottleneck",
    "three-geo-beams",
    "two-geo-beams",
]
ROUNDED = {"srtt_mean_s": 2e-6}
"""The simulator knows when a packet was sent to the nanosecond, a timestamp to the millisecond."""
NAMES = {"run", "flow", "path"}


@pytest.mark.parametrize("name", LISTED)
def test_a_capture_of_both_ends_gives_the_tables_of_the_run(name: str, tmp_path: Path) -> None:
    scenario = rw.Scenario.load(ROOT / "scenarios" / f"{name}.toml", [("duration", "12s")])
    results = scenario.run([1], capture=rw.Capture(tmp_path))
    reading = rw.read([results.captures[1]])
    assert reading.problems == []
    assert set(reading.flows["side"]) == {"both"}
    assert (reading.subflows["unmapped_bytes"].fill_null(0) == 0).all()
    own = ~pl.col("flow").cast(pl.String).str.contains("@")
    for table in ("flows", "subflows"):
        run, read = results.tables[table].filter(own), reading.tables[table]
        assert run.height == read.height
        for told, found in zip(run.to_dicts(), read.to_dicts(), strict=True):
            for column in told.keys() - NAMES:
                if found[column] is None:
                    continue
                if isinstance(told[column], float):
                    told[column] = pytest.approx(told[column], abs=ROUNDED.get(column, 1e-9), rel=1e-14)
                assert found[column] == told[column], (table, told["flow"], column)


def test_reinjected_bytes_are_those_of_the_kernel() -> None:
    reading = rw.read([KERNEL / "reinjection.pcapng"])
    assert reading.subflows["reinjected_bytes"].to_list() == [152_256, 55_448]
    assert reading.flows.select("transport", "side", "bytes", "subflows").rows() == [
        ("mptcp", "client", 350_000, 2)
    ]


def test_several_files_are_read_together() -> None:
    files = [KERNEL / "fallback.pcapng", KERNEL / "late-add-addr.pcapng"]
    reading = rw.read(files)
    assert sorted(reading.flows["bytes"]) == [60_000, 300_000]
    assert reading.packets == 81 + 445


@pytest.mark.parametrize("name", ["two-subflows", "reinjection", "late-add-addr"])
def test_packets_of_one_interface_are_put_in_order(name: str, tmp_path: Path) -> None:
    whole, batches = KERNEL / f"{name}.pcapng", tmp_path / "batches.pcap"
    late = sorted(packets(whole.read_bytes()), key=lambda one: one.at + one.length % 3 * 250_000_000)
    batches.write_bytes(pcap(late))
    reading, expected = rw.read([batches]), rw.read([whole])
    [problem] = reading.problems
    assert "behind later ones in the file, by up to 0." in problem
    assert expected.problems == []
    for table in ("flows", "subflows"):
        assert reading.tables[table].equals(expected.tables[table])


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("name", ["two-subflows", "reinjection", "fallback"])
def test_tables_fit_the_terminal(name: str, columns: int) -> None:
    lines = lines_on_terminal(columns, "read", KERNEL / f"{name}.pcapng")
    assert max(map(len, lines)) <= columns
    if name == "two-subflows":
        # In full on each of them.
        assert any("10.78.1.1:46888 to 10.78.1.2:5001" in line for line in lines)
        assert any("978 packets" in line for line in lines)


def test_json_and_files(ropewalk: Ropewalk, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = ropewalk("read", str(KERNEL / "two-subflows.pcapng"), "--json", "--out", str(out))
    found = json.loads(done.stdout)
    assert (found["packets"], found["problems"], found["flows"][0]["bytes"]) == (978, [], 700_000)
    assert found["mptcp_options"] == {"MP_CAPABLE": 5, "MP_JOIN": 3, "DSS": 968, "ADD_ADDR": 2}
    assert pl.read_parquet(out / "subflows.parquet")["retransmitted_segments"].to_list() == [3, 7]
    assert not (out / "plots").exists()
    assert ropewalk("report", str(out)).returncode == 0
    assert "two-subflows.pcapng" in (out / "report.html").read_text(encoding="utf-8")


def test_plots_are_those_that_a_capture_can_show(ropewalk: Ropewalk, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = ropewalk("read", str(KERNEL / "reinjection.pcapng"), "--plots", "--out", str(out))
    assert done.returncode == 0, done.stderr
    names = sorted(file.name for file in (out / "plots").iterdir())
    assert names == ["receive-buffer.png", "srtt.png", "throughput.png"]
    assert ropewalk("read", str(KERNEL / "reinjection.pcapng"), "--plots").returncode == 2


def test_a_damaged_file_is_read_without_a_scenario(tmp_path: Path) -> None:
    whole = bytearray((KERNEL / "fallback.pcapng").read_bytes())
    # The first packet comes in 1970, the others decades later.
    first = whole.index(b"\x06\x00\x00\x00")
    whole[first + 12 : first + 20] = bytes(8)
    (tmp_path / "late.pcapng").write_bytes(whole)
    reading = rw.read([tmp_path / "late.pcapng"])
    assert reading.flows.height == 1
    assert reading.fitted.flow is None


def test_what_cannot_be_read_is_said(ropewalk: Ropewalk, tmp_path: Path) -> None:
    whole = (KERNEL / "fallback.pcapng").read_bytes()
    (tmp_path / "cut.pcapng").write_bytes(whole[:-20])
    (tmp_path / "text.pcap").write_text("no capture", encoding="utf-8")
    done = ropewalk("read", *(str(tmp_path / name) for name in ("cut.pcapng", "text.pcap", "none.pcap")))
    assert done.returncode == 0
    assert f"{tmp_path}/cut.pcapng: it ends within a block, after 80 packets" in done.stderr
    assert f"{tmp_path}/text.pcap: neither pcap nor pcapng" in done.stderr
    assert f"{tmp_path}/none.pcap: no such file" in done.stderr
    alone = ropewalk("read", str(tmp_path / "text.pcap"))
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "no packet could be read" in alone.stderr
    assert "Traceback" not in alone.stderr


@pytest.mark.parametrize("option", ["--scenario", "--anonymise"])
def test_a_capture_is_not_replaced_by_what_is_made_of_it(
    option: str, ropewalk: Ropewalk, tmp_path: Path
) -> None:
    capture, link = tmp_path / "mine.pcapng", tmp_path / "link.pcapng"
    content = (KERNEL / "two-subflows.pcapng").read_bytes()
    capture.write_bytes(content)
    link.symlink_to(capture)
    done = ropewalk("read", capture, option, link)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{option} {link}: the capture itself would be replaced")
    assert capture.read_bytes() == content


def test_captures_of_both_ends_given_twice_are_connections_of_their_own(
    ropewalk: Ropewalk, small: Path, tmp_path: Path
) -> None:
    """Rows of two connections with one name would be taken for those of one."""
    assert ropewalk("run", small, "--out", tmp_path, "--capture", "both").returncode == 0
    capture = tmp_path / "capture" / "seed-1.pcapng"
    done = ropewalk("read", capture, capture)
    assert (done.returncode, done.stderr) == (0, "")
    names = rw.read([capture, capture]).flows["flow"].to_list()
    assert len(names) > 1
    assert names[1] == f"{names[0]} (2)"


def test_an_anonymous_capture_reads_the_same(ropewalk: Ropewalk, tmp_path: Path) -> None:
    """And tshark finds one MPTCP connection in it, with mappings for all data and right checksums."""
    out = tmp_path / "shared.pcapng"
    done = ropewalk("read", str(KERNEL / "two-subflows.pcapng"), "--anonymise", str(out))
    assert done.returncode == 0, done.stderr
    assert f"978 TCP packets without addresses, payload and keys in {out}" in done.stdout
    before, after = rw.read([KERNEL / "two-subflows.pcapng"]), rw.read([out])
    for table in ("flows", "subflows"):
        same = pl.exclude("flow", "path")
        assert after.tables[table].select(same).equals(before.tables[table].select(same))
    assert after.flows["flow"].to_list() == ["10.0.0.1:46888 to 10.0.0.2:5001"]
    again = ropewalk("read", str(out), "--anonymise", str(out))
    assert (again.returncode, "would be replaced" in again.stderr) == (2, True)
    found = shutil.which("tshark")
    if found is None:
        pytest.skip("no tshark here")
    fields = [
        "mptcp.stream",
        "ip.checksum.status",
        "mptcp.dss.missing_mapping",
        "mptcp.connection.echoed_key_mismatch",
    ]
    command = [found, "-r", str(out), "-o", "ip.check_checksum:TRUE", "-o", "mptcp.analyze_mappings:TRUE"]
    command += ["-T", "fields", *(word for field in fields for word in ("-e", field)), "-Y", "tcp.len > 0"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {tuple(line.split("\t")) for line in told.stdout.splitlines()} == {("0", "1", "", "")}


GEO = """
duration = "12s"
[[path]]
name = "geo"
both = { rate = "8Mbit/s", delay = "280ms", queue = "150p" }
[[flow]]
name = "f"
from = "terminal"
to = "server"
app = "bulk"
[flow.transport]
kind = "sctp"
profile = "freebsd"
send_buffer = "4MiB"
receive_buffer = "4MiB"
"""


def test_gap_blocks_that_were_not_captured_are_said(tmp_path: Path) -> None:
    """Slow start over GEO leaves many gaps: SACKs of whole packets tell the round trips, of 96 bytes not."""
    for snap, whole in ((0, True), (96, False)):
        results = rw.Scenario.parse(GEO).run([1], capture=rw.Capture(tmp_path / str(snap), snap=snap))
        reading = rw.read(list(results.captures.values()))
        told = [problem for problem in reading.problems if "SACKs are cut off" in problem]
        assert bool(told) != whole, reading.problems
        seen, real = (tables.subflows["srtt_mean_s"][0] for tables in (reading, results))
        assert (abs(seen / real - 1.0) < 0.01) == whole, (seen, real)


def test_options_that_were_cut_off_as_a_whole_are_said(tmp_path: Path) -> None:
    """40 bytes are the headers of IPv4 and TCP: every packet has lost its timestamps."""
    scenario = rw.Scenario.parse(GEO.replace('"sctp"', '"tcp"').replace('"freebsd"', '"linux"'))
    results = scenario.run([1], capture=rw.Capture(tmp_path, snap=40))
    reading = rw.read([results.captures[1]])
    [told] = reading.problems
    assert told.startswith(f"options of {reading.packets} TCP packets are cut off")
