"""Times in which a path loses many packets, in scenarios that are fitted to captures."""

import random
from pathlib import Path

import polars as pl
import pytest

from ropewalk.lossy import lossy
from test_fitted import compared, made, scenario_of

PATHS = [
    'both = { rate = "8Mbit/s", delay = "15ms", queue = "60kB" }',
    'both = { rate = "6Mbit/s", delay = "60ms", queue = "100kB" }',
]
FLOW = 'app = "bulk"\ntransport = { kind = "mptcp", profile = "linux" }'


def losses(numbers: list[int], each_s: float, start_s: float = 0.0) -> pl.DataFrame:
    times = [start_s + each_s * number for number in numbers]
    return pl.DataFrame({"packet": numbers, "t_s": times}, schema={"packet": pl.Int64, "t_s": pl.Float64})


def test_times_of_many_losses() -> None:
    """Neither a full queue, nor losses by chance, nor many losses all the time are one."""
    chance = random.Random(1)
    few = [number for number in range(1, 20_000) if chance.random() < 0.003]
    full = list(range(300, 400, 2))
    assert lossy(losses(sorted({*few, *full}), 0.001), 20.0, 0.1) == []
    for first in (2_000, 12_000):
        many = [number for number in range(first, first + 1_000) if chance.random() < 0.3]
        found = lossy(losses(sorted({*few, *full, *many}), 0.002), 40.0, 0.1)
        assert len(found) == 1
        assert (found[0].start_s, found[0].end_s) == pytest.approx(
            (0.002 * first, 0.002 * first + 2.0), abs=0.1
        )
        assert found[0].share == pytest.approx(0.3, abs=0.05)
        # Numbers and times count from elsewhere.
        moved = found[0].moved(-1.0, 2)
        assert (moved.start_s, moved.lost[0], moved.sent) == (
            found[0].start_s - 1.0,
            found[0].lost[0] + 2,
            found[0].sent,
        )
    both = [n for n in range(2_000, 14_000) if chance.random() < 0.3 and not 3_000 <= n < 13_000]
    assert [one.lost[0] // 1_000 for one in lossy(losses(both, 0.002), 40.0, 0.1)] == [2, 13]
    always = [number for number in range(1, 20_000) if chance.random() < 0.3]
    assert lossy(losses(always, 0.001), 20.0, 0.1) == []
    assert lossy(losses([], 0.001), 20.0, 0.1) == []


def test_a_path_that_loses_many_packets_for_a_time(tmp_path: Path) -> None:
    """Most of these losses meet a full queue: as losses of the queue they would end with it."""
    loss = '{{ kind = "packet", probability = {} }}'
    event = f'\n[[event]]\nat = "{{}}s"\nlink = "p1.up"\nset = {{{{ loss = {loss} }}}}\n'
    text = scenario_of("20s", PATHS, FLOW) + event.format(6, 0.3) + event.format(11, 0)
    reading = made(text, tmp_path)
    first, second = reading.fitted.paths
    assert first.lossy == ()
    (time,) = second.lossy
    assert 6.0 <= time.start_s < 6.2
    assert 8.0 < time.end_s <= 11.0
    assert 0.25 < time.share < 0.5
    fitted = reading.nearest()
    told = f"# loss: {len(time.lost)} of {time.sent} segments from {time.start_s:.3g} to {time.end_s:.3g} s "
    assert told in fitted.text
    assert 'link = "path2.up"\nset = { loss = { kind = "packet", probability = 0.' in fitted.text
    assert 'link = "path2.up"\nset = { loss = "none" }' in fitted.text
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


def test_few_losses_around_such_a_time_are_repeated(tmp_path: Path) -> None:
    """Numbers behind it count from its end: a change of the model begins anew."""
    path = '{ rate = "4Mbit/s", delay = "30ms", queue = "300kB"'
    lost = ', loss = { kind = "list", packets = [900, 901] } }'
    event = '\n[[event]]\nat = "{}s"\nlink = "p0.up"\nset = {{ loss = {} }}\n'
    flow = 'app = "bulk"\ntransport = { kind = "tcp", profile = "linux" }'
    text = scenario_of("30s", [f"up = {path}{lost}\ndown = {path} }}"], flow)
    text += event.format(8, '{ kind = "packet", probability = 0.3 }')
    text += event.format(12, '{ kind = "list", packets = [1500, 1502] }')
    fitted = made(text, tmp_path).fitted
    (only,) = fitted.paths
    (time,) = only.lossy
    before = [number for number in only.lost if number < time.lost[0]]
    behind = [number - time.lost[-1] for number in only.lost if number > time.lost[-1]]
    assert before == [900, 901]
    assert len(behind) >= 2
    assert 'loss = { kind = "list", packets = [900, 901] }' in fitted.text
    assert f'set = {{ loss = {{ kind = "list", packets = {behind} }} }}' in fitted.text
