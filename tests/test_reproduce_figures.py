"""Figures of reproductions: their content, and messages about mistakes in their file."""

import re
from pathlib import Path

import pytest

from conftest import Ropewalk
from reproduction_files import STUDY, write_reproduction
from ropewalk import reproduce as rep
from ropewalk.reproduce import figures
from ropewalk.study import StudyError


def test_figures_of_an_earlier_call_do_not_stay(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    figure = (
        '[[figure]]\nid = "old"\ntitle = "F"\nx = { label = "x" }\ny = { label = "y" }\nticks = [0.0, 0.3]\n'
    )
    figure += "[[figure.curve]]\nvalue = 'rate[\"lia\", :]'\n"
    for name in ("old", "new"):
        (place / "figures.toml").write_text(figure.replace("old", name), encoding="utf-8")
        rep.reproduce(rep.load(place), tmp_path / "out")
        assert [path.name for path in (tmp_path / "out" / "figures").iterdir()] == [f"{name}.png"]


def test_a_figure_may_be_drawn_for_each_profile(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    head = 'title = "small"\nsource = "nobody"\nprofiles = ["one", "two"]\n'
    about = head + '[readings]\none = "it is so"\ntwo = "or so"\n'
    (place / "reproduction.toml").write_text(about, encoding="utf-8")
    figure = """[[figure]]
id = "f"
title = "F"
profile = ["one", "two"]
x = { label = "x" }
y = { label = "y" }
ticks = [0.0, 0.3]
[[figure.curve]]
value = 'rate["lia", :]'
"""
    (place / "figures.toml").write_text(figure, encoding="utf-8")
    drawn = figures.load(rep.load(place))
    assert [(each.id, each.title, each.profile) for each in drawn] == [
        ("f-one", "F (one)", "one"),
        ("f-two", "F (two)", "two"),
    ]
    (place / "figures.toml").write_text(figure.replace('"two"]', '"three"]'), encoding="utf-8")
    with pytest.raises(StudyError, match='there is no profile "three"'):
        figures.load(rep.load(place))


FIGURE = """[[figure]]
id = "f"
title = "F"
ticks = [0.0, 0.3]
[[figure.curve]]
value = 'rate["lia", :]'
x = [0.0, 0.3]
published = { values = [1, 2] }
[[figure.curve]]
series = "flow.upload.goodput_bit_s"
study = "loss"
levels = ["lia", "0.3"]
published = { file = "p.csv", x = "t", y = "v" }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[0.0, 0.3]\npub",
            '[0.0, "a"]\npub',
            "figures.toml:7:11: figure.0.curve.0.x.1: found the text",
        ),
        ("[1, 2]", '[1, "b"]', "figure.0.curve.0.published.values.1: found the text"),
        ("[1, 2]", "3", "figure.0.curve.0.published.values: found the number 3; expected a list"),
        ('["lia", "0.3"]', '["lia", 0.3]', "figure.0.curve.1.levels.1: found the number 0.3; expected text"),
        ('x = "t"', 'x = "w"', "p.csv: could not convert string to float: 'one'"),
        (FIGURE, "figure = [1]", "figure.0: found the number 1; expected a table [E004]"),
        (FIGURE, "figure = [1]", "fix: write { id = ..., title = ... }"),
    ],
)
def test_mistakes_in_figures(old: str, new: str, message: str, tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    (place / "p.csv").write_text("t,v,w\n1,2,one\n", encoding="utf-8")
    (place / "figures.toml").write_text(FIGURE, encoding="utf-8")
    assert figures.load(rep.load(place))
    (place / "figures.toml").write_text(FIGURE.replace(old, new), encoding="utf-8")
    with pytest.raises(StudyError, match=re.escape(message)):
        figures.load(rep.load(place))


def legend(place: Path, text: str) -> list[str]:
    """The entries in the legend of the figure that `text` defines."""
    (place / "figures.toml").write_text(text, encoding="utf-8")
    loaded = rep.load(place)
    made = rep.reproduce(loaded, place.parent / "out")
    found = figures.draw(figures.load(loaded)[0], made.sources).axes[0].get_legend()
    assert found is not None
    return [entry.get_text() for entry in found.get_texts()]


def test_published_marks_beside_bars_are_in_the_legend_once(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    curve = '[[figure.curve]]\nlabel = "{0}"\nvalue = \'rate["{0}", :]\'\n'
    published = "published = { values = [1, 2] }\n"
    head = '[[figure]]\nid = "f"\ntitle = "F"\nkind = "bars"\nticks = ["a", "b"]\n'
    text = head + curve.format("lia") + 2 * (curve.format("olia") + published)
    assert sorted(legend(place, text)) == ["lia", "olia", "olia", "published"]


def test_each_published_curve_over_time_is_named_in_the_legend(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    curve = (
        '[[figure.curve]]\nlabel = "{0}"\nseries = "flow.upload.goodput_bit_s"\nstudy = "loss"\n'
        'levels = ["{0}", "0.0"]\npublished = {{ values = [1, 2] }}\n'
    )
    head = '[[figure]]\nid = "f"\ntitle = "F"\nkind = "time"\n'
    text = head + curve.format("lia") + curve.format("olia")
    assert legend(place, text) == ["lia", "lia, published", "olia", "olia, published"]


@pytest.mark.parametrize(("highest", "cut"), [(2, False), (3, True)])
def test_a_published_mark_on_the_end_of_an_axis_is_drawn_whole(
    highest: int, cut: bool, tmp_path: Path
) -> None:
    place = write_reproduction(tmp_path)
    head = '[[figure]]\nid = "f"\ntitle = "F"\nkind = "bars"\nticks = ["a", "b"]\ny = { to = 2 }\n'
    curve = '[[figure.curve]]\nlabel = "lia"\nvalue = \'rate["lia", :]\'\n'
    published = f"published = {{ values = [1, {highest}] }}\n"
    (place / "figures.toml").write_text(head + curve + published, encoding="utf-8")
    loaded = rep.load(place)
    made = rep.reproduce(loaded, tmp_path / "out")
    lines = figures.draw(figures.load(loaded)[0], made.sources).axes[0].get_lines()
    (marks,) = [line for line in lines if line.get_marker() == "D"]
    assert marks.get_clip_on() is cut


def test_a_study_whose_runs_have_all_failed_is_named(ropewalk: Ropewalk, tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    study = STUDY.replace(
        "[[vary]]", 'set = { duration = "1000000s", "record.interval" = "1ms" }\n\n[[vary]]', 1
    )
    (place / "study-loss.toml").write_text(study, encoding="utf-8")
    figure = '[[figure]]\nid = "one"\ntitle = "rates"\n[[figure.curve]]\nvalue = \'rate["lia", :]\'\n'
    (place / "figures.toml").write_text(figure, encoding="utf-8")
    ran = ropewalk("reproduce", place, "--out", tmp_path / "out")
    assert (ran.returncode, "Traceback" in ran.stderr) == (1, False), ran.stderr
    assert "nothing was measured: all 12 runs of loss have failed" in " ".join(ran.stdout.split())
    assert ran.stderr.endswith("12 runs failed\n")


def test_a_curve_without_a_value_is_named(tmp_path: Path) -> None:
    place = write_reproduction(tmp_path)
    curve = "[[figure.curve]]\nlabel = \"{}\"\nvalue = '{}'\n"
    figure = FIGURE.partition("[[figure.curve]]")[0] + curve.format("there", 'rate["lia", :]')
    figure += curve.format("gone", '1 / (rate["lia", :] - rate["lia", :])')
    (place / "figures.toml").write_text(figure, encoding="utf-8")
    loaded = rep.load(place)
    made = rep.reproduce(loaded, tmp_path / "out")
    (drawing,) = figures.load(loaded)
    _, labels = figures.draw(drawing, made.sources).axes[0].get_legend_handles_labels()
    assert sorted(labels) == ["gone: a case has no value", "there"]
