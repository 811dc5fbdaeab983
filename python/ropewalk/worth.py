"""The benefit of bonding: a flow over several paths beside the same flow over each of them alone."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from ropewalk.numbers import figure, interval
from ropewalk.statistics import Estimate, EstimateDict, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl

    from ropewalk.results import Results

EVEN = 0.03
"""Ratios closer to 1 than this are told as equal, whatever their interval."""


@dataclass(frozen=True, slots=True)
class Alone:
    """One path without the others."""

    path: str
    goodput: Estimate | None
    """bit/s."""
    completion: Estimate | None
    """Seconds; None: the transfer has no end, or was not complete in time."""
    vs_best: Estimate | None
    """Goodput over that of the best path under the same seed."""


@dataclass(frozen=True, slots=True)
class Worth:
    """The figures of one flow; ratios are taken seed by seed."""

    flow: str
    seeds: int
    goodput: Estimate | None
    """bit/s, over all paths."""
    completion: Estimate | None
    """Seconds."""
    vs_best: Estimate | None
    """Goodput over that of the best path alone."""
    vs_sum: Estimate | None
    """Goodput over the sum of all paths alone."""
    sum: Estimate | None
    """bit/s of all paths alone, added up."""
    sum_vs_best: Estimate | None
    """That sum over the best path alone."""
    alone: tuple[Alone, ...]

    @property
    def best(self) -> Alone | None:
        """The path with the highest mean goodput."""
        able = [(one.goodput.mean, one) for one in self.alone if one.goodput is not None]
        return max(able, key=lambda pair: pair[0])[1] if able else None


class AloneDict(TypedDict):
    """An `Alone` in JSON."""

    path: str
    goodput_bit_s: EstimateDict | None
    completion_s: EstimateDict | None
    vs_best: EstimateDict | None


class WorthDict(TypedDict):
    """A `Worth` in JSON."""

    flow: str
    verdict: str
    goodput_bit_s: EstimateDict | None
    completion_s: EstimateDict | None
    vs_best: EstimateDict | None
    vs_sum: EstimateDict | None
    sum_bit_s: EstimateDict | None
    alone: list[AloneDict]


def worth(results: Results, flow: str) -> Worth:
    """The benefit of bonding for `flow`, which has its baselines in `results`.

    Raises:
        ValueError: there is no such flow, or it ran over no path alone.
    """
    table = results.flows
    bonded = table.filter(table["flow"] == flow)
    alone = [group for group in table.partition_by("flow", maintain_order=True) if _of(group, flow)]
    if not bonded.height or not alone:
        raise ValueError(f'there is no flow "{flow}" with a baseline: it needs compare_paths = true')
    best, total = _by_seed(alone, max), _by_seed(alone, sum)
    return Worth(
        flow=flow,
        seeds=len(results.origin.seeds),
        goodput=_estimate(bonded, "goodput_bit_s"),
        completion=_whole(bonded),
        vs_best=_estimate(bonded, "benefit_vs_best"),
        vs_sum=_estimate(bonded, "benefit_vs_sum"),
        sum=estimate(total.values()),
        sum_vs_best=_ratio(total, best),
        alone=tuple(
            Alone(
                group["flow"][0].partition("@")[2],
                _estimate(group, "goodput_bit_s"),
                _whole(group),
                _ratio(_goodputs(group), best),
            )
            for group in alone
        ),
    )


def _of(group: pl.DataFrame, flow: str) -> bool:
    return str(group["flow"][0]).startswith(f"{flow}@")


def _estimate(group: pl.DataFrame, column: str) -> Estimate | None:
    return estimate(group[column].to_list())


def _whole(group: pl.DataFrame) -> Estimate | None:
    """Mean time of completion if every replication was complete: that of some would be too low."""
    return _estimate(group, "completion_s") if group["completed"].all() else None


def _goodputs(group: pl.DataFrame) -> dict[int, float]:
    return dict(zip(group["run"], group["goodput_bit_s"].fill_null(0.0), strict=True))


def _by_seed(groups: list[pl.DataFrame], of: Callable[[Iterable[float]], float]) -> dict[int, float]:
    goodputs = [_goodputs(group) for group in groups]
    return {seed: of(one.get(seed, 0.0) for one in goodputs) for seed in goodputs[0]}


def _ratio(values: dict[int, float], base: dict[int, float]) -> Estimate | None:
    return estimate(values[seed] / rate if rate > 0 else None for seed, rate in base.items())


class Verdict(enum.StrEnum):
    """The verdict on bonding, in words."""

    FASTER = "faster"
    HARDLY = "hardly faster"
    UNCLEAR = "no clear difference"
    SLOWER = "slower"
    NOTHING = "nothing arrived"


def verdict(of: Worth) -> Verdict:
    """By the interval of the goodput over that of the best path; by the mean alone with one replication."""
    if of.goodput is None or of.goodput.max <= 0:
        return Verdict.NOTHING
    if of.vs_best is None:
        # No path alone delivered anything.
        return Verdict.FASTER
    half = of.vs_best.ci95 or 0.0
    if of.vs_best.mean + half < 1:
        return Verdict.SLOWER
    if of.vs_best.mean - half <= 1:
        return Verdict.UNCLEAR
    return Verdict.FASTER if of.vs_best.mean >= 1 + EVEN else Verdict.HARDLY


_HEADS = {
    Verdict.FASTER: "Bonding pays",
    Verdict.HARDLY: "Bonding hardly pays",
    Verdict.UNCLEAR: "Bonding makes no clear difference",
    Verdict.SLOWER: "Bonding makes it slower",
}


def told(of: Worth, size: str | None = None) -> list[str]:
    """The verdict in sentences.

    Args:
        of: the figures.
        size: of the transfer, for the time that it takes.
    """
    found, best = verdict(of), of.best
    if found is Verdict.NOTHING or of.goodput is None:
        return ["Nothing arrived: the bonded connection delivered no data in any replication."]
    got = _interval(of.goodput, 1e6)
    if best is None or best.goodput is None or of.vs_best is None:
        return [f"Bonding pays: {got} Mbit/s, where no path delivers anything alone."]
    ratio, alone = _interval(of.vs_best), figure(best.goodput.mean / 1e6)
    lines = [f"{_HEADS[found]}: {got} Mbit/s, {ratio} times the rate of {best.path} alone ({alone} Mbit/s)."]
    if of.sum is not None and of.vs_sum is not None:
        share = figure(100 * of.vs_sum.mean, 2)
        total = figure(of.sum.mean / 1e6)
        lines.append(f"Alone the paths add up to {total} Mbit/s; bonding reaches {share} % of that.")
    if size is not None and of.completion is not None and best.completion is not None:
        times = f"{figure(of.completion.mean)} s instead of {figure(best.completion.mean)} s"
        lines.append(f"{size} takes {times} over {best.path} alone.")
    return lines


def _interval(value: Estimate, scale: float = 1.0) -> str:
    half = None if value.ci95 is None else value.ci95 / scale
    return interval(value.mean / scale, half, narrow=True)


def to_dict(of: Worth) -> WorthDict:
    """For JSON."""
    return WorthDict(
        flow=of.flow,
        verdict=verdict(of).value,
        goodput_bit_s=_plain(of.goodput),
        completion_s=_plain(of.completion),
        vs_best=_plain(of.vs_best),
        vs_sum=_plain(of.vs_sum),
        sum_bit_s=_plain(of.sum),
        alone=[
            AloneDict(
                path=one.path,
                goodput_bit_s=_plain(one.goodput),
                completion_s=_plain(one.completion),
                vs_best=_plain(one.vs_best),
            )
            for one in of.alone
        ],
    )


def _plain(value: Estimate | None) -> EstimateDict | None:
    return None if value is None else value.to_dict()
