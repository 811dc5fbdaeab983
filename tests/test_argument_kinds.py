"""Arguments of a wrong kind or out of their range: each is refused by name, with what is allowed."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ropewalk as rw
from conftest import SMALL
from ropewalk import export, rain, report, reproduce
from ropewalk import statistics as st
from ropewalk.comparison import compare
from ropewalk.connections import anonymise
from study_files import write_study

NAN, INF = float("nan"), float("inf")
SCENARIO: Any = rw.Scenario.parse(SMALL, "small.toml")
LOOSE: Any = SimpleNamespace(
    scenario=rw.Scenario,
    capture=rw.Capture,
    results=rw.Results,
    read=rw.read,
    study=rw.Study,
    study_results=rw.StudyResults,
    compare=compare,
    anonymise=anonymise,
    st=st,
    rain=rain,
    report=report,
    export=export,
    reproduce=reproduce,
)
"""The functions without their types, which forbid most of this."""
SITE: Any = rain.Site(50.0, 10.0, 30.0, 20.0, 0.1)
ZEROS = np.zeros(3)
METRIC = "flow.upload.goodput_bit_s"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401
    """Results of a run and of a study, in directories too."""
    place = tmp_path_factory.mktemp("made")
    run = SCENARIO.run(1)
    run.write(place / "run")
    study = rw.Study.load(write_study(place))
    done = study.run(place / "study").results
    return SimpleNamespace(place=place, run=run, study=study, done=done)


Call = Callable[[Any, Any], object]

OF_A_KIND: dict[str, Call] = {
    "Scenario.load": lambda _, v: LOOSE.scenario.load(v),
    "Scenario.load, overrides": lambda m, v: LOOSE.scenario.load(m.place / "small.toml", v),
    "Scenario.parse, name": lambda _, v: LOOSE.scenario.parse(SMALL, v),
    "override": lambda _, v: SCENARIO.override(v),
    "override, one": lambda _, v: SCENARIO.override([v]),
    "opportunities": lambda _, v: SCENARIO.opportunities(v),
    "opportunities, seed": lambda _, v: SCENARIO.opportunities("a.up", v),
    "capacity": lambda _, v: SCENARIO.capacity(v, [0, 1]),
    "capacity, edges": lambda _, v: SCENARIO.capacity("a.up", v),
    "capacity, an edge": lambda _, v: SCENARIO.capacity("a.up", [v]),
    "run": lambda _, v: SCENARIO.run(v),
    "run, a seed": lambda _, v: SCENARIO.run([v]),
    "run, jobs": lambda _, v: SCENARIO.run(1, jobs=v),
    "run, progress": lambda _, v: SCENARIO.run(1, progress=v),
    "run, simulated": lambda _, v: SCENARIO.run(1, simulated=v),
    "run, backend": lambda _, v: SCENARIO.run(1, backend=v),
    "why, effort": lambda _, v: SCENARIO.why(1, effort=v),
    "why, jobs": lambda _, v: SCENARIO.why(1, effort="quick", jobs=v),
    "why, progress": lambda _, v: SCENARIO.why(1, effort="quick", progress=v),
    "Capture": lambda _, v: LOOSE.capture(v),
    "Capture, at": lambda _, v: LOOSE.capture("there", at=v),
    "Capture, snap": lambda _, v: LOOSE.capture("there", snap=v),
    "Results.read": lambda _, v: LOOSE.results.read(v),
    "write": lambda m, v: m.run.write(v),
    "jain": lambda m, v: m.run.jain(v),
    "jain, a flow": lambda m, v: m.run.jain([v]),
    "compare": lambda m, v: m.run.compare(v),
    "compare, metrics": lambda m, v: m.run.compare(m.run, v),
    "comparison.compare": lambda _, v: LOOSE.compare(v),
    "read": lambda _, v: LOOSE.read(v),
    "read, a file": lambda _, v: LOOSE.read([v]),
    "anonymise": lambda m, v: LOOSE.anonymise(v, m.place / "out.pcapng"),
    "anonymise, out": lambda _, v: LOOSE.anonymise([], v),
    "plot.write": lambda m, v: m.run.plot.write(v),
    "plot.write, suffix": lambda m, v: m.run.plot.write(m.place / "plots", v),
    "Study.load": lambda _, v: LOOSE.study.load(v),
    "Study.load, overrides": lambda m, v: LOOSE.study.load(m.place / "study.toml", v),
    "Study.load, replications": lambda m, v: LOOSE.study.load(m.place / "study.toml", replications=v),
    "Study.load, reading": lambda m, v: LOOSE.study.load(m.place / "study.toml", reading=v),
    "Study.load, backend": lambda m, v: LOOSE.study.load(m.place / "study.toml", backend=v),
    "Study.run": lambda m, v: m.study.run(v),
    "Study.run, store": lambda m, v: m.study.run(m.place / "other", store=v),
    "Study.run, jobs": lambda m, v: m.study.run(m.place / "other", jobs=v),
    "Study.run, executor": lambda m, v: m.study.run(m.place / "other", executor=v),
    "Study.run, progress": lambda m, v: m.study.run(m.place / "other", progress=v),
    "StudyResults.read": lambda _, v: LOOSE.study_results.read(v),
    "table": lambda m, v: m.done.table(v),
    "seeds": lambda m, v: m.done.seeds(v),
    "scenario": lambda m, v: m.done.scenario(v),
    "alike, cases": lambda m, v: m.done.alike(METRIC, v),
    "estimate": lambda _, v: LOOSE.st.estimate(v),
    "describe": lambda _, v: LOOSE.st.describe(v),
    "box": lambda _, v: LOOSE.st.box(v),
    "statistics.jain": lambda _, v: LOOSE.st.jain(v),
    "holm": lambda _, v: LOOSE.st.holm(v),
    "without_outliers": lambda _, v: LOOSE.st.without_outliers(v),
    "without_outliers, threshold": lambda _, v: LOOSE.st.without_outliers([1.0], v),
    "quantile": lambda _, v: LOOSE.st.quantile(v, 0.5),
    "quantile, share": lambda _, v: LOOSE.st.quantile([1.0], v),
    "paired": lambda _, v: LOOSE.st.paired(v, {}),
    "paired, a value": lambda _, v: LOOSE.st.paired({1: v}, {}),
    "paired, test": lambda _, v: LOOSE.st.paired({}, {}, v),
    "statistics.alike": lambda _, v: LOOSE.st.alike(v),
    "statistics.alike, alpha": lambda _, v: LOOSE.st.alike([], v),
    "statistics.alike, correction": lambda _, v: LOOSE.st.alike([], correction=v),
    "pooled": lambda _, v: LOOSE.st.pooled(v, [1.0], [1.0]),
    "pooled, means": lambda _, v: LOOSE.st.pooled([2], v, [1.0]),
    "pooled, sds": lambda _, v: LOOSE.st.pooled([2], [1.0], v),
    "report.build": lambda _, v: LOOSE.report.build(v),
    "report.build, case": lambda m, v: LOOSE.report.build(m.place / "study", case=v),
    "report.write, out": lambda m, v: LOOSE.report.write(m.place / "run", v),
    "export": lambda _, v: LOOSE.export.export(v, "csv"),
    "export, form": lambda m, v: LOOSE.export.export(m.place / "run", v),
    "export, out": lambda m, v: LOOSE.export.export(m.place / "run", "csv", v),
    "reproduce.load": lambda _, v: LOOSE.reproduce.load(v),
    "Site": lambda _, v: LOOSE.rain.Site(v, 10.0, 30.0, 20.0),
    "Fade": lambda _, v: LOOSE.rain.Fade(v),
    "attenuation": lambda _, v: LOOSE.rain.Fade(3.0).attenuation(v),
    "times": lambda _, v: LOOSE.rain.times(v),
    "times, step": lambda _, v: LOOSE.rain.times(10.0, v),
    "free_space_loss": lambda _, v: LOOSE.rain.free_space_loss(v, 20.0),
    "specific_attenuation, site": lambda _, v: LOOSE.rain.specific_attenuation(10.0, v),
    "exceeded": lambda _, v: LOOSE.rain.exceeded(v, 99.9),
    "at_rain_rate": lambda _, v: LOOSE.rain.at_rain_rate(SITE, v),
    "synthesis": lambda _, v: LOOSE.rain.synthesis(v, 10.0, 1),
    "synthesis, seed": lambda _, v: LOOSE.rain.synthesis(SITE, 10.0, v),
    "deepest": lambda _, v: LOOSE.rain.deepest(v, 1.0),
    "level": lambda _, v: LOOSE.rain.level(v, 10.0),
    "level, clear_sky": lambda _, v: LOOSE.rain.level(ZEROS, v),
    "losses": lambda _, v: LOOSE.rain.losses(v, 3.0),
    "rain.write": lambda _, v: LOOSE.rain.write(v, ZEROS, ZEROS),
    "rain.write, at": lambda m, v: LOOSE.rain.write(m.place / "w.csv", v, ZEROS),
    "rain.write, comment": lambda m, v: LOOSE.rain.write(m.place / "w.csv", ZEROS, ZEROS, v),
}


@pytest.mark.parametrize("wrong", [object(), [[]], b"x"], ids=["object", "list", "bytes"])
@pytest.mark.parametrize("name", OF_A_KIND)
def test_a_wrong_kind_is_named_with_the_one_that_is_taken(name: str, wrong: object, made: Any) -> None:  # noqa: ANN401
    """Python said `'NoneType' object is not iterable` or the like, from somewhere inside."""
    with pytest.raises(TypeError) as told:
        OF_A_KIND[name](made, wrong)
    assert re.search(r" is an? .*, not \w+$| is a pair \(key, value\), both str; found ", str(told.value))
    assert not re.match(r"'\w+' object", str(told.value))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda _: SCENARIO.run(-1), "the number of seeds lies between 1 and"),
        (lambda _: SCENARIO.run([]), "the number of seeds lies between 1 and"),
        (lambda _: SCENARIO.run([-1]), "seeds lie between 0 and"),
        (lambda _: SCENARIO.run(1, jobs=0), "jobs is 0: at least 1 is needed"),
        (lambda _: SCENARIO.capacity("a.up", [0, INF]), "edges_s: found inf in place 1; allowed: finite"),
        (lambda _: SCENARIO.capacity("nowhere", [0, 1]), "there are a.up, a.down, b.up, b.down"),
        (lambda m: m.run.compare(m.run, ["x"]), "x is no figure of the table flows; figures: start_s"),
        (lambda m: m.run.plot.cwnd(flow="x"), "there is no flow 'x'; flows: upload"),
        (lambda m: m.run.plot.cwnd(run=2), "there is no run 2; seeds: [1]"),
        (lambda m: m.run.plot.write(m.place, "gif"), "suffix: found 'gif'; allowed: png, svg, pdf"),
        (lambda m: LOOSE.study.load(m.place / "study.toml", backend="x"), "allowed: simulator"),
        (lambda m: LOOSE.study.load(m.place / "study.toml", replications=0), "it lies between 1 and"),
        (lambda m: m.study.run(m.place / "other", executor="x"), "there is no executor 'x'; known: local"),
        (lambda m: m.study.run(m.place / "other", jobs=-1), "jobs is -1: at least 1 is needed"),
        (lambda m: m.done.table("x"), "a table: found 'x'; allowed: runs, flows"),
        (lambda m: m.done.seeds("x"), "a case: found 'x'; allowed: lia / 0.0"),
        (lambda m: m.done.scenario("x"), "a case: found 'x'; allowed: lia / 0.0"),
        (lambda m: m.done.samples("x"), f"the study has no metric 'x'; it has {METRIC}"),
        (lambda m: m.done.alike(METRIC, ["x"]), "a case: found 'x'; allowed: lia / 0.0"),
        (lambda _: st.estimate([1.0, NAN]), "values: found nan in place 1; allowed: finite numbers"),
        (lambda _: st.without_outliers([1.0], NAN), "threshold: found nan; allowed: 0 to inf"),
        (lambda _: st.quantile([], 0.5), "ordered: at least one number is needed"),
        (lambda _: st.quantile([2.0, 1.0], 0.5), "and ascending order"),
        (lambda _: st.quantile([1.0], 1.5), "share: found 1.5; allowed: 0 to 1"),
        (lambda _: st.paired({1: 1.0}, {1: NAN}), "the values of second: found nan"),
        (lambda _: st.paired({}, {}, "x"), "test: found 'x'; allowed: t, wilcoxon"),
        (lambda _: st.holm([2.0]), "each of ps: found 2; allowed: 0 to 1"),
        (lambda _: st.alike([], correction="x"), "correction: found 'x'; allowed: holm, none"),
        (lambda _: st.pooled([-1], [1.0], [1.0]), "each of counts is -1: at least 1 is needed"),
        (lambda _: rain.Site(NAN, 10.0, 30.0, 20.0), "latitude: found nan; allowed: -90 to 90"),
        (lambda _: rain.Site(50.0, 10.0, 30.0, 20e9), "frequency: found 2e+10; allowed: 1 to 55"),
        (lambda _: rain.Fade(-1.0), "peak: found -1; allowed: 0 to 1e+09"),
        (lambda _: rain.Fade(1.0).attenuation(np.array([NAN])), "times: found nan in place 0"),
        (lambda _: rain.deepest(np.zeros(0), 1.0), "the series lasts 0 s, shorter than"),
        (lambda _: rain.level(np.array([INF]), 10.0), "attenuation: found inf in place 0"),
        (lambda _: rain.losses(np.array([NAN]), 3.0), "levels: found nan in place 0"),
        (
            lambda m: rain.write(m.place / "w", ZEROS, np.zeros(2)),
            "found 2 for 3 times; allowed: one",
        ),
    ],
)
def test_a_value_out_of_its_range_is_told_the_range(
    call: Callable[[Any], object],
    told: str,
    made: Any,  # noqa: ANN401
) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        call(made)


@pytest.mark.parametrize("call", [LOOSE.scenario.load, LOOSE.results.read, LOOSE.study_results.read])
def test_a_missing_file_is_named(call: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        call(tmp_path / "missing")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: LOOSE.st.quantile([1.0], np.zeros(2)), "share is a number, not ndarray"),
        (lambda: LOOSE.rain.losses(np.zeros((2, 2)), 3.0), "each of levels is a number, not ndarray"),
        (lambda: LOOSE.read({"a.pcapng": 1}), "files is a list of paths, not dict"),
    ],
)
def test_a_collection_is_no_single_value_and_a_mapping_no_list(call: Callable[[], object], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        call()


def test_a_missing_capture_is_a_problem(tmp_path: Path) -> None:
    """Captures are read as far as they can be, and the results say what is missing."""
    [problem] = anonymise([tmp_path / "missing"], tmp_path / "out").problems
    assert "missing" in problem
