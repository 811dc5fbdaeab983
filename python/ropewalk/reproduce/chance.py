"""Whether what was published may be chance: other runs of the same experiment, drawn from ours.

In an experiment on real networks each combination has its own few runs, and its figures are their means. Of
combinations that are alike one still comes first. Here every case is given as many of our runs, with
replacement and by itself, and the claim is judged by means as its authors did; again and again. In a
simulation cases have their seeds in common: then the same seeds are drawn for all of them.

Where one of many outcomes was published each of them is seldom. Then it counts what comes out no more often
than the published one, as Fisher's exact test does.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, TypeAlias

from ropewalk.reproduce.predicates import Outcome, WrongUse
from ropewalk.reproduce.values import NoValue, Row, Sample, Value, mean_of
from ropewalk.reproduce.words import number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ropewalk.reproduce.expressions import Source

DRAWS = 2000
SHARE = 0.05
"""Outcomes less likely than one in twenty are not put down to chance: the usual level."""


Judge: TypeAlias = "Callable[[Source], Outcome]"
"""A claim, by means, of a source."""


class Drawn:
    """The quantities of a source over runs that were drawn from its own."""

    def __init__(self, source: Source, runs: int, seed: int, *, common: bool) -> None:
        self._source = source
        self._runs = runs
        self._common = common
        self._random = Random(seed)  # noqa: S311
        self._drawn: dict[tuple[str, ...], list[int]] = {}

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """As of the source; two quantities of one case are of the same runs."""
        whole = self._source.sample(quantity, levels)
        place = () if self._common else levels
        seeds = self._drawn.get(place)
        if seeds is None or not (self._common or whole.values.keys() >= set(seeds)):
            seeds = self._drawn[place] = self._random.choices(sorted(whole.values), k=self._runs)
        if not whole.values.keys() >= set(seeds):
            raise NoValue(f"{quantity} of {', '.join(levels)} lacks a seed that other cases have")
        return Sample({place: whole.values[run] for place, run in enumerate(seeds)}, whole.unit)

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        """As of the source: keys are not drawn."""
        return self._source.config(place, key, value, case)


def by_means(value: Value) -> Value:
    """Means in the place of samples."""
    if isinstance(value, Row):
        return Row(tuple(map(mean_of, value.items)), value.labels, value.factors)
    return mean_of(value)


def by_chance(
    judge: Judge,
    source: Source,
    runs: float,
    *,
    common: bool = False,
    others: Callable[[], Sequence[Judge]] = list,
) -> Outcome:
    """`by_chance(order(a, b), runs=10)`: ten runs of each case show it in one of twenty experiments.

    Args:
        judge: the claim, by means, of a source.
        source: of our runs.
        runs: of each case in the published experiment.
        common: they are of the same seeds in all cases (`seeds=4`).
        others: the outcomes that exclude what is claimed; asked for if that alone is too seldom.

    Raises:
        WrongUse: a number of runs that none can have.
    """
    if runs < 1 or runs != int(runs):
        raise WrongUse(f"{number(runs)} runs cannot be drawn")

    def count(judge: Judge) -> int:
        return sum(judge(Drawn(source, int(runs), seed, common=common)).holds for seed in range(DRAWS))

    shown = count(judge)
    size = "seeds in common for all cases" if common else "runs of its own for each case"
    words = (
        f"with {number(runs)} {size} {number(100 * shown / DRAWS)} % of {DRAWS} "
        "experiments show it by their means"
    )
    seldom = shown
    if 0 < shown < SHARE * DRAWS and (counts := [count(other) for other in others()]):
        # Ties let several hold at once.
        whole = max(DRAWS, shown + sum(counts)) / DRAWS
        seldom = round((shown + sum(other for other in counts if other <= shown)) / whole)
        words += (
            f"; it is one of {len(counts) + 1} outcomes, and with those that come out no more often "
            f"{number(100 * seldom / DRAWS)} %"
        )
    words += f", wanted at least {number(100 * SHARE)} %"
    return Outcome(seldom >= SHARE * DRAWS, (), words, (f"{shown} of {DRAWS}",))
