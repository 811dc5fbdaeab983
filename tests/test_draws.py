"""Values drawn once per replication: in tables, in stored results, and shared by the cases of a study."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from conftest import SMALL, Ropewalk
from ropewalk.study.work import Order, Part, carry_out
from study_files import STUDY, write_study

DRAW = '{ draw = "uniform", from = "3Mbit/s", to = "6Mbit/s" }'
DRAWN = SMALL.replace('rate = "4Mbit/s"', f"rate = {DRAW}")
COLUMN = "path.a.both.rate_bit_s"


def test_the_table_of_runs_has_them_and_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "drawn.toml"
    path.write_text(DRAWN, encoding="utf-8")
    results = rw.Scenario.load(path).run()
    rates = results.runs[COLUMN].to_list()
    assert len(set(rates)) == 3
    assert all(3e6 <= rate <= 6e6 for rate in rates)
    results.write(tmp_path / "out")
    assert rw.Results.read(tmp_path / "out").runs[COLUMN].to_list() == rates
    # Alone and in other company a seed has the same value.
    assert rw.Scenario.load(path).run(seeds=[3]).runs[COLUMN].to_list() == rates[2:]
    # So has the expanded scenario.
    again = rw.Scenario.parse(rw.Scenario.load(path).whole(), "again.toml").run()
    assert again.runs[COLUMN].to_list() == rates


def test_cases_of_a_study_share_them(tmp_path: Path) -> None:
    study = write_study(tmp_path, STUDY + f'\n[set]\n"path.a.both.rate" = {DRAW}\n')
    results = rw.Study.load(study).run(tmp_path / "out").results
    runs = results.table("runs")
    assert runs["case"].n_unique() == 4
    by_seed = runs.group_by("run").agg(pl.col(COLUMN).n_unique())
    assert by_seed[COLUMN].to_list() == [1, 1, 1]
    assert runs[COLUMN].n_unique() == 3
    # Stored runs are found again.
    again = rw.Study.load(study).run(tmp_path / "out")
    assert (again.conducted.computed, again.conducted.found) == (0, 12)


def test_a_case_without_the_draw_has_no_value(tmp_path: Path) -> None:
    factor = (
        f'\n[[vary]]\nkey = "path.a.both.rate"\nvalues = [{DRAW}, "5Mbit/s"]\nlabels = ["drawn", "fixed"]\n'
    )
    study = write_study(tmp_path, STUDY.split("[[vary]]")[0].replace("baseline", "# baseline") + factor)
    runs = rw.Study.load(study).run(tmp_path / "out").results.table("runs")
    assert runs.filter(pl.col("case") == "fixed")[COLUMN].null_count() == 3
    assert runs.filter(pl.col("case") == "drawn")[COLUMN].null_count() == 0


def test_one_unit_of_work_may_hold_cases_with_other_draws(tmp_path: Path) -> None:
    other = '"path.a.both.delay" = { draw = "uniform", from = "10ms", to = "20ms" }'
    factor = (
        f'\n[[vary]]\nname = "what"\n[vary.cases]\nrate = {{ "path.a.both.rate" = {DRAW} }}\n'
        f'delay = {{ {other} }}\nboth = {{ "path.a.both.rate" = {DRAW}, {other} }}\nnone = {{}}\n'
    )
    study = write_study(tmp_path, STUDY.split("[[vary]]")[0].replace("baseline", "# baseline") + factor)
    plan = rw.Study.load(study).plan
    parts = tuple(Part(case.key, case.text, (1, 2), series=False) for case in plan.cases)
    outcome = carry_out(Order(parts))
    assert outcome.errors == ()
    assert [len(record.pieces) for record in outcome.records] == [1, 1, 1, 1]
    again = carry_out(Order((*parts, *(replace(part, seeds=(3,)) for part in parts))))
    assert [len(record.pieces) for record in again.records] == [2, 2, 2, 2]


def test_the_command_runs_shows_and_refuses_them(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    done = ropewalk("run", small, "--set", f"path.a.both.rate={DRAW}", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    shown = ropewalk("show", small, "--set", f"path.a.both.rate={DRAW}")
    assert shown.stdout.count('stream = "path.a.both.rate"') == 4, shown.stdout
    for command in (["report"], ["figures"], ["export", "--format", "csv"]):
        made = ropewalk(*command, tmp_path / "out")
        assert made.returncode == 0, made.stderr
    wrong = ropewalk("run", small, "--set", f"path.a.both.rate={DRAW.replace('6Mbit/s', '2Mbit/s')}")
    assert (wrong.returncode, "nothing is drawn" in wrong.stderr) == (2, True)
    why = ropewalk("why", small, "--set", f"path.a.both.rate={DRAW}", "--budget", "2s")
    assert "Traceback" not in why.stderr, why.stderr


@pytest.mark.parametrize("key", ["seeds", "flow.upload.start"])
def test_what_tables_name_cannot_be_drawn(ropewalk: Ropewalk, small: Path, key: str) -> None:
    bounds = ("1", "3") if key == "seeds" else ('"0s"', '"1s"')
    draw = f'{{ draw = "uniform", from = {bounds[0]}, to = {bounds[1]} }}'
    done = ropewalk("run", small, "--set", f"{key}={draw}")
    assert done.returncode == (2 if key == "seeds" else 0), done.stderr
