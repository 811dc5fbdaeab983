"""Reproductions: expressions, predicates, verdicts that follow from the figures."""

import csv
import json
import re
from pathlib import Path

import pytest

from conftest import Ropewalk
from reproduction_files import CAUSE, CLAIMS, QUANTITIES, SHOWN, STUDY, flips, write_reproduction
from ropewalk import reproduce as rep
from ropewalk.reproduce import predicates
from ropewalk.reproduce.expressions import Evaluator, ExpressionError, parse
from ropewalk.reproduce.predicates import Outcome, WrongUse
from ropewalk.reproduce.values import NoValue, Sample
from ropewalk.reproduce.verdicts import Verdict
from ropewalk.reproduce.words import number
from ropewalk.study import StudyError

LEVELS = {"x": [["a", "b", "c"], ["1", "2", "3"]], "y": [], "w": []}
FIGURES = {
    ("x", ("a", "1")): [1.0, 3.0],
    ("x", ("a", "2")): [4.0, 4.0],
    ("x", ("a", "3")): [6.0, 6.0],
    ("x", ("b", "1")): [1.0, 1.0],
    ("x", ("b", "2")): [2.0, 2.0],
    ("x", ("b", "3")): [10.0, 10.0],
    ("x", ("c", "1")): [2.0, 2.0],
    ("x", ("c", "2")): [4.0, 4.0],
    ("x", ("c", "3")): [6.0, 6.0],
    ("y", ()): [2.0, 2.0],
    ("w", ()): [1.0, 3.0],
}


class Figures:
    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        values = FIGURES[quantity, levels]
        return Sample(dict(enumerate(values, 1)), "s")

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        return Outcome(
            holds=(place, key, value, case) == ("f.toml", "duration", "1s", ()), readings=(), words=""
        )


def holds(text: str) -> bool:
    return outcome(text).holds


def outcome(text: str) -> Outcome:
    found = parse(text, LEVELS, check=True, published=True)
    return Evaluator(Figures(), LEVELS, published=2.0).outcome(found.tree)


@pytest.mark.parametrize(
    "text",
    [
        'within(x["a", "1"], 2.1, 0.05)',
        'within(x["a", "1"], published, abs=0.01)',
        'within(-x["a", "1"], -2.1, 0.05)',
        'between(x["a", :], 2, 6)',
        'at_least(x["c", :], 2)',
        'at_most(x["c", ["1", "2"]], 4)',
        'order(x["c", "3"], x["c", "2"], x["c", "1"])',
        'order(x["a", "2"], x["b", "2"] * 2, ties=0.01)',
        'order(x["c", :] + 1, [2, 3, 6.5])',
        'close(x["a", "1"], x["b", "2"], y, tol=0.001)',
        'nearer(x["a", "2"], 3, 6)',
        'nearer(x["c", :], [1, 3, 5], [8, 9, 12])',
        'nearer(y, x["b", "2"], x["b", "3"])',
        'nearer(x["b", "3"], 9, 2)',
        'rising(x["c", :])',
        'falling(-x["c", :])',
        'order(x[["a", "b"], ["2", "3"]], [3.9, 5.9, 1.9, 9.9])',
        "rising([1, 2, 1.95, 3], ties=0.03)",
        "flat([10, 10.5, 9.6], tol=0.05)",
        'poolable(x["a", :], gap=10)',
        'mostly(x["c", :], [0, 5, 5])',
        "follows([10, 20, 5, 10], [12, 18, 6, 11], factor=1.3, curves=2)",
        "follows([10, 19], [20, 20.5], factor=2, ties=0.1)",
        "follows([10, 31, 29], [10, 20, 22], [1, 12, 8], factor=1.1)",
        'within(max(x["a", "1"], y), 2.5, abs=1e-9)',
        'within(highest(x["b", :]), 10, abs=0)',
        'within(lowest(x["a", :]), 2, abs=0)',
        'within(sqrt(max(x["b", :]) - 3), sqrt(7), abs=1e-9)',
        'within(x["a", "1"] / x["a", "1"] - 1, 0, abs=0)',
        "within((2 ** 3 - abs(-y)) / sqrt(4), 3, 0)",
        'within(runs(x["a", :]), 2, 0)',
        'config("f.toml", "duration", "1s")',
        "between(y, 5, 6) or between(y, 1, 3)",
        'all(at_least(x[c, "2"], n) for c in ["a", "c"] for n in [3, 4])',
        'all(within(x[c, n], v, 0) for c, n, v in [("a", "2", 4), ("b", "3", 10)])',
        'all(all(at_least(x[c, n], 4) for c in ["a", "c"]) for n in ["2", "3"])',
        'order(x["c", "3"],\n      x["c", "2"])\nand order(x["c", "2"], x["c", "1"])',
        'by_chance(order(x["a", "1"], 2.5), runs=10)',
        'by_chance(order(x["a", "1"], y) and order(y, x["b", "1"]), runs=1)',
        'by_chance(order(x["a", "1"], y) and order(y, w), runs=1)',
        'by_chance(order(x["a", "1"], y) and order(w, y), seeds=1)',
        'by_chance(order(x["a", "1"], 2.5), runs=10, alike=[["a", "b"], ["1", "2", "3"]])',
    ],
)
def test_predicates_that_hold(text: str) -> None:
    assert holds(text)
    assert not holds(f"not ({text})")


@pytest.mark.parametrize(
    "text",
    [
        'within(x["a", "1"], 2.2, 0.05)',
        'within(x["a", "1"], published + 1, abs=0.5)',
        'between(x["a", :], 2, 5.9)',
        'at_least(x["c", :], 2.1)',
        'at_most(x["c", :], 5.9)',
        'order(x["c", "3"], x["c", "1"], x["c", "2"])',
        'order(x["a", "2"], x["b", "2"] * 2)',
        'order(x["a", :], x["b", :])',
        'close(x["a", "2"], y, tol=0.3)',
        # The geometric mean decides: 4 is as far from 1 as from 16, and 4.1 from 2 nearer than to 8.4.
        'nearer(x["a", "2"], 16.1, 1)',
        'nearer(x["c", :], [1, 3, 5], [8, 9, 6.1])',
        "rising([1, 2, 2])",
        'falling(x["c", :])',
        "rising([1, 2, 1.9, 3], ties=0.03)",
        "flat([10, 10.5, 9.3], tol=0.05)",
        'poolable(x["a", :], gap=0.5)',
        'mostly(x["c", :], [0, 5, 5], share=0.7)',
        "follows([10, 20, 5, 10], [12, 18, 6, 11], factor=1.15, curves=2)",
        "follows([10, 8], [10, 12], factor=2, ties=0.1)",
        "follows([10, 8], [8, 10], factor=2)",
        "follows([10, 99], [10, 20], [1, 12], factor=1.1)",
        "follows([10, 8], [8, 10], [1, 1], factor=2)",
        'config("f.toml", "duration", "2s")',
        'all(at_least(x[c, "2"], 4) for c in ["a", "b", "c"])',
        "between(y, 1, 3) and between(y, 5, 6)",
        'by_chance(order(x["a", "1"], 2.5), runs=60)',
        'by_chance(order(x["a", "1"], x["a", "2"]), runs=1)',
        'by_chance(order(x["a", "1"], x["a", "1"]), runs=1)',
        'by_chance(order(x["a", "1"], y) and order(y, w), seeds=1)',
    ],
)
def test_predicates_that_do_not_hold(text: str) -> None:
    assert not holds(text)


def test_the_mean_is_that_of_the_quotients_seed_by_seed() -> None:
    found = outcome('between(y / x["a", "1"], 1.3, 1.4)')
    assert found.holds
    reading = found.readings[0].estimate
    assert reading.mean == pytest.approx((2 / 1 + 2 / 3) / 2)
    assert reading.n == 2
    assert reading.ci95 == pytest.approx(12.7062 * 0.942809 / 2**0.5, rel=1e-4)
    assert "1.333 ± 8.5" in found.words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('within(z["a"], 1, 0.1)', "there is no quantity `z`"),
        ('within(x["a"], 1, 0.1)', "2 factors, found 1 levels"),
        ('within(x["a", "4"], 1, 0.1)', 'no level "4"'),
        ('x["a", "1"]', "neither true nor false"),
        ("withn(y, 1, 0.1)", "`withn` is not a predicate"),
        ('any(at_least(x[c, "2"], 5) for c in ["a", "b"])', "`any` is not a predicate"),
        ('within(sum(x["b", :]), 13, 0)', "cannot be used as a value"),
        ("within(y)", "`within` has 1 arguments"),
        ("close(y, y)", "`close` needs tol="),
        ("rising(y, tol=1)", "no option `tol`"),
        ("within(y, 1,", "not an expression"),
        ("within(__import__('os'), 1, 1)", "cannot be used as a value"),
        ("within(y.real, 1, 1)", "cannot be used as a value"),
        ("within(y if y else y, 1, 1)", "cannot be used as a value"),
        ("within(True, 1, 1)", "cannot be used as a value"),
        ("abs(y)", "neither true nor false"),
        ('config("f.toml", y, "1s")', "takes texts and numbers only"),
        ('config("f.toml", "duration")', "called otherwise"),
        ("by_chance(order(y, 1))", "called otherwise"),
        ("all(order(y, 1), order(y, 2))", "`all` is called otherwise"),
        (
            "all(order(y, a) for a in {N} for b in {N} for c in {N} for d in {N} for e in {N})".format(
                N=list(range(99))
            ),
            "has 9509900499 cases",
        ),
        ("all(" * 12 + "order(y, 1)" + "".join(f" for {v} in [1, 2])" for v in "abcdefghijkl"), "cases"),
        ("all(order(y, n) for n in x['a', :])", "is not a list of levels or numbers"),
        ("all(order(y, n) for n in [1, 2] if n)", "is not a list of levels or numbers"),
        ("all(order(y, n) for n, m in [1, 2])", "`1` does not go with n, m"),
        ("all(order(y, n) for n.a in [1, 2])", "`for n.a` is not a name"),
        ('all(order(x["a", m], 1) for n in ["1", "2"])', "`m` is not a level"),
        (f"all(order(y, n) for n in [{', '.join(['1'] * 1001)}])", "has 1001 cases"),
        ("by_chance(y, runs=10)", "neither true nor false"),
        ('by_chance(order(x["a", "1"], y), runs=10, alike=["a", "b"])', "called otherwise"),
        ('by_chance(order(x["a", "1"], y), runs=10, like=[["a", "b"]])', "called otherwise"),
        ('by_chance(order(x["a", "1"], y), runs=10, alike=[["b", "c"]])', "names none of b, c"),
    ],
)
def test_mistakes_in_expressions_have_a_cure(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)) as error:
        parse(text, LEVELS, check=True)
    assert error.value.cure


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("within(y, 1)", WrongUse),
        ("by_chance(order(y, 1), runs=0.5)", WrongUse),
        ("within(y, y, 0.1)", WrongUse),
        ("between(y, 3, 1)", WrongUse),
        ("rising(y)", WrongUse),
        ("nearer(y, 2, 2)", WrongUse),
        ("nearer(y, -2, 2)", NoValue),
        ("at_least(spread(y), 1)", NoValue),
        ("at_least(spread(3), 1)", NoValue),
        ("poolable([1, 2], gap=1)", WrongUse),
        ("rising(x[:, :])", WrongUse),
        ("follows([10, 99], [10, 0], factor=1.1)", WrongUse),
        ("follows([10, 99], [10, 20], [1], factor=1.1)", WrongUse),
        ("within(1 / (y - 2), 1, 0.1)", NoValue),
        ("within(runs(3), 3, 0)", WrongUse),
        ("within((-y) ** 0.5, 1, 0.1)", NoValue),
        ("within(x['a', :] + [1, 2], 1, 0.1)", NoValue),
    ],
)
def test_what_cannot_be_computed_is_said(text: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        outcome(text)


@pytest.mark.parametrize(
    "text",
    [
        'order(x["a", "2"], x["a", "1"])',
        'order(x["c", "2"], x["a", "1"], ties=0.5)',
        'at_least(x["a", "1"], 1.9)',
        'at_most(x["a", "1"], 2.1)',
        'rising(x["a", :])',
        'nearer(x["a", "1"], 1.9, 2.4)',
        'nearer(y, x["a", "1"], 9)',
        "rising([1, x['a', '1'], 1.5, 20])",
        'mostly(x["a", :], [0, 5, 5])',
        'order(x["a", "2"], x["a", "1"]) and order(y, 1)',
        'order(x["a", "2"], x["a", "1"]) or order(y, 3)',
    ],
)
def test_what_the_runs_cannot_tell_neither_holds_nor_is_refuted(text: str) -> None:
    assert outcome(text).unclear
    assert not holds(text)
    assert not holds(f"not ({text})")
    assert outcome(f"not ({text})").unclear
    assert "not distinguishable" in outcome(text).words


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('order(x["a", "2"], x["a", "1"]) and order(y, 3)', False),
        ('order(x["a", "2"], x["a", "1"]) or order(y, 1)', True),
        # Seeds are paired: what both have in common is no doubt.
        ('order(x["a", "1"] + 0.5, x["a", "1"])', True),
        ('order(x["a", "1"], x["a", "1"] + 0.5)', False),
        ('order(x["a", "1"], x["a", "1"], ties=0.01)', True),
        ('order(x["a", "1"], x["a", "1"])', False),
        # A step within its interval is no trend the other way, but neither is the whole without doubt.
        ("rising([x['a', '1'] / 1000, x['a', '1'] / 1000 + 1, x['a', '1'] / 1000 + 2])", True),
        ("rising([x['a', '1'], x['a', '1'] + 1, x['a', '1'] - 1, x['a', '1'] + 2])", False),
    ],
)
def test_what_is_beyond_doubt_is_decided(text: str, wanted: bool) -> None:
    found = outcome(text)
    assert (found.holds, found.unclear) == (wanted, False)


def test_the_spread_over_runs_has_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FIGURES, ("y", ()), [9.0, 10.0, 11.0, 10.5, 9.5, 10.0, 8.0, 12.0])
    monkeypatch.setitem(FIGURES, ("w", ()), [4.0, 10.0, 16.0, 13.0, 7.0, 10.0, 2.0, 19.0])
    # The standard deviation of y is 1.254, that of w 5.655; the jackknife takes their bias away.
    assert holds("within(spread(y), 1.3, 0.03)")
    assert holds("order(spread(w), spread(y)) and order(spread(w), 2) and at_most(spread(y), 2.5)")
    assert holds("at_most(spread([y, w]), 10)")
    found = outcome("order(spread(y), 1.2)")
    assert found.unclear, found.words
    assert re.search(r"measured 1\.[23]\d* ± 0\.\d+ s", found.words), found.words
    assert not outcome("order(spread(y), spread(w))").unclear


def test_one_run_stands_for_all_where_nothing_is_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FIGURES, ("y", ()), [2.0])
    assert outcome('order(y, x["a", "1"] - 10)').words.count("±") > 1
    assert outcome('order(y + 1, x["a", "1"])').unclear
    assert "difference 0.25 s, as wanted" in outcome("order(y, 1.75)").words


def test_what_deviations_excuse_is_counted() -> None:
    words = outcome("follows([10, 31, 29], [10, 20, 22], [1, 12, 8], factor=1.1)").words
    assert "1 of 3 points within a factor 1.1, 2 more within the published deviation" in words
    assert "1 of 1 pairs in the published order, 1 pairs left out that differ by less than" in words


EXAMPLES = {
    "within": 'within(x["a", "2"], 4, 0.1)',
    "between": 'between(x["a", :], 2, 6)',
    "at_least": 'at_least(x["c", :], 2)',
    "at_most": 'at_most(x["c", :], 6)',
    "order": 'order(x["b", "3"], x["a", "2"])',
    "close": 'close(x["b", "2"], y, tol=0.1)',
    "nearer": 'nearer(x["a", "2"], 3, 6)',
    "rising": 'rising(x["c", :])',
    "falling": 'falling(-x["c", :])',
    "flat": 'flat([x["b", "2"], y], tol=0.1)',
    "mostly": 'mostly(x["c", :], [0, 5, 5], share=0.5)',
    "follows": 'follows([x["a", :]], [2, 4, 6], factor=2)',
    "poolable": 'poolable(x["a", ["1", "2"]], gap=2)',
}
"""Each holds."""


@pytest.mark.parametrize("name", predicates.PREDICATES)
def test_another_figure_flips_every_kind_of_predicate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = EXAMPLES[name]
    assert holds(text)
    flipped = []
    for place in [("x", (first, second)) for first in "abc" for second in "123"] + [("y", ())]:
        for factor in (-1.0, 0.4, 3.0, 100.0):
            changed = {**FIGURES, place: [value * factor for value in FIGURES[place]]}
            monkeypatch.setattr(f"{__name__}.FIGURES", changed)
            flipped += [place] if not holds(text) else []
            monkeypatch.undo()
    assert flipped
    assert "y" in text or "y" not in {name for name, _ in flipped}
    assert holds(text)


def test_verdicts_come_from_the_runs(ropewalk: Ropewalk, tmp_path: Path) -> None:
    place, out = write_reproduction(tmp_path), tmp_path / "out"
    ran = ropewalk("reproduce", place, "--out", out)
    assert ran.returncode == 0, ran.stderr
    assert (
        "\n1 of 2 agree\nthe others: 1 unexplained\nset up as published: 1 of 1, not counted\n" in ran.stdout
    )
    assert "\ncannot be checked: 1\n" in ran.stdout
    assert "12 runs computed, 0 were there" in ran.stdout
    assert "cause: nothing is that fast" in ran.stdout
    rows = list(csv.DictReader((out / "verdicts.csv").open(encoding="utf-8")))
    verdicts = ["agrees", "differs, unexplained", "set up as published", "cannot be checked"]
    assert [row["verdict"] for row in rows] == verdicts
    summary = json.loads((out / "verdicts.json").read_text(encoding="utf-8"))
    assert set(summary.pop("files")) == {"verdicts.csv", "verdicts.html"}
    assert len(summary.pop("sha256")) == 64
    assert [claim["verdict"] for claim in summary["claims"]] == [row["verdict"] for row in rows]
    assert {verdict: number for verdict, number in summary["counts"].items() if number} == dict.fromkeys(
        verdicts, 1
    )
    assert (summary["checked"], summary["readings"][0]["agrees"]) == (2, 1)
    second = summary["claims"][1]
    assert second["n"] == 3
    assert f"measured {number(second['value'])} ± " in second["reason"]
    assert "allowed 900 to 1100" in second["reason"]
    again = ropewalk("reproduce", place, "--out", out, "--json")
    assert "0 runs computed, 12 were there" in again.stderr
    assert json.loads(again.stdout) == summary


def test_what_differs_unexplained_is_told_loudly(ropewalk: Ropewalk, tmp_path: Path) -> None:
    told = "small: 1 claim differs UNEXPLAINED: number\n"
    place, out = write_reproduction(tmp_path), tmp_path / "out"
    ran = ropewalk("reproduce", place, "--out", out)
    assert (ran.returncode, ran.stderr.endswith(told)) == (0, True)
    ran = ropewalk("reproduce", place, "--out", out, "--strict", "--json")
    assert (ran.returncode, ran.stderr.endswith(told)) == (3, True)
    assert json.loads(ran.stdout)["unexplained"] == ["small.number"]
    (place / "claims.toml").write_text(CLAIMS.replace(CAUSE, SHOWN), encoding="utf-8")
    ran = ropewalk("reproduce", place, "--out", out, "--strict")
    assert (ran.returncode, "UNEXPLAINED" in ran.stderr) == (0, False)
    assert "the others: 1 explained" in ran.stdout


def test_quick_runs_few_replications_for_the_quick_claims(ropewalk: Ropewalk, tmp_path: Path) -> None:
    ran = ropewalk("reproduce", write_reproduction(tmp_path), "--out", tmp_path / "out", "--quick")
    assert "\n1 of 1 agree\n" in ran.stdout
    assert "8 runs computed" in ran.stdout


def test_quick_stops_a_stopping_rule(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    rule = '{ until = "flow.upload.goodput_bit_s", half_width = "0.01%", min = 2, max = 9 }'
    text = STUDY.replace("replications = 3", f"replications = {rule}")
    (place / "study-loss.toml").write_text(text, encoding="utf-8")
    made = rep.reproduce(rep.load(place), tmp_path / "out", quick=True)
    assert {entry.replications for entry in made.results["loss"].manifest.cases} == {2}


def test_a_changed_number_in_the_results_flips_the_verdict(tmp_path: Path) -> None:
    loaded = rep.load(write_reproduction(tmp_path))
    made = rep.reproduce(loaded, tmp_path / "out")
    assert [row.verdict for row in made.rows[:3]] == [Verdict.AGREES, Verdict.UNEXPLAINED, Verdict.SET_UP]
    for claim in loaded.claims[:3]:
        assert flips(loaded, claim, made.sources[""], ""), claim.id


def test_a_typed_verdict_is_refused(tmp_path: Path) -> None:
    claims = CLAIMS.replace('cause = "nothing is that fast"', 'verdict = "agrees"')
    with pytest.raises(StudyError, match="`verdict` is not a key of a claim"):
        rep.load(write_reproduction(tmp_path, claims))


def test_time_series_become_figures(tmp_path: Path) -> None:
    check = 'check = \'order(peak["lia", "0.0"], rate["lia", "0.0"])\''
    claims = f'{CLAIMS}\n[[claim]]\nid = "small.peak"\npublished = "peak"\n{check}\n'
    loaded = rep.load(write_reproduction(tmp_path, claims))
    made = rep.reproduce(loaded, tmp_path / "out")
    assert made.rows[-1].verdict is Verdict.AGREES
    results = made.results["loss"]
    series = results.table("series")
    import polars as pl

    wanted = series.filter(
        (pl.col("case") == "lia / 0.0") & (pl.col("flow") == "upload") & (pl.col("metric") == "goodput_bit_s")
    )
    first = wanted.filter(pl.col("run") == 1)
    means = [
        first.filter((pl.col("t_s") > start + 1e-9) & (pl.col("t_s") <= start + 1 + 1e-9))["value"].mean()
        for start in range(4)
    ]
    found = made.sources[""].sample("peak", ("lia", "0.0")).values[1]
    assert found * 1e6 == pytest.approx(max(float(str(mean)) for mean in means))


def test_a_pooled_quantity_is_the_mean_over_its_factors_seed_by_seed(tmp_path: Path) -> None:
    pooled = QUANTITIES + (
        'pooled = { study = "loss", metric = "flow.upload.goodput_bit_s", pool = ["error rate"] }\n'
    )
    check = 'check = \'order(rate["lia", "0.0"], pooled["lia"])\''
    claims = f'{CLAIMS}\n[[claim]]\nid = "small.pooled"\npublished = "less"\n{check}\n'
    loaded = rep.load(write_reproduction(tmp_path, claims, quantities=pooled))
    made = rep.reproduce(loaded, tmp_path / "out")
    assert made.rows[-1].verdict is Verdict.AGREES
    source = made.sources[""]
    found = source.sample("pooled", ("lia",)).values
    for run in (1, 2, 3):
        of_levels = [source.sample("rate", ("lia", level)).values[run] for level in ("0.0", "0.3")]
        assert found[run] == pytest.approx(sum(of_levels) / 2)


def test_mistakes_are_named_by_line(ropewalk: Ropewalk, tmp_path: Path) -> None:
    claims = CLAIMS.replace('order(rate["lia"', 'order(rate["lai"')
    claims = claims.replace("cannot =", "check = 'between(rate, 1, 2)'\ncannot =")
    ran = ropewalk("reproduce", write_reproduction(tmp_path, claims))
    assert ran.returncode == 2
    assert re.search(r'claims\.toml:6:9: claim\.0\.check: small\.more: `rate` has no level "lai"', ran.stderr)
    assert "did you mean `lia`?" in ran.stderr
    assert '"small.live" needs either `check` or `cannot`' in ran.stderr


def test_nothing_is_run_before_everything_has_been_read(tmp_path: Path) -> None:
    claims = CLAIMS + "\n[[claim]]\nid = 'small.late'\npublished = '1'\n"
    claims += "check = 'at_least(late[:, :], 1)'\n"
    quantities = QUANTITIES + 'late = { study = "window", metric = "flow.upload.goodput_bit_s" }\n'
    place = write_reproduction(tmp_path, claims, quantities)
    late = STUDY.replace("path.b.both.loss.probability", "path.b.both.losses")
    (place / "study-window.toml").write_text(late, encoding="utf-8")
    with pytest.raises(StudyError, match=r"path\.b\.both\.losses"):
        rep.reproduce(rep.load(place), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (place / "study-window.toml").unlink()
    (place / "claims.toml").write_text(
        CLAIMS.replace("path.a.both.delay", "path.a.both.dely"), encoding="utf-8"
    )
    (place / "quantities.toml").write_text(QUANTITIES, encoding="utf-8")
    with pytest.raises(StudyError, match=r"config: .*both\.dely"):
        rep.reproduce(rep.load(place), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('study = "loss", metric', 'study = "lost", metric', "there is no study-lost.toml"),
        ('flow.upload.goodput_bit_s" }', 'flow.upload.goodput" }', '"goodput" is not a column'),
        ('make = "max"', 'make = "most"', '"most" is not a function'),
        ("bin = 1.0", "bn = 1.0", "did you mean `bin`? keys of a quantity"),
        ('"flow.upload.goodput_bit_s" }', '"flow.upload.goodput_bit_s", bin = 1.0 }', "without `series`"),
        ("bin = 1.0", 'bin = 1.0, pool = ["errors"]', 'the study has no factor "errors"'),
    ],
)
def test_mistakes_in_quantities(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in QUANTITIES
    with pytest.raises(StudyError, match=re.escape(message)):
        rep.load(write_reproduction(tmp_path, quantities=QUANTITIES.replace(old, new)))


def test_an_unknown_name_or_profile_is_wrong_input(ropewalk: Ropewalk, tmp_path: Path) -> None:
    ran = ropewalk("reproduce", "omueti2008")
    assert ran.returncode == 2
    assert "did you mean `omueti2007`?" in ran.stderr
    ran = ropewalk("reproduce", write_reproduction(tmp_path), "--profile", "printed")
    assert ran.returncode == 2
    assert '--profile: found "printed", which is no profile of' in ran.stderr


def test_a_place_that_cannot_be_written_to_is_wrong_input(ropewalk: Ropewalk, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = ropewalk("reproduce", write_reproduction(tmp_path), "--out", tmp_path / "file" / "out")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"--out {tmp_path / 'file' / 'out'}: cannot write there: ")


TABLE = "model,load,rate\nlia,0.0,1.5\nlia,0.3,0.4\nolia,0.0,1.4\n"
PUBLISHED = 'seen = { table = "published.csv", value = "rate", by = ["model", "load"] }\n'


def test_published_values_come_from_their_table(tmp_path: Path) -> None:
    check = 'check = \'within(seen["lia", :] / [1.5, 0.4], 1, 0) and at_least(rate["lia", "0.0"], 0)\''
    claims = f'{CLAIMS}\n[[claim]]\nid = "small.seen"\npublished = "seen"\n{check}\n'
    missing = 'check = \'order(rate["lia", "0.0"], seen["olia", "0.3"])\''
    claims += f'\n[[claim]]\nid = "small.gap"\npublished = "seen"\n{missing}\n'
    place = write_reproduction(tmp_path, claims, quantities=QUANTITIES + PUBLISHED)
    # Spreadsheets begin their files with a mark.
    (place / "published.csv").write_text(TABLE, encoding="utf-8-sig")
    rows = rep.reproduce(rep.load(place), tmp_path / "out").rows
    assert rows[-2].verdict is Verdict.AGREES
    assert rows[-1].verdict is Verdict.UNEXPLAINED
    assert "published.csv has no row olia, 0.3" in rows[-1].reason


@pytest.mark.parametrize(
    ("table", "quantity", "message"),
    [
        (TABLE, PUBLISHED.replace('"rate"', '"speed"'), 'has no column "speed"'),
        (TABLE, PUBLISHED.replace(', "load"', ""), "published.csv:3: lia is there twice"),
        (TABLE.replace("0.4", "?"), PUBLISHED, "published.csv:3: rate is '?'"),
        (TABLE, PUBLISHED.replace("published.csv", "other.csv"), "other.csv"),
        (TABLE, PUBLISHED.replace("value", "column"), "`column` is not a key of a quantity"),
    ],
)
def test_mistakes_in_published_tables(table: str, quantity: str, message: str, tmp_path: Path) -> None:
    place = write_reproduction(tmp_path, quantities=QUANTITIES + quantity)
    (place / "published.csv").write_text(table, encoding="utf-8")
    with pytest.raises(StudyError, match=re.escape(message)):
        rep.load(place)


def test_a_quantity_may_be_a_quotient_and_another_one_under_a_profile(tmp_path: Path) -> None:
    quotient = """[rate]
study = "loss"
metric = "flow.upload.goodput_bit_s"
scale = 1e-6
unit = "Mbit/s"

[rate.profile.last]
metric = "flow.upload.delivered_bytes"
over = "flow.upload.last_delivery_s"
scale = 8e-6
"""
    place = write_reproduction(tmp_path, quantities=QUANTITIES.split("\n", 1)[1] + quotient)
    about = 'title = "small"\nsource = "nobody"\nprofiles = ["whole", "last"]\n'
    about += '[readings]\nwhole = "One thing. More."\nlast = "Another. More."\n'
    (place / "reproduction.toml").write_text(about, encoding="utf-8")
    made = rep.reproduce(rep.load(place), tmp_path / "out")
    whole, last = (made.sources[name].sample("rate", ("lia", "0.3")) for name in ("whole", "last"))
    flows = made.results["loss"].flows
    import polars as pl

    chosen = flows.filter(
        (pl.col("case") == "lia / 0.3") & (pl.col("run") == 1) & (pl.col("flow") == "upload")
    )
    assert last.values[1] == pytest.approx(chosen["delivered_bytes"][0] * 8e-6 / chosen["last_delivery_s"][0])
    assert last.values[1] > whole.values[1]


def test_a_quotient_needs_a_scale_and_a_unit(tmp_path: Path) -> None:
    wrong = QUANTITIES.replace('goodput_bit_s" }', 'goodput_bit_s", over = "flow.upload.end_s" }', 1)
    with pytest.raises(StudyError, match="a quotient is made of two metrics"):
        rep.load(write_reproduction(tmp_path, quantities=wrong))


def test_a_matched_configuration_is_shown(tmp_path: Path) -> None:
    row = rep.reproduce(rep.load(write_reproduction(tmp_path)), tmp_path / "out").rows[2]
    assert row.measured == "path.a.both.delay = 0.04s"


def test_a_missing_study_of_a_cause_is_named_at_its_key(tmp_path: Path) -> None:
    shown = f'{CAUSE}\nkind = "documented"\ncause_check = \'config("lost", "path.a.both.delay", "40ms")\''
    with pytest.raises(
        StudyError, match=r"claims\.toml:17:15: claim\.1\.cause_check: small\.number: there is no"
    ):
        rep.load(write_reproduction(tmp_path, CLAIMS.replace(CAUSE, shown)))


def test_a_profile_is_explained(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    about = 'title = "small"\nsource = "nobody"\nprofiles = ["slow", "fast"]\n'
    (place / "reproduction.toml").write_text(about + '[readings]\nslow = "Slow."\n', encoding="utf-8")
    with pytest.raises(StudyError, match='nothing says what the profile "fast" is') as error:
        rep.load(place)
    assert 'fix: add [readings] with fast = "two sentences"' in str(error.value)
