"""Studies that are like another: their cases, `ropewalk show`, what results keep, where they may go."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from conftest import ROOT, Ropewalk
from ropewalk.cli.kinds import is_study
from ropewalk.errors import StudyError
from ropewalk.reproduce.studies import named
from ropewalk.study.file import load, parse, text_of, whole
from ropewalk.study.plan import plan
from ropewalk.study.results import StudyResults
from study_files import write_study

FEW_LINES = 12
"""Lines that two small studies may share: mostly headers of tables."""

OVERLAY = """\
name = "overlay"
like = "study.toml"
without = ["baseline"]
replications = 2

[[vary]]
name = "error rate"
hold = "0.02"

[[vary]]
name = "congestion"
levels = ["olia"]
"""


def overlay(directory: Path) -> Path:
    """An overlay, with the study and the scenario below it."""
    write_study(directory)
    path = directory / "overlay.toml"
    path.write_text(OVERLAY, encoding="utf-8")
    return path


def shipped() -> list[tuple[Path, str | None]]:
    """The studies of the reproductions that are like another, with their readings."""
    studies = [study for home in sorted(ROOT.glob("reproductions/*/")) for study in named(home).values()]
    return [(path, reading) for path, reading in studies if "\nlike" in text_of(path).partition("\n[")[0]]


@pytest.mark.parametrize(("path", "reading"), shipped(), ids=lambda one: getattr(one, "stem", str(one)))
def test_the_whole_of_a_shipped_overlay_has_the_same_cases(path: Path, reading: str | None) -> None:
    laid, alone = load(path, reading), parse(whole(text_of(path), path), path, reading)
    assert "like" not in laid.text.partition("\n[")[0]
    assert alone.text == laid.text
    for one in ("name", "scenario", "factors", "stopping", "series", "metrics", "baseline", "treatment"):
        assert getattr(laid, one) == getattr(alone, one), one
    assert [case.key for case in plan(laid).cases] == [case.key for case in plan(alone).cases]


def test_no_study_is_a_copy_of_another() -> None:
    alike = []
    for home in (*sorted(ROOT.glob("reproductions/*/")), ROOT / "studies"):
        files = {path.name: Counter(lines(path)) for path in sorted(home.glob("*.toml")) if is_study(path)}
        for (one, here), (other, there) in combinations(files.items(), 2):
            shared = (here & there).total()
            if shared > FEW_LINES and shared > 0.75 * min(here.total(), there.total()):
                alike.append(f"{home.name}: {one} and {other} share {shared} lines")
    assert not alike, "write one of them as an overlay (`like`) of the other"


def lines(path: Path) -> list[str]:
    """The lines of a file that say something."""
    stripped = (line.strip() for line in text_of(path).splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def test_show_prints_a_study_that_stands_alone(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = overlay(tmp_path)
    shown = ropewalk("show", path)
    assert shown.returncode == 0, shown.stderr
    assert 'scenario = "small.toml"' in shown.stdout
    assert "like =" not in shown.stdout
    alone = tmp_path / "alone.toml"
    alone.write_text(shown.stdout, encoding="utf-8")
    (tmp_path / "study.toml").unlink()
    done = ropewalk("study", alone, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "olia" in done.stdout
    # Its own study has gone.
    told = ropewalk("show", path)
    assert told.returncode == 2
    assert f"{path}:2:8: like: {tmp_path / 'study.toml'}: " in told.stderr


def test_show_refuses_what_means_nothing_for_the_kind_of_file(
    ropewalk: Ropewalk, tmp_path: Path, small: Path
) -> None:
    path = overlay(tmp_path)
    told = ropewalk("show", path, "--set", "duration=1s")
    assert told.returncode == 2
    assert "is a study" in told.stderr
    told = ropewalk("show", small, "--reading", "x")
    assert told.returncode == 2
    assert "is no study" in told.stderr
    told = ropewalk("show", path, "--reading", "x")
    assert told.returncode == 2
    assert 'there is no reading "x"' in told.stderr


def test_results_keep_the_whole(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = overlay(tmp_path)
    out = tmp_path / "out"
    done = ropewalk("study", path, "--out", out, "-j", "1")
    assert done.returncode == 0, done.stderr
    for file in (path, tmp_path / "study.toml"):
        file.unlink()
    results = StudyResults.read(out)
    assert results.manifest.name == "overlay"
    kept = parse((out / "study.toml").read_text(encoding="utf-8"), tmp_path / "kept.toml")
    assert [case.name for case in plan(kept).cases] == ["olia"]


def test_mistakes_of_the_study_below_are_told_there(tmp_path: Path) -> None:
    path = overlay(tmp_path)
    below = tmp_path / "study.toml"
    below.write_text(below.read_text(encoding="utf-8").replace('"olia"', '"oila"'), encoding="utf-8")
    with pytest.raises(StudyError) as told:
        load(path)
    assert f'{path}:12:11: vary.congestion.levels: there is no level "olia"' in str(told.value)
    path.write_text(OVERLAY.partition('\n[[vary]]\nname = "congestion"')[0], encoding="utf-8")
    with pytest.raises(StudyError) as told:
        plan(load(path))
    assert str(told.value).startswith(f"{below}:10:18: ")
