"""Measurements of each path of a flow in a run, and the rate that congestion control can reach on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from ropewalk.facts import kind, quantity
from ropewalk.why.budget import PACKET, rows

if TYPE_CHECKING:
    from ropewalk.facts import Flow, Way
    from ropewalk.results import Results
    from ropewalk.why.candidates import Case

RENO_LIKE = frozenset({"newreno", "lia", "olia", "balia", "westwood", "sctp"})
"""Controllers with the square-root law, alone on a path."""


@dataclass(frozen=True, slots=True)
class Direction:
    """One link direction, means over the replications."""

    name: str
    path: str
    """Name of the path or link."""
    capacity_bit_s: float | None
    """None if it varies."""
    busy: float
    """Part of what the link could carry in the lifetime of the flow, 0 to 1."""
    loss: float
    """Part of the packets that loss models dropped, or that arrived with bit errors."""
    queue_delay_s: float
    dropped: float
    """Packets that the queue dropped in a replication."""
    limit: str
    """Limit of the queue, as in the scenario, and its discipline if it is not drop-tail."""
    round_trip_s: float | None
    """Propagation both ways; None if it varies."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path of a flow, means over the replications."""

    name: str
    rtt_s: float | None
    """None without a sample."""
    share: float
    """Part of the payload that it carried."""
    joined_s: float | None
    """From the start of the flow to its establishment; None if it never was."""


def directions(results: Results, ways: tuple[Way, ...], lifetime: float) -> list[Direction]:
    """The link directions of a flow.

    Args:
        results: without any change.
        ways: of its data, or of its ACKs.
        lifetime: of the flow, as a part of the run.
    """
    found = []
    for way in ways:
        own = results.links.filter(pl.col("link").cast(pl.String) == way.name)
        if own.is_empty():
            continue
        means = own.mean().row(0, named=True)
        sent = means["packets"] or 0.0
        found.append(
            Direction(
                way.name,
                way.path,
                way.rate,
                min(1.0, (means["utilisation"] or 0.0) * _slower(way) / max(lifetime, 1e-9)),
                ((means["drops_error"] or 0.0) + (means["drops_corrupt"] or 0.0)) / sent if sent else 0.0,
                means["queue_delay_mean_s"] or 0.0,
                means["drops_queue"] or 0.0,
                _limit(way.settings.get("queue", "")),
                None if way.delay is None else 2 * way.delay,
            )
        )
    return found


def _limit(queue: object) -> str:
    """As in `100p`, or `1000p of codel` where it is not drop-tail."""
    return f"{queue.get('limit')} of {kind(queue)}" if isinstance(queue, dict) else str(queue)


def _slower(way: Way) -> float:
    """How much faster the transmitter is than the token buckets in front of it."""
    return way.transmitter / way.rate if way.transmitter and way.rate else 1.0


def paths(results: Results, flow: Flow) -> list[Path]:
    """The paths of a flow by the subflows on them, in the order of the scenario."""
    own = rows(results.subflows, flow)
    starts = rows(results.flows, flow).group_by("run").agg(pl.col("start_s").min())
    own = own.join(starts, on="run", how="left")
    found = []
    for name in flow.paths:
        on_it = own.filter(pl.col("path").cast(pl.String) == name)
        if on_it.is_empty():
            found.append(Path(name, None, 0.0, None))
            continue
        means = on_it.select(
            pl.col("srtt_mean_s").mean(),
            pl.col("share").mean(),
            (pl.col("established_s") - pl.col("start_s")).min().alias("joined"),
        ).row(0, named=True)
        found.append(Path(name, means["srtt_mean_s"], means["share"] or 0.0, means["joined"]))
    return found


def is_odd(one: Direction, measured_s: float | None) -> bool:
    """The queue delays packets far beyond the round trip, or holds far less than a BDP.

    Args:
        one: the direction.
        measured_s: mean round trip of its path, for a propagation that varies.
    """
    round_trip_s = one.round_trip_s
    if round_trip_s is None and measured_s is not None:
        round_trip_s = max(0.0, measured_s - one.queue_delay_s)
    if round_trip_s is None or one.capacity_bit_s is None:
        return False
    if one.queue_delay_s > max(BLOATED * round_trip_s, NOTICED_S):
        return True
    whole = one.capacity_bit_s * round_trip_s / 8
    held = quantity(one.limit)
    if held is None or one.limit.endswith("BDP"):
        return False
    return held * (PACKET if one.limit.endswith("p") else 1) < SCANT * whole


BLOATED = 2.0
"""Mean time in a queue over the round trip without queues that is far too long."""
NOTICED_S = 0.2
"""No shorter wait is called too long."""
SCANT = 0.2
"""Part of a bandwidth-delay product that is far too short for a queue."""


def ramp(case: Case, lifetime_s: float, goodput_bit_s: float) -> float:
    """Part of its time that a short transfer lost as its windows were growing; 0 of a long one.

    The time beyond handshakes, round trips of requests, and the transmission at the rate of all paths.
    """
    app = case.flow.app
    once = all(app.get(key, 1) == 1 for key in ("repeat", "files", "pages"))
    size = goodput_bit_s * lifetime_s / 8 if kind(app) == "http" else quantity(app.get("size"))
    if not once or size is None or not case.rtt_s or not case.rate_bit_s or not lifetime_s:
        return 0.0
    segment = quantity(case.flow.transport.get("mss")) or 1448.0
    initial = float(case.flow.transport.get("initial_window", 10)) * segment
    rounds = math.log2(max(1.0, case.rate_bit_s * case.rtt_s / 8 / initial))
    if lifetime_s > (2 * rounds + 2) * case.rtt_s:
        return 0.0
    ideal = 8 * size / case.rate_bit_s + _requests(app) * case.rtt_s
    return max(0.0, 1 - ideal / lifetime_s - case.budget.get("handshake", 0.0))


TLS = {"1.2": 2, "1.3": 1}
"""Version to the round trips of its handshake."""


def _requests(app: dict[str, Any]) -> int:
    """Round trips until the last object of a page can begin, without the first handshake of TCP."""
    if kind(app) != "http":
        return 1
    again = int(app.get("domains", 1) > 1)
    return 2 + int(app.get("redirects", 0)) + again + (1 + again) * TLS.get(str(app.get("tls")), 0)


def loss_limited_bit_s(flow: Flow, rtt_s: float, loss: float) -> float:
    """Payload rate that the response function of the flow's congestion control gives at a random loss.

    CUBIC: RFC 9438 section 5.1 with C = 0.4 and beta = 0.7, at least that of Reno; others: the square-root
    law 1.22 / sqrt(p) segments for each round trip (Mathis et al. 1997).
    """
    if loss <= 0 or rtt_s <= 0:
        return math.inf
    segment = 8 * (quantity(flow.transport.get("mss")) or 1448.0)
    window = 1.22 / math.sqrt(loss)
    if flow.congestion not in RENO_LIKE:
        window = max(window, 1.054 * (rtt_s / loss) ** 0.75)
    return window * segment / rtt_s


def law(flow: Flow) -> str:
    """The name of that law."""
    return "the square-root law" if flow.congestion in RENO_LIKE else "the response function of CUBIC"
