"""Losses of a full queue that no round trip tells of, and losses of the link beside a short one."""

import random
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from ropewalk import backlog, changing
from ropewalk.figures import Figure, Packets
from ropewalk.losses import Seen, answered, queue_and_loss
from test_fitted import KERNEL, made, scenario_of

WIRE = 1_500.0
RATE = 3e6
"""bit/s."""


def test_a_queue_that_is_full_during_a_repair_is_no_burst_of_losses(tmp_path: Path) -> None:
    """Two losses of the link in slow start, and 27 of the queue behind them: no round trip is new there."""
    keys = 'rate = "3Mbit/s", delay = "50ms", queue = "50kB"'
    lost = ', loss = { kind = "list", packets = [74, 87, 500, 700] }'
    flow = 'app = "bulk"\ntransport = { kind = "tcp", profile = "linux" }'
    reading = made(scenario_of("6s", [f"up = {{ {keys}{lost} }}\ndown = {{ {keys} }}"], flow), tmp_path)
    fitted = reading.fitted
    [path] = fitted.paths
    assert path.lost == [74, 87, 500, 700]
    assert path.queue.value == pytest.approx(50e3, rel=0.15)
    assert "so much waited when 27 segments were lost" in fitted.text
    assert fitted.near is not None
    assert fitted.near.is_near


def sent(rates: list[float], trips: list[float]) -> pl.DataFrame:
    """Samples every 20 ms: bytes that were sent at these rates, in bit/s, and round trips in seconds."""
    bytes_, rows = 0.0, []
    for index, (rate, trip) in enumerate(zip(rates, trips, strict=True)):
        rows.append((0.02 * index, int(bytes_), 1, trip, 0))
        bytes_ += 0.02 * rate / 8.0
    names = ["t_s", "acked_bytes", "inflight_bytes", "rtt_s", "retransmitted_segments"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_what_waits_is_what_was_sent_less_what_was_carried() -> None:
    """At twice the rate the queue grows by half of what is sent; each second packet is lost from then on."""
    samples = sent([2.0 * RATE] * 50 + [0.0] * 50, [0.1] * 100)
    times = [0.4 + 0.004 * number for number in range(150)]
    met, held, parts = backlog.waiting(samples, times, (1_500, WIRE), RATE / 8.0)
    assert met.min() == pytest.approx(150e3, rel=0.02)
    assert met.max() == pytest.approx(150e3, rel=0.02)
    assert held[-1] == 0.0
    assert parts.sum() == pytest.approx(1.0)
    found = backlog.full(samples, times, (1_500, WIRE), RATE / 8.0)
    assert found is not None
    assert found.bytes_ == pytest.approx(150e3, rel=0.02)
    # One of the link is told from them, at any place of the list.
    found = backlog.full(samples, [*times, 0.05], (1_500, WIRE), RATE / 8.0)
    assert found is not None
    assert found.met == [True] * 150 + [False]


def test_losses_of_the_link_meet_any_length() -> None:
    chance = random.Random(1)
    rates = [chance.choice([0.5, 1.0, 1.6]) * RATE for _ in range(1_000)]
    samples = sent(rates, [0.1] * 1_000)
    for count in (5, 40):
        times = [chance.uniform(0.0, 20.0) for _ in range(count)]
        assert backlog.full(samples, times, (1_500, WIRE), RATE / 8.0) is None
    # A burst is lost within a moment, in which nothing changes; some packets are no queue.
    burst = [10.0 + 0.001 * number for number in range(10)]
    assert backlog.full(samples, burst, (1_500, WIRE), RATE / 8.0) is None
    assert backlog.full(samples, [0.02 * number for number in range(40)], (1_500, WIRE), 100.0 * RATE) is None
    coarse = sent([2.0 * RATE] * 50 + [0.0] * 50, [0.1] * 100).with_columns(10.0 * pl.col("t_s"))
    assert backlog.full(coarse, [4.0 + 0.04 * n for n in range(15)], (1_500, WIRE), RATE / 8.0) is None
    assert backlog.full(samples.head(3), burst, (1_500, WIRE), RATE / 8.0) is None


def seen(samples: pl.DataFrame, losses: list[tuple[int, float]], longest_s: float, segments: int) -> Seen:
    frame = pl.DataFrame(losses, schema={"packet": pl.Int64, "t_s": pl.Float64}, orient="row")
    row = {"srtt_max_s": 0.1 + longest_s, "largest_bytes": 1_424, "segments_sent": segments}
    packets = Packets(samples, pl.DataFrame(), frame)
    rate = Figure(RATE, 0.95 * RATE, 1.05 * RATE, "")
    return Seen(row, packets, 0.1, rate, changing.Link(1.05, []), WIRE, alone=True)


def test_losses_beside_short_delays_are_of_the_link() -> None:
    """A kernel with 3 % of loss: 3 ms beside the losses, 17 ms a little earlier, became a queue of 1.2 kB."""
    trips = [0.103] * 15 + [0.117] * 4 + [0.103] * 81
    samples = sent([0.5 * RATE] * 100, trips)
    found = queue_and_loss(seen(samples, [(5, 0.28), (28, 0.3)], 0.017, 114))
    queue, loss = found.queue, found.loss
    assert found.lost == [5, 28]
    assert queue.high is None
    assert queue.low == pytest.approx(0.017 * RATE / 8.0)
    assert queue.value > 0.017 * RATE / 8.0
    assert loss.low is not None
    assert loss.low < 0.03 < (loss.high or 0.0)


def test_no_queue_is_shorter_than_two_packets_or_than_usual_delays() -> None:
    trips = [0.1025] * 100
    found = queue_and_loss(seen(sent([RATE] * 100, trips), [(5, 0.28), (28, 0.3)], 0.0026, 100))
    assert found.lost == []
    assert (found.queue.value, found.queue.low) == (2.0 * WIRE, 2.0 * WIRE)
    # A tenth of the packets waited for 60 ms, and these two for 40.
    trips = [0.14] * 30 + [0.16] * 10 + [0.14] * 60
    found = queue_and_loss(seen(sent([RATE] * 100, trips), [(5, 0.1), (28, 0.2)], 0.06, 100))
    assert found.lost == [5, 28]
    assert found.queue.high is None
    assert found.queue.low == pytest.approx(0.06 * RATE / 8.0)


def test_packets_of_an_outage_are_not_counted() -> None:
    """The interval was 0 to 1.4 % with one loss of 215, where the link loses 2 %."""
    first, second = rw.read([KERNEL / "reinjection.pcapng"]).fitted.paths
    assert "12 of 243 segments" in first.loss.why
    assert "1 of 45 segments" in second.loss.why
    assert second.loss.low is not None
    assert second.loss.low < 0.02 < (second.loss.high or 0.0)
    samples = sent([RATE] * 100, [0.1] * 100)
    frame = pl.DataFrame({"packet": [1, 90], "t_s": [0.1, 1.1]})
    kept, left_out = answered(Packets(samples, pl.DataFrame(), frame), [(1.0, 1.4)], 0.1, 1_500)
    assert kept["packet"].to_list() == [1]
    # From a round trip before it.
    assert left_out == pytest.approx(0.5 * RATE / 8.0 / 1_500, rel=0.05)
