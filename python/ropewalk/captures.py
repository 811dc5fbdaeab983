"""Captures of simulated packets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

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
