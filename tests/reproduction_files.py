"""A reproduction over the small scenario, for several tests."""

from collections.abc import Iterator
from pathlib import Path

from conftest import SMALL
from ropewalk.reproduce.expressions import Source, Use, levels_of
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
    """A source with one case of one quantity changed, or with all keys of scenarios otherwise."""

    def __init__(self, source: Source, quantity: str, levels: tuple[str, ...], factor: float) -> None:
        self._source = source
        self._changed = (quantity, levels)
        self._factor = factor

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """As the source, but for the one case."""
        found = self._source.sample(quantity, levels)
        if (quantity, levels) != self._changed:
            return found
        return Sample({seed: value * self._factor for seed, value in found.values.items()}, found.unit)

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        """As the source, unless it is the keys that are changed."""
        found = self._source.config(place, key, value, case)
        if self._changed[0]:
            return found
        return Outcome(not found.holds, found.readings, found.words)


FACTORS = (
    0.0,
    0.3,
    0.6,
    0.9,
    1.1,
    1.5,
    3.0,
    10.0,
    1000.0,
    -1.0,
    *(1.05**power for power in range(-190, 191)),
)
"""The last ones for claims that only a narrow range fulfils."""


def changes(claim: Claim, source: Source) -> Iterator[Changed]:
    """The source with a number changed that the claim speaks of, in many ways."""
    assert claim.check is not None
    if claim.check.configs:
        yield Changed(source, "", (), 1.0)
    uses: set[Use] = set(claim.check.uses)
    for use in sorted(uses, key=str):
        for levels in levels_of(use):
            yield from (Changed(source, use.quantity, levels, factor) for factor in FACTORS)


def flips(reproduction: Reproduction, claim: Claim, source: Source, profile: str) -> bool:
    """Whether a change of one number makes the verdict another one."""
    from ropewalk.reproduce.verdicts import judge

    before = judge(reproduction, [claim], {profile: source})[0].verdict
    return any(
        judge(reproduction, [claim], {profile: changed})[0].verdict is not before
        for changed in changes(claim, source)
    )
