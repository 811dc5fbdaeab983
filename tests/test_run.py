"""`ropewalk run`: what it prints and what it writes."""

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import COMMAND, Ropewalk
from ropewalk import _core
from ropewalk.results import TABLES

ESTIMATE = {"mean", "ci95", "min", "max", "n"}


def is_estimate(value: object) -> bool:
    return isinstance(value, dict) and set(value) == ESTIMATE


def test_tables_name_flows_baselines_subflows_and_links(ropewalk: Ropewalk, small: Path) -> None:
    done = ropewalk("run", small)
    assert done.returncode == 0
    assert done.stderr == ""
    for word in [
        "small",
        "95 % interval of 3 replications",
        "upload@a",
        "upload@b",
        "benefit",
        "a.up",
        "b.down",
    ]:
        assert word in done.stdout, word


def test_a_crowd_of_flows_fills_no_screen(ropewalk: Ropewalk, tmp_path: Path) -> None:
    crowd = """name = "crowd"
    duration = "1s"
    path = [{ name = "a", both = { rate = "4Mbit/s", delay = "40ms", queue = "50p" } }]
    [[flow]]
    name = "file"
    count = 31
    from = "terminal"
    to = "server"
    app = { kind = "bulk", size = "1kB" }
    transport = { kind = "tcp" }
    """
    file = tmp_path / "crowd.toml"
    file.write_text(crowd)
    done = ropewalk("run", file)
    assert done.returncode == 0, done.stderr
    assert "Flows: the first 20 of 31" in done.stdout
    assert len(done.stdout.splitlines()) < 100
    assert len(json.loads(ropewalk("run", file, "--json").stdout)["flows"]) == 31


def test_json_is_one_object_of_the_documented_form(ropewalk: Ropewalk, small: Path) -> None:
    done = ropewalk("run", small, "--json")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    summary: dict[str, Any] = json.loads(done.stdout)
    assert list(summary) == [
        *("scenario", "model_version", "backend", "seeds", "duration_s", "events", "packet_hops", "cpu_s"),
        *("flows", "measures", "pages", "subflows", "legs", "failed_joins", "links"),
    ]
    assert summary["scenario"] == "small"
    assert summary["seeds"] == [1, 2, 3]
    assert summary["duration_s"] == 4.0
    assert summary["packet_hops"] > 0
    assert summary["events"] > 0
    assert 0 < summary["cpu_s"] < 10
    assert [flow["flow"] for flow in summary["flows"]] == ["upload", "upload@a", "upload@b"]
    for flow in summary["flows"]:
        assert list(flow) == [
            *("flow", "transport", "goodput_bit_s", "completion_s", "retransmitted_segments", "timeouts"),
            *("delay_s", "send_delay_s", "wire_bit_s", "ofo_bytes"),
            *("seen_retransmitted_share", "seen_late_share", "aggregation_benefit"),
        ]
        assert all(is_estimate(flow[key]) for key in ("goodput_bit_s", "retransmitted_segments", "timeouts"))
        assert flow["goodput_bit_s"]["n"] == 3
        assert flow["completion_s"] is None
        assert list(flow["delay_s"]) == ["mean", "p50", "p95", "p99"]
        assert 0.04 < flow["delay_s"]["p50"] <= flow["delay_s"]["p95"] <= flow["delay_s"]["p99"]
        assert list(flow["ofo_bytes"]) == ["mean", "p95", "max"]
        assert flow["ofo_bytes"]["mean"] <= flow["ofo_bytes"]["max"]
        assert 0 < flow["send_delay_s"]["mean"] < flow["delay_s"]["mean"]
        assert flow["wire_bit_s"]["mean"] > flow["goodput_bit_s"]["mean"]
        assert is_estimate(flow["seen_late_share"])
        assert 0 <= flow["seen_retransmitted_share"]["mean"] < flow["seen_late_share"]["mean"] < 0.2
    benefit = summary["flows"][0]["aggregation_benefit"]
    assert list(benefit) == ["vs_best", "vs_sum"]
    assert all(map(is_estimate, benefit.values()))
    assert summary["flows"][1]["aggregation_benefit"] is None
    for subflow in summary["subflows"]:
        keys = ["flow", "connection", "subflow", "path", "goodput_bit_s", "share", "srtt_s", "cwnd_bytes"]
        assert list(subflow) == keys
        assert all(is_estimate(subflow[key]) for key in list(subflow)[4:])
    assert [(s["flow"], s["subflow"], s["path"]) for s in summary["subflows"][:2]] == [
        ("upload", 0, "a"),
        ("upload", 1, "b"),
    ]
    for link in summary["links"]:
        assert list(link) == ["link", "utilisation", "drops_queue", "drops_error", "queue_delay_s"]
    assert [link["link"] for link in summary["links"]] == ["a.up", "a.down", "b.up", "b.down"]


def test_the_scenario_itself_is_not_replaced(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    mine = tmp_path / "scenario.toml"
    mine.write_text(small.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    done = ropewalk("run", mine, "--seeds", "1", "--out", tmp_path)
    assert done.returncode == 2
    assert "scenario.toml there is the scenario itself" in done.stderr
    assert "fix: name another directory" in done.stderr
    assert mine.read_text(encoding="utf-8").endswith("# mine\n")
    again = ropewalk("run", mine, "--seeds", "1", "--out", tmp_path / "out")
    assert again.returncode == 0, again.stderr


def test_one_replication_has_no_interval(ropewalk: Ropewalk, small: Path) -> None:
    summary = json.loads(ropewalk("run", small, "--json", "--seeds", "1").stdout)
    goodput = summary["flows"][0]["goodput_bit_s"]
    assert goodput["n"] == 1
    assert goodput["ci95"] is None
    assert goodput["mean"] == goodput["min"] == goodput["max"]


@pytest.mark.parametrize(
    ("options", "seeds"),
    [
        ([], [1, 2, 3]),
        (["--seeds", "2"], [1, 2]),
        (["--seed", "7"], [7]),
        (["--seed", "7", "--seeds", "3"], [7, 8, 9]),
    ],
)
def test_seeds(ropewalk: Ropewalk, small: Path, options: list[str], seeds: list[int]) -> None:
    assert json.loads(ropewalk("run", small, "--json", *options).stdout)["seeds"] == seeds


def test_files(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "results"
    done = ropewalk("run", small, "--out", out, "--trace", "--plots")
    assert done.returncode == 0
    assert f"plots in {out}/plots/\nropewalk report {out} makes one page of tables and plots\n" in done.stdout
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    over_time = ("throughput", "cwnd", "srtt", "send-buffer", "receive-buffer", "out-of-order", "queue")
    names = (*over_time, "benefit", "delay-cdf")
    plots = {f"plots/{name}.png" for name in names}
    traces = {f"trace/seed-{seed}.txt" for seed in (1, 2, 3)}
    always = {f"{name}.parquet" for name in TABLES} | {"summary.json", "scenario.toml", "provenance.json"}
    assert files == always | plots | traces
    assert json.loads((out / "provenance.json").read_text(encoding="utf-8"))["build"] == _core.BUILD
    # A later run leaves nothing of an earlier one behind.
    assert ropewalk("run", small, "--out", out).returncode == 0
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert files == always


def test_earlier_results_are_replaced_with_a_word_or_kept(
    ropewalk: Ropewalk, small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = ropewalk("run", small, "--out", out, "--seed", "1", "--no-clobber")
    assert (first.returncode, "in place of" in first.stdout) == (0, False)
    again = ropewalk("run", small, "--out", out, "--seed", "1", "--set", "name=other")
    assert "in place of earlier results of small" in again.stdout
    kept = ropewalk("run", small, "--out", out, "--seed", "1", "--no-clobber")
    assert (kept.returncode, kept.stdout) == (2, "")
    assert "the results of other are there" in kept.stderr
    assert ropewalk("run", small, "--no-clobber").returncode == 2


def test_what_was_made_of_an_earlier_run_does_not_stay(
    ropewalk: Ropewalk, small: Path, tmp_path: Path
) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "mine.png").touch()
    assert ropewalk("run", small, "--out", tmp_path).returncode == 0
    (tmp_path / "figures" / "mine.png").unlink()
    before = set(tmp_path.rglob("*.*"))
    mine = tmp_path / "figures" / "mine.tex"
    mine.touch()
    assert ropewalk("report", tmp_path).returncode == 0
    assert ropewalk("figures", tmp_path, "--format", "pdf,svg,png").returncode == 0
    for form in ("csv", "parquet", "flent"):
        assert ropewalk("export", tmp_path, "--format", form).returncode == 0
    assert len(set(tmp_path.rglob("*.*")) - before) > 30
    assert ropewalk("run", small, "--out", tmp_path).returncode == 0
    assert set(tmp_path.rglob("*.*")) == {*before, mine}


def test_files_are_written_though_the_output_is_not_read(small: Path, tmp_path: Path) -> None:
    command = [str(COMMAND), "run", str(small), "--out", str(tmp_path / "r")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert (tmp_path / "r" / "summary.json").exists()


def test_summary_on_disk_is_the_json_on_stdout(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    done = ropewalk("run", small, "--json", "--out", tmp_path / "r")
    there = json.loads((tmp_path / "r" / "summary.json").read_text(encoding="utf-8"))
    assert set(there.pop("files")) == {*(f"{name}.parquet" for name in TABLES), "scenario.toml"}
    assert len(there.pop("sha256")) == 64
    assert there == json.loads(done.stdout)
    assert "tables" in done.stderr


def test_recording_series_changes_no_figure(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    with_series = json.loads(ropewalk("run", small, "--json", "--out", tmp_path / "r").stdout)
    without = json.loads(ropewalk("run", small, "--json").stdout)
    for key in ("flows", "subflows", "links", "packet_hops"):
        assert with_series[key] == without[key], key


def test_files_are_the_same_for_any_number_of_threads(
    ropewalk: Ropewalk, small: Path, tmp_path: Path
) -> None:
    for jobs in ("1", "2"):
        assert ropewalk("run", small, "-j", jobs, "--out", tmp_path / jobs).returncode == 0
    for name in TABLES:
        one, two = ((tmp_path / jobs / f"{name}.parquet").read_bytes() for jobs in ("1", "2"))
        assert one == two, name


def test_trace_goes_to_stdout_without_out(ropewalk: Ropewalk, small: Path) -> None:
    done = ropewalk("run", small, "--seed", "1", "--trace")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) > 100
    refused = ropewalk("run", small, "--trace", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--out" in refused.stderr


def test_a_terminal_gets_a_bar_on_stderr_only(small: Path) -> None:
    terminal, side = pty.openpty()
    command = [str(COMMAND), "run", str(small), "--json"]
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=side, text=True, env=environment
    ) as process:
        os.close(side)
        stdout = process.communicate(timeout=60)[0]
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert "small" in shown
    assert json.loads(stdout)["scenario"] == "small"


def test_a_terminal_without_our_letters_gets_others(small: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [str(COMMAND), "run", str(small)], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "mean +- 95 % interval" in done.stdout


def test_a_closed_pipe_is_no_error(small: Path) -> None:
    command = f"{COMMAND} show {small} | head -n 1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout != ""
