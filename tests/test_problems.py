"""Sentences of a run about flows that went wrong, above all at proxies."""

import json
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import ROOT, Ropewalk
from ropewalk.problems import problems

CRASH = '\n[[event]]\nat = "10s"\nproxy = "pep"\ncrash = "silent"\n'


def shipped(name: str) -> rw.Scenario:
    return rw.Scenario.load(ROOT / "scenarios" / f"{name}.toml")


def test_a_transfer_without_an_end_and_its_proxy_are_told(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = ROOT / "scenarios" / "proxy-on-one-subflow.toml"
    told = ropewalk("run", file, "--out", tmp_path / "out").stdout
    assert "upload: did not complete in 1 of 1 replications: nothing arrived after 0.279 s" in told
    assert "the proxy at gateway acknowledged up to 28.6 kB at connection level that it never had" in told
    assert "the window of the proxy at gateway passed that of the receiver by up to 40 kB" in told
    assert "ahead kB" in told
    assert "beyond kB" in told
    _, last = json.loads(ropewalk("run", file, "--json").stdout)["legs"]
    assert (last["data_ack_ahead_bytes"]["mean"], last["window_beyond_bytes"]["max"]) == (28560, 39984)
    report = tmp_path / "report.html"
    assert ropewalk("report", tmp_path / "out", "--out", report).returncode == 0
    assert "acknowledged up to 28.6 kB at connection level" in report.read_text(encoding="utf-8")


def test_a_correct_proxy_completes_and_nothing_is_told_of_it() -> None:
    changes = [("path.a1.to", "gateway"), ("proxy.pep.kind", "mptcp"), ("proxy.pep.client.kind", "mptcp")]
    results = shipped("proxy-on-one-subflow").override(changes).run()
    assert problems(results) == [
        "upload: MPTCP on terminal - gateway, plain TCP on gateway - server, in 1 of 1 replications"
    ]
    assert results.flows["completed"].all()
    assert [leg["data_ack_ahead_bytes"] for leg in results.summary()["legs"]] == [None, None]


def test_a_silent_crash_says_what_never_arrived() -> None:
    text = (ROOT / "scenarios" / "geo-split-proxy.toml").read_text(encoding="utf-8") + CRASH
    told = problems(rw.Scenario.parse(text, "crash.toml").run([1]))
    lost = "MB that the proxy at gateway had acknowledged never arrived, in 1 of 1 replications: "
    crash = "the proxy at gateway crashed at 10s"
    assert any(line.startswith("download: did not complete in 1 of 1 replications: nothing") for line in told)
    assert any(line.startswith("download: 1.") and line.endswith(lost + crash) for line in told), told
    assert any(line.startswith(f"upload: {crash}; nothing arrived") for line in told)


def test_transfers_without_a_size_have_no_end_to_miss() -> None:
    text = (ROOT / "scenarios" / "two-geo-beams.toml").read_text(encoding="utf-8")
    scenario = rw.Scenario.parse(text, "beams.toml").override([("duration", "3s")])
    assert not [line for line in problems(scenario.run([1])) if "did not complete" in line]


@pytest.mark.parametrize("client", ["mptcp", "tcp"])
def test_fallback_is_told_by_leg_where_mptcp_ends_at_a_proxy(client: str) -> None:
    scenario = shipped("converter-beside-the-way").override([("proxy.converter.client.kind", client)])
    results = scenario.run([1, 2], series=False)
    [told] = [line for line in problems(results) if line.startswith("download")]
    if client == "mptcp":
        assert told == "download: MPTCP on pop - terminal, plain TCP on server - pop, in 2 of 2 replications"
        assert set(results.legs.filter(results.legs["leg"] == 1)["transport"]) == {"mptcp"}
    else:
        assert told == "download: fell back to TCP in 2 of 2 replications"
        assert set(results.legs["transport"]) == {"tcp"}
