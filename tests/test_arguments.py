"""Arguments of Python functions that nothing can be done with: each is refused by name."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ropewalk as rw
from conftest import SMALL

SCENARIO = rw.Scenario.parse(SMALL, "small.toml")
ANYTHING: Any = SCENARIO
UNTYPED: Any = rw.Scenario
UNTYPED_READ: Any = rw.read
LINK = "a.up"


def nested(depth: int) -> dict[str, object]:
    """A table in a table in a table."""
    found: dict[str, object] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


def endless() -> list[object]:
    """A list that holds itself."""
    found: list[object] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: SCENARIO.capacity(LINK, [float("nan"), 1]), ValueError, "allowed: finite numbers"),
        (lambda: SCENARIO.capacity(LINK, [2, 1]), ValueError, "seconds that rise"),
        (lambda: ANYTHING.run(1, capture="there"), TypeError, "ropewalk.Capture(directory), not str"),
        (lambda: rw.Capture("there", snap=-1), ValueError, "snap is -1: it lies between 0 and 4294967295"),
        (lambda: rw.Capture("there", snap=2**32), ValueError, "snap is 4294967296"),
        (lambda: rw.Scenario.parse("name = '\ud800'", "x"), rw.ScenarioError, "half of a surrogate pair"),
        (lambda: SCENARIO.set("name", "\ud800"), rw.ScenarioError, r"small.toml: found '\ud800'"),
        (lambda: ANYTHING.set("name", endless()), ValueError, "nests too deeply"),
        (lambda: ANYTHING.set(3, "x"), TypeError, "a key of a scenario is a str, not int"),
        (lambda: UNTYPED.from_dict([1]), TypeError, "are a dict, not list"),
        (lambda: UNTYPED_READ("a.pcap"), TypeError, "a list of paths, not one path: write ['a.pcap']"),
        (lambda: UNTYPED_READ("/"), TypeError, "results is read by ropewalk.Results.read('/')"),
        (lambda: UNTYPED.from_dict(nested(5000)), ValueError, "nests too deeply"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=re.escape(told)):
        call()


def test_any_number_of_threads_is_taken() -> None:
    assert SCENARIO.run(1, jobs=2**70).flows.equals(SCENARIO.run(1, jobs=1).flows)


def test_captures_of_a_run_that_fails_leave_those_of_the_one_before(tmp_path: Path) -> None:
    """The first files of the second run took the places of those that the results list."""
    folder = tmp_path / "capture"
    order = rw.Capture(folder)
    first = SCENARIO.run([1, 2], capture=order)
    first.write(tmp_path)

    def stop(done: int, _total: int) -> None:
        if done:
            raise RuntimeError("enough")

    faster = SCENARIO.set("path.a.both.rate", "20Mbit/s")
    with pytest.raises(RuntimeError, match="enough"):
        faster.run(range(1, 400), jobs=1, capture=order, progress=stop)
    assert sorted(path.name for path in folder.iterdir()) == ["seed-1.pcapng", "seed-2.pcapng"]
    assert rw.Results.read(tmp_path).captures == first.captures
    again = faster.run([2], capture=order)
    again.write(tmp_path)
    assert rw.Results.read(tmp_path).captures == {2: folder / "seed-2.pcapng"}
    assert [path.name for path in folder.iterdir()] == ["seed-2.pcapng"]


def test_a_capture_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    with pytest.raises(OSError, match="file"):
        SCENARIO.run(1, capture=rw.Capture(place))
