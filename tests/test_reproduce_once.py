"""Causes that are printed once, and studies that are not run by `ropewalk reproduce`."""

from pathlib import Path

from conftest import Ropewalk
from reproduction_files import CLAIMS, write_reproduction
from ropewalk import reproduce as rep


def test_a_cause_of_several_claims_is_printed_once(ropewalk: Ropewalk, tmp_path: Path) -> None:
    again = CLAIMS[
        CLAIMS.index('[[claim]]\nid = "small.number"') : CLAIMS.index('[[claim]]\nid = "small.delay"')
    ]
    place = write_reproduction(tmp_path, CLAIMS + again.replace("small.number", "small.again"))
    ran = ropewalk("reproduce", place, "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("nothing is that fast") == 1
    assert "cause: as for number" in ran.stdout
    page = (tmp_path / "out" / "verdicts.html").read_text(encoding="utf-8")
    assert page.count("nothing is that fast") == 1
    shown = ropewalk("report", tmp_path / "out", "--out", tmp_path / "report.html")
    assert shown.returncode == 0, shown.stderr
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count("nothing is that fast") == 1


def test_counts_keep_the_names_of_readings_and_figures_say_what_they_show(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    about = place / "reproduction.toml"
    text = about.read_text(encoding="utf-8")
    about.write_text(f'{text}profiles = ["as-x"]\nreadings = {{ as-x = "One." }}\n', encoding="utf-8")
    curve = 'label = "l"\nvalue = \'rate["lia", :]\'\n'
    figure = '[[figure]]\nid = "f{}"\ntitle = "F{}"\nticks = ["0", "3"]\nkind = "bars"\n[[figure.curve]]\n'
    one, two = (figure.format(number, number) + curve for number in (1, 2))
    (place / "figures.toml").write_text(f"{one}published = {{ values = [1, 2] }}\n{two}", encoding="utf-8")
    made = rep.reproduce(rep.load(place), tmp_path / "out")
    assert len(made.rows) == len(made.reproduction.claims)
    page = (tmp_path / "out" / "verdicts.html").read_text(encoding="utf-8")
    assert "<li>as-x: " in page
    assert "F1. Hollow marks" in page
    assert page.count("Hollow marks") == 1


def test_studies_without_claim_and_figure_are_not_run(ropewalk: Ropewalk, tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    (place / "study-idle.toml").write_text('like = "study-loss.toml"\nname = "idle"\n', encoding="utf-8")
    ran = ropewalk("reproduce", place, "--out", tmp_path / "out", "--json")
    assert ran.returncode == 0, ran.stderr
    assert [path.name for path in (tmp_path / "out" / "studies").iterdir()] == ["loss"]
