"""Tables on terminals of any width: no cell is broken, none is lost."""

import io
import re

import pytest
from rich.console import Console

from ropewalk.cli.columns import Column, show_table

NAMES = ["backup", "backup@geostationary", "空"]
TABLE = [
    Column("flow", NAMES, right=False, names=True),
    Column("goodput\nMbit/s", ["6.50±0.85", "4.1±1.2", "3.82±0"]),
    Column("benefit\nvs best\npath", ["1.45±0.14", "-", "-"]),
    Column("drops", ["729±366", "380±612", "293±0"]),
]


def printed(width: int | None) -> list[str]:
    text = io.StringIO()
    show_table(Console(file=text, width=width or 80, highlight=False), "Flows", TABLE, width)
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
    assert blocks == {60: 1, 49: 1, 48: 2, 43: 2, 33: 3}[width]


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
    text = io.StringIO()
    show_table(Console(file=text, width=80), "None", [Column("a", []), Column("b", [])], 80)
    assert text.getvalue() == "None\n\n a   b\n ─────\n\n"
