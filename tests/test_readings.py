"""Reproductions under several readings: which of them agrees, and one that is counted apart."""

from pathlib import Path

import pytest

from reproduction_files import QUANTITIES, write_reproduction
from ropewalk import reproduce as rep
from ropewalk.reproduce.counting import told
from ropewalk.reproduce.verdicts import Verdict
from ropewalk.study import StudyError

READINGS = '[readings]\nslow = "The rate is low. So is all."\nfast = "The rate is high. So is the load."\n'


def test_a_claim_that_holds_in_one_profile_only_says_so(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path, quantities=QUANTITIES.replace('"loss"', '"loss-{profile}"'))
    claims = 'check = \'at_least(rate["lia", "0.0"], 1)\'\n'
    text = f'[[claim]]\nid = "small.fast"\npublished = "fast"\n{claims}'
    (place / "claims.toml").write_text(text, encoding="utf-8")
    about = f'title = "small"\nsource = "nobody"\nprofiles = ["slow", "fast"]\n{READINGS}'
    (place / "reproduction.toml").write_text(about, encoding="utf-8")
    study = (place / "study-loss.toml").read_text(encoding="utf-8")
    (place / "study-loss-fast.toml").write_text(study, encoding="utf-8")
    rates = ", ".join(f'"path.{path}.both.rate" = "100kbit/s"' for path in "ab")
    slow = study.replace('scenario = "small.toml"', f'scenario = "small.toml"\nset = {{ {rates} }}')
    (place / "study-loss-slow.toml").write_text(slow, encoding="utf-8")
    made = rep.reproduce(rep.load(place), tmp_path / "out")
    row = made.rows[0]
    assert row.verdict is Verdict.AGREES
    assert row.profile == row.agrees_under == "fast"
    assert told(made.counted) == [
        "slow: 0 of 1 agree",
        "fast: 1 of 1 agree",
        "under one reading or another: 1 of 1",
    ]
    assert row.reason.startswith("only fast: measured ")
    assert "slow: measured 0." in row.reason
    row = rep.reproduce(rep.load(place), tmp_path / "out", profile="slow").rows[0]
    assert row.verdict is Verdict.UNEXPLAINED
    # One that is apart makes no claim agree, and is counted all the same.
    (place / "reproduction.toml").write_text(f'apart = ["fast"]\n{about}', encoding="utf-8")
    made = rep.reproduce(rep.load(place), tmp_path / "out")
    assert (made.rows[0].verdict, made.rows[0].profile) == (Verdict.UNEXPLAINED, "slow")
    assert made.rows[0].agrees_under == "fast"
    assert told(made.counted)[:2] == ["slow: 0 of 1 agree", "fast: 1 of 1 agree; counted apart"]
    alone = rep.reproduce(rep.load(place), tmp_path / "out", profile="fast")
    assert alone.rows[0].verdict is Verdict.AGREES


@pytest.mark.parametrize(
    ("apart", "message"),
    [('["fats"]', 'there is no profile "fats"'), ('["slow", "fast"]', "it names all profiles")],
)
def test_mistakes_in_readings_that_are_apart(apart: str, message: str, tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    about = f'title = "small"\nsource = "nobody"\nprofiles = ["slow", "fast"]\napart = {apart}\n{READINGS}'
    (place / "reproduction.toml").write_text(about, encoding="utf-8")
    with pytest.raises(StudyError, match=message):
        rep.load(place)
