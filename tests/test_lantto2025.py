"""The reproduction of lantto2025: complete, and its verdicts follow from the runs."""

from __future__ import annotations

import pytest

from reproduction_files import flips
from ropewalk import reproduce as rep
from ropewalk.reproduce import Verdict
from ropewalk.reproduce.studies import named
from ropewalk.study import Study

HERE = rep.find("lantto2025")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> rep.Reproduced:
    return rep.reproduce(rep.load("lantto2025"), tmp_path_factory.mktemp("lantto2025"), quick=True)


def test_every_claim_is_there_once_and_has_a_check_or_a_reason() -> None:
    claims = rep.load("lantto2025").claims
    assert len(claims) == 75
    assert len({claim.id for claim in claims}) == 75
    assert sum(claim.check is not None for claim in claims) == 74
    for claim in claims:
        assert claim.check is not None or len(claim.cannot) > 40, claim.id


def test_quick_claims_agree_and_flip(made: rep.Reproduced) -> None:
    verdicts = {row.id.removeprefix("lantto2025."): row.verdict for row in made.rows}
    assert not made.runs.failures
    for name in ("T3_1.r1", "T3_1.r2", "T3_1.r3", "T3_1.r4"):
        assert verdicts[name] is Verdict.SET_UP, name
    for name in ("S2_1.c1", "T5_1.r1.thr", "F5_9.c1"):
        assert verdicts[name] is Verdict.AGREES, name
    for claim in made.reproduction.claims:
        if claim.quick and claim.check is not None and claim.check.uses:
            assert flips(made.reproduction, claim, made.sources["as-described"], "as-described"), claim.id


def test_latency_follows_from_the_send_buffer(made: rep.Reproduced) -> None:
    """The size of the send buffer decides the latency of sockperf, not the number of messages."""
    source = made.sources["as-described"]

    def mean(reading: str) -> float:
        values = source.sample("tcp_latency", (reading,)).values
        return sum(values.values()) / len(values)

    chosen = mean("as chosen")
    buffer = chosen - mean("buffer follows window")
    assert buffer > chosen / 3
    assert abs(chosen - mean("coarse messages")) < buffer / 3


def test_all_studies_can_be_planned() -> None:
    for name, (path, reading) in named(HERE).items():
        assert Study.load(path, reading=reading).plan.cases, name


def test_the_studies_of_a_profile_differ_in_their_schedulers_only() -> None:
    described = [path for path, reading in named(HERE).values() if reading == "as-described"]
    assert described
    for path in described:
        readings = [Study.load(path, reading=f"as-{word}").plan.cases for word in ("described", "published")]
        for ours, theirs in zip(*readings, strict=True):
            assert list(ours.levels.values()) == list(theirs.levels.values())
            same = ours.text == theirs.text
            assert same == (ours.levels["scheduler"] not in {"MinRatio", "MinRTT"}), (path, ours.name)
