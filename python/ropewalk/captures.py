"""Captures of simulated packets."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk import _core, arguments, disk

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

SNAP = 96
"""Bytes of a packet that are kept: all headers and options; in scenarios with IPv6 100 are."""
MAX_SNAP = 2**32 - 1
"""Largest number of bytes, as in the files."""
BOTH = "both"
"""Packets at both ends of all flows."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture of each replication, as a file in the format pcapng.

    Raises:
        ValueError: `snap` is negative, or larger than 32 bits.
    """

    directory: str | os.PathLike[str]
    """Where the files go: `seed-1.pcapng` and so on."""
    at: str = BOTH
    """`both`: both ends of all flows; or the name of a node, or of a link for its two ends."""
    snap: int = SNAP
    """Bytes of a packet that are kept; 0: all."""

    def __post_init__(self) -> None:
        arguments.path("directory", self.directory)
        arguments.text("at", self.at)
        arguments.whole("snap", self.snap, 0, MAX_SNAP)

    def files(self, seeds: Iterable[int]) -> dict[int, Path]:
        """The files by seed."""
        return {seed: file_of(Path(self.directory), seed) for seed in seeds}


def file_of(directory: Path, seed: int) -> Path:
    """The capture of a replication."""
    return directory / f"seed-{seed}.pcapng"


@contextmanager
def beside(capture: Capture) -> Iterator[Capture]:
    """The same capture in a temporary folder there: those of an earlier run stay until all are whole.

    Raises:
        OSError: the folder cannot be made.
        RunFailed: as the body does; the name of the temporary folder tells the user nothing.
    """
    directory = Path(capture.directory)
    directory.mkdir(parents=True, exist_ok=True)
    disk.sweep(directory)
    with disk.folder(directory) as place:
        try:
            yield replace(capture, directory=place)
        except _core.RunFailed as error:
            raise _core.RunFailed(str(error).replace(str(place), str(directory))) from None


def take(capture: Capture, staged: Capture, seeds: Sequence[int]) -> dict[int, Path]:
    """Moves the files of `staged` into their places; returns these by seed."""
    files = capture.files(seeds)
    for seed, file in staged.files(seeds).items():
        file.replace(files[seed])
    return files
