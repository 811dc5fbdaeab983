"""Published experiments run again: their claims, checked against studies."""

from __future__ import annotations

from ropewalk.reproduce.conduct import Reproduced, reproduce
from ropewalk.reproduce.files import NotFound, find, load, names
from ropewalk.reproduce.model import Claim, Quantity, Reproduction
from ropewalk.reproduce.verdicts import Verdict, VerdictRow, counts, judge

__all__ = [
    "Claim",
    "NotFound",
    "Quantity",
    "Reproduced",
    "Reproduction",
    "Verdict",
    "VerdictRow",
    "counts",
    "find",
    "judge",
    "load",
    "names",
    "reproduce",
]
