"""Random edits of good files: each is taken, or refused in words. Messages have the seed."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropewalk import provenance, reproduce
from ropewalk.errors import ScenarioError, StudyError
from ropewalk.report.source import ReportError, results_of
from ropewalk.reproduce.expressions import ExpressionError, parse
from ropewalk.study import file as study_file
from ropewalk.study.plan import plan
from ropewalk.written import seal
from study_files import STUDY, write_study
from test_overlays import OVERLAY, overlay

ROUNDS = int(os.environ.get("ROPEWALK_FUZZ", "300"))
"""Edits of each kind; `make fuzz-python` asks for more."""
SEED = int(os.environ.get("ROPEWALK_SEED", "20261123"))

WORDS = (
    "[" * 3000,
    "-" * 3000 + "1",
    "9" * 5000,
    "0x" + "f" * 5000,
    "0b" + "1" * 70,
    "a" + ".a" * 3000,
    "9" * 400,
    "1e999",
    "nan",
    "-1",
    "0",
    "true",
    '""',
    "{}",
    "[]",
    "\0",
    "\u202e",
    "2**9**9**9",
    "=1+1",
)
VALUES: tuple[object, ...] = (None, True, -1, 0, 2**70, 1e308, "", "x" * 300, "../..", [], [[]], {}, {"a": 1})


def edited(chance: random.Random, text: str, other: str) -> str:
    """The text with one to four edits."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + int(chance.expovariate(0.1)))
        begin = chance.randrange(len(other))
        piece = other[begin : begin + chance.randint(1, 40)]
        new = chance.choice(("", chr(chance.randrange(1, 0x300)), piece, chance.choice(WORDS)))
        text = text[:start] + new + text[end:]
    return text


def rounds(work: Callable[[random.Random], object], errors: tuple[type[Exception], ...]) -> int:
    """How often `work` goes well; anything but `errors` is a bug."""
    fine = 0
    for turn in range(ROUNDS):
        where = f"{SEED} {turn}"
        try:
            work(random.Random(where))
        except errors:
            continue
        except Exception as error:
            error.add_note(f"round {where}")
            raise
        fine += 1
    return fine


def test_study_files(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    assert study_file.parse(STUDY, path)
    fine = rounds(lambda chance: study_file.parse(edited(chance, STUDY, STUDY), path), (StudyError,))
    assert 0 < fine < ROUNDS


def test_overlays(tmp_path: Path) -> None:
    """Edits of the overlay, and of the study below it."""
    path = overlay(tmp_path)
    assert plan(study_file.load(path)).cases

    def work(chance: random.Random) -> None:
        above = chance.random() < 0.7
        below = STUDY if above else edited(chance, STUDY, STUDY)
        (tmp_path / "study.toml").write_text(below, encoding="utf-8")
        plan(study_file.parse(edited(chance, OVERLAY, STUDY) if above else OVERLAY, path))

    assert 0 < rounds(work, (StudyError,)) < ROUNDS


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"series = 0x{'f' * 5000}\n", "study.toml:1:10: series: found an integer beyond 64 bits"),
        (f"series = -{'9' * 30}\n", "study.toml:1:10: series: found an integer beyond 64 bits"),
        (f"set = {{ duration = 0o{'7' * 30} }}\n", "an integer beyond 64 bits"),
        (f"set.{'.'.join('a' * 3000)} = 1\n", "study.toml:1:1: nested too deeply"),
    ],
)
def test_what_tomllib_takes_and_toml_forbids(tmp_path: Path, line: str, found: str) -> None:
    with pytest.raises(StudyError) as caught:
        study_file.parse(line + STUDY, write_study(tmp_path))
    assert found in str(caught.value)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("text", ["0x" + "f" * 5000, "9" * 400 + " < 1.5", "abs(-" + "9" * 400 + ")"])
def test_numbers_of_expressions_have_64_bits(text: str) -> None:
    with pytest.raises(ExpressionError, match="beyond 64 bits"):
        parse(text, {}, check=False)


def test_expressions() -> None:
    loaded = [reproduce.load(name) for name in reproduce.names()]
    claims = [claim.check.text for found in loaded for claim in found.claims if claim.check is not None]
    factors = {"x": [["a", "b"], ["1", "2"]], "y": []}
    good = [
        *claims,
        'within(x["a", "1"], 2.1, 0.05)',
        'by_chance(order(x["a", :], y), runs=10)',
        "sqrt(abs(y)) ** 2",
    ]

    def work(chance: random.Random) -> None:
        text = edited(chance, chance.choice(good), chance.choice(good))
        parse(text, factors, check=chance.random() < 0.5, published=True)

    rounds(work, (ExpressionError,))


def places(found: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401
    """Everything in JSON that holds a value, with its key or position."""
    own = (
        list(found) if isinstance(found, dict) else list(range(len(found))) if isinstance(found, list) else []
    )
    return [(found, key) for key in own] + [place for key in own for place in places(found[key])]


@pytest.mark.parametrize(("which", "name"), [("ran", "summary.json"), ("studied", "study.json")])
def test_results_that_were_edited_and_sealed(
    which: str, name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A checksum is no signature: a file whose checksum fits is not trusted."""
    shutil.copytree(request.getfixturevalue(which), tmp_path / "out", ignore=shutil.ignore_patterns("store"))
    (tmp_path / "out" / provenance.FILE).unlink(missing_ok=True)
    file = tmp_path / "out" / name
    text = file.read_text(encoding="utf-8")

    def work(chance: random.Random) -> None:
        found = json.loads(text)
        del found["sha256"]
        for _ in range(chance.randint(1, 3)):
            holder, key = chance.choice(places(found))
            if chance.random() < 0.3:
                del holder[key]
            else:
                holder[key] = chance.choice(VALUES)
        file.write_bytes(seal(found))
        results_of(tmp_path / "out")

    rounds(work, (ReportError, ScenarioError, OSError))
