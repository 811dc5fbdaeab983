"""`ropewalk reproduce --compare`: figures of a reproduction in which something is changed."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from conftest import Ropewalk
from reproduction_files import CLAIMS, write_reproduction
from ropewalk import reproduce as rep
from ropewalk.reproduce.changed import NothingToDraw, change, compare
from ropewalk.study import StudyError
from terminal import on_terminal

FIGURES = """[[figure]]
id = "loss"
title = "Figure 1: goodput"
x = { label = "error rate" }
y = { label = "goodput (Mbit/s)" }
ticks = [0.0, 0.3]
[[figure.curve]]
label = "LIA"
value = 'rate["lia", :]'
published = { values = [1, 2] }

[[figure]]
id = "fixed"
title = "Figure 2: the other study"
y = { label = "goodput (Mbit/s)" }
[[figure.curve]]
value = "alone"
"""
QUANTITIES = """rate = { study = "loss", metric = "flow.upload.goodput_bit_s" }
alone = { study = "alone", metric = "flow.only.goodput_bit_s" }
"""
ALONE = """name = "alone"
duration = "2s"
[[path]]
name = "p"
both = { rate = "4Mbit/s", delay = "10ms", queue = "50p" }
[[flow]]
name = "only"
from = "terminal"
to = "server"
transport = { kind = "tcp" }
"""


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A reproduction with two studies of different scenarios, and a figure of each."""
    place = write_reproduction(tmp_path, quantities=QUANTITIES)
    (place / "figures.toml").write_text(FIGURES, encoding="utf-8")
    (place / "alone.toml").write_text(ALONE, encoding="utf-8")
    study = 'name = "alone"\nscenario = "alone.toml"\nreplications = 2\n'
    (place / "study-alone.toml").write_text(study, encoding="utf-8")
    return place


def test_a_key_is_set_in_the_studies_that_have_it(changed: Path, tmp_path: Path) -> None:
    made = change(rep.load(changed), [("flow.upload.transport.scheduler", "roundrobin")])
    assert [(study.name, study.said) for study in made.touched] == [("loss", "changed")]
    assert [drawing.id for drawing in made.drawings] == ["loss"]
    assert "\nchanged: flow.upload.transport.scheduler = roundrobin" in made.drawings[0].title
    compare(made, tmp_path / "out")
    case = made.studies["loss"].plan.cases[0]
    assert ["flow.upload.transport.scheduler", "roundrobin"] in [list(pair) for pair in case.overrides]
    # Nothing is judged, and no file says so.
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "comparison.html",
        "comparison.json",
        "figures",
        "store",
        "studies",
    ]
    page = (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
    assert "small, changed" in page
    assert "<code>flow.upload.transport.scheduler = roundrobin</code>" in page


def test_what_a_change_does_not_reach_is_named(changed: Path) -> None:
    both = FIGURES.replace('value = "alone"', 'value = \'alone + rate["lia", "0.0"]\'')
    (changed / "figures.toml").write_text(both, encoding="utf-8")
    # Keys that the transport wants together.
    sack = [("sack", "false"), ("recovery", "newreno"), ("prr", "false")]
    keys = [(f"flow.upload.transport.{key}", value) for key, value in sack]
    found = change(rep.load(changed), [*keys, ("duration", "5s")])
    assert [study.said for study in found.touched] == [
        "changed",
        "changed; its scenario has no flow.upload.transport.sack; its scenario has no "
        "flow.upload.transport.recovery; its scenario has no flow.upload.transport.prr",
    ]
    alone = change(rep.load(changed), keys)
    assert [study.said.partition(";")[0] for study in alone.touched] == ["changed", "unchanged"]
    assert len(found.drawings) == len(alone.drawings) == 2
    chosen = change(rep.load(changed), [("duration", "5s")], chosen=["fixed"])
    assert [drawing.id for drawing in chosen.drawings] == ["fixed"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("flow.upload.transport.congestion", "balia", r"study-loss.toml:10:1: .*the study varies this key"),
        ("path.b.both.loss", "0.1", r"study-loss.toml:15:1: .*the study varies this key \(\"error rate\"\)"),
        ("flow.upload.transport.schedulre", "blest", "did you mean `scheduler`?"),
        ("flow.upload.transport.scheduler", "blast", "did you mean `blest`?"),
        ("flow.nobody.start", "1s", 'there is no flow "nobody"'),
    ],
)
def test_a_key_that_changes_nothing_is_refused(changed: Path, key: str, value: str, message: str) -> None:
    with pytest.raises(StudyError, match=message.replace("?", r"\?")):
        change(rep.load(changed), [(key, value)])


def test_a_changed_copy_is_drawn_as_it_is(changed: Path) -> None:
    study = changed / "study-loss.toml"
    study.write_text(
        study.read_text(encoding="utf-8").replace('["lia", "olia"]', '["balia", "olia"]'), encoding="utf-8"
    )
    # Neither claims nor a figure fit any more; the figure is mended, the claims are not read.
    (changed / "figures.toml").write_text(FIGURES.replace('"lia"', '"balia"'), encoding="utf-8")
    with pytest.raises(StudyError, match='no level "lia"'):
        rep.load(changed)
    made = change(rep.load(changed, judged=False), chosen=["loss"])
    assert made.drawings[0].title.endswith("files as they are")
    with pytest.raises(NothingToDraw, match="did you mean `loss`"):
        change(rep.load(changed, judged=False), chosen=["los"])


def test_the_command_says_what_was_changed(changed: Path, ropewalk: Ropewalk, tmp_path: Path) -> None:
    arguments = ("reproduce", str(changed), "--compare", "--set", "duration=5s", "--quick")
    done = ropewalk(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "changed: duration = 5s" in done.stdout
    assert "verdict" not in done.stdout.replace("no verdicts", "")
    place = tmp_path / "results" / "small+duration=5s"
    assert f"studies in {place.relative_to(tmp_path)}/" in done.stdout
    kept = json.loads((place / "comparison.json").read_text(encoding="utf-8"))
    assert kept["set"] == [["duration", "5s"]]
    assert kept["changed"] == ["loss", "alone"]
    # Its runs are found again; other kinds of results do not go there.
    again = ropewalk(*arguments, "--json", cwd=tmp_path)
    assert re.search(r"\b0 runs? computed|found", again.stderr), again.stderr
    assert json.loads(again.stdout)["figures"][0]["id"] == "loss"
    other = ropewalk("reproduce", str(changed), "--out", str(place), cwd=tmp_path)
    assert (other.returncode, "results of a comparison" in other.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "duration=5s"], "add --compare"),
        (["--figure", "loss"], "add --compare"),
        (["--compare", "--strict"], "which judges nothing"),
        (["--compare", "--set", "duration"], "no `=`"),
        (["--compare", "--profile", "x"], "which is no profile of small"),
        (["--compare", "--figure", "x"], 'there is no figure "x"'),
    ],
)
def test_options_without_effect_are_refused(
    changed: Path, ropewalk: Ropewalk, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = ropewalk("reproduce", str(changed), *arguments, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_list_of_studies_fits_the_terminal(changed: Path, tmp_path: Path, columns: int) -> None:
    key = "flow.upload.transport.mss=1000B"
    out = str(tmp_path / "out")
    code, shown = on_terminal(
        columns, "reproduce", str(changed), "--compare", "--quick", "--set", key, "--out", out
    )
    assert code == 0, shown
    lines = [line for line in shown.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= columns


def test_a_copy_works_outside_the_checkout(ropewalk: Ropewalk, tmp_path: Path) -> None:
    done = ropewalk("examples", "lantto2025", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ropewalk reproduce reproductions/lantto2025" in done.stdout
    study = tmp_path / "reproductions" / "lantto2025" / "study-throughput.toml"
    text = study.read_text(encoding="utf-8")
    labels = text.replace('"BLEST", "ECF"]', '"BLEST", "ECF", "STTF"]').replace('"ecf"]', '"ecf", "sttf"]')
    study.write_text(labels.replace("replications = 10", "replications = 1"), encoding="utf-8")
    loaded = rep.load(study.parent, judged=False)
    assert [level.label for level in loaded.studies["throughput-as-described"].factors[2].levels][
        -1
    ] == "STTF"


class Elements(HTMLParser):
    """Counts the elements of a page, and keeps its text."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()
        self.handlers: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One more of them."""
        self.names[tag] += 1
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        """Text between elements."""
        self.text += data


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\u202e\u2066'


@pytest.mark.parametrize("label", [HOSTILE, "<b>&\"'" * 1_600])
def test_no_text_of_a_reproduction_makes_an_element(changed: Path, tmp_path: Path, label: str) -> None:
    text = json.dumps(label)
    about = f'title = {text}\nsource = {text}\nprofiles = ["one"]\n[readings]\none = {text}\n'
    (changed / "reproduction.toml").write_text(about, encoding="utf-8")
    figures = FIGURES.replace('"Figure 2: the other study"', json.dumps(label[:500]))
    (changed / "figures.toml").write_text(figures, encoding="utf-8")
    claims = CLAIMS.replace('"goodput"', text).replace('"nothing is that fast"', text)
    (changed / "claims.toml").write_text(claims, encoding="utf-8")
    loaded = rep.load(changed)
    compare(change(loaded, [("flow.only.start", "0.1s"), ("duration", "5s")]), tmp_path / "one")
    rep.reproduce(loaded, tmp_path / "two")
    for page, scripts in (("one/comparison.html", 0), ("two/verdicts.html", 1)):
        content = (tmp_path / page).read_text(encoding="utf-8")
        found = Elements()
        found.feed(content)
        assert found.names["script"] == scripts
        assert found.names["b"] == 0
        # The figures, and nothing else.
        assert found.names["img"] == 2
        assert not found.handlers
        assert label[:100].replace("\u202e", "\\u202e").replace("\u2066", "\\u2066") in found.text
        assert not set("\u202e\u2066") & set(content)


@pytest.mark.parametrize("name", ["../../evil", "/evil", "", ".hidden", "a b", "x" * 200])
def test_the_id_of_a_figure_is_the_name_of_a_file(changed: Path, name: str) -> None:
    (changed / "figures.toml").write_text(FIGURES.replace('"loss"', json.dumps(name), 1), encoding="utf-8")
    with pytest.raises(StudyError, match=r"figures.toml:2:6: figure.0.id: .* is no id"):
        change(rep.load(changed))
