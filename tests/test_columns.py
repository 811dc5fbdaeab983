"""What tables have, their page and the metrics of studies know."""

import re

from conftest import ROOT
from ropewalk import Results
from ropewalk.study.metrics import BAD, GOOD, NEITHER, TABLES, numeric_columns

PAGE = (ROOT / "docs" / "reference" / "results.md").read_text(encoding="utf-8")


def documented() -> dict[str, list[str]]:
    """The columns of each table by its section of the page; all have `run`."""
    sections = re.findall(r"^## `(\w+)`[^\n]*\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    columns = {}
    for name, text in sections:
        first, _, _ = text.partition("| Metric |")
        rows = re.findall(r"^\| (`[^|]*`) \|", first, re.MULTILINE)
        columns[name] = [column for row in rows for column in re.findall(r"`(\w+)`", row)]
    return columns


def test_the_page_has_every_column_and_no_other(results: Results) -> None:
    tables = {name: [c for c in table.columns if c != "run"] for name, table in results.tables.items()}
    found = {name: [c for c in columns if c != "run"] for name, columns in documented().items()}
    assert {name: sorted(columns) for name, columns in found.items()} == {
        name: sorted(columns) for name, columns in tables.items()
    }


def test_of_every_figure_it_is_said_what_one_wants() -> None:
    said = [
        (table, column, [column in GOOD, column.startswith(BAD), column in NEITHER])
        for table in TABLES.values()
        for column in numeric_columns()[table]
    ]
    assert [(table, column) for table, column, places in said if sum(places) != 1] == []
    known = {column for _, column, _ in said}
    assert set(NEITHER) | set(GOOD) <= known
    assert [start for start in BAD if not any(column.startswith(start) for column in known)] == []
