"""Settings of the reproduction of Yedugundla et al. 2016 that no claim looks at."""

import polars as pl
import pytest

import game_traces
import ropewalk as rw
from conftest import ROOT

PLACE = ROOT / "reproductions" / "yedugundla2016"


def test_a_full_segment_of_mptcp_carries_1428_bytes() -> None:
    study = rw.Study.load(PLACE / "study-video.toml", reading="as-described")
    case = next(case for case in study.plan.cases if case.name == "WLAN-WLAN / no / MPTCP")
    scenario = rw.Scenario.parse(case.text, "a-full-segment.toml")
    scenario = scenario.set("path.one.both.loss", "none").set("path.two.both.loss", "none")
    results = scenario.set("flow.app.app", {"kind": "bulk", "size": "1428kB"}).run(seeds=[1])
    subflows = results.subflows.filter(pl.col("flow") == "app")
    segments = int(subflows["segments_sent"].sum())
    assert segments >= 1000
    assert int(subflows["bytes_sent"].sum()) == 1428 * segments


@pytest.mark.parametrize("number", game_traces.SESSIONS)
def test_the_games_are_those_of_their_tool(number: int) -> None:
    assert (PLACE / f"game-{number}.txt").read_text(encoding="utf-8") == game_traces.session(number)
