"""The reproduction of lantto2025: complete, and its verdicts follow from the runs."""

from __future__ import annotations

import ast
import math
import random
from typing import TYPE_CHECKING

import pytest

from reproduction_files import flips
from ropewalk import reproduce as rep
from ropewalk.reproduce import Verdict
from ropewalk.reproduce.expressions import Evaluator
from ropewalk.reproduce.predicates import Outcome
from ropewalk.reproduce.values import Sample
from ropewalk.study import Study

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = rep.find("lantto2025")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> rep.Reproduced:
    return rep.reproduce(rep.load("lantto2025"), tmp_path_factory.mktemp("lantto2025"), quick=True)


def test_every_claim_is_there_once_and_has_a_check_or_a_reason() -> None:
    claims = rep.load("lantto2025").claims
    assert len(claims) == 75
    assert len({claim.id for claim in claims}) == 75
    assert sum(claim.check is not None for claim in claims) == 72
    for claim in claims:
        assert claim.check is not None or len(claim.cannot) > 40, claim.id


def test_quick_claims_agree_and_flip(made: rep.Reproduced) -> None:
    verdicts = {row.id.removeprefix("lantto2025."): row.verdict for row in made.rows}
    assert not made.failures
    for name in ("T3_1.r1", "T3_1.r2", "T3_1.r3", "T3_1.r4", "S2_1.c1", "T5_1.r1.thr", "F5_9.c1"):
        assert verdicts[name] is Verdict.AGREES, name
    for claim in made.reproduction.claims:
        if claim.quick and claim.check is not None and claim.check.uses:
            assert flips(made.reproduction, claim, made.sources["as-described"], "as-described"), claim.id


class Invented:
    """Figures out of the air, around any size: each level has a factor of its own, and so has each case."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._middle = 10 ** draw.uniform(-1.0, 4.0)
        self._spread = draw.choice([0.01, 0.1, 1.0])
        self._runs = draw.choice([3, 5, 10, 20])
        self._of_level: dict[str, float] = {}
        self._known: dict[tuple[str, tuple[str, ...]], Sample] = {}

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        if (quantity, levels) not in self._known:
            parts = (
                self._of_level.setdefault(e, self._draw.gauss(0.0, self._spread)) for e in (quantity, *levels)
            )
            middle = self._middle * math.exp(math.fsum(parts) + self._draw.gauss(0.0, self._spread / 10.0))
            values = {run: middle * math.exp(self._draw.gauss(0.0, 0.05)) for run in range(1, self._runs + 1)}
            self._known[quantity, levels] = Sample(values, "")
        return self._known[quantity, levels]

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        return Outcome(self._draw.random() < 0.5, (), f"{place} {key} {value} {case}")


def _conditions(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _conditions(value)
    elif isinstance(node, ast.UnaryOp):
        yield from _conditions(node.operand)
    else:
        yield node


def test_every_condition_of_every_claim_can_hold_and_can_fail() -> None:
    loaded = rep.load("lantto2025")
    levels = loaded.levels("as-described")
    draw = random.Random(1)  # noqa: S311
    for claim in loaded.claims:
        for condition in _conditions(claim.check.tree) if claim.check else ():
            seen: set[bool] = set()
            for _ in range(3000):
                evaluator = Evaluator(Invented(draw), levels, claim.published_number)
                seen.add(evaluator.outcome(condition).holds)
                if len(seen) > 1:
                    break
            assert len(seen) > 1, f"{claim.id}: {ast.unparse(condition)}"


def test_latency_follows_from_the_send_buffer(made: rep.Reproduced) -> None:
    """What decides the latency of sockperf is how much the send buffer holds, not the number of messages."""
    source = made.sources["as-described"]

    def mean(reading: str) -> float:
        values = source.sample("tcp_latency", (reading,)).values
        return sum(values.values()) / len(values)

    assert mean("as chosen") > 1.5 * mean("buffer follows window")
    assert mean("coarse messages") == pytest.approx(mean("as chosen"), rel=0.1)


def test_all_studies_can_be_planned() -> None:
    for path in sorted(HERE.glob("study-*.toml")):
        assert Study.load(path).plan.cases, path.name


def test_the_studies_of_a_profile_differ_in_their_schedulers_only() -> None:
    for described in sorted(HERE.glob("study-*-as-described.toml")):
        published = described.with_name(described.name.replace("described", "published"))
        pairs = zip(Study.load(described).plan.cases, Study.load(published).plan.cases, strict=True)
        for ours, theirs in pairs:
            assert list(ours.levels.values()) == list(theirs.levels.values())
            same = ours.text == theirs.text
            assert same == (ours.levels["scheduler"] not in {"MinRatio", "MinRTT"}), (described, ours.name)
