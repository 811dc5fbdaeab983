"""Claims and causes: there are figures with which each agrees, and one number changes that."""

import ast
import dataclasses

import pytest

from invented import Invented, Search
from ropewalk import reproduce as rep
from ropewalk.reproduce.expressions import CHANCE, Expression
from ropewalk.reproduce.model import Claim, Reproduction
from ropewalk.reproduce.verdicts import DIFFERING, Verdict, judge

CLAIMS = [
    (loaded, claim)
    for loaded in map(rep.load, rep.names())
    for claim in loaded.claims
    if claim.check is not None
]
CAUSES = [(loaded, claim) for loaded, claim in CLAIMS if claim.cause_check is not None]
CHANGES = (0.0, 1e6, 2.0)
"""Factors."""


def verdict(reproduction: Reproduction, claim: Claim, source: Invented) -> Verdict:
    alone = dataclasses.replace(claim, cause="", cause_check=None)
    found = _verdict(reproduction, alone, source)
    return Verdict.UNEXPLAINED if found in (*DIFFERING, Verdict.SET_UP_OTHERWISE) else Verdict.AGREES


def _verdict(reproduction: Reproduction, alone: Claim, source: Invented) -> Verdict:
    return judge(reproduction, [alone], {profile_of(reproduction): source})[0].verdict


def profile_of(reproduction: Reproduction) -> str:
    return (reproduction.profiles or ("",))[0]


@pytest.mark.parametrize(("loaded", "claim"), CLAIMS, ids=[claim.id for _, claim in CLAIMS])
def test_invented_figures_make_it_agree_and_one_number_makes_it_differ(
    loaded: Reproduction, claim: Claim
) -> None:
    flips(loaded, claim)


@pytest.mark.parametrize(("loaded", "claim"), CAUSES, ids=[claim.id for _, claim in CAUSES])
def test_one_number_takes_a_cause_away(loaded: Reproduction, claim: Claim) -> None:
    assert claim.cause_check is not None
    flips(loaded, dataclasses.replace(claim, check=without_chance(claim.cause_check)))


class _Bare(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        return node.args[0] if ast.unparse(node.func) == CHANCE else node


def without_chance(check: Expression) -> Expression:
    """The questions about each experiment that is drawn: to draw them for each change would take minutes."""
    return dataclasses.replace(
        check, tree=_Bare().visit(ast.parse(ast.unparse(check.tree), mode="eval").body)
    )


def flips(loaded: Reproduction, claim: Claim) -> None:
    """One number changed, or one after the other until one makes it differ; and keys that are otherwise."""
    search = Search(loaded, claim, profile_of(loaded))
    assert search.solve(), "no figures found with which it would agree"
    source = search.source
    assert verdict(loaded, claim, source) is Verdict.AGREES
    assert claim.check is not None
    if claim.check.configs:
        assert (
            verdict(loaded, claim, Invented(source.means, source.runs, configured=False))
            is Verdict.UNEXPLAINED
        )
    assert source.means or claim.check.configs, "nothing of ours is looked at"
    # Where replications are counted, one that is missing.
    counted = {quantity: runs - 1 for quantity, runs in source.runs.items()}
    fewer = bool(counted) and verdict(loaded, claim, Invented(source.means, counted)) is Verdict.UNEXPLAINED
    assert not source.means or fewer or any(changed(loaded, claim, source, factor) for factor in CHANGES)


def changed(loaded: Reproduction, claim: Claim, source: Invented, factor: float) -> bool:
    """Whether the factor makes it differ, on one number or on one after the other."""
    alone = [{**source.means, key: mean * factor} for key, mean in source.means.items()]
    together = dict(source.means)
    for key, means in zip(source.means, alone, strict=True):
        together[key] *= factor
        for other in (means, together):
            if verdict(loaded, claim, Invented(other, source.runs)) is Verdict.UNEXPLAINED:
                return True
    return False
