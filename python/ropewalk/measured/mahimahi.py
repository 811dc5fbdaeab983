"""Traces of mahimahi: one whole number of milliseconds per line."""

from __future__ import annotations

import re

from ropewalk.measured.model import Opportunities, Quantity, Source

BITS = 1500 * 8
DIGITS = 12
"""Most digits of a time in milliseconds: a century has fewer."""
UP = re.compile(r"(?:^|[^a-z])(?:up|uplink|ul|upload)(?:[^a-z]|$)")


def recognise(text: str) -> bool:
    """Whether a text is such a trace."""
    lines = text.split(maxsplit=2)[:2]
    return bool(lines) and all(line.isascii() and line.isdigit() for line in lines)


def read(source: Source) -> list[Opportunities]:
    """The trace of one direction: that of the name of the file, else downwards.

    Raises:
        MeasurementError: a line is no time, or before the line above.
    """
    last, many = 0, 0
    for line, text in enumerate(source.text.splitlines(), 1):
        word = text.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit() and len(word) <= DIGITS):
            raise source.wrong(line, f'found "{word[:40]}"', "write one whole number of milliseconds")
        if int(word) < last:
            raise source.wrong(line, f"found {word}, which is before the line above", "sort the lines")
        last, many = int(word), many + 1
    if last == 0:
        raise source.wrong(None, "no time after 0", "give a trace with times")
    quantity = Quantity.UP if UP.search(source.path.name.lower()) else Quantity.DOWN
    return [Opportunities(quantity, source.name, source.text, last / 1e3, many * BITS / (last / 1e3))]
