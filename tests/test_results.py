"""Scenario and Results from Python."""

import json
import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import ropewalk as rw
from conftest import SMALL
from ropewalk.scenario import Value, toml_value
from ropewalk.store import to_json

SMALL_SCENARIO = rw.Scenario.parse(SMALL, "small.toml")


def test_tables_have_units_in_their_names_and_one_row_per_thing(results: rw.Results) -> None:
    assert results.flows.height == 3 * 3
    assert results.subflows.height == 3 * 4
    assert results.links.height == 3 * 4
    assert results.runs["run"].to_list() == [1, 2, 3]
    assert {"goodput_bit_s", "delay_p95_s", "ofo_max_bytes", "benefit_vs_best"} <= set(results.flows.columns)
    assert results.series.columns == [
        "run",
        "flow",
        "connection",
        "subflow",
        "link",
        "t_s",
        "metric",
        "value",
    ]
    assert list(results.traces) == [1, 2, 3]


def test_goodput_is_bytes_over_time(results: rw.Results) -> None:
    expected = results.flows["delivered_bytes"] * 8 / (results.flows["end_s"] - results.flows["start_s"])
    assert results.flows["goodput_bit_s"].to_list() == pytest.approx(expected.to_list())


def test_goodput_is_below_the_capacity(results: rw.Results) -> None:
    multi = results.flows.filter(pl.col("flow") == "upload")["goodput_bit_s"]
    assert all(0 < goodput < 2 * 4e6 for goodput in multi)
    alone = results.flows.filter(pl.col("flow") != "upload")["goodput_bit_s"]
    assert all(0 < goodput < 4e6 for goodput in alone)


def test_shares_add_up(results: rw.Results) -> None:
    sums = results.subflows.group_by("run", "flow").agg(pl.col("share").sum())["share"]
    assert sums.to_list() == pytest.approx([1.0] * 9)


def test_delay_histogram_agrees_with_the_table(results: rw.Results) -> None:
    delays = results.delays.filter((pl.col("run") == 1) & (pl.col("flow") == "upload"))
    flow = results.flows.filter((pl.col("run") == 1) & (pl.col("flow") == "upload"))
    assert delays["bytes"].sum() == flow["delivered_bytes"][0]
    mean = np.average(delays["delay_s"], weights=delays["bytes"])
    assert mean == pytest.approx(flow["delay_mean_s"][0], rel=0.01)


def test_set_returns_another_scenario_checked_at_once() -> None:
    changed = SMALL_SCENARIO.set("flow.upload.transport.congestion", "cubic").set("duration", "3.5s")
    assert changed.duration_s == 3.5
    assert SMALL_SCENARIO.duration_s == 4.0
    assert set(changed.run(seeds=1, series=False).flows["congestion"]) == {"cubic"}
    with pytest.raises(rw.ScenarioError) as caught:
        SMALL_SCENARIO.set("flow.upload.transport.congestion", "cubik")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.file == "--set"
    assert diagnostic.key == "flow.upload.transport.congestion"
    assert "cubic" in diagnostic.help
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
        ('say "hi"\n', '"say \\u0022hi\\u0022\\u000a"'),
        ([1, "a"], '[1, "a"]'),
        ({"kind": "packet", "probability": 0.01}, '{kind = "packet", probability = 0.01}'),
        (Path("traces") / "up.csv", '"traces/up.csv"'),
        (np.float64(0.02), "0.02"),
        (np.int64(3), "3"),
        (np.bool_(True), "true"),
        (np.linspace(0, 1, 3), "[0.0, 0.5, 1.0]"),
        ([np.float64(0.1), "a"], '[0.1, "a"]'),
    ],
)
def test_values_as_toml(value: Value, text: str) -> None:
    assert toml_value(value) == text


def test_what_no_key_takes_is_named() -> None:
    with pytest.raises(TypeError, match="found None, which no key of a scenario takes; write a text"):
        SMALL_SCENARIO.set("duration", None)  # type: ignore[arg-type]


def test_a_table_can_be_set() -> None:
    lossless = SMALL_SCENARIO.set("path.a.up.loss", {"kind": "packet", "probability": 0})
    assert lossless.show() != SMALL_SCENARIO.show()


@pytest.mark.parametrize("seeds", [0, 10**12, [], [1, 1], [-1], [2**63]])
def test_seeds_that_make_no_sense(seeds: int | list[int]) -> None:
    with pytest.raises(ValueError, match="seed"):
        SMALL_SCENARIO.run(seeds=seeds)


def test_seeds_of_numpy_are_seeds() -> None:
    several = SMALL_SCENARIO.run(seeds=np.arange(4, 6), series=False)
    assert json.loads(to_json(several))["seeds"] == [4, 5]
    one = SMALL_SCENARIO.run(seeds=np.int64(1), series=False)  # type: ignore[arg-type]
    assert one.runs["run"].to_list() == [1]
    assert repr(one) == "<Results of 'small': 1 replication, 3 flows>"


def test_chosen_seeds_are_run_in_their_order() -> None:
    results = SMALL_SCENARIO.run(seeds=[9, 4], series=False)
    assert results.runs["run"].to_list() == [9, 4]
    assert results.series.is_empty()
    with pytest.raises(ValueError, match="no time series"):
        results.plot.cwnd()


def test_progress_may_stop_a_run() -> None:
    class StopError(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise StopError(f"{done} of {total}")

    with pytest.raises(StopError):
        SMALL_SCENARIO.run(progress=stop)


def test_written_results_read_back(results: rw.Results, tmp_path: Path) -> None:
    files = results.write(tmp_path / "r")
    assert files[-1].name == "summary.json"
    back = rw.Results.read(tmp_path / "r")
    for name, table in results.tables.items():
        assert back.tables[name].schema == table.schema, name
        assert back.tables[name].equals(table), name
    assert back.summary() == results.summary()
    assert back.traces == results.traces
    assert back.origin.scenario.show() == results.origin.scenario.show()


def test_what_a_killed_process_has_left_goes(results: rw.Results, tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for process in (gone.pid, os.getpid()):
        left = tmp_path / f".partial-{socket.gethostname()}-{process}-abc"
        left.mkdir()
        (left / "flows.parquet").touch()
    results.write(tmp_path)
    assert [path.name for path in tmp_path.glob(".partial-*")] == [left.name]


def test_unwritable_directory(results: rw.Results, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        results.write(tmp_path / "file" / "r")


def test_summary_can_be_json(results: rw.Results) -> None:
    assert json.loads(json.dumps(results.summary(), allow_nan=False)) == results.summary()


def test_events_are_told() -> None:
    assert SMALL_SCENARIO.events() == [(2.0, "b", "down"), (3.0, "b", "up")]


def test_a_scenario_from_a_dict_is_that_of_the_text() -> None:
    keys = tomllib.loads(SMALL)
    assert rw.Scenario.from_dict(keys).show() == SMALL_SCENARIO.show()
    keys["path"][0]["both"]["rate"] = "4Mbps"
    with pytest.raises(rw.ScenarioError, match='did you mean "4Mbit/s"'):
        rw.Scenario.from_dict(keys)
    with pytest.raises(TypeError, match="from_dict"):
        rw.Scenario(keys)  # type: ignore[arg-type]


def test_a_mistake_in_python_has_no_place_on_a_command_line() -> None:
    with pytest.raises(rw.ScenarioError) as caught:
        SMALL_SCENARIO.set("flow.upload.transport.congestion", "cubik")
    assert str(caught.value).startswith('flow.upload.transport.congestion: found "cubik"')
    assert "--set" not in str(caught.value)
    assert caught.value.diagnostics[0].key == "flow.upload.transport.congestion"


def test_notebooks_show_tables(results: rw.Results) -> None:
    page = results._repr_html_()
    for word in ("small", "upload@a", "goodput Mbit/s", "±", "benefit vs best path"):
        assert word in page, word
    page = SMALL_SCENARIO.set("name", "<b>")._repr_html_()
    for word in ("&lt;b&gt;", "a.up", "4Mbit/s", "40ms", "terminal → server", "mptcp, lia"):
        assert word in page, word


def test_notebooks_show_diagnoses() -> None:
    small = SMALL_SCENARIO.set("flow.upload.transport.receive_buffer", "16KiB").set("name", "<b>")
    small = small.set("flow.upload.transport.receive_buffer_max", "16KiB")
    page = small.why(effort="quick")._repr_html_()
    for word in ("&lt;b&gt;", "receive_window", "upload: ", "changes tried", "times", "16KiB"):
        assert word in page, word


def test_comparison_pairs_seeds(results: rw.Results) -> None:
    other = SMALL_SCENARIO.set("flow.upload.transport.congestion", "olia").run(seeds=[2, 3, 4])
    found = other.compare(results, ["goodput_bit_s", "delay_mean_s"])
    assert found["pairs"].to_list() == [2] * 6
    row = found.row(0, named=True)
    goodput = [
        {one["run"]: one["goodput_bit_s"] for one in each.flows.filter(pl.col("flow") == "upload").to_dicts()}
        for each in (other, results)
    ]
    differences = [goodput[0][seed] - goodput[1][seed] for seed in (2, 3)]
    assert row["difference"] == pytest.approx(sum(differences) / 2)
    assert row["mean"] - row["baseline"] == pytest.approx(row["difference"])
    assert row["ci95"] > 0
    same = results.compare(results)
    assert set(same["difference"].to_list()) == {0.0}
    assert set(same["p"].to_list()) == {1.0}
    with pytest.raises(ValueError, match="no figure"):
        results.compare(other, ["goodput"])
    with pytest.raises(ValueError, match="same seeds"):
        results.compare(SMALL_SCENARIO.run(seeds=[9]))


def test_simulated_time_adds_up_to_the_whole_of_it() -> None:
    told: list[float] = []
    SMALL_SCENARIO.run(seeds=2, simulated=told.append, series=False)
    assert told == sorted(told)
    # Two seeds, each with two baselines, of 4 s.
    assert told[-1] == pytest.approx(2 * 3 * 4.0)
