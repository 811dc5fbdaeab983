"""Every claim that can be checked: there are figures with which it agrees, and one number changes that."""

import dataclasses

import pytest

from invented import Invented, Search
from ropewalk import reproduce as rep
from ropewalk.reproduce.model import Claim, Reproduction
from ropewalk.reproduce.verdicts import Verdict, judge

CLAIMS = [
    (loaded, claim)
    for loaded in map(rep.load, rep.names())
    for claim in loaded.claims
    if claim.check is not None
]
CHANGES = (0.0, 1e6, 2.0)
"""Factors."""


def verdict(reproduction: Reproduction, claim: Claim, source: Invented) -> Verdict:
    alone = dataclasses.replace(claim, cause="", cause_check=None)
    return judge(reproduction, [alone], {profile_of(reproduction): source})[0].verdict


def profile_of(reproduction: Reproduction) -> str:
    return (reproduction.profiles or ("",))[0]


@pytest.mark.parametrize(("loaded", "claim"), CLAIMS, ids=[claim.id for _, claim in CLAIMS])
def test_invented_figures_make_it_agree_and_one_number_makes_it_differ(
    loaded: Reproduction, claim: Claim
) -> None:
    search = Search(loaded, claim, profile_of(loaded))
    assert search.solve(), "no figures found with which it would agree"
    source = search.source
    assert verdict(loaded, claim, source) is Verdict.AGREES
    assert any(flips(loaded, claim, source, factor) for factor in CHANGES)


def flips(loaded: Reproduction, claim: Claim, source: Invented, factor: float) -> bool:
    """One number changed, or one after the other until one of them makes it differ."""
    if verdict(loaded, claim, Invented(source.means, source.runs, configured=False)) is Verdict.DIFFERS:
        return True
    alone = [{**source.means, key: mean * factor} for key, mean in source.means.items()]
    together = dict(source.means)
    for key, means in zip(source.means, alone, strict=True):
        together[key] *= factor
        for changed in (means, together):
            if verdict(loaded, claim, Invented(changed, source.runs)) is Verdict.DIFFERS:
                return True
    return False
