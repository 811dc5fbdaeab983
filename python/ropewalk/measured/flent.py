"""Data files of flent: JSON, also compressed."""

from __future__ import annotations

import datetime
from typing import Any

from ropewalk.measured.model import Quantity, Series, Source, series

MBIT = 1e6
MS = 1e-3


def recognise(text: str) -> bool:
    """Whether a text is from flent."""
    return text.lstrip()[:1] == "{" and '"x_values"' in text and '"results"' in text


def read(source: Source) -> list[Series]:
    """Download and upload rates (the sum of several flows) and the round-trip times of a ping.

    Raises:
        MeasurementError: there are no such series, or one has another length than the times.
    """
    content = source.json()
    times, results = content.get("x_values"), content.get("results")
    if not isinstance(times, list) or not isinstance(results, dict):
        raise source.wrong(None, "no x_values or no results", "give a data file of flent (.flent.gz)")
    for name, values in results.items():
        if not isinstance(values, list) or len(values) != len(times):
            what = f'results["{name}"] has another length than x_values'
            raise source.wrong(None, what, "give the whole file as flent wrote it")
    began = _began(content.get("metadata"))
    found: list[Series] = []
    for quantity, word in ((Quantity.DOWN, "download"), (Quantity.UP, "upload")):
        chosen = _flows(results, word)
        if chosen:
            found.append(series(source, quantity, _sum(source, times, chosen, MBIT), began))
    pings = [name for name in results if name.startswith("Ping (ms)")]
    pings.sort(key=lambda name: ("ICMP" not in name, "avg" in name))
    if pings:
        samples = _sum(source, times, {pings[0]: results[pings[0]]}, MS)
        found.append(series(source, Quantity.RTT, samples, began))
    if not found:
        names = ", ".join(results) or "none"
        raise source.wrong(None, f"neither rates nor pings; series: {names}", "give a test with TCP or ping")
    return found


def _flows(results: dict[str, list[Any]], word: str) -> dict[str, list[Any]]:
    """The series that add up to the rate of a direction."""
    of = {name: values for name, values in results.items() if f"TCP {word}" in name or f"UDP {word}" in name}
    whole = [name for name in of if name.endswith("sum")]
    if whole:
        return {whole[0]: of[whole[0]]}
    return {name: values for name, values in of.items() if not name.endswith("avg")}


def _sum(
    source: Source, times: list[Any], chosen: dict[str, list[Any]], scale: float
) -> list[tuple[float, float]]:
    """Where any of the series has a value; others count as nothing there."""
    samples: list[tuple[float, float]] = []
    for index, at in enumerate(times):
        present = [values[index] for values in chosen.values() if values[index] is not None]
        if not all(isinstance(value, int | float) for value in (*present, at)):
            found = f"x_values[{index}] or a value there is no number"
            raise source.wrong(None, found, "give the whole file as flent wrote it")
        if present:
            samples.append((float(at), float(sum(present)) * scale))
    return samples


def _began(metadata: object) -> float | None:
    text = metadata.get("T0") or metadata.get("TIME") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        return None
    try:
        when = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=datetime.UTC)).timestamp()
