"""How near runs of a fitted scenario are to the capture."""

from __future__ import annotations

from dataclasses import dataclass

from ropewalk import numbers

BOUND = 0.1
"""A run is near if its goodput differs by less, and its shares by less."""
LATE = 0.02
"""The way of the last ACK is told if it takes a larger part of the time."""


@dataclass(frozen=True, slots=True)
class Near:
    """Runs of the file beside the capture: one, or several seeds where its losses are by chance."""

    ratios: tuple[float, ...]
    """Goodput of each run, over that of the capture."""
    apart: tuple[float, ...]
    """The largest difference of shares of each run."""
    more: float
    """Bytes reinjected above those of the capture, in the mean."""
    alone: bool = False
    """TCP, which has no shares."""
    late: float = 0.0
    """Part of the time of the capture in which the last ACK was on its way: a run ends with the delivery."""
    each: str | None = None
    """The same of a run that loses the packets that the capture lost; None: the file itself is such a run."""

    @property
    def ratio(self) -> float:
        """The mean of the goodput over that of the capture."""
        return sum(self.ratios) / len(self.ratios)

    @property
    def apart_in_all(self) -> float:
        """The least is the nearest."""
        return abs(self.ratio - 1.0) + sum(self.apart) / len(self.apart)

    @property
    def outside(self) -> int:
        """Runs that are not near."""
        pairs = zip(self.ratios, self.apart, strict=True)
        return sum(not self._within(ratio, apart) for ratio, apart in pairs)

    @property
    def is_near(self) -> bool:
        """The mean is near, and half of the runs or more."""
        mean = sum(self.apart) / len(self.apart)
        return self._within(self.ratio, mean) and 2 * self.outside <= len(self.ratios)

    def __str__(self) -> str:
        """In a sentence."""
        most = "" if self.alone else f", shares within {100 * max(self.apart):.0f} points"
        if self.late >= LATE:
            most = f" ({self._delivered(self.ratio):.2f} without the way of the last ACK){most}"
        if len(self.ratios) == 1:
            return f"{self.ratio:.2f} of the goodput{most}"
        told = f"{self.ratio:.2f} of the goodput in the mean of {numbers.count(len(self.ratios), 'seed')}"
        told += f" ({min(self.ratios):.2f} to {max(self.ratios):.2f}){most}"
        return f"{told}; {self.outside} of them outside {self._bounds}" if self.outside else told

    def _delivered(self, ratio: float) -> float:
        """The same with the time until the last delivery."""
        return ratio * (1.0 - self.late)

    def _within(self, ratio: float, apart: float) -> bool:
        # As these are printed. With a few packets an ACK or a delivery may be the end of either.
        goodput = any(abs(round(one, 2) - 1.0) <= BOUND + 1e-9 for one in (ratio, self._delivered(ratio)))
        return goodput and round(apart, 2) <= BOUND

    @property
    def _bounds(self) -> str:
        return "10 %" if self.alone else "10 % or 10 points"

    @property
    def short(self) -> str:
        """The same, with a word where it is not near."""
        return f"{self}" if self.is_near else f"{self}: NOT NEAR"

    def lines(self) -> list[str]:
        """Comments of the file."""
        again = "" if self.alone else f"; reinjected {self.more / 1e3:+.0f} kB"
        found = [f"# a run of this file beside the capture: {self}{again}"]
        if self.each is not None:
            found.append(f"# a run with each loss where it was: {self.each}")
        if not self.is_near:
            bounds = self._bounds.replace("or", "and")
            found.append(f"# NOT NEAR: this file does not give what was captured (within {bounds});")
            found.append("# changes of it tell little of that connection")
        return found
