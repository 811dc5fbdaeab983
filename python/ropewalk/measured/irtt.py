"""JSON that `irtt client -o FILE` writes."""

from __future__ import annotations

from typing import Any

from ropewalk.measured.model import Quantity, Series, Source, losses, series

LOST = {"true", "true_up", "true_down"}
SECOND = 1e9


def recognise(text: str) -> bool:
    """Whether a text is from irtt."""
    return text.lstrip()[:1] == "{" and '"round_trips"' in text


def read(source: Source) -> list[Series]:
    """Round-trip times and losses, by direction where irtt knows it.

    Raises:
        MeasurementError: a round trip lacks its times, or none was answered.
    """
    trips = source.json().get("round_trips")
    if not isinstance(trips, list) or not trips:
        raise source.wrong(None, "no round_trips", "run irtt client with -o FILE, not with --no-rt")
    rtt: list[tuple[float, float]] = []
    fates: list[tuple[float, str]] = []
    for number, trip in enumerate(trips):
        at, time = _times(source, number, trip)
        lost = str(trip.get("lost", "false"))
        fates.append((at, lost))
        if lost not in LOST:
            if time is None:
                cure = "remove it, or mark it as lost"
                raise source.wrong(None, f"round_trips[{number}].delay.rtt is missing", cure)
            rtt.append((at, time))
    if not rtt:
        raise source.wrong(None, "all round trips are lost", "measure again")
    began = fates[0][0]
    found = [series(source, Quantity.RTT, rtt, rtt[0][0])]
    if all(lost in {"false", "true_up", "true_down"} for _, lost in fates):
        ways = ((Quantity.LOSS_UP, "true_up"), (Quantity.LOSS_DOWN, "true_down"))
        for quantity, word in ways:
            if any(lost == word for _, lost in fates):
                found.append(losses(source, quantity, [(at, lost == word) for at, lost in fates], began))
    else:
        found.append(losses(source, Quantity.LOSS, [(at, lost in LOST) for at, lost in fates], began))
    return found


def _times(source: Source, number: int, trip: Any) -> tuple[float, float | None]:  # noqa: ANN401
    """When it was sent, since 1970, and its round-trip time, both in seconds."""
    try:
        sent = float(trip["timestamps"]["client"]["send"]["wall"]) / SECOND
        time = trip.get("delay", {}).get("rtt")
        return sent, None if time is None else float(time) / SECOND
    except (KeyError, TypeError, ValueError, AttributeError):
        found = f"round_trips[{number}].timestamps.client.send.wall is missing or no number"
        raise source.wrong(None, found, "give the whole file as irtt wrote it") from None
