"""Tables on terminals of any width: no cell is broken, none is lost."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from ropewalk.cli import columns
from ropewalk.cli.columns import Column, show_table
from ropewalk.cli.texts import Printer, show_texts, wrap

NAMES = ["backup", "backup@geostationary", "空"]
TABLE = [
    Column("flow", NAMES, right=False, names=True),
    Column("goodput\nMbit/s", ["6.50±0.85", "4.1±1.2", "3.82±0"]),
    Column("benefit\nvs best\npath", ["1.45±0.14", "-", "-"]),
    Column("drops", ["729±366", "380±612", "293±0"]),
]


def printer(width: int | None) -> tuple[Printer, io.StringIO]:
    text = io.StringIO()
    return Printer(Console(file=text, width=width or 80, highlight=False, markup=False), width), text


def printed(width: int | None, table: list[Column] = TABLE) -> list[str]:
    out, text = printer(width)
    show_table(out, "Flows", table)
    return text.getvalue().split("\n")


@pytest.mark.parametrize("width", [None, 200, 60, 50, 45, 40, 35, 20])
def test_every_cell_is_whole_at_any_width(width: int | None) -> None:
    lines = printed(width)
    words = {word for line in lines for word in line.split()}
    for column in TABLE:
        assert words.issuperset(column.cells), width
    assert not [line for line in lines if line != line.rstrip()]


@pytest.mark.parametrize("width", [60, 49, 48, 43, 33])
def test_a_table_is_divided_where_the_terminal_ends(width: int) -> None:
    lines = printed(width)
    assert max(len(line) for line in lines) <= width
    blocks = sum(set(line.strip()) == {"─"} for line in lines)
    # Every block says whose figures these are.
    assert sum(line.strip().startswith(NAMES[1]) for line in lines) == blocks
    assert blocks == {60: 1, 49: 2, 48: 2, 43: 2, 33: 3}[width]


def test_each_cell_is_measured_a_few_times_however_many_rows_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A capture of thousands of connections took minutes where each row measured all others."""
    measured = 0

    def counted(text: str) -> int:
        nonlocal measured
        measured += 1
        return len(text)

    monkeypatch.setattr(columns, "cell_len", counted)
    rows = [str(number) for number in range(1000)]
    lines = printed(80, [Column("flow", rows, names=True), Column("drops", rows)])
    assert len(lines) > len(rows)
    assert measured < 10 * 2 * len(rows)


def test_headers_end_on_one_line_and_figures_are_aligned() -> None:
    lines = printed(None)
    head = next(place for place, line in enumerate(lines) if line.startswith(" flow"))
    assert re.fullmatch(r" flow +Mbit/s +path +drops", lines[head])
    ends = {
        line.index(cell) + len(cell) for line, cell in zip(lines[head + 2 :], TABLE[3].cells, strict=False)
    }
    # The name in wide letters takes two places.
    assert len(ends) == 2


def test_a_table_without_rows_has_its_header() -> None:
    out, text = printer(80)
    show_table(out, "None", [Column("a", []), Column("b", [])])
    assert text.getvalue() == "None\n\n a   b\n ─────\n\n"


RANKED = [
    replace(column, rank=None if column.names else (2.0, 1.0, 3.0)[at - 1]) for at, column in enumerate(TABLE)
]


@pytest.mark.parametrize(
    ("width", "left_out"), [(60, []), (48, ["drops"]), (34, ["goodput Mbit/s", "drops"])]
)
def test_columns_of_little_weight_are_left_out_and_named(width: int, left_out: list[str]) -> None:
    lines = printed(width, RANKED)
    assert max(len(line) for line in lines) <= width
    told = " ".join(line.strip() for line in lines).partition("Left out: ")[2]
    assert told.partition(";")[0] == ", ".join(left_out)
    # A command stays in one line, to be copied.
    assert any("`| less -S` shows" in line for line in lines) == bool(left_out)
    assert "1.45±0.14" in " ".join(lines)


@pytest.mark.parametrize("width", [20, 25])
def test_where_names_and_a_figure_do_not_fit_beside_each_other_rows_are_lists(width: int) -> None:
    lines = printed(width)
    assert " backup@geostationary" in lines
    assert "   drops: 380±612" in lines
    assert not any("─" in line for line in lines)


def test_lines_are_broken_between_words_only() -> None:
    assert wrap("a draft-of-a-long-name b c", 8) == ["a", "draft-of-a-long-name", "b c"]
    assert wrap("空空 空空", 5) == ["空空", "空空"]
    assert wrap("one two", 4, hanging=1) == ["one", "two"]
    assert wrap("", 4) == [""]
    assert wrap("no end", None) == ["no end"]


@pytest.mark.parametrize(("width", "lines"), [(None, 3), (60, 3), (30, 4), (14, 5)])
def test_tables_of_words_become_narrower_and_then_lists(width: int | None, lines: int) -> None:
    out, text = printer(width)
    show_texts(out, ["name", "what"], [["draft-5", "a rule that halves windows"]], ["green"])
    found = text.getvalue().rstrip("\n").split("\n")
    assert len(found) == lines
    assert not [line for line in found if line != line.rstrip() or len(line) > (width or 120)]
    assert "draft-5" in found[0 if lines == 5 else 2]
