"""What tables have, their page and the metrics of studies know."""

import json
import re

import pytest

from conftest import ROOT, SMALL
from ropewalk import Results, Scenario, _core
from ropewalk.study.metrics import BAD, GOOD, NEITHER, TABLES, numeric_columns

PAGE = (ROOT / "docs" / "reference" / "results.md").read_text(encoding="utf-8")


def documented() -> dict[str, list[str]]:
    """The columns of each table by its section of the page; all have `run`."""
    sections = re.findall(r"^## `(\w+)`[^\n]*\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    columns = {}
    for name, text in sections:
        first, _, _ = text.partition("| Metric |")
        rows = re.findall(r"^\| (`[^|]*`) \|", first, re.MULTILINE)
        columns[name] = [column for row in rows for column in re.findall(r"`(\w+)`", row)]
    return columns


def test_the_page_has_every_column_and_no_other(results: Results) -> None:
    tables = {f"{name}.{c}" for name, table in results.tables.items() for c in table.columns if c != "run"}
    found = {f"{name}.{c}" for name, columns in documented().items() for c in columns if c != "run"}
    assert sorted(tables - found) == [], "without a row in docs/reference/results.md"
    assert sorted(found - tables) == [], "only in docs/reference/results.md"


def test_of_every_figure_it_is_said_what_one_wants() -> None:
    said = [
        (table, column, [column in GOOD, column.startswith(BAD), column in NEITHER])
        for table in TABLES.values()
        for column in numeric_columns()[table]
    ]
    unclear = [f"{table}.{column}" for table, column, places in said if sum(places) != 1]
    assert unclear == [], "not in exactly one of GOOD, BAD and NEITHER of python/ropewalk/study/metrics.py"
    known = {column for _, column, _ in said}
    assert set(NEITHER) | set(GOOD) <= known
    assert [start for start in BAD if not any(column.startswith(start) for column in known)] == []


CATALOGUE = json.loads(_core.catalogue())
CHOICES = [(key, row["name"]) for key in ("congestion", "schedulers") for row in CATALOGUE[key]]


@pytest.mark.parametrize(("family", "name"), CHOICES)
def test_the_page_has_every_metric_of_time_series(family: str, name: str) -> None:
    _, _, table = PAGE.partition("| Metric |")
    rows, _, _ = table.partition("\n## ")
    known = {
        metric
        for row in re.findall(r"^\| (`[^|]*`) \|", rows, re.MULTILINE)
        for metric in re.findall(r"`(\w+)`", row)
    }
    choice = {"kind": name, "rate": "1Mbit/s"} if name == "fixed-rate" else {"kind": name}
    key = "congestion" if family == "congestion" else "scheduler"
    scenario = Scenario.parse(SMALL).set(
        "flow.upload.transport",
        {"kind": "mptcp", "ecn": True, "initial_ssthresh": "64KiB", key: choice},
    )
    found = set(scenario.run(seeds=1, jobs=1).series["metric"].unique())
    assert sorted(found - known) == [], "without a row in docs/reference/results.md"
