"""Figures in the sentences of claims and roots: `{15 / 11:.2f}`, `{table1["25"]:.0f}`.

In braces stands a value, written as in checks, and behind a colon how many decimals it is shown with
(`,.0f`: with commas). It is computed when claims are judged, under the reading that is shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ropewalk.errors import StudyError
from ropewalk.reproduce.values import NoValue, Row, mean_of
from ropewalk.reproduce.words import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ropewalk.reproduce.expressions import Evaluator
    from ropewalk.reproduce.model import Claim, Reproduction, Root

PLACE = re.compile(r"\{(?P<value>[^{}]+?)(?::(?P<form>,?\.\df))?\}")
NOTHING = "[nothing was measured]"


def values(sentence: str) -> Iterator[str]:
    """The expressions of a sentence."""
    return (match["value"] for match in PLACE.finditer(sentence))


def of_claim(claim: Claim) -> tuple[str, ...]:
    """The sentences of a claim that may have figures."""
    return claim.cause, *claim.calibrated.values()


def of_root(root: Root) -> tuple[str, ...]:
    """The sentences of a root that may have figures."""
    return root.value, root.cause, *(each.what for each in root.predicts)


def filled(sentence: str, reproduction: Reproduction, evaluator: Evaluator) -> str:
    """The sentence with its figures.

    Raises:
        StudyError: an expression is several numbers.
    """

    def put(match: re.Match[str]) -> str:
        try:
            value = evaluator.value(reproduction.told[match["value"]].tree)
        except NoValue:
            return NOTHING
        if isinstance(value, Row):
            raise StudyError(
                f"{reproduction.directory}/claims.toml: `{match['value']}` is {len(value.items)} numbers\n"
                "  fix: name one level of each factor, or write highest(...)"
            )
        mean = mean_of(value)
        return f"{mean:{match['form']}}" if match["form"] else number(mean, 3)

    return PLACE.sub(put, sentence)
