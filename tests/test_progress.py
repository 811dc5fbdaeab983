"""What is told while runs are under way."""

import time

import pytest

from ropewalk.cli.progress import Progress


class Clock:
    """Seconds that pass when told."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "monotonic", found.monotonic)
    return found


def test_one_long_run_tells_simulated_time_and_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("long", duration_s=30_000.0) as shown:
        for seconds in (0.0, 4.0, 6.0, 12.0):
            clock.now = 100.0 + seconds
            shown.simulated(1500.0 * seconds)
            shown.update(0, 3)
    assert capsys.readouterr().err.splitlines() == [
        "long: 0 of 3 runs, 9,000 of 90,000 s simulated, 54 s left",
        "long: 0 of 3 runs, 18,000 of 90,000 s simulated, 48 s left",
    ]


def test_a_study_counts_runs_and_leaves_out_what_was_stored(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress("study") as shown:
        shown.update(50, 100)
        clock.now = 106.0
        shown.update(50, 100)
        clock.now = 120.0
        shown.update(60, 100)
    assert capsys.readouterr().err.splitlines() == [
        "study: 50 of 100 runs, no run finished yet",
        "study: 60 of 100 runs, 0.5 runs/s, 1 min 20 s left",
    ]
