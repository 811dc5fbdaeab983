"""Rates that change, from samples of a sender."""

import polars as pl
import pytest

from ropewalk import changing

STEP_S = 0.02


def samples(rates: list[tuple[float, float]], *, queued_s: float = 1.0) -> pl.DataFrame:
    """A sender whose queue holds data for `queued_s`: seconds and bit/s of each phase."""
    at, acked, rows = 0.0, 0.0, []
    for seconds, rate in rates:
        for _ in range(round(seconds / STEP_S)):
            rows.append((at, acked, rate / 8.0 * queued_s, 0.05 + queued_s, 0.0))
            at, acked = at + STEP_S, acked + rate / 8.0 * STEP_S
    columns = ["t_s", "acked_bytes", "inflight_bytes", "rtt_s", "retransmitted_segments"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def found(table: pl.DataFrame, length_s: float) -> list[tuple[float, float]]:
    return changing.steps(changing.spans(table, 0.05, 0.002), length_s)


def test_rates_that_jump_are_found_with_their_times() -> None:
    steps = found(samples([(4.0, 4e6), (3.0, 20e6), (5.0, 10e6)]), 12.0)
    # A span that a jump cuts has a rate between both.
    long = [(at, rate) for at, rate in steps if min(abs(rate / one - 1.0) for one in (4e6, 20e6, 10e6)) < 0.1]
    assert [rate for _, rate in long] == pytest.approx([4e6, 20e6, 10e6], rel=0.1)
    assert [at for at, _ in long] == pytest.approx([0.0, 4.0, 7.0], abs=changing.SHORTEST_S + STEP_S)


def test_a_constant_rate_has_no_steps() -> None:
    assert found(samples([(12.0, 5e6)]), 12.0) == []


def test_a_rate_that_is_seldom_known_has_no_steps() -> None:
    """Known for 5 of 12 s."""
    assert found(samples([(2.0, 4e6), (3.0, 20e6)]), 12.0) == []
    assert found(samples([(4.0, 4e6), (8.0, 20e6)], queued_s=0.001), 12.0) == []


def test_repairs_are_left_out() -> None:
    """From 4 s on nothing is acknowledged for a second, then all at once: no change of the link."""
    table = samples([(12.0, 8e6)])
    stalled = pl.col("t_s").is_between(4.0, 5.0)
    held = table.filter(pl.col("t_s") >= 4.0)["acked_bytes"][0]
    table = table.with_columns(
        acked_bytes=pl.when(stalled).then(held).otherwise(pl.col("acked_bytes")),
        retransmitted_segments=pl.when(pl.col("t_s") >= 4.0).then(9.0).otherwise(0.0),
    )
    ((start, end),) = changing.repairs(table)
    assert start == pytest.approx(4.0, abs=2 * STEP_S)
    assert end == pytest.approx(5.0, abs=2 * STEP_S)
    assert found(table, 12.0) == []


def test_the_queue_of_a_changing_link_is_what_was_outstanding() -> None:
    table = samples([(4.0, 4e6), (8.0, 20e6)])
    assert changing.outstanding(table, 2.0) == 4e6 / 8.0
    assert changing.outstanding(table, 4.0) == 20e6 / 8.0
    assert changing.outstanding(table, 99.0) == 0.0
