"""JSON that `iperf3 --json` writes: goodput per interval, of UDP also the losses."""

from __future__ import annotations

from typing import Any

from ropewalk.measured.model import MeasurementError, Quantity, Series, Source, series


def recognise(text: str) -> bool:
    """Whether a text is from iperf3."""
    return text.lstrip()[:1] == "{" and '"intervals"' in text and '"start"' in text


def read(source: Source) -> list[Series]:
    """Rates of one direction, of both with --bidir, and the losses that a receiver of UDP counts.

    Raises:
        MeasurementError: the test failed, or an interval lacks its figures.
    """
    content = source.json()
    if error := content.get("error"):
        raise source.wrong(None, f'iperf3 says "{error}"', "measure again")
    start = content.get("start")
    start = start if isinstance(start, dict) else {}
    test = start.get("test_start", {})
    intervals = content.get("intervals")
    if not isinstance(intervals, list) or not intervals:
        raise source.wrong(None, "no intervals", "run iperf3 with --json and an interval (-i 1)")
    reverse = bool(test.get("reverse")) if isinstance(test, dict) else False
    ways = [("sum", Quantity.DOWN if reverse else Quantity.UP)]
    if any(isinstance(one, dict) and "sum_bidir_reverse" in one for one in intervals):
        ways = [("sum", Quantity.UP), ("sum_bidir_reverse", Quantity.DOWN)]
    began = _began(start)
    found: list[Series] = []
    for key, quantity in ways:
        parts = [(number, _part(source, number, one, key)) for number, one in enumerate(intervals)]
        counted = [(number, part) for number, part in parts if not part.get("omitted")]
        rates = [
            (
                _figure(source, number, key, part, "start"),
                _figure(source, number, key, part, "bits_per_second"),
            )
            for number, part in counted
        ]
        found.append(series(source, quantity, rates, began))
        if any("lost_packets" in part for _, part in counted):
            way = Quantity.LOSS_DOWN if quantity is Quantity.DOWN else Quantity.LOSS_UP
            shares = [
                (
                    _figure(source, number, key, part, "start"),
                    _figure(source, number, key, part, "lost_packets")
                    / max(_figure(source, number, key, part, "packets"), 1.0),
                )
                for number, part in counted
            ]
            if any(share for _, share in shares):
                found.append(series(source, way, shares, began))
    return found


def _part(source: Source, number: int, interval: Any, key: str) -> dict[str, Any]:  # noqa: ANN401
    part = interval.get(key) if isinstance(interval, dict) else None
    if not isinstance(part, dict):
        raise _missing(source, f"intervals[{number}].{key}")
    return part


def _figure(source: Source, number: int, key: str, part: dict[str, Any], name: str) -> float:
    value = part.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _missing(source, f"intervals[{number}].{key}.{name}")
    return float(value)


def _missing(source: Source, place: str) -> MeasurementError:
    return source.wrong(None, f"{place} is missing or no number", "give the whole file as iperf3 wrote it")


def _began(start: dict[str, Any]) -> float | None:
    stamp = start.get("timestamp")
    seconds = stamp.get("timesecs") if isinstance(stamp, dict) else None
    return float(seconds) if isinstance(seconds, int | float) else None
