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
