"""Overflows of a queue that is short beside the round trip, in scenarios that are fitted to captures."""

import random
from pathlib import Path

import polars as pl
import pytest

from ropewalk import changing
from ropewalk.overshoot import top
from test_fitted import compared, made, scenario_of

ALONE = 'app = "bulk"\ntransport = { kind = "tcp", profile = "linux" }'
SEVERAL = 'app = "bulk"\ntransport = { kind = "mptcp", profile = "linux" }'
BESIDE = 'both = { rate = "5Mbit/s", delay = "30ms", queue = "60kB" }'


@pytest.mark.parametrize(
    ("path", "queue", "others", "flow"),
    [
        # An ACK that is delayed by 40 ms makes the longest round trip, as captures of Linux have it.
        ('rate = "10Mbit/s", delay = "150ms", queue = "30kB"', 30e3, [], ALONE),
        ('rate = "12Mbit/s", delay = "300ms", queue = "50kB"', 50e3, [BESIDE], SEVERAL),
        # The longest round trip is still another one, and losses tell.
        ('rate = "15Mbit/s", delay = "270ms", queue = "40kB"', 40e3, [], ALONE),
    ],
)
def test_drops_of_the_overshoot_are_those_of_the_queue(
    path: str, queue: float, others: list[str], flow: str, tmp_path: Path
) -> None:
    """As bursts of losses of the link they gave 0.89 to 1.38 of the goodput."""
    reading = made(scenario_of("20s", [f"both = {{ {path} }}", *others], flow), tmp_path)
    first = reading.fitted.paths[0]
    assert first.lost == []
    assert first.queue.value == pytest.approx(queue, rel=0.05)
    ratio, apart = compared(reading)
    assert ratio == pytest.approx(1.0, abs=0.1)
    assert apart < 0.1


def course(delays_ms: list[float]) -> pl.DataFrame:
    """Samples of a path of 500 ms, every 20 ms, without losses; a negative delay: no ACK."""
    rows, acked, trip = [], 0, 0.5
    for index, delay in enumerate(delays_ms):
        if delay >= 0.0:
            acked, trip = acked + 20_000, 0.5 + delay / 1e3
        rows.append((0.02 * index, acked, 500_000, trip, 0))
    names = ["t_s", "acked_bytes", "inflight_bytes", "rtt_s", "retransmitted_segments"]
    return pl.DataFrame(rows, schema=names, orient="row")


def sent_at(samples: pl.DataFrame, delay_ms: float) -> list[float]:
    """When packets were sent that met this delay."""
    found = samples.filter((pl.col("rtt_s") - 0.5 - delay_ms / 1e3).abs() < 1e-6)
    return (found["t_s"] - found["rtt_s"]).to_list()


def test_losses_at_the_top_of_the_delay_are_those_of_the_queue() -> None:
    """A delayed ACK is no top, chance is none either."""
    chance = random.Random(1)
    low = [chance.uniform(1.0, 5.0) for _ in range(1_000)]
    samples = course([*low[:100], 20.0, 40.0, 48.0, 48.1, 48.2, *low[100:500], 88.0, *low[500:]])
    times = [at + 0.003 * number for at in sent_at(samples, 48.0) for number in range(5)]
    found = top(samples, times, 0.5, 0.001)
    assert found is not None
    assert found.delay_s == pytest.approx(0.0482, abs=0.001)
    assert found.met == [True] * 5
    # One of the link is told from them.
    found = top(samples, [*times, 12.0], 0.5, 0.001)
    assert found is not None
    assert found.met == [True] * 5 + [False]
    # Losses by chance, by chance while the queue is long for most of the time, and of a queue of one packet.
    assert top(samples, [chance.uniform(1.0, 18.0) for _ in range(40)], 0.5, 0.001) is None
    long = course([48.0 if chance.random() < 0.7 else 20.0 for _ in range(1_000)])
    assert top(long, [5.0, 5.001], 0.5, 0.001) is None
    assert top(samples, times, 0.5, 0.01) is None
    # Longer delays are no rare ones.
    longer = course([*low[:100], 48.0, *low[:100], *[80.0] * 30, *low])
    assert top(longer, [sent_at(longer, 48.0)[0]] * 3, 0.5, 0.001) is None
    # No round trip beside a loss, and too few of them.
    assert top(samples, [100.0, 101.0], 0.5, 0.001) is None
    few = course([*low[:20], 48.0, *low[:20]])
    assert top(few, sent_at(few, 48.0) * 3, 0.5, 0.001) is None
    # Each loss met another delay.
    steps = course([*low, 15.0, *low[:9], 24.0, *low[:9], 33.0, *low[:9], 48.0, *low])
    each = [sent_at(steps, delay)[0] for delay in (15.0, 24.0, 33.0, 48.0)]
    assert top(steps, each, 0.5, 0.001) is None
    assert top(samples, [], 0.5, 0.001) is None


def test_a_round_trip_counts_once() -> None:
    """Until the next ACK samples repeat it, also during a repair: it is not that of later packets."""
    samples = course([5.0, 45.0, -1.0, -1.0, -1.0, 6.0, 6.0])
    assert changing.measured(samples)["t_s"].to_list() == pytest.approx([0.0, 0.02, 0.1, 0.12])
    again = samples.with_columns(pl.Series("retransmitted_segments", [0, 0, 1, 1, 1, 1, 1]))
    assert changing.measured(again)["t_s"].to_list() == pytest.approx([0.0, 0.02, 0.1])
