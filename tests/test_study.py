"""Studies give the same results with any executor, however often they are run."""

import contextlib
import itertools
import json
import os
import pty
import re
import subprocess
import threading
import time
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ropewalk as rw
from conftest import COMMAND, ENDLESS, ROOT, Ropewalk
from ropewalk import RunFailed, statistics
from ropewalk._core import Output
from ropewalk.executors.local import LocalExecutor
from ropewalk.study import StudyError, work
from ropewalk.study.conduct import Conductor
from ropewalk.study.store import Store, Stored
from ropewalk.study.work import Order, Outcome, Part, Stopped, carry_out
from ropewalk.written import seal
from study_files import STUDY, write_study

DONE = re.compile(r"(\d+) runs? computed, (\d+) were there")


def done(text: str) -> tuple[int, int]:
    found = DONE.search(text)
    assert found, text
    return int(found[1]), int(found[2])


def same_results(one: Path, two: Path) -> None:
    """All files of two directories are the same to the byte, but for provenance and the store."""
    names, others = (
        {path.name for path in place.iterdir() if path.is_file() and path.name != "provenance.json"}
        for place in (one, two)
    )
    assert names == others
    assert all((place / "provenance.json").exists() for place in (one, two))
    assert {"flows.parquet", "summary.json", "estimates.csv", "comparisons.csv"} <= names
    for name in sorted(names):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_figures_are_those_of_the_single_runs(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = write_study(tmp_path)
    out = tmp_path / "out"
    ran = ropewalk("study", path, "--out", out, "--json")
    assert ran.returncode == 0, ran.stderr
    assert done(ran.stderr) == (12, 0)
    summary: dict[str, Any] = json.loads(ran.stdout)
    assert [case["case"] for case in summary["cases"]] == [
        *("lia / 0.0", "lia / 0.02", "olia / 0.0", "olia / 0.02"),
    ]
    scenario = rw.Scenario.load(tmp_path / "small.toml").set("flow.upload.compare_paths", value=False)
    for case in summary["cases"]:
        single = scenario.set("flow.upload.transport.congestion", case["levels"]["congestion"])
        single = single.set("path.b.both.loss.probability", float(case["levels"]["error rate"]))
        flows = single.run(3, series=False).flows
        for metric, column in [("goodput_bit_s", "goodput_bit_s"), ("delay_p95_s", "delay_p95_s")]:
            expected = statistics.describe(flows[column].to_list())
            assert expected is not None
            found = case["metrics"][f"flow.upload.{metric}"]
            assert found["n"] == 3
            for key in ("mean", "sd", "ci95", "median", "p95"):
                assert found[key] == pytest.approx(getattr(expected, key), rel=1e-12), key
    assert json.loads((out / "summary.json").read_text(encoding="utf-8")) == summary


def test_comparisons_pair_the_same_seeds_and_the_same_other_levels(tmp_path: Path) -> None:
    results = rw.Study.load(write_study(tmp_path)).run(tmp_path / "out").results
    comparisons = results.comparisons
    assert comparisons is not None
    assert comparisons.select("case", "baseline").unique(maintain_order=True).rows() == [
        ("olia / 0.0", "lia / 0.0"),
        ("olia / 0.02", "lia / 0.02"),
    ]
    metric = "flow.upload.goodput_bit_s"
    samples = results.samples(metric)
    differences = [samples["olia / 0.02"][seed] - samples["lia / 0.02"][seed] for seed in (1, 2, 3)]
    row = comparisons.row(
        by_predicate=(pl.col("case") == "olia / 0.02") & (pl.col("metric") == metric), named=True
    )
    assert row["pairs"] == 3
    assert row["difference"] == pytest.approx(sum(differences) / 3)
    assert row["ci95"] == pytest.approx(4.302653 * statistics.sample_sd(differences) / 3**0.5, rel=1e-6)
    assert row["p_adjusted"] >= row["p"]


def test_finished_work_is_never_computed_again(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = write_study(tmp_path)
    rw.Study.load(path).run(tmp_path / "a")
    stored = {file: file.stat().st_mtime_ns for file in (tmp_path / "a" / "store").rglob("*.record")}
    assert done(ropewalk("study", path, "--out", tmp_path / "a").stdout) == (0, 12)
    # Another study with the same store: more replications, one more level.
    path.write_text(STUDY.replace('"olia"]', '"olia", "balia"]').replace("= 3", "= 4"), encoding="utf-8")
    again = ropewalk("study", path, "--out", tmp_path / "b", "--store", tmp_path / "a" / "store")
    assert done(again.stdout) == (12, 12)
    assert all(file.stat().st_mtime_ns == written for file, written in stored.items())


def test_results_do_not_depend_on_the_number_of_threads(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = write_study(tmp_path)
    for jobs in ("1", "3"):
        assert ropewalk("study", path, "--seeds", "9", "-j", jobs, "--out", tmp_path / jobs).returncode == 0
    same_results(tmp_path / "1", tmp_path / "3")


def test_what_is_written_can_be_read_and_moved(tmp_path: Path) -> None:
    ran = rw.Study.load(write_study(tmp_path)).run(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "moved")
    results = rw.StudyResults.read(tmp_path / "moved")
    assert results.summary() == ran.results.summary()
    assert results.flows.equals(pl.read_parquet(tmp_path / "moved" / "flows.parquet"))
    assert results.flows.columns[:2] == ["case", "run"]
    assert results.flows["run"].to_list() == [1, 2, 3] * 4
    delays = results.table("delays")
    per_run = delays.group_by("case", "run").agg(pl.col("bytes").sum())
    assert per_run.height == 12
    assert results.table("series").height == 0


def test_time_series_of_the_first_replications(tmp_path: Path) -> None:
    plain = rw.Study.load(write_study(tmp_path)).run(tmp_path / "out").conducted
    ran = rw.Study.load(write_study(tmp_path, "series = 1\n" + STUDY)).run(tmp_path / "out")
    # Cases with series are computed again, since the store has them without.
    assert (plain.computed, ran.conducted.computed, ran.conducted.found) == (12, 4, 8)
    series = ran.results.table("series")
    assert series.select("case", "run").unique().height == 4
    assert set(series["metric"].unique()) >= {"cwnd_bytes", "srtt_s", "queue_bytes"}
    assert ran.results.flows.height == 12


@pytest.mark.parametrize(("width", "expected"), [("90%", {4}), ("0.01%", {10})])
def test_a_stopping_rule(tmp_path: Path, width: str, expected: set[int]) -> None:
    rule = f'{{ until = "flow.upload.goodput_bit_s", half_width = "{width}", min = 4, max = 10, step = 3 }}'
    text = STUDY.replace("replications = 3", f"replications = {rule}")
    ran = rw.Study.load(write_study(tmp_path, text)).run(tmp_path / "out")
    counts = dict(ran.results.cases.select("case", "replications").rows())
    assert {count for case, count in counts.items() if case.endswith("0.02")} == expected


def test_a_stopping_rule_stops_at_the_first_look_that_suffices(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    everything = rw.Study.load(path, replications=40).run(tmp_path / "all").results
    sample = everything.samples("flow.upload.goodput_bit_s")["lia / 0.02"]
    widths = {}
    for n in range(4, 41, 2):
        found = statistics.estimate(sample[seed] for seed in range(1, n + 1))
        assert found is not None
        assert found.ci95 is not None
        widths[n] = found.ci95 / found.mean
    # A little more than the width of one look, as the rule is written with few digits.
    wanted = sorted(widths.values())[len(widths) // 2] * (1 + 1e-6)
    metric, width = "flow.upload.goodput_bit_s", f"{wanted * 100:.6f}%"
    rule = f'{{ until = "{metric}", half_width = "{width}", min = 4, max = 40, step = 2 }}'
    write_study(tmp_path, STUDY.replace("replications = 3", f"replications = {rule}"))
    expected = next(n for n, width in widths.items() if width <= wanted)
    # Runs already in the store must not lead to more runs than are needed.
    for store in (tmp_path / "all" / "store", tmp_path / "fresh"):
        results = rw.Study.load(path).run(tmp_path / "rule", store=store).results
        assert dict(results.cases.select("case", "replications").rows())["lia / 0.02"] == expected
        assert len(results.samples("flow.upload.goodput_bit_s")["lia / 0.02"]) == expected


def test_a_metric_of_an_unknown_flow_is_noticed_after_the_first_run(
    ropewalk: Ropewalk, tmp_path: Path
) -> None:
    path = write_study(tmp_path, STUDY.replace("flow.upload.goodput", "flow.uplaod.goodput"))
    ran = ropewalk("study", path, "--seeds", "500", "--out", tmp_path / "out")
    assert ran.returncode == 2
    assert 'study.toml:5:12: metrics.0: the runs have no flow "uplaod"' in ran.stderr
    assert "did you mean `upload`" in ran.stderr
    assert sum(len(file.seeds) for file in all_files(tmp_path / "out" / "store")) < 500


@pytest.mark.parametrize(
    ("name", "kind"), [("flow.up*d?.goodput_bit_s", "flow"), ("link.*.upp.utilisation", "link")]
)
def test_a_pattern_that_fits_nothing_is_noticed(tmp_path: Path, name: str, kind: str) -> None:
    path = write_study(tmp_path, STUDY.replace("flow.upload.goodput_bit_s", f"sum({name})"))
    wanted = name.split(".", 1)[1].rpartition(".")[0]
    with pytest.raises(StudyError, match=re.escape(f'metrics.0: the runs have no {kind} "{wanted}"')):
        rw.Study.load(path).run(tmp_path / "out")


def test_numbers_of_runs_and_workers_that_make_no_sense(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    for replications in (0, -1, 10**7):
        with pytest.raises(
            ValueError, match=f"replications is {replications}: it lies between 1 and 1000000"
        ):
            rw.Study.load(path, replications=replications)
    with pytest.raises(ValueError, match="jobs is 0: at least 1 is needed"):
        rw.Study.load(path).run(tmp_path / "out", jobs=0)


def all_files(place: Path) -> list[Stored]:
    return list(itertools.chain.from_iterable(Store(place, read_only=True)._index.values()))


def test_a_failed_run_is_reported_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = work.simulate

    def faulty(part: Part, stop: threading.Event | None) -> Output:
        if "olia" in part.text and 2 in part.seeds:
            raise RunFailed('scenario "small", seed 2: assertion failed')
        return real(part, stop)

    monkeypatch.setattr(work, "simulate", faulty)
    study = rw.Study.load(write_study(tmp_path), replications=5)
    ran = study.run(tmp_path / "out")
    assert (ran.conducted.computed, len(ran.conducted.failures)) == (18, 2)
    failures = ran.results.manifest.failures
    assert [(failure.case, failure.seed) for failure in failures] == [("olia / 0.0", 2), ("olia / 0.02", 2)]
    assert "assertion failed" in failures[1].message
    assert "--seed 2" in failures[1].command
    assert "path.b.both.loss.probability=0.02" in failures[1].command
    assert ran.results.samples("flow.upload.goodput_bit_s")["olia / 0.02"].keys() == {1, 3, 4, 5}
    comparisons = ran.results.comparisons
    assert comparisons is not None
    assert set(comparisons["pairs"]) == {4}
    # The next call tries them again, and nothing else.
    monkeypatch.setattr(work, "simulate", real)
    again = study.run(tmp_path / "out")
    assert (again.conducted.computed, again.conducted.found, again.conducted.failures) == (2, 18, [])


def test_the_command_that_repeats_a_run_repeats_it(ropewalk: Ropewalk, tmp_path: Path) -> None:
    import shlex

    study = rw.Study.load(write_study(tmp_path))
    results = study.run(tmp_path / "out").results
    words = shlex.split(study.plan.command(study.plan.cases[3], 2))
    single = json.loads(ropewalk(*words[1:], "--json").stdout)
    assert single["seeds"] == [2]
    goodput = results.samples("flow.upload.goodput_bit_s")["olia / 0.02"][2]
    assert single["flows"][0]["goodput_bit_s"]["mean"] == goodput


def test_the_engine_leaves_the_interpreter_free(tmp_path: Path) -> None:
    """Otherwise it could not be called off, and threads would not share processors."""
    stop = threading.Event()
    scenario = rw.Scenario.parse(ENDLESS, str(tmp_path))
    part = Part("key", scenario.show(), (1,), series=False)
    ended: list[bool] = []

    def simulate() -> None:
        with pytest.raises(Stopped):
            carry_out(Order((part,)), stop)
        ended.append(True)

    thread = threading.Thread(target=simulate)
    thread.start()
    begun = time.monotonic()
    time.sleep(0.3)
    assert thread.is_alive()
    stop.set()
    thread.join(timeout=20)
    assert ended == [True]
    assert time.monotonic() - begun < 10


class Mortal:
    """An executor whose workers die while they work on seed 2 of the first case, `deaths` times in all."""

    name = "mortal"
    unit_s = 0.5
    probes = False
    slots = 1

    def __init__(self, deaths: int, victim: str) -> None:
        self.deaths = deaths
        self.victim = victim
        self._local = LocalExecutor(1)

    def submit(self, order: Order) -> Future[Outcome]:
        if self.deaths > 0 and any(part.key == self.victim and 2 in part.seeds for part in order.parts):
            self.deaths -= 1
            future: Future[Outcome] = Future()
            future.set_exception(BrokenExecutor("the worker has died"))
            return future
        return self._local.submit(order)

    def close(self, *, cancel: bool) -> None:
        self._local.close(cancel=cancel)


@pytest.mark.parametrize(("deaths", "failed"), [(1, []), (2, []), (1000, [("lia / 0.0", 2)])])
def test_a_worker_that_dies_loses_only_its_unit(
    tmp_path: Path, deaths: int, failed: list[tuple[str, int]]
) -> None:
    plan = rw.Study.load(write_study(tmp_path)).plan
    store = Store(tmp_path / "store")
    conducted = Conductor(plan, store, Mortal(deaths, plan.cases[0].key)).run()
    store.close()
    assert [(failure.case.name, failure.seed) for failure in conducted.failures] == failed
    assert conducted.computed == 12 - len(failed)
    assert conducted.lost >= min(deaths, 3)
    if failed:
        assert "the worker has died" in conducted.failures[0].message


def test_another_model_version_is_refused() -> None:
    with pytest.raises(work.WrongModel, match="install the same version"):
        carry_out(Order((), model_version=rw.MODEL_VERSION + 1))


def test_dry_run(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = write_study(tmp_path)
    before = ropewalk("study", path, "--dry-run", "--out", tmp_path / "out")
    assert before.returncode == 0
    assert "4 cases, 0 runs stored" in before.stdout
    assert "12 to compute" in before.stdout
    assert not (tmp_path / "out").exists()
    rw.Study.load(path, replications=2).run(tmp_path / "out")
    after = ropewalk("study", path, "--dry-run", "--out", tmp_path / "out")
    assert "8 runs stored" in after.stdout
    assert "4 to compute" in after.stdout
    found = json.loads(ropewalk("study", path, "--dry-run", "--json", "--out", tmp_path / "out").stdout)
    assert (found["least"], found["most"]) == (4, 4)
    assert found["cases"][0] == {
        "case": "lia / 0.0",
        "levels": {"congestion": "lia", "error rate": "0.0"},
        "min": 3,
        "max": 3,
        "stored": 2,
    }


def test_tables_for_people(ropewalk: Ropewalk, tmp_path: Path) -> None:
    text = STUDY + '[statistics]\npool = ["error rate"]\noutliers = "z-score"\n'
    ran = ropewalk("study", write_study(tmp_path, text), "--out", tmp_path / "out")
    assert ran.returncode == 0
    assert ran.stderr == ""
    for words in [
        "4 cases",
        "Mbit/s",
        "Difference from lia, paired by seed",
        "Holm",
        "Pooled over error rate",
    ]:
        assert words in ran.stdout, words


def test_metrics_over_several_rows(tmp_path: Path) -> None:
    text = STUDY.replace(
        '"flow.upload.delay_p95_s"',
        '"jain(subflow.upload.*.goodput_bit_s)", "max(link.*.utilisation)", "link.a.up.drops_error", '
        '"run.end_s"',
    )
    results = rw.Study.load(write_study(tmp_path, text)).run(tmp_path / "out").results
    case, seed = "olia / 0.02", 2
    goodputs = results.subflows.filter((pl.col("case") == case) & (pl.col("run") == seed))["goodput_bit_s"]
    assert results.samples("jain(subflow.upload.*.goodput_bit_s)")[case][seed] == pytest.approx(
        statistics.jain(goodputs.to_list())
    )
    links = results.links.filter((pl.col("case") == case) & (pl.col("run") == seed))
    assert results.samples("max(link.*.utilisation)")[case][seed] == links["utilisation"].max()
    drops = links.filter(pl.col("link") == "a.up")["drops_error"][0]
    assert results.samples("link.a.up.drops_error")[case][seed] == drops
    assert results.samples("run.end_s")[case][seed] == 4.0


def test_an_unknown_metric_in_python(tmp_path: Path) -> None:
    results = rw.Study.load(write_study(tmp_path), replications=1).run(tmp_path / "out").results
    with pytest.raises(ValueError, match="has no metric"):
        results.samples("flow.upload.colour")
    with pytest.raises(StudyError):
        rw.Study.load(write_study(tmp_path, "nonsense = 1\n" + STUDY))


def test_the_shipped_study_in_short(tmp_path: Path) -> None:
    """The 25 pairs of the thesis, four test cases each, are different scenarios and have figures."""
    study = rw.Study.load(ROOT / "studies" / "coupled-and-schedulers.toml", [("duration", "3s")], 2)
    assert len(study.plan.cases) == 100
    lossy = next(case for case in study.plan.cases if case.name == "M.Loss / wvegas / minratio")
    assert lossy.text.count("probability = 0.1 ") == 2
    assert lossy.text.count("probability = 0.01 ") == 2
    assert 'scheduler = { kind = "minratio", kernel = "5.15" }' in lossy.text
    slow = next(case for case in study.plan.cases if case.name == "M.Latency / cubic / ecf")
    assert slow.text.count('delay = "350ms"') == 2
    shared = next(case for case in study.plan.cases if case.name == "M.Sim+Def / balia / blest")
    assert [case.text.count('app = { kind = "onoff"') for case in (lossy, slow, shared)] == [1, 1, 1]
    assert [case.text.count("count = 0") for case in (lossy, slow, shared)] == [1, 1, 0]
    ran = study.run(tmp_path / "out")
    assert (ran.conducted.computed, ran.conducted.failures) == (200, [])
    assert ran.results.estimates.height == 100 * 4
    comparisons, pooled = ran.results.comparisons, ran.results.pooled
    assert comparisons is not None
    assert pooled is not None
    assert comparisons.height == 96 * 4
    assert set(comparisons["baseline"]) == {
        f"{case} / cubic / minratio" for case in ("M.Def", "M.Loss", "M.Latency", "M.Sim+Def")
    }
    assert pooled.height == 25 * 4
    assert set(pooled["groups"]) == {4}


def test_every_pair_of_the_shipped_study_delivers_every_byte_once(tmp_path: Path) -> None:
    """All pairs, test cases and replications of the study, in one go, with an upload that has an end."""
    changes = [("duration", "200s"), ("flow.upload.app.size", "1MB"), ("flow.stream.stop", "60s")]
    ran = rw.Study.load(ROOT / "studies" / "coupled-and-schedulers.toml", changes).run(tmp_path / "out")
    assert (ran.conducted.computed, ran.conducted.failures) == (100 * 20, [])
    uploads = ran.results.flows.filter(pl.col("flow") == "upload")
    assert uploads.group_by("case").len().select(pl.col("len").unique()).to_series().to_list() == [20]
    assert uploads["case"].n_unique() == 100
    broken = ~pl.col("completed") | (pl.col("delivered_bytes") != 1_000_000) | pl.col("failure").is_not_null()
    assert uploads.filter(broken | pl.col("fell_back")).is_empty()
    # With a tenth of all packets lost on one beam the slowest takes 73 s.
    assert uploads.filter(pl.col("completion_s") > 100).is_empty()


def test_pooling_and_outliers_of_a_study(tmp_path: Path) -> None:
    text = STUDY + '[statistics]\npool = ["error rate"]\noutliers = "z-score"\nz = 1.1\n'
    results = rw.Study.load(write_study(tmp_path, text), replications=6).run(tmp_path / "out").results
    metric = "flow.upload.goodput_bit_s"
    raw = {
        case: results.values.filter((pl.col("case") == case) & (pl.col("metric") == metric))[
            "value"
        ].to_list()
        for case in ("olia / 0.0", "olia / 0.02")
    }
    kept = [statistics.without_outliers(values, 1.1).kept for values in raw.values()]
    assert sum(map(len, kept)) < 12
    expected = statistics.pooled(
        [len(values) for values in kept],
        [sum(values) / len(values) for values in kept],
        [statistics.sample_sd(values) for values in kept],
    )
    assert results.pooled is not None
    row = results.pooled.row(
        by_predicate=(pl.col("congestion") == "olia") & (pl.col("metric") == metric), named=True
    )
    assert (row["mean"], row["sd"]) == pytest.approx(expected)
    assert row["n"] == sum(map(len, kept))
    dropped = results.estimates.filter((pl.col("congestion") == "olia") & (pl.col("metric") == metric))
    assert dropped["outliers"].sum() == 12 - row["n"]
    # A factor of the same name would take the place of a column.
    tables = (results.cases, results.values, results.estimates, results.comparisons, results.pooled)
    columns = {column for table in tables if table is not None for column in table.columns}
    for column in columns - set(results.factors):
        renamed = STUDY.replace('name = "error rate"', f'name = "{column}"')
        with pytest.raises(StudyError, match=f'"{column}" is a column of the tables of a study'):
            rw.Study.load(write_study(tmp_path, renamed))


def test_groups_of_cases_that_do_not_differ(tmp_path: Path) -> None:
    text = STUDY.replace('["lia", "olia"]', '["lia", "newreno"]').replace('"lia" }', '"lia" }\nset = {}')
    path = write_study(tmp_path, text.replace("[0.0, 0.02]", "[0.0, 0.3]"))
    results = rw.Study.load(path, replications=12).run(tmp_path / "out").results
    groups = results.alike("flow.upload.goodput_bit_s")
    names = {case for group in groups for case in group}
    assert names == {"lia / 0.0", "lia / 0.3", "newreno / 0.0", "newreno / 0.3"}
    assert groups[0][0] == "newreno / 0.0"
    assert not any({"newreno / 0.0", "lia / 0.3"} <= set(group) for group in groups)


def test_a_terminal_sees_rate_and_time_left(tmp_path: Path) -> None:
    terminal, side = pty.openpty()
    path = write_study(tmp_path)
    options = ["--set", "duration=60s", "--seeds", "30", "-j", "1", "--out", str(tmp_path / "out")]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "150"}
    with subprocess.Popen(
        [str(COMMAND), "study", str(path), *options], stdout=subprocess.DEVNULL, stderr=side, env=environment
    ) as process:
        os.close(side)
        shown = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(terminal, 1 << 16):
                shown += chunk
        os.close(terminal)
        assert process.wait(timeout=60) == 0
    text = shown.decode()
    assert re.search(r"\d+/120", text)
    assert re.search(r"[\d.]+ runs/s, \d+ s left", text)


def test_differences_without_a_mean_have_an_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ropewalk.cli.study import show

    rw.Study.load(write_study(tmp_path), replications=2).run(tmp_path / "out")
    results = rw.StudyResults.read(tmp_path / "out")
    # Two seeds, one above and one as far below: 12.7 times sqrt(2) / sqrt(2), of 10.
    rows = [("lia", 1, 9.0), ("lia", 2, 11.0), ("olia", 1, 10.0), ("olia", 2, 10.0)]
    results.__dict__["values"] = pl.DataFrame(
        [
            {"case": f"{case} / 0.0", "run": run, "metric": "flow.upload.delay_p95_s", "value": value}
            for case, run, value in rows
        ]
    )
    show(results)
    assert re.search(r"olia +0.0 +- +0±127\n", capsys.readouterr().out)


def test_figures_that_do_not_exist_do_not_break_anything(ropewalk: Ropewalk, tmp_path: Path) -> None:
    """No loss at all: no drops to be fair about, equal replications, groups without any spread."""
    text = STUDY.replace('"flow.upload.delay_p95_s"', '"jain(link.*.drops_queue)"').replace(
        "[0.0, 0.02]", '["4Mbit/s", "3Mbit/s"]'
    )
    text = text.replace("path.b.both.loss.probability", "path.b.both.rate").replace(
        "compare_paths = false",
        'set = { "path.b.both.loss.probability" = 0.0, "path.a.both.loss.probability" = 0.0, '
        '"path.a.both.queue" = "10000p", "path.b.both.queue" = "10000p" }',
    )
    path = write_study(tmp_path, text + '[statistics]\npool = ["error rate"]\n')
    ran = ropewalk("study", path, "--out", tmp_path / "out", "--json")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert "jain(link.*.drops_queue)" not in summary["cases"][0]["metrics"]
    assert summary["cases"][0]["metrics"]["flow.upload.goodput_bit_s"]["ci95"] == 0.0
    assert summary["pooled"][0]["gap"] is None
    assert not summary["pooled"][0]["poolable"]
    people = ropewalk("study", path, "--out", tmp_path / "out")
    assert "jain(link.*.drops_queue): 12 of 12 runs have no value" in people.stdout


def test_results_without_their_store(tmp_path: Path) -> None:
    rw.Study.load(write_study(tmp_path)).run(tmp_path / "out", store=tmp_path / "store")
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    results = rw.StudyResults.read(tmp_path / "out")
    with pytest.raises(OSError, match=r"3 of 3 replications of [0-9a-f]+ are not there: run the study again"):
        results.flows  # noqa: B018
    assert not (tmp_path / "store").exists()
    (tmp_path / "out" / "study.json").write_bytes(seal({"form": 0}))
    with pytest.raises(ValueError, match="not the list of a study"):
        rw.StudyResults.read(tmp_path / "out")


def test_metrics_of_messages(tmp_path: Path) -> None:
    text = STUDY.replace(
        '"flow.upload.delay_p95_s"',
        '"max(message.upload.delay_s)", "count(message.*.delay_s)", "measure.upload.transfer.delay_max_s"',
    ).replace(
        'baseline = { congestion = "lia" }', 'set = { "flow.upload.app" = { kind = "bulk", size = "50kB" } }'
    )
    results = rw.Study.load(write_study(tmp_path, text)).run(tmp_path / "out").results
    for case in results.samples("max(message.upload.delay_s)"):
        longest = results.samples("max(message.upload.delay_s)")[case]
        assert longest == results.samples("measure.upload.transfer.delay_max_s")[case]
        assert 0.08 < longest[1] < 4.0
        assert results.samples("count(message.*.delay_s)")[case] == {1: 1.0, 2: 1.0, 3: 1.0}


def test_a_count_of_what_no_row_has_is_0(tmp_path: Path) -> None:
    """Left out, such runs would make the mean larger."""
    text = STUDY.replace(
        '"flow.upload.delay_p95_s"', '"count(flow.*.completion_s)", "mean(flow.*.completion_s)"'
    ).replace(
        'baseline = { congestion = "lia" }', 'set = { "flow.upload.app" = { kind = "bulk", size = "1GB" } }'
    )
    results = rw.Study.load(write_study(tmp_path, text)).run(tmp_path / "out").results
    for case, counted in results.samples("count(flow.*.completion_s)").items():
        assert counted == {1: 0.0, 2: 0.0, 3: 0.0}
        assert results.samples("mean(flow.*.completion_s)")[case] == {}
