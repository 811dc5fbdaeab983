"""`ropewalk show` of a study."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ropewalk.cli.reporting import WRONG_INPUT, fail
from ropewalk.study.file import text_of, whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def study(file: Path, overrides: Sequence[str], reading: str | None) -> None:
    """Prints the whole of a study, in one of its readings if one is named."""
    if overrides:
        fail(
            f"--set {overrides[0]}: {file} is a study\n"
            "  fix: write the key under `set` in it, or show its scenario",
            WRONG_INPUT,
        )
    sys.stdout.write(whole(text_of(file), file, reading))
