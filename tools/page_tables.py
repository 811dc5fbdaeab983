"""Computes the tables on the pages of reproductions that say which of many cases gives which claim.

    <!-- table of each_latency
    S5_1.c3 = within(each_tcp_latency[row] / tcp_latency["as chosen"], 1, 0.15)
    F5_8.c4 = order(mean(each_latency[row, "sockperf", :, :]), mean(latency_of_sa[:]))
    -->
    | beam | S5_1.c3 | F5_8.c4 | |
    ...
    <!-- end of table -->

has a row for each level of the first factor of the quantity, for which `row` stands in the checks, under the
first reading; a check goes on in lines that are indented. The last row counts.

`tools/counts.py` writes the rows anew and records a digest of the whole, so that `tests/test_counts.py` finds
a cell that was typed over and a check that was changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from ropewalk.reproduce.expressions import Evaluator, Expression, parse
from ropewalk.reproduce.values import NoValue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.reproduce.expressions import Source
    from ropewalk.reproduce.model import Reproduction

TABLE = re.compile(
    r"<!-- table of (?P<quantity>\w+)\n(?P<checks>.*?)-->\n(?P<rows>.*?)<!-- end of table -->", re.S
)
COLUMN = re.compile(r"^(?P<name>\S+) = (?P<check>.*(?:\n[ ]+.*)*)$", re.M)
COMMENTS = 2
"""Comments of a table."""
YES, NO = "yes", "no"


def checks(reproduction: Reproduction, table: re.Match[str], level: str) -> Iterator[tuple[str, Expression]]:
    """Name and check of each column, for one row.

    Raises:
        ExpressionError: a check has a mistake.
    """
    names = reproduction.names(_profile(reproduction))
    for column in COLUMN.finditer(table["checks"]):
        text = re.sub(r"\brow\b", json.dumps(level), column["check"])
        yield column["name"], parse(text, names, check=True)


def levels(reproduction: Reproduction, table: re.Match[str]) -> list[str]:
    """The rows."""
    return reproduction.levels(_profile(reproduction))[table["quantity"]][0]


def studies(reproduction: Reproduction, text: str) -> set[str]:
    """The studies that the tables of a page look at."""
    profile = _profile(reproduction)
    return {
        reproduction.study_of(name, profile)
        for table in TABLE.finditer(text)
        for _, check in checks(reproduction, table, levels(reproduction, table)[0])
        for name in reproduction.measured_in(check)
    }


def rewritten(reproduction: Reproduction, text: str, source: Source) -> str:
    """The page with its tables computed."""
    profile = _profile(reproduction)
    evaluator = Evaluator(source, reproduction.names(profile), None, reproduction.published)

    def put(table: re.Match[str]) -> str:
        of = {
            level: [_holds(evaluator, check) for _, check in checks(reproduction, table, level)]
            for level in levels(reproduction, table)
        }
        titles = [column["name"] for column in COLUMN.finditer(table["checks"])]
        study = reproduction.studies[reproduction.study_of(table["quantity"], profile)]
        lines = [_line(study.factors[0].name, [*titles, ""]), "|---" * (len(titles) + 2) + "|"]
        lines += [
            _line(level, [*(YES if one else NO for one in row), str(sum(row))]) for level, row in of.items()
        ]
        totals = [str(sum(column)) for column in zip(*of.values(), strict=True)]
        lines.append(_line(f"of {len(of)}", [*totals, f"up to {max(map(sum, of.values()))}"]))
        start = table.start("rows") - table.start()
        return table[0][:start] + "\n".join(lines) + "\n" + table[0][table.end("rows") - table.start() :]

    return TABLE.sub(put, text)


def _line(first: str, cells: list[str]) -> str:
    return f"| {' | '.join([first, *cells])} |"


def _holds(evaluator: Evaluator, check: Expression) -> bool:
    try:
        return evaluator.outcome(check.tree).holds
    except NoValue:
        return False


def digests(text: str) -> list[str]:
    """A digest of each table, with its checks."""
    return [hashlib.sha256(table[0].encode()).hexdigest()[:16] for table in TABLE.finditer(text)]


def _profile(reproduction: Reproduction) -> str:
    return (reproduction.profiles or ("",))[0]
