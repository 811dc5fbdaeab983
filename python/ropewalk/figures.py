"""Figures of a path, and the packets that they follow from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a path with its interval; an end that is None is not known."""

    value: float
    low: float | None
    high: float | None
    why: str
    """How it was found."""

    def scaled(self, factor: float) -> Figure:
        """In another unit."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Figure(self.value * factor, low, high, self.why)

    def at(self, place: float | None) -> Figure:
        """The value at this place of its interval, which a run has told."""
        if place is None or self.low is None or self.high is None:
            return self
        value = self.low + place * (self.high - self.low)
        return replace(self, value=value, why=f"{self.why}; the goodput is the nearest with the one taken")

    def words(self, unit: str, digits: int = 3) -> str:
        """The interval and its reason."""
        low, high = ("?" if end is None else f"{end:.{digits}g}" for end in (self.low, self.high))
        return f"{low} to {high} {unit}: {self.why}"


@dataclass(frozen=True, slots=True)
class Packets:
    """Packets of subflows over time, at the place of their sender."""

    samples: pl.DataFrame
    """Counters at instants."""
    silences: pl.DataFrame
    """Spans in which nothing came back though data was outstanding."""
    losses: pl.DataFrame
    """Packets whose payload was sent again, by number."""

    def of(self, rows: pl.Expr) -> Packets:
        """The packets of one subflow."""
        return Packets(self.samples.filter(rows), self.silences.filter(rows), self.losses.filter(rows))
