"""Published experiments run again: their claims, checked against studies."""

from __future__ import annotations

from ropewalk.reproduce.conduct import Reproduced, reproduce
from ropewalk.reproduce.counting import Counted, count
from ropewalk.reproduce.files import NotFound, find, load, names
from ropewalk.reproduce.model import Claim, Quantity, Reproduction
from ropewalk.reproduce.verdicts import Verdict, VerdictRow, judge

__all__ = [
    "Claim",
    "Counted",
    "NotFound",
    "Quantity",
    "Reproduced",
    "Reproduction",
    "Verdict",
    "VerdictRow",
    "count",
    "find",
    "judge",
    "load",
    "names",
    "reproduce",
]
