"""Claims that may be chance."""

from random import Random

import pytest

from ropewalk.reproduce import chance
from ropewalk.reproduce.expressions import Evaluator, parse
from ropewalk.reproduce.predicates import Outcome
from ropewalk.reproduce.values import Sample


class Alike:
    """Four cases with the same figures in different runs; those of the last one are larger by `more`."""

    def __init__(self, more: float) -> None:
        self.more = more

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        values = [float(value) for value in range(40)]
        Random(f"{quantity} {levels}").shuffle(values)
        return Sample({n: value + self.more * (levels == ("d",)) for n, value in enumerate(values, 1)}, "s")

    def config(self, *_: object) -> Outcome:
        raise AssertionError("no key is asked for")


@pytest.mark.parametrize(("more", "among_others"), [(0.0, True), (6.0, False), (100.0, False)])
def test_one_of_many_outcomes_is_seldom_even_by_chance(
    monkeypatch: pytest.MonkeyPatch, more: float, *, among_others: bool
) -> None:
    """The order of four: one of 24."""
    monkeypatch.setattr(chance, "DRAWS", 400)
    levels = {"v": [["a", "b", "c", "d"]]}
    claim = 'order(v["b"], v["c"], v["a"], v["d"])'
    for words, expected in (("", False), (', alike=[["a", "b", "c", "d"]]', among_others)):
        found = parse(f"by_chance({claim}, runs=10{words})", levels, check=True)
        outcome = Evaluator(Alike(more), levels).outcome(found.tree)
        assert outcome.holds == expected, outcome.words
        assert ("one of 24 outcomes" in outcome.words) == (bool(words) and more < 100)
