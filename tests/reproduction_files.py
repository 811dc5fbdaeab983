"""A reproduction over the small scenario, for several tests."""

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path

from conftest import SMALL
from ropewalk.reproduce.expressions import Source, levels_of
from ropewalk.reproduce.model import Claim, Reproduction
from ropewalk.reproduce.predicates import Outcome
from ropewalk.reproduce.values import Sample

ABOUT = """\
title = "small"
source = "nobody, nowhere"
quick = { replications = 2 }
"""

QUANTITIES = """\
rate = { study = "loss", metric = "flow.upload.goodput_bit_s" }
peak = { study = "loss", series = "flow.upload.goodput_bit_s", make = "max", bin = 1.0 }
"""

STUDY = """\
name = "loss"
scenario = "small.toml"
replications = 3
series = 3
compare_paths = false
metrics = ["flow.upload.goodput_bit_s"]

[[vary]]
key = "flow.upload.transport.congestion"
values = ["lia", "olia"]

[[vary]]
name = "error rate"
key = "path.b.both.loss.probability"
values = [0.0, 0.3]
"""

CLAIMS = """\
[[claim]]
id = "small.more"
published = "lossless > lossy"
metric = "goodput"
unit = "Mbit/s"
check = 'order(rate["lia", "0.0"], rate["lia", "0.3"])'
quick = true

[[claim]]
id = "small.number"
published = "1000"
metric = "goodput"
unit = "Mbit/s"
check = 'within(rate["lia", "0.0"], published, 0.1)'
cause = "nothing is that fast"

[[claim]]
id = "small.delay"
published = "40 ms"
metric = "delay"
check = 'config("loss", "path.a.both.delay", "0.04s")'

[[claim]]
id = "small.live"
published = "42"
metric = "weather"
cannot = "there is no weather here"
"""


CAUSE = 'cause = "nothing is that fast"'
SHOWN = f'{CAUSE}\nkind = "documented"\ncause_check = \'at_most(rate["lia", "0.0"], 500)\''
"""The same cause with a check that holds."""


def write_reproduction(directory: Path, claims: str = CLAIMS, quantities: str = QUANTITIES) -> Path:
    """All of its files, in `directory/small`."""
    place = directory / "small"
    place.mkdir()
    files = {
        "reproduction.toml": ABOUT,
        "quantities.toml": quantities,
        "claims.toml": claims,
        "study-loss.toml": STUDY,
        "small.toml": SMALL,
    }
    for name, text in files.items():
        (place / name).write_text(text, encoding="utf-8")
    return place


class Changed:
    """A source with some cases of one quantity changed, or with all keys of scenarios otherwise."""

    def __init__(self, source: Source, quantity: str, levels: tuple[str, ...], factor: float) -> None:
        self._source = source
        self._quantity = quantity
        self._levels = levels
        self._factor = factor

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """As the source, but for the cases that have all of the levels."""
        found = self._source.sample(quantity, levels)
        if quantity != self._quantity or not set(self._levels) <= set(levels):
            return found
        return Sample({seed: value * self._factor for seed, value in found.values.items()}, found.unit)

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        """As the source, unless it is the keys that are changed."""
        found = self._source.config(place, key, value, case)
        if self._quantity:
            return found
        return dataclasses.replace(found, holds=not found.holds)


FACTORS = (0.0, 0.3, 0.9, 1.1, 3.0, 1000.0, -1.0)
FINE = tuple(1.05**power for power in range(-95, 96))


def changes(reproduction: Reproduction, claim: Claim, source: Source) -> Iterator[Source]:
    """The source with a number changed that the claim speaks of, or all that have a level in common."""
    assert claim.check is not None
    if claim.check.configs:
        yield Changed(source, "", (), 1.0)
    cases = sorted(
        {
            (use.quantity, levels)
            for use in claim.check.uses
            for levels in levels_of(use)
            if use.quantity in reproduction.quantities
        }
    )
    for factor in FACTORS:
        yield from (Changed(source, quantity, levels, factor) for quantity, levels in cases)
    groups = sorted({(quantity, (level,)) for quantity, levels in cases for level in levels})
    for factor in FINE:
        yield from (Changed(source, quantity, levels, factor) for quantity, levels in groups)


class Constant:
    """A source in which each quantity of a claim is the same in all its cases."""

    def __init__(self, source: Source, values: dict[str, float]) -> None:
        self._source = source
        self._values = values

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """Seeds and unit are those of the source."""
        found = self._source.sample(quantity, levels)
        return Sample(dict.fromkeys(found.values, self._values[quantity]), found.unit)

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        """As the source."""
        return self._source.config(place, key, value, case)


def constants(reproduction: Reproduction, claim: Claim, source: Source) -> Iterator[Source]:
    """All combinations of a grid, for claims that ask several figures at once to be alike."""
    assert claim.check is not None
    names = sorted(set(reproduction.measured_in(claim.check)))
    step, reach = (1.1, 100) if len(names) == 1 else (1.7, 18)
    grid = (0.0, *(step**power for power in range(-reach // 3, reach)))
    for values in itertools.product(grid, repeat=len(names)):
        yield Constant(source, dict(zip(names, values, strict=True)))


def flips(reproduction: Reproduction, claim: Claim, source: Source, profile: str) -> bool:
    """Whether other figures make the verdict another one, or certain: a single one, or else several."""
    from ropewalk.reproduce.verdicts import judge

    alone = dataclasses.replace(claim, cause="", cause_check=None)

    def verdict(of: Source) -> tuple[str, bool]:
        row = judge(reproduction, [alone], {profile: of})[0]
        return row.verdict, row.unclear

    before = verdict(source)
    changed = itertools.chain(changes(reproduction, alone, source), constants(reproduction, alone, source))
    return any(verdict(other) != before for other in changed)
