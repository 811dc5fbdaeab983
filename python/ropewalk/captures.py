"""Captures: of simulated packets, and of real connections."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk import _core

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    import polars as pl

SNAP = 96
"""Bytes of a packet that are kept: all headers and options."""
BOTH = "both"
"""Packets at both ends of all flows."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture of each replication, as a file in the format pcapng."""

    directory: str | os.PathLike[str]
    """Where the files go: `seed-1.pcapng` and so on."""
    at: str = BOTH
    """`both`: both ends of all flows; or the name of a node, or of a link for its two ends."""
    snap: int = SNAP
    """Bytes of a packet that are kept; 0: all."""

    def files(self, seeds: Iterable[int]) -> dict[int, Path]:
        """The files by seed."""
        return {seed: file_of(Path(self.directory), seed) for seed in seeds}


def file_of(directory: Path, seed: int) -> Path:
    """The capture of a replication."""
    return directory / f"seed-{seed}.pcapng"


@dataclass(frozen=True, slots=True)
class Reading:
    """The connections of captures.

    Columns that a run has too mean the same. A row is a direction of data. What the place of a capture cannot
    know is null.
    """

    flows: pl.DataFrame
    """One row per connection and direction of data."""
    subflows: pl.DataFrame
    """One row per connection, direction of data and subflow; plain TCP has one subflow."""
    packets: int
    """Packets in all files."""
    not_read: int
    """Packets among them that are not TCP over IP, or whose headers are cut off."""
    problems: list[str]
    """A sentence on each file that could not be read whole."""


def read(files: Sequence[str | os.PathLike[str]]) -> Reading:
    """Reads captures (pcap, pcapng) together: TCP and MPTCP connections, their subflows and their data.

    A file that is damaged is read up to there, and `problems` says so.
    """
    import polars as pl

    tables, problems, totals = _core.read_captures(files)
    frames = {name: pl.DataFrame(columns) for name, columns in tables}
    return Reading(
        frames.get("flows", pl.DataFrame()),
        frames.get("subflows", pl.DataFrame()),
        totals["packets"],
        totals["other"] + totals["not_tcp"],
        problems,
    )
