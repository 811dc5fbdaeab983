"""Captures that have each packet twice, without directions: both ends in one file, and mirror ports."""

from pathlib import Path

import pytest

import ropewalk as rw
from capture_files import Packet, packets, pcap, pcapng, without_options
from conftest import ROOT

KERNEL = ROOT / "crates" / "dissect" / "tests" / "captures"
KERNEL_CAPTURES = ["two-subflows", "reinjection", "late-add-addr"]
CLIENTS = ([10, 78, 1, 1], [10, 78, 2, 1])
MILLISECOND = 1_000_000
WAYS = [18 * MILLISECOND, 45 * MILLISECOND]
SAME_CLOCK = {"ofo_mean_bytes", "meta_ofo_mean_bytes", "ofo_p95_bytes", "meta_ofo_p95_bytes"}
"""Percentiles over the time since the connection began, which a file of the receiver alone does not know."""


def _ends(name: str) -> tuple[list[Packet], list[Packet]]:
    """The packets of the client, and the same at a server behind two paths."""
    client = packets((KERNEL / f"{name}.pcapng").read_bytes())
    server = []
    for one in client:
        sent = list(one.kept[12:16]) in CLIENTS
        path = one.kept[14] - 1
        server.append(one.later(WAYS[path] if sent else -WAYS[path], one.interface + 2))
    return client, sorted(server, key=lambda one: one.at)


def _read(file: Path, content: bytes) -> rw.Reading:
    file.write_bytes(content)
    return rw.read([file])


def _equal(found: rw.Reading, expected: rw.Reading, *but: str) -> None:
    for table in ("flows", "subflows"):
        assert (
            found.tables[table].drop(but, strict=False).equals(expected.tables[table].drop(but, strict=False))
        ), table


@pytest.mark.parametrize("clocks", [0, 300 * MILLISECOND, -300 * MILLISECOND])
@pytest.mark.parametrize("name", KERNEL_CAPTURES)
def test_interfaces_of_both_ends_are_told_apart(name: str, clocks: int, tmp_path: Path) -> None:
    client, server = _ends(name)
    server = [one.later(clocks) for one in server]
    (tmp_path / "client.pcapng").write_bytes(pcapng(client))
    (tmp_path / "server.pcapng").write_bytes(pcapng(server))
    expected = rw.read([tmp_path / "client.pcapng", tmp_path / "server.pcapng"])
    merged = sorted(client + server, key=lambda one: one.at)
    found = _read(tmp_path / "merged.pcapng", pcapng(merged))
    assert found.flows["side"].to_list() == ["both"]
    [said] = found.problems
    assert "both ends without their direction" in said
    _equal(found, expected, *SAME_CLOCK)


@pytest.mark.parametrize("name", KERNEL_CAPTURES)
def test_both_ends_on_one_interface_are_told_apart(name: str, tmp_path: Path) -> None:
    client, server = _ends(name)
    (tmp_path / "client.pcap").write_bytes(pcap(sorted(client, key=lambda one: one.at)))
    (tmp_path / "server.pcap").write_bytes(pcap(server))
    expected = rw.read([tmp_path / "client.pcap", tmp_path / "server.pcap"])
    found = _read(tmp_path / "merged.pcap", pcap(sorted(client + server, key=lambda one: one.at)))
    assert found.flows["side"].to_list() == ["both"]
    [said] = found.problems
    assert f"{len(client)} packets are there twice on one interface" in said
    _equal(found, expected, *SAME_CLOCK)


@pytest.mark.parametrize("interface", [0, 2])
@pytest.mark.parametrize("name", [*KERNEL_CAPTURES, "fallback"])
def test_copies_at_one_place_are_counted_once(name: str, interface: int, tmp_path: Path) -> None:
    """A mirror port that shows each packet twice; a bridge and its port."""
    once = packets((KERNEL / f"{name}.pcapng").read_bytes())
    copies = [one.later(3_000 + one.length, one.interface + interface) for one in once]
    found = _read(tmp_path / "twice.pcapng", pcapng(sorted(once + copies, key=lambda one: one.at)))
    expected = rw.read([KERNEL / f"{name}.pcapng"])
    [said] = found.problems
    assert f"{len(once)} packets are copies of others" in said
    assert found.packets == expected.packets
    _equal(found, expected)


def test_a_run_without_directions_is_that_of_both_ends(tmp_path: Path) -> None:
    scenario = rw.Scenario.load(ROOT / "scenarios" / "two-geo-beams.toml", [("duration", "8s")])
    whole = scenario.run([1], capture=rw.Capture(tmp_path)).captures[1]
    found = _read(tmp_path / "plain.pcapng", without_options(whole.read_bytes()))
    assert len(found.problems) == 1
    _equal(found, rw.read([whole]))


def test_a_capture_that_has_each_packet_once_has_no_copies() -> None:
    for file in sorted(KERNEL.glob("*.pcap*")):
        assert not any("copies" in said or "twice" in said for said in rw.read([file]).problems), file.name
