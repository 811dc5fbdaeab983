"""The cost of a command beside the engine: no import that it does not need, no figure drawn twice."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import COMMAND, ROOT
from ropewalk import plots
from ropewalk.plots import draw, style

SLOW = ("matplotlib", "polars", "numpy", "rich.console", "scipy", "plotly", "distributed")
"""Packages whose import takes longer than a short command."""
SCENARIO = "scenarios/two-geo-beams.toml"
BUDGET = 0.4
"""CPU seconds of a run whose tables are written, as a share of one that also draws its six plots."""


def imported(*arguments: str | Path) -> set[str]:
    """The slow packages that a command imports."""
    command = [sys.executable, "-X", "importtime", str(COMMAND), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode in {0, 2}, done.stderr[-2000:]
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    return names & set(SLOW)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["study", "--help"],
        ["reproduce", "--help"],
        ["schema"],
        ["list", "loss", "--json"],
        ["show", SCENARIO],
        ["run", SCENARIO, "--set", "path.beam1.up.rate=10Mbps"],
        ["run", "no-such-file.toml"],
    ],
)
def test_a_command_without_results_imports_no_library_for_results(arguments: list[str]) -> None:
    assert imported(*arguments) == set()


def test_a_list_imports_the_printer_of_tables_alone() -> None:
    assert imported("list", "loss") == {"rich.console"}


def test_only_drawing_imports_matplotlib(small: Path, ran: Path, tmp_path: Path) -> None:
    drawing = {"matplotlib", "numpy", "scipy", "plotly", "distributed"}
    assert imported("run", small, "--out", tmp_path / "r") & drawing == set()
    assert imported("report", ran, "--out", tmp_path / "r.html") & drawing == {"numpy"}
    assert imported("export", ran, "--format", "csv", "--out", tmp_path / "csv") & drawing == {"numpy"}
    assert "matplotlib" in imported("run", small, "--out", tmp_path / "r", "--plots")


def test_the_report_of_a_study_imports_no_matplotlib(studied: Path, tmp_path: Path) -> None:
    assert "matplotlib" not in imported("report", studied, "--out", tmp_path / "r.html")


def test_a_figure_is_laid_out_and_drawn_once(
    results: rw.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    drawn = style.Figure.draw

    def counted(figure: style.Figure, *arguments: object) -> None:
        calls.append(figure.get_layout_engine())
        drawn(figure, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(style.Figure, "draw", counted)
    charts = plots.charts(results)
    assert len(plots.write(charts, tmp_path, ("png",))) == len(calls) == len(charts)
    assert set(calls) == {None}, "the layout was looked for while drawing"
    calls.clear()
    figure = draw.draw(charts[0])
    assert figure._repr_png_()
    assert calls == [None]
    # A user who changes the figure afterwards has it laid out again.
    assert figure.get_layout_engine() is not None


def cpu_s(*arguments: str | Path) -> float:
    """User and system seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"POLARS_MAX_THREADS": "1"}
    subprocess.run([str(COMMAND), *map(str, arguments)], capture_output=True, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_tables_take_a_small_part_of_the_time_of_plots(tmp_path: Path) -> None:
    turns = [
        (
            cpu_s("run", ROOT / SCENARIO, "--out", tmp_path / "r", "-j", "1"),
            cpu_s("run", ROOT / SCENARIO, "--out", tmp_path / "r", "-j", "1", "--plots"),
        )
        for _ in range(3)
    ]
    tables, with_plots = (min(times) for times in zip(*turns, strict=True))
    assert tables <= BUDGET * with_plots, f"{tables:.2f} of {with_plots:.2f} CPU s"
