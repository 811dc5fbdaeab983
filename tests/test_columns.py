"""Each column of the tables is in their specification."""

import json

import polars as pl
import pytest

from conftest import SMALL
from ropewalk import Results, Scenario, _core, catalogue
from ropewalk.study.metrics import Metric


def test_specification_and_tables_have_the_same_columns(results: Results) -> None:
    assert {name: table.columns for name, table in results.tables.items()} == {
        name: list(columns) for name, columns in catalogue.tables().items()
    }


def test_figures_are_numbers(results: Results) -> None:
    for table in set(catalogue.tables()) - {"delays", "series"}:
        schema = results.tables[table].schema
        for name in catalogue.figures(table):
            assert schema[name].is_numeric() or schema[name] == pl.Boolean, f"{table}.{name}"


def test_what_one_wants_and_the_unit_come_from_the_specification() -> None:
    goodput, delay = catalogue.tables()["flows"]["goodput_bit_s"], Metric.parse("flow.f.delay_p95_s")
    assert (goodput.unit, goodput.scale, goodput.wanted) == ("Mbit/s", 1e6, 1)
    assert (delay.unit, delay.wanted, delay.label) == (("s", 1.0), -1, "p95 delay")
    assert Metric.parse("link.a.up.packets").wanted == 0


def test_indices_in_time_series_are_integers(results: Results) -> None:
    schema = results.series.schema
    assert [schema[name] == pl.Int64 for name in ("connection", "subflow")] == [True, True]


CATALOGUE = json.loads(_core.catalogue())
CHOICES = [(key, row["name"]) for key in ("congestion", "schedulers") for row in CATALOGUE[key]]


@pytest.mark.parametrize(("family", "name"), CHOICES)
def test_every_time_series_is_specified(family: str, name: str) -> None:
    choice = {"kind": name, "rate": "1Mbit/s"} if name == "fixed-rate" else {"kind": name}
    key = "congestion" if family == "congestion" else "scheduler"
    scenario = Scenario.parse(SMALL).set(
        "flow.upload.transport",
        {"kind": "mptcp", "ecn": True, "initial_ssthresh": "64KiB", key: choice},
    )
    found = set(scenario.run(seeds=1, jobs=1).series["metric"].unique())
    known = {metric for _, metric in catalogue.series()}
    assert sorted(found - known) == [], "not in crates/trace/src/metrics/series.rs"
