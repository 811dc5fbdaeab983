"""Figures as people read them: the same in all tables."""

import pytest

from ropewalk.cli.tables import interval
from ropewalk.numbers import figure
from ropewalk.plots import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (5.3e-6, "<0.001"),
        (-5.3e-6, ">-0.001"),
        (0.001, "0.001"),
        (0.01234, "0.0123"),
        (1234.5, "1234"),
        (12345678.0, "12345678"),
    ],
)
def test_a_figure(value: float, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(
    ("mean", "half_width", "terminal", "report"),
    [
        (5.3e-6, 6.4e-6, "<0.001", "<0.001"),
        (0.0, 0.0, "0±0", "0 ± 0"),
        (5.3e-6, 0.012, "0.000±0.012", "0.000 ± 0.012"),
        (1.3456, 0.1, "1.35±0.10", "1.35 ± 0.10"),
        (1.3456, 0.0, "1.35±0", "1.35 ± 0"),
        (1.3456, 1e-9, "1.35±0.00", "1.35 ± 0.00"),
        (123.456, 9e-4, "123±0", "123 ± 0"),
        (0.01234, 9e-4, "0.0123±0.0009", "0.0123 ± 0.0009"),
        (12.34567, 0.00123, "12.35±0.00", "12.3457 ± 0.0012"),
        (0.034567, 0.00123, "0.0346±0.0012", "0.0346 ± 0.0012"),
        (1.3456, None, "1.35", "1.35"),
    ],
)
def test_an_interval(mean: float, half_width: float | None, terminal: str, report: str) -> None:
    value = {"mean": mean, "ci95": half_width, "min": mean, "max": mean, "n": 2}
    assert interval(value) == terminal  # type: ignore[arg-type]
    assert words.interval(mean, half_width) == report
