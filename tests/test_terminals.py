"""Output on terminals of 60, 80 and 100 columns: no word and no figure is broken."""

import functools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

import reproduction_files
from conftest import COMMAND, ROOT
from study_files import write_study
from terminal import lines_on_terminal

WIDTHS = [60, 80, 100]
SHIPPED = ["two-geo-beams", "geo-plus-lte", "leo-pair-browsing", "geo-leo-lte", "shared-bottleneck"]
KINDS = ["congestion", "schedulers", "path-managers", "rates", "delays", "queues", "loss", "apps", "profiles"]
COSTS = re.compile(r"(\d+\.\d+ (CPU )?s\b|\d\.\d million|[\d.]+ Mbit/s over)")
"""Figures that are others each time."""


Wide = Callable[..., str]


@pytest.fixture(scope="module")
def wide() -> Wide:
    """The output of a command where there is no terminal; the same for all widths, so that it runs once."""

    @functools.cache
    def call(*arguments: str | Path) -> str:
        command = [str(COMMAND), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout

    return call


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study file, whose results are computed once."""
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reproduction, whose results are computed once."""
    return reproduction_files.write_reproduction(tmp_path_factory.mktemp("reproduction"))


def words(lines: list[str]) -> set[str]:
    return {word for line in lines for word in COSTS.sub("", line).split()}


def check(lines: list[str], width: int, whole: str) -> None:
    """Every line fits, none ends in blanks, no two are empty, and every word is one of the wide output."""
    assert [line for line in lines if cell_len(line) > width] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\n\n\n" not in "\n".join(lines)
    told = "Left out `| less -S` shows all columns."
    # Names of columns that are left out are put together from headers of several lines.
    known = words(whole.split("\n")) | words([told])
    strange = {word for word in words(lines) if not set("─") >= set(word)} - known
    strange -= {f"{word}{end}" for word in known for end in ",;:"}
    assert strange - {"retransmitted", "retransmitted,"} == set()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SHIPPED)
def test_run(wide: Wide, name: str, width: int) -> None:
    command: list[str | Path] = [
        "run",
        ROOT / "scenarios" / f"{name}.toml",
        "--seeds",
        "2",
        "--set",
        "duration=8s",
    ]
    lines = lines_on_terminal(width, *command)
    check(lines, width, wide(*command))
    first = "\n".join(lines[: lines.index("Subflows")] if "Subflows" in lines else lines)
    assert "goodput" in first
    # Columns of the benefit answer what a second path is worth: no terminal loses them.
    if "benefit" in wide(*command):
        assert "vs best" in first
        assert "vs sum" in first


@pytest.mark.parametrize("width", WIDTHS)
def test_a_name_longer_than_the_terminal_stays_whole(tmp_path: Path, width: int) -> None:
    name = "the-upload-of-a-terminal-on-a-vessel-in-the-north-sea"
    text = (ROOT / "scenarios" / "two-geo-beams.toml").read_text(encoding="utf-8")
    file = tmp_path / "long.toml"
    file.write_text(text.replace('name = "upload"', f'name = "{name}"'), encoding="utf-8")
    lines = lines_on_terminal(width, "run", file, "--seeds", "2", "--set", "duration=4s")
    assert any(line.split()[:1] == [name] for line in lines)
    assert any(f"{name}@beam1" in line.split() for line in lines)
    assert [line for line in lines if cell_len(line) > width] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_study(wide: Wide, study: Path, width: int) -> None:
    out = study.parent / "out"
    whole = wide("study", study, "--out", out)
    lines = lines_on_terminal(width, "study", study, "--out", out)
    told = lines.index(next(line for line in lines if "computed" in line))
    check(lines[:told], width, whole)
    # Metrics are what was asked for: none is left out.
    assert not [line for line in lines if "Left out" in line]
    dry: list[str | Path] = ["study", study, "--out", out, "--dry-run"]
    check(lines_on_terminal(width, *dry), width, wide(*dry))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_list(wide: Wide, kind: str, width: int) -> None:
    lines = lines_on_terminal(width, "list", kind)
    check(lines, width, wide("list", kind) + "name: summary: source: notes: meaning: value: default:")


@pytest.mark.parametrize("width", WIDTHS)
def test_doctor(wide: Wide, width: int) -> None:
    lines = lines_on_terminal(width, "doctor")
    check(lines, width, wide("doctor"))
    assert sum(line.startswith("ok   ") for line in lines) == 9


@pytest.mark.parametrize("width", WIDTHS)
def test_reproduce(wide: Wide, reproduction: Path, width: int) -> None:
    check(lines_on_terminal(width, "reproduce"), width, wide("reproduce") + "what: claims: quick:")
    out = reproduction.parent / "out"
    whole = wide("reproduce", reproduction, "--out", out)
    lines = lines_on_terminal(width, "reproduce", reproduction, "--out", out)
    told = lines.index(next(line for line in lines if "computed" in line))
    check(lines[:told], width, whole + " what: published: measured: verdict:")
