"""A diagnosis as lines for people."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from ropewalk.limits import FAILED, PATH_DOWN
from ropewalk.numbers import count, interval, percent
from ropewalk.problems import size
from ropewalk.why.evidence import duration, mbit
from ropewalk.why.model import typed

if TYPE_CHECKING:
    from ropewalk.why.model import AtProxy, Cure, Diagnosis, FlowDiagnosis, Reason

LEAST = 0.005
"""Smaller shares of the time are not printed."""
LONGEST = 200
"""Characters of a setting that stands in a sentence."""
WIDTH = 100
"""Characters of a line where no terminal says otherwise."""


def lines(diagnosis: Diagnosis, width: int = WIDTH) -> list[str]:
    """All of it, no line longer than `width` unless a key is."""
    changes = count(diagnosis.tried, "change")
    seeds = count(len(diagnosis.seeds), "seed")
    found = [*_wrapped(f"{diagnosis.scenario}: {changes} tried, paired by up to {seeds}", width)]
    if diagnosis.left_out:
        text = f"{count(diagnosis.left_out, 'change')} not tried: a larger --effort tries more"
        found += _wrapped(text, width)
    for flow in diagnosis.flows:
        found += ["", *flow_lines(flow, width)]
    return found


def flow_lines(flow: FlowDiagnosis, width: int = WIDTH) -> list[str]:
    """One flow."""
    found = _wrapped(headline(flow), width)
    if told := spent(flow.budget, failed=flow.failed):
        found += _wrapped(f"Limits, by time: {told}", width, 2)
    for proxy in flow.proxies:
        found += _wrapped(held(proxy), width, 2)
    for join in flow.failed_joins:
        found += _wrapped(f"{join[:1].upper()}{join[1:]}.", width, 2)
    for number, reason in enumerate(flow.reasons, 1):
        found += _reason(number, reason, width)
    for unproven in flow.unproven:
        found += _wrapped(f"Not proven: {unproven}.", width, 2)
    if not flow.reasons and not flow.unproven:
        found += _wrapped("No change that was tried makes a difference.", width, 2)
    return found


def headline(flow: FlowDiagnosis) -> str:
    """Goodput, and what it is of the best path."""
    rate = flow.goodput_bit_s
    if rate is None:
        return f"{flow.flow}: nothing was delivered"
    half = None if rate.ci95 is None else rate.ci95 / 1e6
    told = f"{flow.flow}: {interval(rate.mean / 1e6, half)} Mbit/s"
    if flow.vs_best is not None and flow.best_path is not None:
        told += f", {flow.vs_best.mean:.2f} of its best path ({flow.best_path})"
    if flow.delay_s is not None:
        told += f"; {flow.measure} take {duration(flow.delay_s)}"
    return told


def spent(budget: dict[str, float], *, failed: bool = False) -> str:
    """Limits and their shares of the time, the largest first; `failed`: the connection, and no path."""
    named = {name.replace("_", " "): share for name, share in budget.items() if share >= LEAST}
    found = sorted(named.items(), key=lambda item: -item[1])
    other = {PATH_DOWN: FAILED} if failed else {}
    return ", ".join(f"{other.get(name, name)} {percent(share)}" for name, share in found)


def held(proxy: AtProxy) -> str:
    """Bytes that a proxy held, and those that were lost there."""
    rtt = "" if proxy.srtt_s is None else f" (RTT {duration(proxy.srtt_s)})"
    kept = f"held {size(proxy.held_bytes)} on average"
    text = f"Proxy at {proxy.node}: {kept} for the leg to {proxy.to}{rtt}"
    if proxy.lost_bytes > 0:
        text += f"; {size(proxy.lost_bytes)} that it had acknowledged never arrived"
    if proxy.ahead_bytes > 0:
        text += f"; it acknowledged up to {size(proxy.ahead_bytes)} at connection level that it never had"
    if proxy.beyond_bytes > 0:
        text += f"; its window passed that of the receiver by up to {size(proxy.beyond_bytes)}"
    return f"{text}."


def told(cure: Cure) -> str:
    """The gain of a change."""
    gain = f"{interval(cure.ratio.mean, cure.ratio.ci95)} times"
    if cure.delay_s is not None:
        return f"{cure.measure} take {duration(cure.delay_s)}, {gain} as fast{_costs(cure)}"
    text = f"{mbit(cure.goodput_bit_s)}, {gain}"
    if cure.vs_best is not None:
        text += f", {cure.vs_best:.2f} of the best path"
    return text + _costs(cure)


def _costs(cure: Cure) -> str:
    """The price that other flows pay."""
    if not cure.costs:
        return ""
    return "; costs " + ", ".join(f"{flow} {percent(1 - ratio)}" for flow, ratio in cure.costs.items())


def _reason(number: int, reason: Reason, width: int) -> list[str]:
    found = _wrapped(f"{number}. {reason.cause} ({percent(reason.share)}): {reason.evidence}.", width, 2, 5)
    for cure in reason.cures:
        keys = typed(cure.settings)
        whole = f"{' '.join(keys)}  {told(cure)}"
        if len(whole) + 5 <= width:
            found.append(f"     {whole}")
        else:
            found += [f"     {key}" for key in keys]
            found += _wrapped(told(cure), width, 9)
    nothing = "No change that was tried helps against it."
    if reason.without is not None:
        nothing = "No setting that was tried makes up for it."
        found += _wrapped(f"Without it ({_changed(reason.without)}): {told(reason.without)}.", width, 5)
    if not reason.cures and reason.cause not in {"capacity", "application"}:
        found += _wrapped(nothing, width, 5)
    return found


def _changed(cure: Cure) -> str:
    """The settings in a sentence, without the values of a measured rate: those are thousands."""
    keys = typed(cure.settings)
    if all(len(key) <= LONGEST for key in keys):
        return " ".join(keys)
    names = " and ".join(key for key, _ in cure.settings)
    return f"with other values of {names}, which --json has whole"


_UNIT = re.compile(r"(?<=\d) (?=(?:%|[kM]?bit/s|m?s|[kM]B|times)\b|%)")
_BOUND = "\u00a0"


def _wrapped(text: str, width: int, indent: int = 0, hanging: int | None = None) -> list[str]:
    """Numbers stay with their units."""
    found = textwrap.wrap(
        _UNIT.sub(_BOUND, text),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2 if hanging is None else hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_BOUND, " ") for line in found]
