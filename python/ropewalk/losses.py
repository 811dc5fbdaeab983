"""Losses of a path: those of its queue, whose size they tell, and those of its link."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ropewalk import backlog, changing, overshoot
from ropewalk.figures import Figure, Packets

Row = dict[str, Any]

FULL = 0.6
"""A loss at a larger part of the largest queueing delay is one of the full queue."""
SHORT = 0.3
"""Packets beside a loss of the full queue waited for a larger part of the largest queueing delay."""
LEAST_QUEUE_S = 0.002
"""A queueing delay that is shorter may be that of a host."""
OFTEN = 0.98
"""Part of the round trips; longer ones have delayed ACKs."""
LEAST_PART = 0.8
"""A full queue takes a larger part of the longest of the others."""
LEAST_PACKETS = 2.0
"""Full packets that every queue holds."""
LEAST_FULL = 2
"""Losses of a full queue from which its size is told."""
BUFFER_S = 0.1
"""A queue that was never full holds this much, or twice what was seen in it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A path in a capture, before its losses are looked at."""

    row: Row
    """Sums of its subflows."""
    packets: Packets
    base_s: float
    """The round trip without a queue."""
    rate: Figure
    link: changing.Link
    """How the rate changes: then a delay does not tell how much waits."""
    wire: float
    """Bytes of a full segment on the wire."""
    alone: bool
    """No other connection is seen there."""
    left_out: int = 0
    """Packets that are not looked at, nor their losses."""

    @property
    def longest_s(self) -> float:
        """The longest queueing delay."""
        return max((self.row["srtt_max_s"] or 0.0) - self.base_s, 0.0)

    @property
    def sent(self) -> int:
        """Packets that are looked at."""
        return max((self.row["segments_sent"] or 0) - self.left_out, self.packets.losses.height, 1)

    def bytes_of(self, delay_s: float) -> float:
        """A queue that takes so long."""
        return delay_s * self.rate.value / 8.0


def answered(
    packets: Packets, gone: list[tuple[float, float]], base_s: float, size: int
) -> tuple[pl.DataFrame, int]:
    """Losses but for those of outages, whose data is sent again until all is acknowledged; packets then."""
    samples = packets.samples
    spans = [(_unanswered(samples, since, base_s), _repaired(samples, until)) for since, until in gone]
    inside = (pl.col("t_s").is_between(*span) for span in spans)
    kept = packets.losses.filter(~pl.any_horizontal(pl.lit(value=False), *inside))
    return kept, sum(_sent(samples, span, size) for span in spans)


def _sent(samples: pl.DataFrame, span: tuple[float, float], size: int) -> int:
    """Full segments that were sent in a span, about."""
    bytes_ = pl.col("acked_bytes") + pl.col("inflight_bytes") + size * pl.col("retransmitted_segments")
    sent = samples.filter(pl.col("t_s").is_between(*span)).select(bytes_.alias("sent"))["sent"].drop_nulls()
    return round((sent[-1] - sent[0]) / size) if len(sent) else 0


@dataclass(frozen=True, slots=True)
class Found:
    """Findings from the losses of a path."""

    queue: Figure
    loss: Figure
    lost: list[int]
    """Packets that the link lost, by number: those count that the queue has taken."""
    dropped: list[int]
    """Packets that the queue did not take, by number: all count."""

    def taken(self, number: int) -> int:
        """The number of a packet among those that the queue has taken."""
        return number - bisect.bisect_left(self.dropped, number)


def queue_and_loss(seen: Seen) -> Found:
    """A loss while the queue was long is one of the queue, any other one of the link."""
    kept = seen.packets.losses
    numbers, times = kept["packet"].to_list(), kept["t_s"].to_list()
    met, held = _by_delay(seen, times)
    size = seen.row["largest_bytes"] or 1
    if 2 * sum(met) < len(met) and not seen.link.steps:
        top = overshoot.top(seen.packets.samples, times, seen.base_s, size * 8.0 / seen.rate.value)
        met = met if top is None else top.met
    queue = _full(seen, times, held, met)
    if queue is None and seen.alone and not seen.link.steps:
        found = backlog.full(seen.packets.samples, times, (size, seen.wire), seen.rate.value / 8.0)
        if found is not None:
            count = sum(found.met)
            told = f"so much waited when {count} segments were lost: what was sent, less what was carried"
            queue, met = _sized(seen, found.bytes_, told), found.met
    if queue is None:
        least = max(
            [seen.bytes_of(seen.longest_s), *(much for much, own in zip(held, met, strict=True) if own)]
        )
        roomy = max(2.0 * least, seen.bytes_of(BUFFER_S), 10.0 * size)
        queue = Figure(roomy, least, None, "it was never seen full; its size is not identifiable")
        # Losses at any length of the queue are those of the link.
        met = [False] * len(met)
    pairs = list(zip(numbers, met, strict=True))
    dropped = sorted({int(number) for number, own in pairs if own})
    lost = sorted({int(number) for number, own in pairs if not own})
    split = Found(queue, _share(len(lost), seen.sent), [], dropped)
    return replace(split, lost=[split.taken(number) for number in lost])


def _by_delay(seen: Seen, times: list[float]) -> tuple[list[bool], list[float]]:
    """Which losses met a long queue, as round trips tell; bytes that it held, where the rate changes."""
    samples, longest = seen.packets.samples, seen.longest_s
    # The same queue is a short delay while the rate is high.
    waiting = changing.waiting(samples, times, seen.link, seen.base_s)
    fresh = changing.measured(samples)
    met = []
    for at, (_, much) in zip(times, waiting, strict=True):
        late = _queueing_s(samples, at, seen.base_s, longest) > FULL * longest
        trip = changing.beside_s(fresh, at)
        if late and not seen.link.steps and trip is not None:
            # A later packet may have met the long queue: those beside the lost one tell more.
            late = trip - seen.base_s > SHORT * longest
        met.append(longest > LEAST_QUEUE_S and (late or much))
    return met, [held for held, _ in waiting]


def _full(seen: Seen, times: list[float], held: list[float], met: list[bool]) -> Figure | None:
    """The size of a queue, from losses that met it full; None: few did, or it was longer at other times."""
    count = sum(met)
    if count < LEAST_FULL or 2 * count < len(met):
        return None
    losses = [(at, much) for at, much, own in zip(times, held, met, strict=True) if own]
    if seen.link.steps:
        told = f"so much was outstanding when {count} segments were lost, without what was under way"
        return _sized(seen, changing.usual(losses), told)
    fresh = changing.measured(seen.packets.samples)
    beside = [trip for at, _ in losses if (trip := changing.beside_s(fresh, at)) is not None]
    if not beside:
        told = f"the longest queueing delay was {1e3 * seen.longest_s:.3g} ms"
        told += f"; {count} segments were lost near it"
        return _sized(seen, seen.bytes_of(seen.longest_s), told)
    usual = max(float(np.median(beside)) - seen.base_s, 0.0)
    trips = fresh["rtt_s"].drop_nulls()
    often = trips.quantile(OFTEN) if len(trips) >= overshoot.FEWEST else None
    if often is not None and usual < LEAST_PART * (often - seen.base_s):
        return None
    told = f"a queueing delay of {1e3 * usual:.3g} ms beside {count} segments that were lost"
    return _sized(seen, seen.bytes_of(usual), told)


def _sized(seen: Seen, held: float, told: str) -> Figure:
    # No link takes less than the packet that it sends and the next one.
    least = LEAST_PACKETS * seen.wire
    held = max(held, least)
    return Figure(held, max(0.85 * held, least), 1.15 * held, told)


def _share(lost: int, sent: int) -> Figure:
    """Share of the packets with its interval (Wilson 1927, 95 %): a few losses, or none, have one too."""
    share, z = lost / sent, 1.96
    middle = (share + z * z / (2.0 * sent)) / (1.0 + z * z / sent)
    half = z / (1.0 + z * z / sent) * math.sqrt(share * (1.0 - share) / sent + z * z / (4.0 * sent * sent))
    told = f"{lost} of {sent} segments were sent again while the queue was short"
    return Figure(share, max(middle - half, 0.0) if lost else 0.0, min(middle + half, 1.0), told)


def _unanswered(samples: pl.DataFrame, since: float, base_s: float) -> float:
    """When the first packet without an answer was sent: a round trip, as it was then, before the silence."""
    last = samples.filter(pl.col("t_s") <= since)["rtt_s"].drop_nulls().tail(1)
    return since - max(base_s, float(last[0]) if len(last) else 0.0)


def _repaired(samples: pl.DataFrame, until: float) -> float:
    """When all data was acknowledged that was outstanding at `until`."""
    before = samples.filter(pl.col("t_s") <= until).tail(1)
    if before.is_empty():
        return until
    due = int(before["acked_bytes"][0] + before["inflight_bytes"][0])
    after = samples.filter((pl.col("t_s") >= until) & (pl.col("acked_bytes") >= due))["t_s"]
    return float(after[0]) if len(after) else math.inf


def _queueing_s(samples: pl.DataFrame, at: float, base_s: float, longest: float) -> float:
    """The longest queueing delay that packets show which were sent at about the same time."""
    near = samples.filter(pl.col("t_s").is_between(at - 0.02, at + base_s + longest + 0.02))["rtt_s"].max()
    return near - base_s if isinstance(near, float) else 0.0
