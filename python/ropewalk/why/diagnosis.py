"""From trials to reasons: proofs, their shares of time, and their order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from ropewalk.numbers import count, interval
from ropewalk.problems import fell_back, refused
from ropewalk.statistics import estimate
from ropewalk.why.budget import best_path, budget, by_buffer, goodput, measure, rows, waits_for_messages
from ropewalk.why.candidates import (
    ACTS,
    BEHIND,
    TAIL,
    Candidate,
    Case,
    candidates,
    is_suspect,
    single_paths,
    times,
    weight,
)
from ropewalk.why.evidence import FULL, LATE, Seen, evidence, is_loss_limited
from ropewalk.why.model import Cure, FlowDiagnosis, Reason, typed
from ropewalk.why.paths import directions, is_odd, paths, ramp
from ropewalk.why.proxies import at_proxies, ends
from ropewalk.why.trial import PROMISING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ropewalk.facts import Facts, Flow, Way
    from ropewalk.statistics import Estimate
    from ropewalk.why.model import Cause
    from ropewalk.why.trial import Bench, Trial

WORTH = 1.15
"""If no change makes a flow faster than by this factor, and its links are full, nothing is wrong with it."""
BRIM = 0.95
"""Nearly full links are no reason where a setting that is not usual is proven to cost something."""
NOTED = 0.05
"""Handshakes that take a smaller part of the time are not told."""
CROWDED = 0.5
"""ACKs wait for each other, or for others, in a direction that is busy for this part of the time."""
MANY_ACKS = 0.05
"""Part of the ACKs: each also acknowledges what those before it did."""
IDLE = 0.3
"""An application that has nothing to send for this part of the time is told."""
SUSPICION = 2.0
"""How much more a cause counts whose settings are not those of the profile."""
DIRECT = 0.02
"""A buffer that is the limit for a smaller part of the time is no reason, even if a larger one helps."""
TOLD = 0.005
"""A further reason with a smaller share and no cure is not told."""
SURE = 10
"""Replications from which a small gain is told from chance."""
MOST_CURES = 4
"""Cures of a reason that are told."""


BUFFERS: frozenset[Cause] = frozenset({"receive_window", "send_buffer"})
OF_A_PATH: frozenset[Cause] = frozenset(
    {"receive_window", "send_buffer", "scheduler", "loss", "path_down", "proxy"}
)
"""Causes for which a path may be left out: data waits for what it carries, or it carries little."""
FAIR: frozenset[Cause] = frozenset({"queue", "coupled"})
"""Causes that have to do with what flows take from each other."""


@dataclass(slots=True)
class Proof:
    """The outcome of the trials of a cause."""

    gain: float = 1.0
    """Best ratio of its changes that help."""
    cures: list[Cure] = field(default_factory=list)
    without: Cure | None = None
    """The best change that is no cure."""


def look(bench: Bench, facts: Facts, flow: Flow) -> Seen:
    """The flow as it was run without any change."""
    own = rows(bench.base.flows, flow)
    spans = own["end_s"] - own["start_s"]
    lifetime = _mean(spans.mean())
    ended = _mean(bench.base.runs["end_s"].mean())
    seen_paths = paths(bench.base, flow)
    # Datagrams have no subflows.
    has_subflows = not rows(bench.base.subflows, flow).is_empty()
    unused = {path.name for path in seen_paths if path.joined_s is None and has_subflows}
    used = tuple(way for way in flow.data if way.path not in unused)
    data = directions(bench.base, used, lifetime / ended if ended else 1.0)
    acks = directions(bench.base, flow.acks, lifetime / ended if ended else 1.0)
    measured = {path.name: path.rtt_s for path in seen_paths}
    bottom = sum(2 * (way.delay or 0.0) for way in flow.data[:1])
    case = Case(
        facts,
        flow,
        by_buffer(budget(bench.base, flow), flow),
        max([path.rtt_s for path in seen_paths if path.rtt_s is not None], default=bottom),
        _rate(bench, flow),
        bool(fell_back(own, bench.base.legs)),
        any(is_odd(one, measured.get(one.path)) for one in data),
        any(one.busy >= CROWDED or one.dropped > 0 for one in acks),
        any(one.busy >= FULL for one in acks),
        any(one.loss >= MANY_ACKS for one in acks),
        tuple(rows(bench.base.failed_joins, flow)["to"].cast(pl.String).unique(maintain_order=True)),
        tuple(path.name for path in seen_paths if path.name in unused),
        waits_for_messages(bench.base, flow),
        ends(bench.base, facts, flow),
    )
    rate = estimate(goodput(bench.base, flow).values())
    return Seen(case, bench.base, seen_paths, data, acks, rate.mean if rate else 0.0, lifetime)


def _mean(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _rate(bench: Bench, flow: Flow) -> float:
    """Sum of the capacities of the routes, each that of its slowest link (its throughput if it varies)."""
    lasted = _mean(bench.base.runs["end_s"].mean()) or 1.0
    links = bench.base.links

    def capacity(way: Way) -> float:
        if way.rate is not None:
            return way.rate
        return 8 * _mean(links.filter(links["link"].cast(str) == way.name)["bytes"].mean()) / lasted

    return math.fsum(min(map(capacity, route)) for route in flow.routes if route)


def plan(seen: Sequence[Seen]) -> list[tuple[Candidate, list[str]]]:
    """The trials for all flows: each change once, with the flows that wait for it. Flows take turns."""
    queues = [candidates(one.case) + _left_out(one.case) for one in seen]
    found: dict[object, tuple[Candidate, list[str]]] = {}
    for turn in range(max(map(len, queues), default=0)):
        for queue in queues:
            if turn < len(queue):
                candidate = queue[turn]
                _, flows = found.setdefault(candidate.settings, (candidate, []))
                flows.append(candidate.flow)
    return list(found.values())


def _left_out(case: Case) -> list[Candidate]:
    return [Candidate("scheduler", case.flow.name, settings) for settings in single_paths(case)]


def diagnose(bench: Bench, seen: Seen) -> FlowDiagnosis:
    """The reasons of a flow, by weight. All trials have been done."""
    flow = seen.case.flow
    best, path = best_path(bench.alone, flow)
    rates = goodput(bench.base, flow)
    proofs = _proofs(bench, seen, best)
    alone = _alone(bench, seen, best)
    if alone and is_suspect(seen.case, "scheduler"):
        # A scheduler that feeds a path which is better left out.
        proof = proofs.setdefault("scheduler", Proof())
        proof.gain = max(proof.gain, alone[0].ratio.mean)
    shares = _shares(seen, proofs)
    _nothing_wrong(bench, seen, proofs, shares)
    order = sorted(shares, key=lambda cause: (-shares[cause], -_gain(proofs, cause)))
    order = [cause for cause in order if cause not in BUFFERS or _is_direct(seen.case, cause)]
    with_alone = next((cause for cause in order if cause in OF_A_PATH), None)
    reasons: list[Reason] = []
    for cause in order:
        cures = sorted(proofs[cause].cures if cause in proofs else [], key=lambda cure: -cure.ratio.mean)
        if not cures and reasons and shares[cause] < TOLD:
            continue
        if cause == with_alone:
            cures = sorted([*cures, *alone], key=lambda cure: -cure.ratio.mean)
        without = proofs[cause].without if cause in proofs else None
        share = min(1.0, shares[cause])
        reasons.append(Reason(cause, share, evidence(cause, seen, cures), tuple(cures[:MOST_CURES]), without))
    joins = tuple(refused(rows(bench.base.failed_joins, flow), len(bench.base.origin.seeds), seen.case.facts))
    nothing = not joins and not any(reason.cures or reason.without for reason in reasons)
    if reasons and reasons[0].cause == "capacity" and nothing:
        idle = [path for path in seen.case.unused if flow.is_mptcp]
        more = f"; {', '.join(idle)} never joined" if idle else ". Nothing is wrong"
        reasons[0] = replace(reasons[0], evidence=f"{reasons[0].evidence}{more}")
    if with_alone is None and alone:
        share = _alone_share(seen, alone)
        reasons.append(Reason("scheduler", share, evidence("scheduler", seen), tuple(alone)))
        reasons.sort(key=lambda reason: -reason.share)
    return FlowDiagnosis(
        flow=flow.name,
        goodput_bit_s=estimate(rates.values()),
        budget=budget(bench.base, flow),
        reasons=tuple(reasons),
        vs_best=estimate(rates[seed] / best[seed] for seed in rates if best.get(seed)),
        best_path=path,
        proxies=at_proxies(bench.base, flow),
        failed_joins=joins,
        failed=_failed(rows(bench.base.flows, flow)),
        unproven=tuple(_unproven(bench, seen, {reason.cause for reason in reasons})),
        measure=measure(bench.base, flow),
        delay_s=_delay(bench, bench.speeds[flow.name], flow.name),
    )


def _unproven(bench: Bench, seen: Seen, told: set[Cause]) -> Iterator[str]:
    """Gains that may be chance: of buffers that limit for long, and the largest where nothing is proven."""
    found: dict[Cause, tuple[Estimate, Trial]] = {}
    for one in candidates(seen.case):
        trial = bench.known(one.settings)
        ratio = trial and bench.ratio(trial, seen.case.flow.name)
        long = one.cause in BUFFERS and seen.case.budget.get(one.cause, 0.0) >= IDLE and not seen.case.ends
        if not trial or not ratio or one.cause in told:
            continue
        # Connections that fail now and then need more replications than others.
        fails = bench.is_wild(trial, seen.case.flow.name) and ratio.mean >= WORTH
        if not fails and (ratio.n >= SURE or not (long or not told)):
            continue
        best = found.get(one.cause)
        if ratio.mean >= (PROMISING if long else WORTH) and (best is None or ratio.mean > best[0].mean):
            found[one.cause] = (ratio, trial)
    if not told:
        found = dict(sorted(found.items(), key=lambda item: -item[1][0].mean)[:1])
    for cause, (ratio, trial) in found.items():
        change = " ".join(typed(trial.settings))
        what = "goodput" if measure(bench.base, seen.case.flow) == "goodput" else "speed"
        yield (
            f"{cause}: {evidence(cause, seen)}. {change} gives {interval(ratio.mean, ratio.ci95)} times "
            f"the {what} with {count(ratio.n, 'seed')}, which is not proven to be more than chance: "
            f"--seeds {max(SURE, 2 * ratio.n)} tells more"
        )


def _failed(flows: pl.DataFrame) -> bool:
    """The connections have failed that could not send because of a path."""
    held = flows.filter(pl.col("limited_path_down_s") > 0)
    return held.height > 0 and held["failure"].null_count() == 0


def _gain(proofs: dict[Cause, Proof], cause: Cause) -> float:
    return proofs[cause].gain if cause in proofs else 1.0


def _proofs(bench: Bench, seen: Seen, best: dict[int, float]) -> dict[Cause, Proof]:
    """Causes of which a change helps."""
    proofs: dict[Cause, Proof] = {}
    for candidate in candidates(seen.case):
        trial = bench.known(candidate.settings)
        ratio = trial and bench.helps(trial, candidate.flow)
        if (
            not trial
            or not ratio
            or (not _may_take(candidate.cause, seen.case.flow) and bench.only_takes(trial, candidate.flow))
        ):
            continue
        proof = proofs.setdefault(candidate.cause, Proof())
        proof.gain = max(proof.gain, ratio.mean)
        found = _cure(bench, trial, candidate.flow, best)
        if candidate.is_cure:
            proof.cures.append(found)
        elif proof.without is None or found.ratio.mean > proof.without.ratio.mean:
            proof.without = found
    for proof in proofs.values():
        proof.cures = _distinct(proof.cures)
    return proofs


def _may_take(cause: Cause, flow: Flow) -> bool:
    """Whether a cure may be all at the cost of others. A transfer without end shares a full link."""
    return cause in FAIR and not (cause == "queue" and flow.is_endless)


def _distinct(cures: list[Cure]) -> list[Cure]:
    """The first of several cures with the same effect: it changes least."""
    found: dict[tuple[float, int], Cure] = {}
    for cure in cures:
        found.setdefault((cure.ratio.mean, len(cure.settings)), cure)
    return list(found.values())


def _cure(bench: Bench, trial: Trial, flow: str, best: dict[int, float]) -> Cure:
    ratio = bench.ratio(trial, flow)
    assert ratio is not None  # noqa: S101
    rates = trial.goodputs[flow]
    versus = estimate(rates[seed] / best[seed] for seed in rates if best.get(seed))
    found = estimate(rates.values())
    return Cure(
        trial.settings,
        ratio,
        found.mean if found else 0.0,
        versus.mean if versus else None,
        bench.costs(trial, flow),
        measure(bench.base, bench.flow(flow)),
        _delay(bench, trial.speeds[flow], flow),
    )


def _delay(bench: Bench, speeds: Mapping[int, float], flow: str) -> float | None:
    """Mean delay of messages or pages, whose inverse the speeds are."""
    if measure(bench.base, bench.flow(flow)) == "goodput" or not speeds:
        return None
    return math.fsum(1 / speed for speed in speeds.values()) / len(speeds)


def _alone(bench: Bench, seen: Seen, best: dict[int, float]) -> list[Cure]:
    """The best way to leave paths out, if that helps."""
    found = []
    for settings in single_paths(seen.case):
        trial = bench.known(settings)
        if trial and bench.helps(trial, seen.case.flow.name):
            found.append(_cure(bench, trial, seen.case.flow.name, best))
    return sorted(found, key=lambda cure: -cure.ratio.mean)[:1]


def _is_direct(case: Case, cause: Cause) -> bool:
    """A buffer is the limit itself, for some time; at a proxy that is not seen."""
    return bool(case.budget.get(cause, 0.0) >= DIRECT or case.ends)


def _alone_share(seen: Seen, alone: list[Cure]) -> float:
    waits = math.fsum(
        seen.case.budget.get(limit, 0.0) for limit in ("receive_window", "send_buffer", "scheduler")
    )
    return waits * (1 - 1 / alone[0].ratio.mean)


def _shares(seen: Seen, proofs: dict[Cause, Proof]) -> dict[Cause, float]:
    """Part of the time that each proven cause accounts for.

    Of the time in a limit a cause takes its weight times the part that the flow saves without it; a setting
    that is not usual, and costs more than any other, acts through all limits. Causes that would take more
    than all of the time together get it in that proportion.
    """
    shares: dict[Cause, float] = {}
    first = max(proofs, key=lambda cause: proofs[cause].gain, default=None)
    for limit, share in times(seen.case).items():
        claims = {}
        for cause, proof in proofs.items():
            acts = weight(cause, limit)
            if is_suspect(seen.case, cause):
                acts = 1.0 if cause == first else acts
                acts *= SUSPICION if proof.gain >= WORTH else 1.0
            claims[cause] = acts * (1 - 1 / proof.gain)
        total = max(1.0, math.fsum(claims.values()))
        for cause, claim in claims.items():
            shares[cause] = shares.get(cause, 0.0) + share * claim / total
    return shares


def _nothing_wrong(bench: Bench, seen: Seen, proofs: dict[Cause, Proof], shares: dict[Cause, float]) -> None:
    """Adds the causes that are measured, not proven: the handshake, the application, full links."""
    flow, spent = seen.case.flow, seen.case.budget
    opening = spent.get("handshake", 0.0)
    nearly = seen.busy < BRIM
    # A link that is down is not full: `busy` is of the time in which it can carry something.
    wrong = "path_down" in proofs or any(
        proof.gain >= WORTH or (nearly and is_suspect(seen.case, cause)) for cause, proof in proofs.items()
    )
    rising = ramp(seen.case, seen.lifetime_s, seen.goodput_bit_s)
    if "loss" not in shares and rising > NOTED and ("slow_start" in shares or not wrong):
        acts = times(seen.case)
        window = math.fsum(acts.get(limit, 0.0) for limit in ("congestion_window", "recovery", TAIL))
        shares["slow_start"] = max(shares.get("slow_start", 0.0), min(window, rising))
    late = any(path.joined_s is not None and path.joined_s > LATE * seen.lifetime_s for path in seen.paths)
    if opening >= NOTED or "handshake" in shares or (late and flow.is_mptcp and not seen.case.fell_back):
        shares["handshake"] = max(shares.get("handshake", 0.0), opening)
    # Too little for a segment is held back as nothing is (Nagle): it then waits at the scheduler.
    idle = spent.get("application", 0.0) + (0.0 if "scheduler" in proofs else spent.get("scheduler", 0.0))
    # Messages are late for other causes than that there are few of them.
    late_messages = wrong and waits_for_messages(bench.base, flow)
    if not flow.is_backlogged and idle >= IDLE and not late_messages:
        # No change makes an application faster that has nothing to send: the time that none saves is its own.
        shares["application"] = idle / max([proof.gain for proof in proofs.values()], default=1.0)
    acts = times(seen.case)
    full = math.fsum(acts.get(limit, 0.0) for limit in (*ACTS["capacity"], BEHIND))
    if not wrong and seen.data and seen.busy >= FULL:
        shares["capacity"] = full * seen.busy
    elif not shares and is_loss_limited(seen):
        # Nothing that was tried helps: the limit is the sky.
        shares["loss"] = full
