"""Models of a link that `ropewalk why` changes: outages, other losses, packets that overtake each other."""

from pathlib import Path

import pytest

import ropewalk as rw
from conftest import ROOT
from ropewalk.facts import Facts, Way
from ropewalk.statistics import Estimate
from ropewalk.why.models import fades, is_lossy, without_fades, without_losses
from ropewalk.why.outages import outages, without_outages
from ropewalk.why.reordering import in_order, reorders

USUAL = {"rate": "'5Mbit/s'", "delay": "'20ms'", "queue": "'50p'"}
TEXT = """\
duration = "5s"
[[path]]
name = "sat"
both = { KEYS }
up = {}
down = {}
[[flow]]
name = "dl"
from = "server"
to = "terminal"
transport = { kind = "tcp" }
"""


def scenario_with(**keys: str) -> tuple[rw.Scenario, Way]:
    """A link with some keys, and the direction of the data."""
    link = ", ".join(f"{key} = {value}" for key, value in {**USUAL, **keys}.items())
    scenario = rw.Scenario.parse(TEXT.replace("KEYS", link))
    return scenario, Facts.of(scenario).flows[0].data[0]


TUNNELS = "kind = 'lutz', speed = 50, distance_good = 1000, distance_bad = 200"
MODELS = [
    # Model, seconds of a fade, changes that take the fades away, changes that take the other losses away.
    (f"{{ {TUNNELS} }}", 4.0, {"loss_bad": 0.0}, None),
    (f"{{ {TUNNELS}, loss_good = 0.01 }}", 4.0, {"loss_bad": 0.01}, {"loss_good": 0.0}),
    (f"{{ {TUNNELS}, loss_bad = 0.3 }}", None, None, "none"),
    ("{ kind = 'gilbert_time', mean_good = '9s', mean_bad = '1s' }", 1.0, "none", None),
    ("{ kind = 'gilbert_time', mean_good = '9s', mean_bad = '5ms' }", None, None, "none"),
    ("{ kind = 'bursty_time', loss = 0.1, burst = '2s' }", 2.0, "none", None),
    (
        "{ kind = 'semi_markov', dwell = ['9s', '1s'], losses = [0.01, 1] }",
        1.0,
        {"losses": [0.01, 0.01]},
        {"losses": [0.0, 1.0]},
    ),
    (
        "{ kind = 'on_off', mean_on = '9s', variance_on = 1, mean_off = '3s', variance_off = 1, "
        "loss = 1, ber = 1e-6 }",
        3.0,
        {"loss": 0.0},
        {"ber": 0.0},
    ),
    ("{ kind = 'packet', probability = 0.02 }", None, None, "none"),
]


@pytest.mark.parametrize("in_list", [False, True])
@pytest.mark.parametrize(("loss", "lasting_s", "faded", "cleared"), MODELS)
def test_a_fade_is_an_outage_and_other_losses_are_not(
    loss: str, lasting_s: float | None, faded: object, cleared: object, *, in_list: bool
) -> None:
    scenario, way = scenario_with(loss=f"[{loss}]" if in_list else loss)
    assert [time for _, time in fades(way)] == ([] if lasting_s is None else [lasting_s])
    assert is_lossy(way) is (cleared is not None)
    before = way.settings["loss"][0] if in_list else way.settings["loss"]
    for settings, expected in ((without_fades(way), faded), (without_losses(way), cleared)):
        if expected is None:
            assert settings == ()
            continue
        after = Facts.of(scenario.override(settings)).flows[0].data[0].settings["loss"]
        after = after[0] if in_list else after
        assert after == ({**before, **expected} if isinstance(expected, dict) else expected)


@pytest.mark.parametrize(
    ("rate", "raised"),
    [
        (
            "{ kind = 'steps', times = ['0s', '1s', '2s', '3s'], "
            "rates = ['9Mbit/s', '0bit/s', '0bit/s', '4Mbit/s'] }",
            ["9Mbit/s", "9Mbit/s", "9Mbit/s", "4Mbit/s"],
        ),
        (
            "{ kind = 'markov', rates = ['9Mbit/s', '0bit/s', '4Mbit/s'], dwell = ['1s', '1s', '1s'] }",
            ["9Mbit/s", "4Mbit/s", "4Mbit/s"],
        ),
    ],
)
def test_a_rate_of_zero_in_a_list_of_both_directions_is_an_outage(rate: str, raised: list[str]) -> None:
    scenario, _ = scenario_with(rate=f"['20Mbit/s', {rate}]")
    facts = Facts.of(scenario)
    [flow] = facts.flows
    assert outages(facts, flow) == ["sat.down and sat.up (rate 0 at times)"]
    [settings] = without_outages(facts, flow)
    for way in Facts.of(scenario.override(settings)).flows[0].data:
        assert way.settings["rate"][0] == "20Mbit/s"
        assert way.settings["rate"][1]["rates"] == raised


def test_a_measured_rate_of_zero_is_an_outage_if_it_lasts_longer_than_a_timer(tmp_path: Path) -> None:
    # 0 for 50 ms, which no timer notices, and for 2 s.
    (tmp_path / "lte.csv").write_text("time_s,rate_Mbit/s\n0,18\n1,0\n1.05,20\n2,0\n4,12.3456789\n")
    scenario, _ = scenario_with(rate=f"{{ kind = 'series', file = '{tmp_path / 'lte.csv'}' }}")
    facts = Facts.of(scenario)
    [flow] = facts.flows
    assert outages(facts, flow) == ["sat.down and sat.up (rate 0 at times, up to 2 s long)"]
    [settings] = without_outages(facts, flow)
    edges = [0.0, 1.0, 1.05, 2.0, 4.0, 5.0]
    before = scenario.capacity("sat.down", edges)
    after = scenario.override(settings).capacity("sat.down", edges)
    # Whole bits per second are what a scenario takes.
    assert [round(one / 1e3) for one in after[:3] + after[4:]] == [
        round(one / 1e3) for one in before[:3] + before[4:]
    ]
    assert before[3] == 0
    assert 12.4e6 < after[3] < 20e6


def test_a_trace_of_opportunities_with_a_gap_is_an_outage(tmp_path: Path) -> None:
    trace = tmp_path / "lte.down"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 5001) if not 1000 < ms <= 3000))
    scenario, _ = scenario_with(rate=f"{{ kind = 'opportunities', file = '{trace}' }}")
    facts = Facts.of(scenario)
    [flow] = facts.flows
    assert outages(facts, flow) == ["sat.down and sat.up (rate 0 at times, up to 2 s long)"]
    [settings] = without_outages(facts, flow)
    assert min(scenario.override(settings).capacity("sat.down", [1.1, 2.9, 3.1])) == pytest.approx(
        12e6, rel=0.01
    )


def test_shares_of_faults_may_be_drawn() -> None:
    drawn = "{ draw = 'uniform', from = 0.001, to = 0.01 }"
    _, way = scenario_with(faults=f"{{ corrupt = {drawn}, reorder = {drawn} }}")
    assert is_lossy(way)
    assert reorders(way)
    assert without_losses(way) == (("path.sat.down.faults.corrupt", "0"),)
    _, way = scenario_with(faults="{ duplicate = 0.1 }")
    assert not is_lossy(way)
    assert not reorders(way)


def test_a_queue_of_one_bandwidth_delay_product_takes_the_mean_of_a_rate_that_varies() -> None:
    steps = "{ kind = 'steps', times = ['0s', '2.5s'], rates = ['4Mbit/s', '8Mbit/s'] }"
    cases: tuple[tuple[dict[str, str], str | None], ...] = (
        ({}, "1BDP"),
        # 6 Mbit/s for 40 ms there and back.
        ({"rate": steps}, "30000B"),
        ({"delay": "{ kind = 'uniform', min = '20ms', max = '30ms', reorder = false }"}, None),
    )
    for keys, wanted in cases:
        scenario, way = scenario_with(**keys)
        facts = Facts.of(scenario)
        found = facts.one_bdp(facts.flows[0], way)
        assert found == wanted
        if found:
            scenario.override([("path.sat.down.queue", found)])


def test_packets_overtake_each_other_by_faults_and_by_delays() -> None:
    scenario, way = scenario_with(faults="{ reorder = 0.1 }")
    assert reorders(way)
    facts = Facts.of(scenario)
    assert in_order(facts, facts.flows[0]) == (
        ("path.sat.down.faults.reorder", "0"),
        ("path.sat.up.faults.reorder", "0"),
    )
    jitter = "['5ms', { kind = 'uniform', min = '1ms', max = '9ms', reorder = true }]"
    scenario, _ = scenario_with(delay=jitter)
    facts = Facts.of(scenario)
    assert all(map(reorders, facts.flows[0].data))
    changed = scenario.override(in_order(facts, facts.flows[0]))
    assert not any(map(reorders, Facts.of(changed).flows[0].data))


def test_messages_that_are_late_for_another_cause_do_not_blame_the_application() -> None:
    [flow] = (
        rw.Scenario.load(ROOT / "tests" / "why" / "scheduler-messages.toml").why(effort="quick").flows[:1]
    )
    assert flow.budget["application"] > 0.3
    assert [reason.cause for reason in flow.reasons][:1] == ["scheduler"]
    assert "application" not in [reason.cause for reason in flow.reasons]


def test_a_change_that_is_told_can_be_pasted_into_a_shell() -> None:
    import shlex

    from ropewalk.why.model import Cure, FlowDiagnosis, Reason
    from ropewalk.why.text import flow_lines

    change = ("flow.dl.transport.endpoints", '[{path = "leo", flags = ["subflow"]}]')
    ratio = Estimate(mean=2.0, ci95=0.2, min=1.9, max=2.1, n=3)
    reason = Reason("handshake", 0.5, "leo never joined", (Cure((change,), ratio, 1e6),))
    told = " ".join(flow_lines(FlowDiagnosis("dl", None, {}, (reason,))))
    words = shlex.split(told[told.index("--set") :])
    assert words[:2] == ["--set", "=".join(change)]
