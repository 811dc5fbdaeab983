"""Captures read back: of runs, whose tables they give, and of a kernel, as other programs read them."""

import json
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from conftest import ROOT, Ropewalk
from ropewalk import captures

KERNEL = ROOT / "crates" / "dissect" / "tests" / "captures"


@pytest.mark.parametrize(
    "name",
    [
        "two-geo-beams",
        "geo-plus-lte",
        "path-outage",
        "path-removal",
        "path-join",
        "two-geo-beams-two-terminals",
    ],
)
def test_a_capture_of_a_run_gives_the_figures_of_the_run(name: str, tmp_path: Path) -> None:
    scenario = rw.Scenario.load(ROOT / "scenarios" / f"{name}.toml")
    results = scenario.run([1], capture=rw.Capture(tmp_path))
    reading = captures.read([results.captures[1]])
    assert reading.problems == []
    assert (reading.subflows["unmapped_bytes"].fill_null(0) == 0).all()
    table = results.subflows.filter(~pl.col("flow").cast(pl.String).str.contains("@"))
    sent = ["segments_sent", "retransmitted_segments"]
    at_sender = reading.subflows.filter(pl.col("retransmitted_segments").is_not_null())
    expected = table.filter(pl.col("segments_sent") > 0).select(sent).sort(sent)
    assert at_sender.select(sent).sort(sent).rows() == expected.rows()
    # The receiver has each byte once: goodput over the life of the flow is these bytes.
    at_receiver = reading.flows.filter(pl.col("retransmitted_segments").is_null())
    delivered = results.flows.filter(~pl.col("flow").cast(pl.String).str.contains("@"))["delivered_bytes"]
    arrived = at_receiver["bytes"].sort().to_list()
    # Bytes behind a gap have arrived and are not delivered yet.
    for found, told in zip(arrived, delivered.sort().to_list(), strict=True):
        assert told <= found < told * 1.2 + 100_000


def test_reinjected_bytes_are_those_of_the_kernel() -> None:
    reading = captures.read([KERNEL / "reinjection.pcapng"])
    assert reading.subflows["reinjected_bytes"].to_list() == [152_256, 55_448]
    assert reading.flows.select("transport", "side", "bytes", "subflows").rows() == [
        ("mptcp", "client", 350_000, 2)
    ]


def test_several_files_are_read_together() -> None:
    files = [KERNEL / "fallback.pcapng", KERNEL / "late-add-addr.pcapng"]
    reading = captures.read(files)
    assert sorted(reading.flows["bytes"]) == [60_000, 300_000]
    assert reading.packets == 81 + 445


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_tables_fit_the_terminal(ropewalk: Ropewalk, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = ropewalk("read", str(KERNEL / "two-subflows.pcapng"))
    assert done.returncode == 0, done.stderr
    assert "10.78.1.1:46888 to 10.78.1.2:5001" in done.stdout
    assert "978 packets" in done.stdout


def test_json_and_files(ropewalk: Ropewalk, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = ropewalk("read", str(KERNEL / "two-subflows.pcapng"), "--json", "--out", str(out))
    found = json.loads(done.stdout)
    assert (found["packets"], found["problems"], found["flows"][0]["bytes"]) == (978, [], 700_000)
    assert pl.read_csv(out / "subflows.csv")["retransmitted_segments"].to_list() == [3, 7]


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
