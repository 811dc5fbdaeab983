"""The comparison with ns-3: its parts, and figures of ns-3 that are on record."""

import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import cases
import mends
import page
import ropewalk as rw
import simulators
import speed
import validate
import verdicts
from conftest import ROOT
from ropewalk import statistics
from ropewalk.scenario import Value
from ropewalk.statistics import Estimate


def estimate(mean: float, ci95: float | None = None) -> Estimate:
    return Estimate(mean, ci95, mean, mean, 8)


def one(name: str) -> cases.Case:
    (case,) = (case for case in cases.load() if case.name == name)
    return case


def recorded() -> list[dict[str, object]]:
    figures = tomllib.loads(page.RECORD.read_text(encoding="utf-8"))["figure"]
    assert isinstance(figures, list)
    return figures


@pytest.mark.parametrize("name", sorted({str(figure["case"]) for figure in recorded()}))
def test_figures_agree_with_those_of_ns3_on_record(name: str) -> None:
    case = one(name)
    runs = [simulators.ropewalk(case, seed) for seed in range(1, case.runs + 1)]
    for figure in recorded():
        if figure["case"] != name:
            continue
        metric, mean, ci95 = str(figure["metric"]), float(str(figure["mean"])), figure.get("ci95")
        ours = statistics.estimate(run.metric(metric) for run in runs)
        assert ours is not None
        theirs = estimate(mean, None if ci95 is None else float(str(ci95)))
        assert verdicts.agreement(theirs, ours), (
            f"{metric}: {verdicts.written(theirs)}, {verdicts.written(ours)}"
        )


def test_everything_that_is_to_be_recorded_is_on_record() -> None:
    wanted = {(case.name, metric) for case in cases.load() if case.recorded for metric in case.metrics}
    assert wanted == {(figure["case"], figure["metric"]) for figure in recorded()}


@pytest.mark.parametrize(
    ("ns3", "ours", "mended", "verdict"),
    [
        (estimate(1.0), estimate(1.04), estimate(9.0), "within 5 %"),
        (estimate(1.0, 0.2), estimate(1.29, 0.1), estimate(9.0), "intervals overlap"),
        (estimate(1.0), estimate(1.06), estimate(1.02), "explained: growth of CUBIC"),
        (estimate(1.0, 0.2), estimate(1.31, 0.1), estimate(1.1, 0.2), "explained: growth of CUBIC"),
        (estimate(1.0), estimate(1.06), estimate(1.0), verdicts.UNEXPLAINED),
        (estimate(0.0), estimate(1.0), estimate(0.0), verdicts.UNEXPLAINED),
    ],
)
def test_a_difference_is_explained_if_ns3_mended_agrees(
    ns3: Estimate, ours: Estimate, mended: Estimate, verdict: str
) -> None:
    row = verdicts.Row(one("chain/CUBIC/1e-3/1/on"), "goodput", ns3, ours)
    assert verdicts.explain(row, lambda _: mended).verdict == verdict


@pytest.mark.parametrize(
    ("figures", "cause"),
    [
        ({"socket": 1.98}, "the timer in a recovery"),
        ({"controller": 1.8, "socket": 2.1, "controller, recovery": 2.2}, "the timer in a recovery"),
        ({"controller": 1.85, "socket": 2.2}, "growth of CUBIC"),
        ({"controller": 2.02, "socket": 2.0}, "growth of CUBIC"),
        ({"controller": 1.85, "controller, recovery": 1.98}, "growth of CUBIC + PRR stalls"),
        ({"controller, socket": 2.0, "socket, recovery": 2.0}, "growth of CUBIC + the timer in a recovery"),
        (
            {"controller, socket, recovery": 2.0},
            "growth of CUBIC + the timer in a recovery + PRR stalls",
        ),
    ],
)
def test_a_cause_is_the_smallest_that_is_close_or_the_closest_that_overlaps(
    figures: dict[str, float], cause: str
) -> None:
    row = verdicts.Row(one("chain/CUBIC/1e-3/1/on"), "goodput", estimate(1.0), estimate(2.0, 0.2))
    found = verdicts.explain(row, lambda mends: estimate(figures.get(", ".join(mends), 1.0), 0.1))
    assert found.verdict == f"explained: {cause}"
    assert found.cause is not None
    assert len(found.cause.mends) == cause.count(" + ") + 1


def test_no_set_of_mends_is_tried_twice_and_none_after_the_first_that_is_close() -> None:
    tried: list[list[str]] = []

    def mended(mends: list[str]) -> Estimate:
        tried.append(mends)
        return estimate(2.0 if len(mends) == 2 else 1.0)

    row = verdicts.Row(one("chain/Vegas/1e-3/1/on"), "goodput", estimate(1.0), estimate(2.0))
    verdicts.explain(row, mended)
    alone = [["controller"], ["recovery"], ["samples"], ["socket"]]
    assert sorted(tried[:4]) == alone
    assert [len(mends) for mends in tried[4:]] == [2]


@pytest.mark.parametrize(("share", "runs"), [(0.5, 16), (1.0, 64)])
def test_ns3_mended_and_far_off_is_run_a_quarter_of_the_times(
    share: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = verdicts.Row(one("chain/CUBIC/1e-2/1/on"), "goodput", estimate(9.0), estimate(8.0, 0.1))
    seeds = []

    def run(_case: cases.Case, seed: int, _mends: list[str]) -> simulators.Outcome:
        seeds.append(seed)
        return simulators.Outcome([int(share * 1e6 * (100 + seed % 2))], [None], 100.0)

    ns3 = simulators.Ns3.__new__(simulators.Ns3)
    monkeypatch.setattr(ns3, "run", run)
    with ThreadPoolExecutor(1) as pool:
        found = validate._mended(pool, ns3, row, ["controller"])
    assert set(seeds) == set(range(1, runs + 1))
    assert found.n == runs
    assert found.mean == pytest.approx(8 * share, rel=0.02)


def test_explanations_explain_something() -> None:
    for why in verdicts.explanations():
        assert any(why.applies(case) for case in cases.load()), why.name
        assert why.mend in mends.MENDS


def test_the_page_has_every_figure_and_no_difference_without_explanation() -> None:
    text = (ROOT / page.PAGE).read_text(encoding="utf-8")
    assert verdicts.UNEXPLAINED not in text
    figures = sum(len(case.metrics) for case in cases.load())
    said = r"^\|.* \| [\d.]+(?: ± [\d.]+)? \| .* \| (?:within 5 %|intervals overlap|explained: .*) \|$"
    assert len(re.findall(said, text, re.MULTILINE)) == figures


def test_both_simulators_start_flows_at_the_same_times() -> None:
    case = one("parallel/5")
    translated = case.document(3).ns3_arguments()["flows"].split(",")
    starts = case.starts(3, 5)
    assert [float(flow.split(":")[2]) for flow in translated] == starts
    assert len(set(starts)) == 5
    assert all(0 < start < cases.FIRST_SECOND for start in starts)


def test_every_case_is_translated() -> None:
    for case in cases.load():
        assert case.document(1).ns3_arguments()["duration"] == f"{case.document(1).duration_s:g}"


def test_a_scenario_as_arguments_for_ns3() -> None:
    case = one("download/1e-3")
    found = case.document(1).ns3_arguments()
    assert found["links"] == (
        "0:1:5ms:100Mbps/100p/none:100Mbps/100p/none,1:2:250ms:2048kbps/100p/packet=0.001:256kbps/100p/none"
    )
    assert (found["nodes"], found["flows"], found["bytes"]) == ("3", "0:2:0:0:1", "50000000")
    assert found["ns3::TcpSocket::RcvBufSize"] == found["ns3::TcpSocket::SndBufSize"] == "65535"
    assert found["ns3::TcpSocketBase::WindowScaling"] == "false"
    assert found["ns3::TcpSocket::DelAckCount"] == "2"
    assert found["ns3::TcpL4Protocol::SocketType"] == "ns3::TcpNewReno"


def test_meshes_become_links_and_their_ends_pass_nothing_on() -> None:
    case = one("layers/5")
    found = case.document(1).ns3_arguments()
    assert len(found["links"].split(",")) == 2 * (5 * 3 + 3 * 4 + 4 * 6)
    assert found["ends"] == "0,1,2,3,4,25,26,27,28,29"
    assert len(found["flows"].split(",")) == 25


def test_a_path_is_a_link() -> None:
    chain = (cases.HERE / "scenarios" / "chain.toml").read_text(encoding="utf-8")
    tcp = chain[chain.index("[flow.transport]") :]
    ways = 'up = { rate = "4Mbit/s" }\ndown = { rate = "1Mbit/s" }\n'
    path = f'[[path]]\nname = "a"\nboth = {{ delay = "20ms" }}\n{ways}'
    flow = '[[flow]]\nname = "f"\nfrom = "server"\nto = "terminal"\napp = "bulk"\n'
    found = rw.Scenario.parse(f'name = "x"\nduration = "9s"\n{path}{flow}{tcp}').ns3_arguments()
    assert found["links"] == "0:1:20ms:4Mbps/100p/none:1Mbps/100p/none"
    assert found["flows"] == "1:0:0:0:1"
    two = path + path.replace('"a"', '"b"')
    with pytest.raises(rw.ScenarioError, match=r"path\.b: found .* allowed: one between two nodes"):
        rw.Scenario.parse(f'name = "x"\nduration = "9s"\n{two}{flow}{tcp}').ns3_arguments()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("link.up.forward.queue", "100kB", 'link.up.forward.queue: found "100kB"'),
        ("link.up.forward.delay", "1ms", 'link.up.reverse.delay: found "275ms"'),
        ("flow.flow1.transport.pacing", True, "transport.pacing: found true, .* allowed: false"),
        ("flow.flow1.stop", "10s", "flow.flow1.stop: found .* allowed: the end of the run"),
        ("flow.flow1.app", "http", 'flow.flow1.opened_by: found "receiver"'),
    ],
)
def test_what_ns3_has_not_is_refused(key: str, value: Value, message: str) -> None:
    scenario = rw.Scenario.load(cases.HERE / "scenarios" / "chain.toml")
    with pytest.raises(rw.ScenarioError, match=message):
        scenario.set(key, value).ns3_arguments()


def test_all_that_ns3_has_not_is_told_at_once_and_where(tmp_path: Path) -> None:
    text = (cases.HERE / "scenarios" / "chain.toml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text(re.sub(r"(?m)^(rto_max|overhead) .*\n", "", text), encoding="utf-8")
    done = _validate("--scenario", str(mine))
    assert (done.returncode, done.stdout) == (1, "")
    *mistakes, cure = done.stderr.splitlines()
    found = [line.split(": ")[1] for line in mistakes if line.startswith(f"{mine}:")]
    assert found == ["flow.flow1.transport.overhead", "flow.flow1.transport.rto_max"]
    assert cure.endswith("as in validation/scenarios/chain.toml have counterparts")
    nowhere = _validate("--scenario", str(tmp_path / "nowhere.toml")).stderr
    assert nowhere.startswith(f"--scenario {tmp_path / 'nowhere.toml'}: there is no such file\n  fix: ")


def _validate(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(cases.HERE / "validate.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_each_flow_of_a_scenario_has_a_goodput(tmp_path: Path) -> None:
    text = (cases.HERE / "scenarios" / "chain.toml").read_text(encoding="utf-8")
    more = text.replace('name = "flow1"', 'name = "flow1"\ncount = 2')
    mine = tmp_path / "mine.toml"
    mine.write_text(more + '\n[[flow]]\nname = "b"\nlike = "flow1"\n', encoding="utf-8")
    assert cases.of_scenario(mine).metrics == ("goodput", "jain", *(f"goodput {i}" for i in range(1, 5)))


def test_the_first_segment_is_acknowledged_at_once() -> None:
    each = rw.Scenario.load(cases.HERE / "scenarios" / "chain.toml")
    later = each.set("flow.flow1.transport.quick_acks", 0)
    assert later.ns3_arguments() == each.ns3_arguments()
    with pytest.raises(rw.ScenarioError, match=r"quick_acks: found 0, .* allowed: 1"):
        later.set("flow.flow1.transport.ack_every", 2).ns3_arguments()


def test_other_numbers_reach_both_simulators() -> None:
    command = ["--only", "chain/NewReno/1e-3/1/on", "--seeds", "3", "--flows", "2"]
    options = validate.arguments([*command, "--set", "link.up.both.rate=7Mbit/s"])
    (case,) = validate.choose(options)
    assert (case.seeds, case.flows) == (3, 2)
    assert 'rate = "7Mbit/s"' in case.document(1).show()
    assert "7Mbps/100p/none" in case.document(1).ns3_arguments()["links"]


@pytest.mark.parametrize("words", [["--seeds", "0"], ["--flows", "-1"], ["--set", "rate"], ["--only", "x"]])
def test_mistakes_of_the_command_line_are_named(words: list[str]) -> None:
    with pytest.raises(SystemExit, match=words[1]):
        validate.choose(validate.arguments(words))


@pytest.mark.parametrize(
    ("queue", "lengths"),
    [("20p", ["20p", "24p", "15p"]), ('"20p"', ["20p", "24p", "15p"]), ("3p", ["3p", "7p", "1p"])],
)
def test_queues_vary_about_the_length_of_the_command_line(queue: str, lengths: list[str]) -> None:
    options = validate.arguments(["--only", "chain/CUBIC/0/1/on", "--set", f"link.up.both.queue={queue}"])
    (case,) = validate.choose(options)
    for seed, length in zip((1, 2, 6), lengths, strict=True):
        assert case.document(seed).ns3_arguments()["links"].count(f"/{length}/") == 2


@pytest.mark.parametrize(("flows", "starts"), [("1", ["3"]), ("3", ["3", "3", "3"])])
def test_flows_start_when_the_command_line_says(flows: str, starts: list[str]) -> None:
    words = ["--only", "chain/CUBIC/0/1/on", "--flows", flows, "--set", "flow.flow1.start=3s"]
    (case,) = validate.choose(validate.arguments(words))
    translated = case.document(1).ns3_arguments()["flows"].split(",")
    assert [flow.split(":")[2] for flow in translated] == starts


def test_what_is_mended_is_what_an_explanation_names() -> None:
    plain = one("chain/Vegas/1e-3/1/on").document(1).ns3_arguments()
    found = mends.mended(plain, ["socket", "controller", "recovery", "samples"])
    assert {key: value for key, value in found.items() if plain.get(key) != value} == {
        "sockets": "ns3::TcpMendedSocketFactory",
        "ns3::TcpL4Protocol::SocketType": "ns3::TcpMendedVegas",
        "ns3::TcpL4Protocol::RecoveryType": "ns3::TcpMendedPrrRecovery",
        "ns3::RttMeanDeviation::Alpha": "1",
        "ns3::TcpSocketBase::Timestamp": "false",
    }
    assert mends.mended(plain, []) == mends.mended(plain, ["mtu"]) == plain


def test_what_ns3_does_by_itself_is_in_its_arguments_and_can_be_mended() -> None:
    case = one("traps/MSS of 1460 bytes")
    plain = case.document(1).ns3_arguments()
    assert (plain | case.ns3)["ns3::PointToPointNetDevice::Mtu"] == "1500"
    assert mends.mended(plain | case.ns3, ["mtu"]) == plain


def test_runs_that_do_not_complete_are_not_left_out() -> None:
    with pytest.raises(ValueError, match="1 of 2 runs of ns-3 end without completion"):
        verdicts.figure(one("download/0"), "completion", "ns-3", [400.0, None])
    assert simulators.Outcome([1, 1], [10.0, None], 1.0).metric("completion") is None
    assert simulators.Outcome([1, 1], [10.0, 20.0], 1.0).metric("completion") == 15


def test_a_scenario_of_its_own() -> None:
    path = cases.HERE / "scenarios" / "download.toml"
    (case,) = validate.choose(validate.arguments(["--scenario", str(path)]))
    assert (case.name, case.metrics, case.recorded) == ("download", ("completion",), False)


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(ValueError, match="there is no metric delay; metrics: goodput"):
        simulators.Outcome([1], [None], 1.0).metric("delay")


def test_benchmarks_are_translated_or_it_is_said_what_ns3_has_not() -> None:
    refused = {}
    for case in speed.benches():
        try:
            assert case.document(1).ns3_arguments()["ns3::TcpSocketBase::Sack"] == "true"
        except rw.ScenarioError as why:
            refused[case.name] = why.diagnostics
    keys = {name: {one.key for one in found} for name, found in refused.items()}
    of_mptcp = {name for name, found in keys.items() if any(key.endswith("transport.kind") for key in found)}
    assert of_mptcp == {"fifteen-subflows", "two-fast-paths", "two-paths"}
    assert "path.cell.up.delay" in keys["varying-codel"]
    assert len(refused) == 4
