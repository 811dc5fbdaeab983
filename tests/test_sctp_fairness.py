"""Concurrent transfer beside one plain association on a shared link."""

import pytest

import ropewalk as rw
from conftest import ROOT

PAGE = ROOT / "docs" / "reference" / "congestion" / "rpv1.md"
TEXT = """
duration = "60s"
[[node]]
name = "terminal"
[[node]]
name = "neighbour"
[[node]]
name = "router"
[[node]]
name = "server"
[[link]]
name = "first"
ends = ["terminal", "router"]
both = { rate = "100Mbit/s", delay = "1ms" }
[[link]]
name = "second"
like = "first"
ends = ["terminal", "router"]
[[link]]
name = "third"
like = "first"
ends = ["neighbour", "router"]
[[link]]
name = "bottleneck"
ends = ["router", "server"]
both = { rate = "10Mbit/s", delay = { draw = "uniform", from = "18.8ms", to = "19.2ms" }, queue = "50p" }
[[flow]]
name = "concurrent"
from = "terminal"
to = "server"
app = { kind = "bulk" }
transport = { kind = "cmt-sctp", congestion = "CONTROL" }
[[flow]]
name = "plain"
from = "neighbour"
to = "server"
app = { kind = "bulk" }
transport = { kind = "sctp" }
"""
SEEDS = 5


@pytest.mark.parametrize(("control", "shares"), [("sctp", 2.0), ("rpv1", 1.0), ("rpv2", 1.0)])
def test_two_paths_over_one_link_count_as_two_or_as_one(control: str, shares: float) -> None:
    results = rw.Scenario(TEXT.replace("CONTROL", control)).run(SEEDS, series=False)
    paths = results.subflows.filter(results.subflows["flow"].cast(str) == "concurrent")
    assert paths.height == 2 * SEEDS
    goodput = {str(flow["flow"]): flow["goodput_bit_s"] for flow in results.summary()["flows"]}
    concurrent, plain = (estimate["mean"] for estimate in goodput.values() if estimate)
    assert concurrent + plain == pytest.approx(9.5e6, rel=0.04), "the link is full"
    assert concurrent / plain == pytest.approx(shares, rel=0.2)
    assert f"| `{control}` | {concurrent / plain:.2f} |" in PAGE.read_text(encoding="utf-8")
