"""Fixtures that several tests need."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ropewalk as rw

ROOT = Path(__file__).resolve().parent.parent
COMMAND = Path(sys.executable).parent / "ropewalk"

SMALL = """\
name = "small"
duration = "4s"
seeds = 3

[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "40ms", queue = "50p", loss = { kind = "packet", probability = 0.01 } }

[[path]]
name = "b"
like = "a"

[[flow]]
name = "upload"
from = "terminal"
to = "server"
compare_paths = true

[flow.transport]
kind = "mptcp"
profile = "linux-minrtt"
congestion = "lia"

[[event]]
at = "2s"
link = "b"
set = { up = false }

[[event]]
at = "3s"
link = "b"
set = { up = true }
"""

ENDLESS = (
    SMALL.replace('duration = "4s"', 'duration = "1000000s"').replace("seeds = 3", "seeds = 1")
    + '\n[record]\ninterval = "100s"\n'
)

Ropewalk = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ropewalk() -> Ropewalk:
    """Runs the command as a user types it."""

    def call(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(COMMAND), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)

    return call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file that runs in no time."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def results() -> rw.Results:
    """Results of the small scenario."""
    return rw.Scenario.parse(SMALL, "small.toml").run(trace=True)


def left_alone(place: Path) -> Iterator[Path]:
    """A directory that tests share. A test that writes into it changes what others find, so it fails."""
    before = sorted(place.rglob("*"))
    yield place
    assert sorted(place.rglob("*")) == before, "a test has written into results that other tests read"


@pytest.fixture(scope="session")
def ran(results: rw.Results, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same, written down."""
    place = tmp_path_factory.mktemp("ran") / "out"
    results.write(place)
    yield from left_alone(place)


@pytest.fixture(scope="session")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Results of a study with time series and a baseline."""
    from study_files import FACTORS_START, STUDY, write_study

    place = tmp_path_factory.mktemp("studied")
    text = STUDY[:FACTORS_START] + "series = 1\n" + STUDY[FACTORS_START:]
    rw.Study.load(write_study(place, text)).run(place / "out")
    yield from left_alone(place / "out")


def scenario_files() -> list[Path]:
    """The scenarios that come with Ropewalk."""
    return sorted((ROOT / "scenarios").glob("*.toml"))
