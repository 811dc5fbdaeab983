"""The counts on the pages of the reproductions: as recorded, of the claims and studies there are."""

import ast
import json

import pytest

import counts
import page_numbers
from conftest import ROOT
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
    assert text.count("<!--") == len(page_numbers.numbers(text)) + len(sources) + len(
        (counts.BEGIN, counts.END)
    )
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
