"""The disk fails under a study: each file is right or refused, and the study ends as if undisturbed."""

import errno
import io
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ropewalk as rw
from conftest import ROOT
from ropewalk.disk import PARTIAL
from ropewalk.report.source import ReportError, results_of
from study_files import write_study
from test_study_store import assert_same_but_for_the_path

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ROUNDS = int(os.environ.get("ROPEWALK_ROUNDS", "6"))
"""Faults of each kind; `make storm-disk` asks for more."""
SEED = int(os.environ.get("ROPEWALK_SEED", "20261123"))
RECORDS, FILES = 5, 20
"""Files of the store, which are written first, and of store and results together."""

Fault = Callable[[io.FileIO, bytes, random.Random], None]


def full(file: io.FileIO, content: bytes, chance: random.Random) -> None:
    """There is room for a part only."""
    file.write(content[: chance.randrange(len(content))])
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def broken(_file: io.FileIO, _content: bytes, _chance: random.Random) -> None:
    """The disk reports an error."""
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def short(file: io.FileIO, content: bytes, chance: random.Random) -> None:
    """The end never reaches the disk, which says that it has."""
    file.write(content[: chance.randrange(len(content))])


def flipped(file: io.FileIO, content: bytes, chance: random.Random) -> None:
    """One bit is another one."""
    place = chance.randrange(8 * len(content))
    damaged = bytearray(content)
    damaged[place // 8] ^= 1 << place % 8
    file.write(bytes(damaged))


def damaged_head(file: io.FileIO, content: bytes, _chance: random.Random) -> None:
    """One bit of the first line is another one."""
    file.write(content[:90] + bytes([content[90] ^ 1]) + content[91:])


def killed(file: io.FileIO, content: bytes, chance: random.Random) -> None:
    """The process ends in the middle of a write."""
    short(file, content, chance)
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def which(chance: random.Random) -> int:
    """The file that is hit: half of the time one of the store."""
    return chance.randrange(chance.choice((RECORDS, FILES)))


class Faulty(io.FileIO):
    """A file whose first write goes wrong."""

    def __init__(self, path: Path, fault: Fault, chance: random.Random) -> None:
        super().__init__(path, "wb")
        self._fault, self._chance = fault, chance

    def write(self, content: "ReadableBuffer") -> int:
        whole = bytes(content)
        with io.FileIO(self.name, "wb") as file:
            self._fault(file, whole, self._chance)
        return len(whole)


@contextmanager
def failing(fault: Fault, number: int, chance: random.Random) -> Iterator[None]:
    """The file of this number that is written from now on, counted from 0, meets the fault."""
    whole = Path.open
    count = iter(range(1 << 30))

    def opened(path: Path, mode: str = "r", **options: str) -> object:
        hit = path.name.startswith(PARTIAL) and next(count) == number
        return Faulty(path, fault, chance) if hit else whole(path, mode, **options)  # type: ignore[call-overload]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", opened)
        yield


def run(place: Path) -> None:
    rw.Study.load(write_study(place)).run(place / "out")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results with a disk that works."""
    place = tmp_path_factory.mktemp("undisturbed")
    run(place)
    return place / "out"


def ends_as_undisturbed(place: Path, undisturbed: Path, where: str) -> None:
    """The same study again, with a disk that works."""
    run(place)
    results_of(place / "out")
    assert not list(place.rglob(f"{PARTIAL}*")), where
    same(place, undisturbed)


def same(place: Path, undisturbed: Path) -> None:
    """The results are those of a disk that works."""
    # The comparison writes into both.
    copy = place / "undisturbed"
    copy.mkdir(exist_ok=True)
    for file in undisturbed.iterdir():
        if file.is_file():
            content = file.read_bytes()
            (copy / file.name).write_bytes(content)
    for name in ("summary.json", "study.json"):
        text = (copy / name).read_text(encoding="utf-8").replace(str(undisturbed.parent), str(place))
        (copy / name).write_text(text, encoding="utf-8")
    assert_same_but_for_the_path(place / "out", copy)


@pytest.mark.parametrize("fault", [full, broken])
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_disk_that_reports_errors(fault: Fault, turn: int, tmp_path: Path, undisturbed: Path) -> None:
    where = f"{SEED} {fault.__name__} {turn}"
    chance = random.Random(where)
    with failing(fault, which(chance), chance), pytest.raises(OSError, match=r"space|error"):
        run(tmp_path)
    ends_as_undisturbed(tmp_path, undisturbed, where)


@pytest.mark.parametrize("fault", [short, flipped])
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_disk_that_lies(fault: Fault, turn: int, tmp_path: Path, undisturbed: Path) -> None:
    where = f"{SEED} {fault.__name__} {turn}"
    chance = random.Random(where)
    number = which(chance)
    with failing(fault, number, chance):
        said = attempt(lambda: run(tmp_path)) or attempt(lambda: results_of(tmp_path / "out"))
    # A record of the store is computed again, a file of results refused.
    if number < RECORDS and not said:
        same(tmp_path, undisturbed)
    else:
        assert "damaged" in said or "fix: run it again" in said, (where, number, said)
    ends_as_undisturbed(tmp_path, undisturbed, where)


@pytest.mark.parametrize("number", range(3))
def test_a_first_line_that_is_damaged_while_the_study_runs(
    number: int, tmp_path: Path, undisturbed: Path
) -> None:
    """The record is set aside when the store is next looked at: its runs were then missing at the end."""
    with failing(damaged_head, number, random.Random(SEED)):
        run(tmp_path)
    same(tmp_path, undisturbed)


def attempt(work: Callable[[], object]) -> str:
    """The message of the error; anything but these errors is a bug."""
    try:
        work()
    except (OSError, ReportError) as error:
        return str(error)
    return ""


PROGRAM = f"""
import random, sys
sys.path[:0] = {[str(ROOT / "tests"), str(ROOT / "python")]!r}
from pathlib import Path
from test_disk_faults import failing, killed, run, which
place, where = Path(sys.argv[1]), sys.argv[2]
chance = random.Random(where)
with failing(killed, which(chance), chance):
    run(place)
"""


@pytest.mark.parametrize("turn", range((ROUNDS + 2) // 3))
def test_a_process_that_is_killed_while_it_writes(turn: int, tmp_path: Path, undisturbed: Path) -> None:
    where = f"{SEED} killed {turn}"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    ends_as_undisturbed(tmp_path, undisturbed, where)
