"""Captures of simulated packets, as other programs read them."""

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from conftest import ROOT, SMALL, Ropewalk
from ropewalk.captures import Capture
from test_read_runs import NO_BYTES, without

sys.path.insert(0, str(ROOT / "tools"))

import tshark as program

PREFERENCES = (
    "mptcp.analyze_mappings:TRUE",
    "mptcp.intersubflows_retransmission:TRUE",
    "tcp.check_checksum:TRUE",
    "ip.check_checksum:TRUE",
    "sctp.checksum:CRC 32c",
)

LINUX = """\
name = "two paths"
duration = "10s"
seeds = 1

[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "20ms", queue = "60kB" }

[[path]]
name = "b"
both = { rate = "2Mbit/s", delay = "60ms", queue = "60kB" }

[[flow]]
name = "up"
from = "terminal"
to = "server"
app = { kind = "bulk", size = "700kB" }
transport = { kind = "mptcp", profile = "linux" }

[[flow]]
name = "alone"
from = "server"
to = "terminal"
app = { kind = "bulk", size = "200kB" }
transport = { kind = "tcp", profile = "linux" }

[[flow]]
name = "probe"
from = "terminal"
to = "server"
app = { kind = "onoff", rate = "64kbit/s", packet = "200B" }
transport = { kind = "udp" }
"""


@pytest.fixture(scope="module")
def tshark() -> str:
    found = program.find()
    if found is None:
        if os.environ.get("ROPEWALK_WITHOUT_TSHARK") == "1":
            pytest.skip("no tshark here, and ROPEWALK_WITHOUT_TSHARK=1")
        pytest.fail("tshark is missing: python tools/tshark.py installs it")
    return found


def run(scenario: str, directory: Path, **options: object) -> rw.Results:
    """Results with captures of the first seed."""
    capture = Capture(directory, **options)  # type: ignore[arg-type]
    return rw.Scenario.parse(scenario).run([1], capture=capture)


def fields(tshark: str, file: Path, names: list[str], where: str = "") -> list[list[str]]:
    """One row per packet; tshark fails on a field that it does not know."""
    command = [
        tshark,
        "-r",
        str(file),
        "-T",
        "fields",
        *(word for one in PREFERENCES for word in ("-o", one)),
    ]
    command += [word for name in names for word in ("-e", name)] + (["-Y", where] if where else [])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def complaints(tshark: str, file: Path) -> list[str]:
    """Errors and warnings.

    Without one that tshark also has about the kernel: once a DATA_FIN has been sent, it looks for a mapping
    on packets without payload.
    """
    options = [word for one in PREFERENCES for word in ("-o", one)]
    command = [tshark, "-r", str(file), *options, "-q", "-z", "expert,warn"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    known = "No mapping available"
    assert fields(tshark, file, ["frame.number"], f'_ws.expert.message == "{known}" && tcp.len > 0') == []
    lines = [line.split(maxsplit=3) for line in done.stdout.splitlines()]
    return [line[3] for line in lines if line and line[0].isdecimal() and line[3] != known]


def test_tshark_has_no_complaints_about_whole_packets(tshark: str, tmp_path: Path) -> None:
    results = run(LINUX, tmp_path, at="terminal", snap=0)
    file = results.captures[1]
    assert file.name == "seed-1.pcapng"
    assert complaints(tshark, file) == []
    bad = fields(
        tshark,
        file,
        ["frame.number"],
        "tcp.checksum.status==0 || udp.checksum.status==0 || ip.checksum.status==0",
    )
    assert bad == []
    streams = fields(tshark, file, ["tcp.stream", "mptcp.stream", "ip.src", "ip.dst"], "tcp")
    assert {(stream, connection) for stream, connection, *_ in streams} == {
        ("0", "0"),
        ("1", ""),
        ("2", "0"),
    } or (len({connection for _, connection, *_ in streams if connection}) == 1)
    assert {address for *_, one, other in streams for address in (one, other)} == {
        "10.0.0.1",
        "10.0.0.2",
        "10.0.1.1",
        "10.0.1.2",
    }
    names = ["frame.interface_name", "frame.comment"]
    interfaces = Counter(name for name, *_ in fields(tshark, file, names))
    assert set(interfaces) == {"terminal on a", "terminal on b"}


def test_every_byte_of_the_stream_is_mapped(tshark: str, tmp_path: Path) -> None:
    results = run(LINUX, tmp_path, at="terminal")
    file = results.captures[1]
    assert fields(tshark, file, ["frame.number"], "mptcp.dss.missing_mapping && tcp.len > 0") == []
    assert fields(tshark, file, ["frame.number"], "mptcp.connection.echoed_key_mismatch") == []
    names = ["mptcp.expected_token", "tcp.options.mptcp.recvtok"]
    expected = {token for (token,) in fields(tshark, file, names[:1], "mptcp") if token}
    joined = {token for (token,) in fields(tshark, file, names[1:], "tcp.options.mptcp.recvtok")}
    assert len(expected) == 2
    assert len(joined) == 1
    assert {int(token, 0) for token in joined} < {int(token, 0) for token in expected}
    # Relative to the keys.
    first = fields(tshark, file, ["mptcp.dss.dsn"], "mptcp.dss.dsn && ip.src == 10.0.0.1")
    assert int(first[0][0]) == 1
    bytes_sent = fields(
        tshark, file, ["tcp.len"], "mptcp && tcp.len > 0 && frame.interface_name contains terminal"
    )
    subflows = results.subflows.filter(pl.col("flow") == "up")
    assert len(bytes_sent) == subflows["segments_sent"].sum()


@pytest.mark.parametrize(("scheduler", "chunks"), [("minratio", True), ("minrtt", False)])
def test_segments_name_the_mapping_of_their_chunk(
    tshark: str, tmp_path: Path, scheduler: str, chunks: bool
) -> None:
    """With the scheduler of the kernel as there; where data may still be taken back, each names its own."""
    chosen = f'profile = "linux", scheduler = "{scheduler}"'
    results = run(LINUX.replace('profile = "linux"', chosen, 1), tmp_path, at="terminal")
    names = ["tcp.stream", "tcp.seq", "tcp.len", "mptcp.dss.dsn"]
    names += ["tcp.options.mptcp.subflowseqno", "tcp.options.mptcp.datalvllen"]
    sent = "(ip.src == 10.0.0.1 || ip.src == 10.0.1.1)"
    rows = fields(tshark, results.captures[1], names, f"mptcp.dss.dsn && tcp.len > 0 && {sent}")
    segments: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for stream, seq, size, dsn, ssn, length in (map(int, row) for row in rows):
        assert ssn <= seq
        assert seq + size <= ssn + length
        segments.setdefault((stream, ssn), set()).add((dsn, length))
    assert all(len(mappings) == 1 for mappings in segments.values())
    lengths = [length for ((_, length),) in segments.values()]
    assert max(lengths) > 40_000 if chunks else max(lengths) == 1424
    for stream in {stream for stream, _ in segments}:
        own = sorted((ssn, length) for (of, ssn), ((_, length),) in segments.items() if of == stream)
        assert all(ssn + length == following for (ssn, length), (following, _) in pairwise(own))


def test_retransmissions_are_those_of_the_table(tshark: str, tmp_path: Path) -> None:
    lossy = LINUX.replace(
        'queue = "60kB" }', 'queue = "60kB", loss = { kind = "packet", probability = 0.01 } }'
    )
    results = run(lossy, tmp_path, at="terminal")
    again = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    sent = "ip.src == 10.0.0.1 || ip.src == 10.0.1.1"
    rows = fields(tshark, results.captures[1], ["ip.src"], f"tcp.len > 0 && mptcp && ({sent}) && ({again})")
    found = Counter(source for (source,) in rows)
    table = results.subflows.filter(pl.col("flow") == "up").sort("subflow")
    assert [found["10.0.0.1"], found["10.0.1.1"]] == table["retransmitted_segments"].to_list()
    assert sum(found.values()) > 0
    assert not [one for one in complaints(tshark, results.captures[1]) if "alformed" in one]


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("geo-plus-lte", "server"),
        ("leo-pair-browsing", "server"),
        ("path-join", "terminal"),
        ("shared-bottleneck", "terminal"),
        ("space-transports", "terminal"),
        ("two-geo-beams-two-terminals", "terminal"),
    ],
)
def test_shipped_scenarios_at_the_senders_of_data(tshark: str, tmp_path: Path, name: str, node: str) -> None:
    """No error, checksums and mappings are right, a stream for each connection, repeats as in the table."""
    text = (ROOT / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")
    if name in NO_BYTES:
        text = without(text, NO_BYTES[name])
    file = tmp_path / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    scenario = rw.Scenario.load(file, [("duration", "13s" if name == "path-join" else "6s")])
    results = scenario.run([1], capture=Capture(tmp_path, at=node, snap=0))
    names = ["_ws.expert.severity", "tcp.checksum.status", "ip.checksum.status", "mptcp.stream", "tcp.len"]
    names += ["mptcp.dss.missing_mapping", "mptcp.connection.echoed_key_mismatch"]
    names += [
        "tcp.analysis.retransmission",
        "tcp.analysis.out_of_order",
        "tcp.options.mptcp.subtype",
        "tcp.flags",
    ]
    rows = fields(tshark, results.captures[1], names)
    error = str(0x0080_0000)
    assert not [row for row in rows if error in row[0].split(",")]
    assert {row[1] for row in rows} <= {"1", ""}
    assert {row[2] for row in rows} == {"1"}
    assert not [row for row in rows if (row[5] and row[4] != "0") or row[6]]
    opened = [row for row in rows if row[9] == "0" and int(row[10], 0) & 0x12 == 2]
    assert len({row[3] for row in rows if row[3]}) == len(opened)
    again = [row for row in rows if row[4] not in ("", "0") and (row[7] or row[8])]
    own = ~pl.col("flow").cast(pl.String).str.contains("@")
    assert len(again) == results.subflows.filter(own)["retransmitted_segments"].sum()


def test_a_lost_packet_is_seen_where_it_was_sent_only(tshark: str, tmp_path: Path) -> None:
    results = run(SMALL, tmp_path)
    file = results.captures[1]
    links = results.links.filter(pl.col("link").is_in(["a.up", "b.up"]))
    sent = fields(
        tshark, file, ["frame.number"], "frame.interface_name contains terminal && ip.dst == 10.0.0.2"
    )
    arrived = fields(
        tshark, file, ["frame.number"], "frame.interface_name contains server && ip.dst == 10.0.0.2"
    )
    assert len(sent) > len(arrived) > 0
    assert links.height == 2


@pytest.mark.parametrize(
    ("kind", "nr_sack"), [("sctp", "false"), ("cmt-sctp", "false"), ("cmt-sctp", "true")]
)
def test_tshark_reads_associations(tshark: str, tmp_path: Path, kind: str, nr_sack: str) -> None:
    """One association of two paths, right checksums, as many packets with DATA as the table has."""
    transport = f'{{ kind = "{kind}", nr_sack = {nr_sack} }}'
    alone = LINUX.partition('[[flow]]\nname = "alone"')[0]
    scenario = alone.replace('{ kind = "mptcp", profile = "linux" }', transport)
    scenario = scenario.replace(
        'queue = "60kB" }', 'queue = "60kB", loss = { kind = "packet", probability = 0.01 } }'
    )
    results = run(scenario, tmp_path, at="terminal", snap=0)
    file = results.captures[1]
    # A warning of taste: with concurrent transfer most of what arrives is behind a gap.
    many = "More than 100 TSNs were "
    assert [one for one in complaints(tshark, file) if not one.startswith(many)] == []
    names = ["sctp.checksum.status", "sctp.srcport", "sctp.dstport", "ip.src"]
    rows = fields(tshark, file, names, "sctp")
    assert {status for status, *_ in rows} == {"1"}, "CRC32c is right"
    assert len({frozenset(ports) for _, *ports, _ in rows}) == 1
    sent = fields(tshark, file, ["ip.src", "sctp.data_tsn_raw"], "sctp.data_tsn_raw")
    table = results.subflows.filter(pl.col("flow") == "up").sort("subflow")
    segments = Counter(source for source, _ in sent)
    assert [segments["10.0.0.1"], segments["10.0.1.1"]] == table["segments_sent"].to_list()
    tsns = [tsn for _, one in sent for tsn in one.split(",")]
    again = len(tsns) - len(set(tsns))
    assert 0 < table["retransmitted_segments"].sum() <= again
    types = {
        kind for (kinds,) in fields(tshark, file, ["sctp.chunk_type"], "sctp") for kind in kinds.split(",")
    }
    # INIT, INIT ACK, COOKIE ECHO and ACK, DATA, SACK or NR-SACK, HEARTBEATs; the run may end before SHUTDOWN.
    assert types - {"7", "8", "14"} == {
        "1",
        "2",
        "10",
        "11",
        "0",
        "16" if nr_sack == "true" else "3",
        "4",
        "5",
    }


def test_files_are_the_same_with_any_number_of_threads(tmp_path: Path) -> None:
    scenario = rw.Scenario.parse(SMALL)
    files = [
        scenario.run(2, jobs=jobs, capture=Capture(tmp_path / str(jobs))).captures.values() for jobs in (1, 2)
    ]
    one, two = ([path.read_bytes() for path in paths] for paths in files)
    assert one == two
    assert one[0] != one[1]


def test_the_command_writes_captures_beside_the_tables(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    out = tmp_path / "out"
    done = ropewalk("run", str(file), "--seed", "1", "--out", str(out), "--capture", "both")
    assert done.returncode == 0, done.stderr
    assert f"captures in {out}/capture/" in done.stdout
    assert [path.name for path in (out / "capture").iterdir()] == ["seed-1.pcapng"]
    assert rw.Results.read(out).captures == {1: out / "capture" / "seed-1.pcapng"}
    whole = (out / "capture" / "seed-1.pcapng").read_bytes()
    assert ropewalk("run", str(file), "--seed", "1", "--capture", "--out", str(out)).returncode == 0
    assert (out / "capture" / "seed-1.pcapng").read_bytes() == whole, "both ends are the default"
    # A later run without a capture leaves none that would pass for its own.
    assert ropewalk("run", str(file), "--seed", "2", "--out", str(out)).returncode == 0
    assert list((out / "capture").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--capture", "both"], "--capture without --out"),
        (["--snap", "64"], "--snap without --capture"),
        (
            ["--capture", "satellite", "--out", "OUT"],
            "there is no node or link satellite\n  fix: both, or one of",
        ),
        (["--capture", "", "--out", "OUT"], "there is no node or link"),
        (["--capture", "both", "--out", "OUT", "--backend", "ns3"], "the back end ns3 captures no packets"),
    ],
)
def test_a_mistake_names_the_cure(
    ropewalk: Ropewalk, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    words = [str(tmp_path / "out") if word == "OUT" else word for word in arguments]
    done = ropewalk("run", str(file), *words)
    assert done.returncode == 2
    assert expected in done.stderr
    assert not (tmp_path / "out" / "summary.json").exists()


@pytest.mark.parametrize("snap", [20, 39, 41])
def test_headers_of_ipv6_that_are_cut_off_are_told(ropewalk: Ropewalk, tmp_path: Path, snap: int) -> None:
    """20 to 39 bytes were taken for another protocol without a word."""
    path = tmp_path / "six.toml"
    path.write_text(SMALL.replace('kind = "mptcp"', 'kind = "mptcp"\nheader = "60B"'), encoding="utf-8")
    rw.Scenario.load(path).run(1, capture=Capture(tmp_path / "cut", snap=snap))
    told = ropewalk("read", tmp_path / "cut" / "seed-1.pcapng")
    assert (told.returncode, told.stdout) == (1, "")
    cut, last = told.stderr.splitlines()
    assert "packets are cut off within their headers, and not read" in cut
    assert last == "no packet could be read: none is TCP, SCTP or UDP with whole headers"
