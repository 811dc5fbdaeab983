"""Statistics, against values computed by hand or printed in tables."""

import math

import pytest

from ropewalk.statistics import (
    estimate,
    largest_z_score,
    pooled,
    sample_sd,
    student_half_width,
    without_outliers,
)


def test_pooled_standard_deviation() -> None:
    """Vector PS-1: n 10, 20, 10; s 0.1, 0.2, 0.15; m 1.5, 1.6, 1.4."""
    mean, sd = pooled([10, 20, 10], [1.5, 1.6, 1.4], [0.1, 0.2, 0.15])
    assert mean == pytest.approx(1.525)
    assert sd == pytest.approx(0.168659, abs=5e-7)


def test_pooling_needs_something_to_pool() -> None:
    with pytest.raises(ValueError, match="two values"):
        pooled([1, 1], [1.0, 2.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="number"):
        pooled([2], [1.0, 2.0], [0.0])


@pytest.mark.parametrize(("n", "t"), [(2, 12.706), (5, 2.776), (20, 2.093), (30, 2.045)])
def test_student_quantiles(n: int, t: float) -> None:
    """Two-sided 95 % quantiles as in any table."""
    assert student_half_width(1.0, n) * math.sqrt(n) == pytest.approx(t, abs=5e-4)


def test_estimate() -> None:
    found = estimate([1.0, 2.0, None, 3.0, 4.0])
    assert found is not None
    assert (found.mean, found.min, found.max, found.n) == (2.5, 1.0, 4.0, 4)
    assert sample_sd([1.0, 2.0, 3.0, 4.0]) == pytest.approx(1.290994, abs=1e-6)
    assert found.ci95 == pytest.approx(3.182446 * 1.290994 / 2, abs=1e-5)


def test_estimate_of_little() -> None:
    one = estimate([7.0])
    assert one is not None
    assert (one.mean, one.ci95, one.n) == (7.0, None, 1)
    assert estimate([]) is None
    assert estimate([None]) is None
    with pytest.raises(ValueError, match="at least two"):
        sample_sd([1.0])


@pytest.mark.parametrize(("n", "bound"), [(10, 2.846), (20, 4.249)])
def test_no_z_score_exceeds_its_bound(n: int, bound: float) -> None:
    assert largest_z_score(n) == pytest.approx(bound, abs=5e-4)
    # The bound is reached by one value against all others.
    values = [0.0] * (n - 1) + [1.0]
    assert (1.0 - 1 / n) / sample_sd(values) == pytest.approx(largest_z_score(n))


def test_three_sigma_cannot_drop_anything_among_ten() -> None:
    kept = without_outliers([0.0] * 9 + [1e9])
    assert kept.dropped == []
    assert kept.bound < 3.0


def test_three_sigma_among_twenty() -> None:
    values = [10.0 + 0.1 * (index % 5) for index in range(19)] + [50.0]
    result = without_outliers(values)
    assert result.dropped == [50.0]
    assert result.kept == values[:19]
    assert without_outliers([]).kept == []
    assert without_outliers([2.0, 2.0]).dropped == []
