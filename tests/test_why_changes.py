"""The changes that `ropewalk why` tries, before it runs them."""

from pathlib import Path

import pytest

import ropewalk as rw
from conftest import ROOT
from ropewalk.errors import ScenarioError
from ropewalk.facts import Facts
from ropewalk.why.diagnosis import look, plan
from ropewalk.why.trial import Bench, Effort, changed
from ropewalk.why.usual import unusual

PLANTED = sorted((ROOT / "tests" / "why").glob("*.toml"))
SHIPPED = [
    ROOT / "scenarios" / f"{name}.toml"
    for name in (
        "geo-split-proxy",
        "proxy-on-one-subflow",
        "space-transports",
        "train-tunnels-video",
        "wlan-lte-cmt",
    )
]


@pytest.mark.parametrize("file", [*PLANTED, *SHIPPED], ids=lambda file: file.stem)
def test_the_scenario_can_have_every_change(file: Path) -> None:
    """A change that is refused would be left out in silence, and with it what it may be worth."""
    scenario = rw.Scenario.load(file)
    if file in SHIPPED:
        scenario = scenario.override([("duration", "8s")])
    facts = Facts.of(scenario)
    bench = Bench(scenario, facts, Effort(2, 2, 1e6), seeds=[1, 2], jobs=None, progress=None)
    planned = plan([look(bench, facts, flow) for flow in facts.flows])
    assert planned
    for candidate, _ in planned:
        try:
            changed(scenario, candidate.settings)
        except ScenarioError as refused:
            pytest.fail(f"{candidate.cause}: {candidate.settings}: {refused}")


def test_settings_that_are_those_of_the_profile_are_not_unusual() -> None:
    scenario = rw.Scenario.parse(
        """\
duration = "5s"
path = [{ name = "a", both = { rate = "1Mbit/s", delay = "1ms" } }]
flow = [{ name = "dl", from = "terminal", to = "server", transport = { KEYS } }]
""".replace(
            "KEYS",
            'kind = "tcp", ack_every = 4, window_scaling = true, pacing = false, rto_max = "120s"',
        )
    )
    [flow] = Facts.of(scenario).flows
    assert unusual(flow, flow.transport) == {"ack_every": "2"}


def test_replications_over_an_exact_constellation_differ() -> None:
    """Jitter does not act there, and no delay is a constant: the rates are varied."""
    scenario = rw.Scenario.parse(
        """\
duration = "5s"
[[path]]
name = "leo"
[path.both]
rate = "100Mbit/s"
queue = "400p"
delay = { kind = "walker", altitude = 550, inclination = 53, planes = 72, per_plane = 22, phasing = 39, \
terminal_lat = 57.7, terminal_lon = 12, gateway_lat = 53.6, gateway_lon = 10 }
[[flow]]
name = "dl"
from = "server"
to = "terminal"
transport = { kind = "tcp", receive_buffer = "64KiB", receive_buffer_max = "64KiB" }
"""
    )
    [flow] = scenario.why(effort="quick").flows
    assert flow.reasons[0].cause == "receive_window"
    best = flow.reasons[0].cures[0].ratio
    assert best.n == 5
    assert best.ci95
    assert best.mean - best.ci95 > 1


BONDED = """\
duration = "5s"
path = [
    { name = "a", both = { rate = "4Mbit/s", delay = "10ms" } },
    { name = "b", both = { rate = "4Mbit/s", delay = "90ms" } },
]
flow = [{ name = "dl", from = "server", to = "terminal", transport = { kind = "mptcp", KEYS } }]
"""
LIMIT = "flow.dl.transport.subflow_unsent_limit"


@pytest.mark.parametrize(
    ("keys", "limits"),
    [
        ('congestion = "cubic"', []),
        ('congestion = "lia", scheduler = "minrtt"', []),
        ('congestion = "lia"', ["16KiB"]),
        # Schedulers that queue nothing have nothing to limit.
        ('congestion = "lia", subflow_unsent_limit = "16KiB"', ["unlimited"] * 4),
    ],
)
def test_a_limit_for_what_waits_on_a_subflow_is_tried_where_linux_can_have_it(
    keys: str, limits: list[str]
) -> None:
    scenario = rw.Scenario.parse(BONDED.replace("KEYS", keys))
    facts = Facts.of(scenario)
    bench = Bench(scenario, facts, Effort(2, 2, 1e6), seeds=[1, 2], jobs=None, progress=None)
    planned = [candidate for candidate, _ in plan([look(bench, facts, flow) for flow in facts.flows])]
    tried = [dict(candidate.settings) for candidate in planned if candidate.cause == "scheduler"]
    assert [settings[LIMIT] for settings in tried if LIMIT in settings] == limits
    for candidate in planned:
        changed(scenario, candidate.settings)
