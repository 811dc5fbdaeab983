"""The counts on the pages of the reproductions: as recorded, of the claims and studies there are."""

import ast
import json

import pytest

import counts
import page_numbers
import page_tables
from conftest import ROOT
from invented import Invented, Key
from ropewalk import reproduce as rep
from ropewalk.statistics import Estimate


@pytest.mark.parametrize("name", rep.names())
def test_the_counts_of_the_page_are_those_of_the_last_whole_run(name: str) -> None:
    found = json.loads((ROOT / "reproductions" / name / "counts.json").read_text(encoding="utf-8"))
    cure = f"run `ropewalk reproduce {name}`, then `tools/counts.py results/{name}`"
    current = found["of"] == counts.digest(name) or "stale" in found
    assert current, f"checks or studies have changed since: {cure}"
    text = counts.page(name).read_text(encoding="utf-8")
    assert counts.BEGIN + counts.sentences(found) + counts.END in text, cure
    loaded = rep.load(name)
    assert found["claims"] == len(loaded.claims)
    if "stale" not in found:
        cannot = sum(claim.check is None for claim in loaded.claims)
        set_up = sum(loaded.is_set_up(claim) for claim in loaded.claims)
        assert found["verdicts"]["cannot be checked"] == cannot
        assert found["checked"] == len(loaded.claims) - cannot - set_up


def test_the_readme_has_the_counts_of_the_last_whole_runs() -> None:
    text = counts.README.read_text(encoding="utf-8")
    assert counts.BEGIN + counts.table() + counts.END in text, "run `tools/counts.py`"


@pytest.mark.parametrize("name", rep.names())
def test_computed_numbers_of_the_page_are_those_of_the_last_whole_run(name: str) -> None:
    record = json.loads((ROOT / "reproductions" / name / "counts.json").read_text(encoding="utf-8"))
    text = counts.page(name).read_text(encoding="utf-8")
    shown = {number.key: number.shown for number in page_numbers.numbers(text)}
    sources = page_numbers.SOURCED.findall(text)
    tables = page_tables.digests(text)
    comments = len((counts.BEGIN, counts.END)) + page_tables.COMMENTS * len(tables)
    assert text.count("<!--") == len(page_numbers.numbers(text)) + len(sources) + comments
    assert tables == record.get("tables", []), f"run `ropewalk reproduce {name}`, then `tools/counts.py`"
    assert shown == record.get("numbers", {}), f"run `ropewalk reproduce {name}`, then `tools/counts.py`"
    loaded = rep.load(name)
    for number in page_numbers.numbers(text):
        if not page_numbers.is_of_verdicts(number):
            uses = page_numbers.expression(loaded, number).uses
            assert bool(uses) != page_numbers.is_arithmetic(number), number.value


@pytest.mark.parametrize("name", rep.names())
def test_a_number_that_nothing_computes_is_of_the_document_or_of_our_files(name: str) -> None:
    text = counts.page(name).read_text(encoding="utf-8")
    cure = 'compute it, 5.2 s<!-- = time["LTE"] -->, or name its source, 64<!-- source: section 6.1 -->'
    assert page_numbers.unfounded(name, text) == [], cure
    assert page_numbers.unfounded(name, f"{text} It took 987.123 s.") == ["987.123"]


@pytest.mark.parametrize("name", rep.names())
def test_a_number_in_a_cause_is_computed_or_of_the_document_or_of_our_files(name: str) -> None:
    told = page_numbers.sentences(name)
    cure = "compute it: {15 / 11:.2f}"
    assert page_numbers.unfounded_in_sentences(name, told) == [], cure
    assert page_numbers.unfounded_in_sentences(name, [("X", "ours are 987.123 {1 + 1:.0f}", "")]) == [
        "X: 987.123"
    ]


@pytest.mark.parametrize("name", rep.names())
def test_arithmetic_on_the_page_gives_what_it_says(name: str) -> None:
    for number in page_numbers.numbers(counts.page(name).read_text(encoding="utf-8")):
        if not page_numbers.is_of_verdicts(number) and page_numbers.is_arithmetic(number):
            tree = ast.parse(number.value, mode="eval").body
            value = eval(compile(ast.Expression(tree), number.value, "eval"), {"__builtins__": {}})  # noqa: S307
            assert number.text(Estimate(value, None, 1, value, value)) == number.shown, number.value


TABLE = """\
<!-- table of each_tcp_latency
S5_1.c3 = within(each_tcp_latency[row], 1000, 0.1)
  and order(3, 2)
F5_8.c4 = order(each_tcp_latency[row], 900)
-->
<!-- end of table -->
"""


def test_a_table_of_claims_is_computed() -> None:
    loaded = rep.load("lantto2025")
    beams = loaded.levels(loaded.profiles[0])["each_tcp_latency"][0]
    means: dict[Key, float] = {
        ("each_tcp_latency", (beam,)): 800.0 + 10 * number for number, beam in enumerate(beams)
    }
    found = page_tables.rewritten(loaded, TABLE, Invented(means, {}))
    lines = found.splitlines()
    assert lines[5:7] == ["| beam | S5_1.c3 | F5_8.c4 |  |", "|---|---|---|---|"]
    assert (lines[7], lines[7 + 23]) == (f"| {beams[0]} | no | no | 0 |", f"| {beams[23]} | yes | yes | 2 |")
    assert lines[-2:] == ["| of 24 | 14 | 11 | up to 2 |", "<!-- end of table -->"]
    assert page_tables.rewritten(loaded, found, Invented(means, {})) == found
    assert page_tables.studies(loaded, found) == {"beams-tcp"}
    assert page_tables.digests(found) != page_tables.digests(found.replace("| yes |", "| no |", 1))


def test_numbers_keep_the_form_that_they_have_on_the_page() -> None:
    text = 'It takes 4.50 s<!-- = time["10 MB"] -->, or 12 ± 3 %<!-- as-x = a["b"] / 2 -->; 7 of `8` in 2019.'
    one, two = page_numbers.numbers(text)
    assert (one.key, one.shown, two.key, two.shown) == (
        '= time["10 MB"]',
        "4.50",
        'as-x = a["b"] / 2 ±',
        "12 ± 3",
    )
    assert one.text(Estimate(1.23456, None, 1, 1, 1)) == "1.23"
    assert two.text(Estimate(11.6, 2.4, 1, 1, 9)) == "12 ± 2"
    new = page_numbers.rewritten(text, lambda _number: "9.9")
    assert new.startswith("It takes 9.9 s<!-- = time")
    assert "or 9.9 %<!-- as-x" in new
    assert page_numbers.typed(text) == ["7", "2019"]
