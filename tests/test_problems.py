"""Sentences of a run about flows that went wrong, above all at proxies."""

import json
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import ROOT, Ropewalk
from ropewalk.limits import FAILED, limits
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
    # A loss of the upload is under way at 6.5 s, so that the proxy holds what it has acknowledged.
    at_once = text.replace('at = "10s"', 'at = "6500ms"')
    told = problems(rw.Scenario.parse(at_once, "crash.toml").run([1]))
    lost = "kB that the proxy at gateway had acknowledged never arrived, in 1 of 1 replications: "
    crash = "the proxy at gateway crashed at 6500ms"
    assert any(line.startswith("download: did not complete in 1 of 1 replications: nothing") for line in told)
    assert any(line.startswith("upload: 2.9 ") and line.endswith(lost + crash) for line in told), told
    assert any(line.startswith(f"download: {crash}; nothing arrived") for line in told)
    # A transfer that was over before is not told of it.
    early = rw.Scenario.parse(text.replace('size = "2MB"', 'size = "200kB"'), "crash.toml")
    assert not [line for line in problems(early.run([1])) if line.startswith("upload")]


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


HYBRID = {
    "flow.download.app.size": "5MB",
    "flow.download.to": "box",
    "proxy.box.flows": "[]",
    "flow.download.transport.kind": "mptcp",
    "proxy.gateway.node": "station",
    "proxy.gateway.kind": "split",
    "proxy.gateway.client.kind": "tcp",
}
"""MPTCP over LTE and a satellite with a proxy that splits TCP, as in the study of proxies."""
SETS = [word for key, value in HYBRID.items() for word in ("--set", f"{key}={value}")]


def test_a_join_that_a_proxy_refuses_is_told_everywhere(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file, out = ROOT / "scenarios" / "hybrid-access-proxies.toml", tmp_path / "out"
    told = ropewalk("run", file, *SETS, "--out", out).stdout
    sentence = (
        "a join from box to station over satellite failed in 3 of 3 replications: the answer to MP_JOIN had "
        "no MP_JOIN; the proxy there does not know the connection"
    )
    assert f"download: {sentence}" in " ".join(told.split())
    table = told[told.index("Joins that failed") :]
    assert "box - station   satellite       3   the answer to MP_JOIN had no MP_JOIN" in table
    [join] = json.loads(ropewalk("run", file, *SETS, "--json").stdout)["failed_joins"]
    assert (join["from_node"], join["to_node"], join["path"]) == ("box", "station", "satellite")
    assert (join["replications"], join["joins"]) == (3, 3)
    assert rw.Results.read(out).failed_joins.height == 3
    assert ropewalk("report", out).returncode == 0
    assert sentence in (out / "report.html").read_text(encoding="utf-8")
    said = " ".join(ropewalk("why", file, *SETS, "--effort", "quick").stdout.split())
    assert "Nothing is wrong" not in said
    assert "1. proxy (" in said
    assert "--set 'proxy.gateway.flows=[]' " in said
    assert "--set proxy.gateway.node=gateway --set proxy.gateway.kind=mptcp" in said
    assert "A join from box to station over satellite failed" in said
    [flow] = json.loads(ropewalk("why", file, *SETS, "--effort", "quick", "--json").stdout)["flows"]
    assert (flow["reasons"][0]["cause"], len(flow["failed_joins"])) == ("proxy", 1)


def test_results_of_an_earlier_version_have_no_failed_joins() -> None:
    results = shipped("hybrid-access-proxies").override(list(HYBRID.items())).run([1], series=False)
    assert any("a join from box" in line for line in problems(results))
    results.tables["failed_joins"] = results.tables["failed_joins"].select([])
    assert not [line for line in problems(results) if "join" in line]
    assert results.summary()["failed_joins"] == []
    assert shipped("two-geo-beams").override([("duration", "3s")]).run([1]).failed_joins.is_empty()


def test_a_crash_is_no_path_that_is_down_and_has_a_price(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "crash.toml"
    text = (ROOT / "tests" / "why" / "proxy-crash.toml").read_text(encoding="utf-8")
    file.write_text(text.replace('"silent"', '"reset"'))
    told = ropewalk("run", file).stdout
    assert "dl: limits by time: connection failed 75 %" in told
    assert "path down" not in told.replace("\n", " ")
    said = " ".join(ropewalk("why", file, "--effort", "quick").stdout.split())
    assert "connection failed 75 %" in said
    assert "path down" not in said
    assert "Without it (--set event.0.at=19.999s): 9.15 Mbit/s, 4.5" in said
    [flow] = json.loads(ropewalk("why", file, "--effort", "quick", "--json").stdout)["flows"]
    assert flow["budget"]["path_down"] > 0.7
    assert flow["reasons"][0]["without"]["goodput_ratio"]["mean"] > 4
    down = rw.Scenario.load(ROOT / "tests" / "why" / "path_down.toml").run([1])
    assert all(row.shares[FAILED] == 0.0 for row in limits(down))
