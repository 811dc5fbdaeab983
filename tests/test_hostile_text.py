"""Labels, names and reasons of strangers: they stay text, in pages, in CSV and on a terminal."""

import csv
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest
from selenium import webdriver

import ropewalk as rw
from conftest import SMALL, Ropewalk
from ropewalk import report
from ropewalk.cli.tables import printer
from ropewalk.export import export
from ropewalk.pages import soft
from ropewalk.reproduce.counting import to_csv
from ropewalk.reproduce.verdicts import Verdict, VerdictRow
from ropewalk.visible import BIDI, UNSEEN, cell, json_in_html, visible
from study_files import FACTORS_START, STUDY, write_study
from test_report import chromium, claims_page, data_of, draw_all, quiet, show  # noqa: F401

LABELS = (
    "<!--<script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    '=HYPERLINK("http://evil")',
    "@SUM(1)",
    "\u202e\u2066gnp.exe",
    "\x1b]0;title\x07\x1b[31m",
)
HOSTILE = re.compile("|".join(map(re.escape, (*map(chr, BIDI), "\x1b", "\x07"))))


def toml(text: str) -> str:
    """A basic string, control characters as escapes."""
    escaped = (f"\\u{ord(c):04x}" if c < " " or c in '"\\' or ord(c) in BIDI else c for c in text)
    return f'"{"".join(escaped)}"'


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose labels, factor and titles are made to break out of whatever they stand in."""
    place = tmp_path_factory.mktemp("hostile")
    head = STUDY[:FACTORS_START].replace('baseline = { congestion = "lia" }\n', "series = 1\n")
    head = head.replace('name = "study"', f"name = {toml(LABELS[1] + LABELS[5])}")
    delays = [f"{20 + 5 * index}ms" for index in range(len(LABELS))]
    factor = (
        f'[[vary]]\nname = "=1+1<script>"\nkey = "path.b.both.delay"\nvalues = {delays}\n'
        f"labels = [{', '.join(map(toml, LABELS))}]\n"
    )
    path = write_study(place, head + factor)
    (place / "small.toml").write_text(SMALL.replace('"small"', toml("".join(LABELS))), encoding="utf-8")
    rw.Study.load(path, replications=2).run(place / "out")
    return place / "out"


def test_no_text_ends_or_nests_a_script(hostile: Path, tmp_path: Path) -> None:
    text = report.build(hostile)
    data = text[text.index('id="data">') + len('id="data">') :]
    assert "<" not in data[: data.index("</script>")]
    assert next(iter(data_of(text)["cases"])) == LABELS[0]
    ours = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert "<!--" not in ours
    assert "<img src=x" not in ours
    assert not HOSTILE.search(ours)
    assert text.count("<script") == 3

    row = VerdictRow("doc.F1.c1", LABELS[0], LABELS[1], "s", LABELS[2], Verdict.UNEXPLAINED, "".join(LABELS))
    page = claims_page(tmp_path, [row]).read_text(encoding="utf-8")
    assert (page.count("<script"), page.count("</script>"), page.count("<!--")) == (1, 1, 0)
    assert not HOSTILE.search(page)


def test_a_browser_shows_it_all(chromium: webdriver.Chrome, hostile: Path) -> None:  # noqa: F811
    show(chromium, report.write(hostile), 1366, 768)
    assert draw_all(chromium) >= 5
    assert quiet(chromium)
    boxes = chromium.execute_script(
        "return [...document.querySelectorAll('[data-factor]')].map(b => b.value)"
    )
    assert boxes == [visible(label) for label in LABELS]
    theme = chromium.find_element("id", "theme")
    before = theme.text
    theme.click()
    assert theme.text != before, "the script of the page is alive"
    assert chromium.execute_script("return document.querySelectorAll('img[src=x]').length") == 0


def test_json_means_the_same() -> None:
    for value in ({"a": ["<b>&", 'x"\\', None, 1.5]}, "<!--<script>", "\u2028\\u202e"):
        assert json.loads(json_in_html(value)) == value
    assert json.loads(json_in_html("\u202e")) == "\\u202e"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+1 dB", "'+1 dB"),
        ("-rf", "'-rf"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1", "'\t=1"),
        ("  =1", "'  =1"),
        ("\uff1d1", "'\uff1d1"),
        *((text, text) for text in ("-5", "+0.5", "-1e-3", "-5%", "a=b", "", "5 dB", "lia / -5")),
    ],
)
def test_cells_of_csv(text: str, shown: str) -> None:
    assert cell(text) == shown


def test_every_csv_of_a_study_is_harmless(hostile: Path) -> None:
    exported = export(hostile, "csv")
    for path in [*hostile.glob("*.csv"), *exported]:
        text = path.read_text(encoding="utf-8")
        assert not HOSTILE.search(text), path
        for row in csv.reader(io.StringIO(text)):
            for found in row:
                assert found == cell(found), path
    values = pl.read_csv(hostile / "values.csv")
    assert values["value"].dtype == pl.Float64
    assert "'=1+1<script>" in values.columns
    claim = VerdictRow("=1", "a", "-3", "s", "+x", Verdict.AGREES, "@b", value=-1.5)
    (read,) = csv.DictReader(io.StringIO(to_csv([claim])))
    assert [read[key] for key in ("id", "published", "measured", "reason", "value")] == [
        *("'=1", "-3", "'+x", "'@b", "-1.5")
    ]


def test_a_terminal_obeys_no_label(
    hostile: Path, ropewalk: Ropewalk, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ([], ["--dry-run"]):
        told = ropewalk("study", hostile.parent / "study.toml", "--seeds", "2", "--out", hostile, *arguments)
        assert told.returncode == 0, told.stderr
        assert not HOSTILE.search(told.stdout + told.stderr)
    assert "\\u202e" in told.stdout
    missing = ropewalk("report", hostile, "--case", LABELS[6] + "?")
    assert missing.returncode == 2
    assert not HOSTILE.search(missing.stderr)
    run = ropewalk("run", hostile.parent / "small.toml", "--seeds", "1")
    assert run.returncode == 0, run.stderr
    assert not HOSTILE.search(run.stdout + run.stderr)
    printer().line("a\x1b[31mb")
    assert capsys.readouterr().out == "a\\u001b[31mb\n"


@pytest.mark.parametrize("letter", [chr(one) for one in UNSEEN])
def test_a_mistake_shows_what_cannot_be_seen(letter: str, ropewalk: Ropewalk, tmp_path: Path) -> None:
    """Two names that differ by it would look alike, and a value of nothing else empty."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace('link = "b"', f'link = "b{letter}"'), encoding="utf-8")
    done = ropewalk("run", path)
    assert done.returncode == 2
    assert f'there is no path or link "b\\u{ord(letter):04x}"' in done.stderr
    assert letter not in done.stderr


def test_a_label_forges_no_row(ropewalk: Ropewalk, tmp_path: Path) -> None:
    """A line break in a label is no line break of the table."""
    head = STUDY[:FACTORS_START].replace('baseline = { congestion = "lia" }\n', "")
    head = head.replace('name = "study"', 'name = "study\\nforged: 1 case"')
    factor = '[[vary]]\nkey = "path.b.both.delay"\nvalues = ["20ms"]\nlabels = ["first\\r\\nforged\\t99"]\n'
    path = write_study(tmp_path, head + factor)
    (tmp_path / "small.toml").write_text(SMALL.replace('"small"', '"small\\nforged: 9 s"'), encoding="utf-8")
    told = ropewalk("study", path, "--seeds", "1", "--out", tmp_path / "out").stdout
    told += ropewalk("run", tmp_path / "small.toml", "--seeds", "1").stdout
    assert "first\\r\\nforged\\t99" in told
    assert not [line for line in told.splitlines() if line.lstrip().startswith("forged")]


RIGHT_TO_LEFT = "\u05e7\u05e6\u05e8"
LONG = "a label that is far too long for the axis of a plot, for a legend and for a column of a table"


def test_labels_from_right_to_left_and_long_names_disturb_nothing(
    chromium: webdriver.Chrome,  # noqa: F811
    tmp_path: Path,
) -> None:
    head = STUDY[:FACTORS_START].replace('baseline = { congestion = "lia" }\n', "")
    factor = f'[[vary]]\nname = "{RIGHT_TO_LEFT}"\nkey = "path.b.both.delay"\nvalues = ["20ms", "40ms"]\n'
    factor += f"labels = [{toml(RIGHT_TO_LEFT)}, {toml(LONG)}]\n"
    other = '[[vary]]\nkey = "flow.upload.transport.congestion"\nvalues = ["lia", "olia"]\n'
    path = write_study(tmp_path, head + factor + other)
    node = "a-node-with-a-name-that-no-box-has-room-for"
    small = SMALL.replace('"terminal"', f'"{node}"').replace('name = "small"', f'name = "{LONG}"')
    small = small.replace("[[path]]\n", f'[[path]]\nfrom = "{node}"\nto = "server"\n')
    (tmp_path / "small.toml").write_text(small, encoding="utf-8")
    rw.Study.load(path, replications=2).run(tmp_path / "out")
    page = report.write(tmp_path / "out")
    for width in (1280, 400):
        show(chromium, page, width, 900)
        assert draw_all(chromium) >= 2
        assert quiet(chromium)
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
        outside = """
            return [...document.querySelectorAll(".topology text")].filter((text) => {
              const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;
              return box.x < 0 || box.x + box.width > view.width
                || box.y < view.y || box.y + box.height > view.y + view.height;
            }).map((text) => text.textContent)"""
        assert chromium.execute_script(outside) == []
    first = chromium.find_element("css selector", "tr[data-case] th")
    assert first.text.splitlines()[-1] == f"{RIGHT_TO_LEFT} / lia"
    # The level from right to left is drawn on the left of the other.
    begins = chromium.execute_script(
        "return [...arguments[0].querySelectorAll('bdi')].map(part => part.getBoundingClientRect().x)", first
    )
    assert begins == sorted(begins)
    assert len(begins) == 2


def test_keys_may_break_and_numbers_may_not() -> None:
    given = "T4.r1 section 5.1.1 subflow.h.0.srtt: 0.05884 ± 7.390e-04 kbit/s"
    whole = '<span class="whole">7.390e-04</span>'
    wanted = f"T4.<wbr>r1 section 5.1.1 subflow.<wbr>h.<wbr>0.<wbr>srtt: 0.05884 ± {whole} kbit/s"
    assert soft(given) == wanted


def test_a_page_of_claims_fits_a_phone(chromium: webdriver.Chrome, tmp_path: Path) -> None:  # noqa: F811
    name = "a_name_that_is_far_too_long_for_any_column_and_has_no_space_at_all_in_it"
    said = f"{RIGHT_TO_LEFT}: PER 1e-5: 120 ± 3 kbit/s, flow.upload.goodput_bit_s; " * 6
    rows = [
        VerdictRow(f"doc.{name}", name, name, name, said, Verdict.UNEXPLAINED, said),
        VerdictRow("doc.F1.c1", RIGHT_TO_LEFT, LABELS[1], "s", name, Verdict.AGREES, name),
    ]
    page = claims_page(tmp_path, rows)
    text = page.read_text(encoding="utf-8")
    assert "kbit/s," in text
    assert "flow.<wbr>upload.<wbr>goodput_<wbr>bit_s" in text
    for width in (1280, 400):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        chromium.get(page.as_uri())
        chromium.find_element("css selector", '[data-open="true"]').click()
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
        whole = (
            "return [...document.querySelectorAll('.whole')].every(one => one.getClientRects().length === 1)"
        )
        assert chromium.execute_script(whole)
