"""Statistics, against values computed by hand or printed in tables."""

import math

import pytest
import scipy.stats

from ropewalk.statistics import (
    alike,
    box,
    describe,
    estimate,
    holm,
    jain,
    largest_gap,
    largest_z_score,
    paired,
    pooled,
    quantile,
    ratio_of_means,
    sample_sd,
    student_half_width,
    student_outside,
    student_quantile,
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


def test_significances_are_those_of_scipy() -> None:
    from scipy.special import stdtr

    for freedom in (1, 2, 3, 4, 9, 19, 50, 199, 999, 5000):
        for t in (0.0, 1e-4, 0.01, 0.5, 1.0, 1.2, 1.9, 2.5, 5.0, 12.0, 40.0, 1e3):
            expected = 2 * float(stdtr(freedom, -t))
            found = student_outside(-t, freedom)
            assert found == pytest.approx(expected, rel=1e-10), (freedom, t)


def test_student_quantiles_are_those_of_scipy() -> None:
    from scipy.special import stdtrit

    for freedom in (1, 2, 3, 4, 7, 19, 100, 999, 1000, 1001, 5000):
        for confidence in (0.5, 0.9, 0.95, 0.999):
            expected = float(stdtrit(freedom, (1 + confidence) / 2))
            assert student_quantile(freedom, confidence) == pytest.approx(expected, rel=1e-9)


def test_quantiles_are_those_of_numpy() -> None:
    import numpy as np

    values = [float(value) for value in np.random.default_rng(1).normal(size=101)]
    for count in (1, 2, 3, 10, 101):
        for share in (0.0, 0.05, 0.25, 0.5, 0.95, 1.0):
            found = quantile(sorted(values[:count]), share)
            assert found == pytest.approx(float(np.quantile(values[:count], share)), rel=1e-12)


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


def test_jain() -> None:
    assert jain([1.0, 1.0, 1.0, 1.0]) == 1.0
    assert jain([1.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    with pytest.raises(ValueError, match="not defined"):
        jain([0.0, 0.0])


def test_jain_of_published_throughputs() -> None:
    """Tables 9 and 11 of Omueti and Trajkovic (2007), in byte/s; they print 0.9510, 0.8650 and 0.99996."""
    adalr = [283404.6, 281750.6, 268984.6, 195099.8, 175343.8, 160897.4]
    newreno = [322418.0, 300629.1, 263129.2, 158601.5, 129560.8, 109239.5]
    mixed = [354451.6, 356565.9, 356906.8, 352012.7, 351913.3, 351748.1]
    found = [jain(adalr), jain(newreno), jain(mixed)]
    assert found == pytest.approx([0.951047, 0.865026, 0.999962], rel=1e-6)
    assert [round(found[0], 4), round(found[1], 4), round(found[2], 5)] == [0.9510, 0.8650, 0.99996]


def test_quantiles_are_interpolated() -> None:
    """Type 7 on 1..5: the quantile q lies at 1 + 4 q."""
    found = describe([5.0, 1.0, 4.0, 2.0, 3.0])
    assert found is not None
    assert (found.p5, found.p25, found.median, found.p75, found.p95) == pytest.approx((1.2, 2, 3, 4, 4.8))
    assert (found.n, found.mean) == (5, 3.0)
    assert found.sd == pytest.approx(math.sqrt(2.5))
    assert describe([]) is None
    one = describe([7.0])
    assert one is not None
    assert (one.sd, one.ci95, one.p5, one.p95) == (None, None, 7.0, 7.0)


def test_box_plot() -> None:
    """Quartiles 2.75 and 7.25 (type 7 of ten values): fences at -4 and 14."""
    found = box([1.0, 2.0, 2.0, 5.0, 5.0, 5.0, 6.0, 7.666667, 14.0, 14.5])
    assert found is not None
    assert found.p25 == pytest.approx(2.75)
    assert found.p75 == pytest.approx(7.25)
    assert (found.low, found.high, found.fliers) == (1.0, 14.0, [14.5])
    assert box([]) is None


A = {1: 10.1, 2: 12.0, 3: 9.5, 4: 11.2, 5: 10.9}
B = {1: 9.8, 2: 11.1, 3: 9.6, 4: 10.1, 5: 10.2}


def test_paired_differences() -> None:
    """Differences 0.3, 0.9, -0.1, 1.1, 0.7: mean 0.58, sd 0.48166; t = 2.6926 with 4 degrees of freedom."""
    found = paired(A, B)
    assert found is not None
    assert found.n == 5
    assert found.mean == pytest.approx(0.58)
    assert found.ci95 == pytest.approx(2.776445 * 0.481664 / math.sqrt(5), rel=1e-5)
    expected = scipy.stats.ttest_rel(list(A.values()), list(B.values()))
    assert found.p == pytest.approx(float(expected.pvalue), rel=1e-9)
    ranks = paired(A, B, "wilcoxon")
    assert ranks is not None
    # One negative difference, the smallest: W = 1, and 2 * 2 of the 32 signs are at least as extreme.
    assert ranks.p == pytest.approx(4 / 32)


def test_pairs_that_are_none() -> None:
    found = paired(A | {6: 1.0}, B | {7: 1.0})
    assert found is not None
    assert found.n == 5
    assert paired(A, {9: 1.0}) is None
    one = paired({1: 3.0}, {1: 1.0})
    assert one is not None
    assert (one.mean, one.ci95, one.p) == (2.0, None, None)
    same, shifted = paired(A, A), paired({1: 2.0, 2: 3.0}, {1: 1.0, 2: 2.0})
    assert same is not None
    assert shifted is not None
    assert (same.p, shifted.p) == (1.0, 0.0)


def test_a_failed_replication_does_not_hide_the_others() -> None:
    pairs = [(10.0, 12.0), (8.0, 10.0), (1e-3, 11.0)]
    found = ratio_of_means(pairs)
    assert found is not None
    assert found.ci95 is not None
    assert found.mean == pytest.approx(33 / 18.001)
    assert (found.min, found.n) == (1.2, 3)
    assert found.max == pytest.approx(11e3)
    rests = [after - found.mean * before for before, after in pairs]
    error = sample_sd(rests) / math.sqrt(3) / (18.001 / 3)
    assert found.ci95 == pytest.approx(4.302653 * error, rel=1e-5)
    assert ratio_of_means([]) is None


def test_holm() -> None:
    """Holm 1979: 0.01 * 4, then 0.03 * 3 and so on, never less than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_groups_that_do_not_differ() -> None:
    low = {seed: 1.0 + 0.01 * (seed % 3) for seed in range(12)}
    high = {seed: 2.0 + 0.01 * (seed % 4) for seed in range(12)}
    noisy = {seed: (0.2 if seed % 2 else 2.8) for seed in range(12)}
    # The noisy one differs from neither, those two differ from each other.
    assert alike([low, high, noisy]) == [[1, 2], [2, 0]]
    assert alike([low, low, high]) == [[2], [0, 1]]
    assert alike([low]) == [[0]]


def test_gap_between_pooled_groups() -> None:
    assert largest_gap([1.0, 1.5, 2.0], 0.5) == 2.0
    assert largest_gap([1.0, 1.0], 0.0) == 0.0
    assert largest_gap([1.0, 1.1], 0.0) == math.inf
