"""Questions from the field: the page tells what the scenarios give."""

import re

import pytest

import ropewalk as rw
from conftest import ROOT

FOLDER = ROOT / "scenarios" / "questions"
PAGE = (ROOT / "docs" / "explanation" / "questions-from-the-field.md").read_text(encoding="utf-8")


def test_each_question_is_on_the_page() -> None:
    names = sorted(path.stem for path in FOLDER.glob("*.toml"))
    assert len(names) == 5
    for name in names:
        project, _, number = name.rpartition("-")
        assert re.search(rf"{re.escape(project)}/issues/{number}\)", PAGE), name
        assert rw.Scenario.load(FOLDER / f"{name}.toml").duration_s <= 30


def test_the_delay_of_the_slow_path_decides_as_the_page_says() -> None:
    [row] = re.findall(r"^\| Measured \|(.*)\|$", PAGE, re.MULTILINE)
    told = [float(cell) for cell in row.split("|")]
    scenario = rw.Scenario.load(FOLDER / "mptcp_net-next-381.toml")
    for delay, percent in zip(("1ms", "10ms", "25ms", "50ms", "100ms", "300ms"), told, strict=True):
        flows = scenario.set("path.second.both.delay", delay).run(seeds=1, series=False).flows
        rates = dict(flows.select("flow", "goodput_bit_s").iter_rows())
        assert 100 * rates["file"] / rates["file@first"] == pytest.approx(percent, abs=0.06)


def test_the_table_at_the_top_has_the_figures_below() -> None:
    [row] = re.findall(r"^\| Measured \|(.*)\|$", PAGE, re.MULTILINE)
    rounded = ", ".join(f"{float(cell):.0f}" for cell in row.split("|"))
    assert f"| {rounded} % |" in PAGE


def test_a_limit_of_unsent_data_costs_as_the_page_says() -> None:
    [row] = re.findall(r"^\| both, Linux before 6.7.*\| (\d+) ± \d+ \| (\d+) ± \d+ \|$", PAGE, re.MULTILINE)
    overrides = {"jitter": "0.1ms", "flow.iperf.compare_paths": "false"}
    for limit, told in zip(("128KiB", "unlimited"), row, strict=True):
        found = _rates("mptcp_net-next-437", {**overrides, "flow.iperf.transport.unsent_limit": limit}, 8)
        assert found["iperf"] == pytest.approx(float(told), abs=0.6)


def _rates(name: str, overrides: dict[str, str], seeds: int = 1) -> dict[str, float]:
    """Mean goodput of each flow in Mbit/s."""
    scenario = rw.Scenario.load(FOLDER / f"{name}.toml", list(overrides.items()))
    flows = scenario.run(seeds=seeds, series=False).summary()["flows"]
    goodput = ((str(flow["flow"]), flow["goodput_bit_s"]) for flow in flows)
    return {flow: estimate["mean"] / 1e6 for flow, estimate in goodput if estimate}


def test_the_receive_buffer_decides_as_the_page_says() -> None:
    rows = r"^\| (\d+) ([KM]iB)[^|]*\| ([\d.]+) \| ([\d.]+) \|$"
    wifi, dishes = (
        re.findall(rows, PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0], re.MULTILINE)
        for title in ("Two round trips apart", "Two satellite dishes")
    )
    assert (len(wifi), len(dishes)) == (4, 3)
    for size, unit, rate, benefit in wifi:
        found = _rates("mptcp-168", {"flow.ftp.transport.receive_buffer_max": size + unit})
        assert found["ftp"] == pytest.approx(float(rate), abs=0.6)
        assert found["ftp"] / found["ftp@wifi"] == pytest.approx(float(benefit), abs=0.006)
    for size, unit, one, both in dishes:
        found = _rates("openmptcprouter-252", {"flow.download.transport.receive_buffer_max": size + unit})
        assert found["download@dish1"] == pytest.approx(float(one), abs=0.06)
        assert found["download"] == pytest.approx(float(both), abs=0.06)


def test_the_duration_decides_as_the_page_says() -> None:
    rows = re.findall(
        r"^\| (\d+) s \| ([\d.]+) ± [\d.]+ \| ([\d.]+) \| ([\d.]+) ± [\d.]+ \|$", PAGE, re.MULTILINE
    )
    assert [row[0] for row in rows] == ["10", "15", "30", "60"]
    for duration, *told in rows:
        found = _rates("mptcp-278", {"duration": f"{duration}s"}, seeds=10)
        rates = [found["iperf@a"], found["iperf@b"], found["iperf"]]
        assert rates == pytest.approx([float(rate) for rate in told], abs=0.06)


@pytest.mark.parametrize(
    ("name", "overrides", "cause"),
    [
        ("mptcp_net-next-381", [], "scheduler"),
        (
            "openmptcprouter-252",
            [("flow.download.transport.receive_buffer_max", "512KiB"), ("duration", "15s")],
            "receive_window",
        ),
    ],
)
def test_why_names_the_cause(name: str, overrides: list[tuple[str, str]], cause: str) -> None:
    scenario = rw.Scenario.load(FOLDER / f"{name}.toml", overrides)
    [flow] = scenario.why(effort="quick").flows
    assert flow.reasons[0].cause == cause
    assert flow.reasons[0].cures
