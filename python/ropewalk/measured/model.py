"""Measurements of links: series, and the files that they come from."""

from __future__ import annotations

import enum
import gzip
import itertools
import json
import math
import stat
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ropewalk import reading
from ropewalk.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LARGEST = 1 << 28
"""Bytes: a larger file is refused."""


LONGEST_S = 365 * 86_400
"""Seconds that a measurement may last: a scenario has no more."""


class MeasurementError(ScenarioError):
    """A measurement cannot be read, or does not say enough."""

    @classmethod
    def at(cls, place: str | Path, line: int | None, found: str, cure: str) -> MeasurementError:
        """With its file and line."""
        where = f"{place}:{line}" if line is not None else f"{place}"
        return cls(f"{where}: {found}\n  fix: {cure}")


class Quantity(enum.StrEnum):
    """The measured quantity."""

    DOWN = "down"
    UP = "up"
    RTT = "rtt"
    LOSS = "loss"
    LOSS_DOWN = "loss-down"
    LOSS_UP = "loss-up"


FASTEST = 1e13
"""bit/s of the fastest link of a scenario."""
LARGEST_VALUE = dict.fromkeys((Quantity.DOWN, Quantity.UP), FASTEST) | {Quantity.RTT: 2 * 86_400.0}
"""Largest value of a quantity that a link can have; probabilities end at 1."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values over time."""

    quantity: Quantity
    source: str
    """The file that it is from."""
    times: tuple[float, ...]
    """Seconds since the first sample of its measurement, rising."""
    values: tuple[float, ...]
    """bit/s, seconds or probabilities."""
    began: float | None = None
    """Seconds since 1970 of that sample; None: the tool does not say."""

    @property
    def mean(self) -> float:
        """Over the samples."""
        return math.fsum(self.values) / len(self.values)


@dataclass(frozen=True, slots=True)
class Opportunities:
    """A mahimahi trace of one direction."""

    quantity: Quantity
    source: str
    text: str
    """Lines of whole milliseconds."""
    last_s: float
    """When its last line is."""
    rate: float
    """Mean in bit/s."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file with a measurement."""

    path: Path
    text: str
    options: Options

    @property
    def name(self) -> str:
        """For messages."""
        return str(self.path)

    def wrong(self, line: int | None, found: str, cure: str) -> MeasurementError:
        """A mistake in it."""
        return MeasurementError.at(self.path, line, found, cure)

    def json(self) -> dict[str, Any]:
        """Its content as a JSON object.

        Raises:
            MeasurementError: it is none.
        """
        try:
            content = json.loads(self.text)
        except json.JSONDecodeError as error:
            cure = "give the whole file as the tool wrote it"
            raise self.wrong(error.lineno, f"not JSON: {error.msg} (column {error.colno})", cure) from None
        except (RecursionError, ValueError) as error:
            raise self.wrong(None, f"not JSON: {error}", "give the whole file as the tool wrote it") from None
        if not isinstance(content, dict):
            raise self.wrong(1, "found no JSON object", "give the whole file as the tool wrote it")
        return content


@dataclass(frozen=True, slots=True)
class Options:
    """The options that the user gave for the files."""

    interval: float = 1.0
    """Seconds between probes of ping where the file has no times."""
    window: float = 5.0
    """Seconds over which lost probes make a probability."""
    columns: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Column and unit of each quantity, in a table."""


def load(path: Path, options: Options) -> Source:
    """Reads a file, unpacked if it is compressed.

    Raises:
        OSError: it cannot be read.
        MeasurementError: it is no text, or too large.
    """
    reading.name(path)
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise MeasurementError.at(path, None, "not a file", "give a file that the tool wrote")
    if about.st_size > LARGEST:
        raise MeasurementError.at(path, None, f"larger than {LARGEST} bytes", "cut it into parts")
    content = reading.content(path)
    if content[:2] == b"\x1f\x8b":
        try:
            with gzip.open(path) as packed:
                content = packed.read(LARGEST + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise MeasurementError.at(path, None, f"damaged: {error}", "copy it again") from None
    if len(content) > LARGEST:
        raise MeasurementError.at(path, None, f"larger than {LARGEST} bytes", "cut it into parts")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise MeasurementError.at(path, line, "binary, not text", "give what the tool printed") from None
    return Source(path, text, options)


def series(
    source: Source, quantity: Quantity, samples: Sequence[tuple[float, float]], began: float | None = None
) -> Series:
    """Samples in the order of time; of several at one time the last counts.

    Raises:
        MeasurementError: there are none, or a value is no number of its quantity.
    """
    if not samples:
        raise source.wrong(None, f"no samples of {quantity.value}", "give a file with measurements")
    for at, value in samples:
        largest = LARGEST_VALUE.get(quantity, 1.0)
        if not (math.isfinite(at) and 0 <= value <= largest):
            found = f"{quantity.value} of {value:g} at {at:g} s"
            raise source.wrong(None, found, f"remove the sample: values are numbers from 0 to {largest:g}")
    if began is not None and not math.isfinite(began):
        began = None
    by_time = dict(sorted(samples, key=lambda pair: pair[0]))
    first = next(iter(by_time))
    times = tuple(at - first for at in by_time)
    if not times[-1] <= LONGEST_S:
        raise source.wrong(None, f"samples over {times[-1]:g} s", "cut it into parts of a year at most")
    return Series(quantity, source.name, times, tuple(by_time.values()), began)


def losses(
    source: Source, quantity: Quantity, probes: Sequence[tuple[float, bool]], began: float | None = None
) -> Series:
    """Share of lost probes in each window of time.

    Args:
        source: of the probes.
        quantity: of which direction; LOSS: of the round trip.
        probes: when each was sent, and whether it was lost.
        began: as in `Series`.
    """
    if wrong := [at for at, _ in probes if not math.isfinite(at)]:
        raise source.wrong(None, f"a probe at {wrong[0]:g} s", "remove the probe: times are numbers")
    first = probes[0][0]
    width = source.options.window
    ordered = sorted(probes)
    windows = itertools.groupby(ordered, key=lambda probe: math.floor((probe[0] - first) / width))
    shares: list[tuple[float, float]] = []
    for window, group in windows:
        fates = [lost for _, lost in group]
        shares.append((window * width, sum(fates) / len(fates)))
    return series(source, quantity, shares, began)
