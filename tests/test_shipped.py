"""`ropewalk examples` lists and copies the examples that come with Ropewalk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import ROOT, scenario_files
from ropewalk import Scenario, Study, shipped
from terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk


def test_every_example_is_listed_with_what_it_is() -> None:
    found = shipped.examples()
    assert {one.path for one in found if one.kind == "scenario"} == set(scenario_files())
    assert all(one.about for one in found)
    names = [one.name for one in found]
    assert len(set(names)) == len(names)
    measured = {one.path.name for one in found if one.kind == "measurement"}
    assert measured == {path.name for path in (ROOT / "examples" / "measured").iterdir()}


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_list_fits_the_terminal(columns: int) -> None:
    code, shown = on_terminal(columns, "examples")
    assert code == 0
    assert max(map(len, shown.splitlines())) <= columns
    assert "  geo-plus-lte\n" in shown
    assert "ropewalk examples NAME" in shown


def test_a_copy_has_the_files_that_it_needs(ropewalk: Ropewalk, tmp_path: Path) -> None:
    names = ["geo-rain-fade", "coupled-and-schedulers", "scenarios/geo-plus-lte.toml", "ping.txt"]
    done = ropewalk("examples", *names, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for command in ("run scenarios/geo-rain-fade.toml", "study studies/coupled-and-schedulers.toml"):
        assert f"ropewalk {command}" in done.stdout
    assert Scenario.load(tmp_path / "scenarios" / "geo-rain-fade.toml").duration_s > 0
    assert Study.load(tmp_path / "studies" / "coupled-and-schedulers.toml")
    assert (tmp_path / "examples" / "measured" / "ping.txt").is_file()
    again = ropewalk("examples", "geo-plus-lte", cwd=tmp_path)
    assert (again.returncode, "already" in again.stderr) == (2, True)


def test_all_of_them_at_once(ropewalk: Ropewalk, tmp_path: Path) -> None:
    done = ropewalk("examples", "--all", "--out", tmp_path / "here")
    assert done.returncode == 0, done.stderr
    copied = [path.relative_to(tmp_path / "here") for path in (tmp_path / "here").rglob("*.toml")]
    reproduced = [path for path in copied if path.parts[0] == "reproductions"]
    studies = list((ROOT / "studies").glob("*.toml"))
    assert len(copied) == len(scenario_files()) + len(studies) + len(reproduced)
    assert len(reproduced) == len(list((ROOT / "reproductions").rglob("*.toml")))


def test_what_cannot_be_copied_is_told(ropewalk: Ropewalk, tmp_path: Path) -> None:
    for arguments, found in [
        (["geo-plus-let"], "did you mean `geo-plus-lte`?"),
        (["--out", "x"], "name an example, or --all"),
        (["geo-plus-lte", "--all"], "leave one of them out"),
    ]:
        done = ropewalk("examples", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert found in done.stderr
