"""Connections in captures, in the tables of a run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ropewalk import _core, arguments, disk, numbers
from ropewalk.figures import Packets
from ropewalk.results import CAPTURED, Origin, Results, Totals
from ropewalk.trials import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ropewalk.fitted import Fitted


@dataclass(frozen=True, slots=True)
class Counted:
    """Packets of captures by what they are, and have."""

    totals: dict[str, int]
    mptcp_options: dict[str, int]


class Reading(Results):
    """The connections of captures, in the tables of a run, with its plots.

    Columns that a run has too mean the same. A row of `flows` is a connection and a direction of data, named
    after its addresses and ports. A figure that the place of the capture cannot show is null. The run has the
    number 0. The scenario of a reading is fitted to the connection with most data, by runs that are made when
    it is first asked for; `write`, plots, `why` and the report have the same one.
    """

    def __init__(
        self,
        files: str,
        packets: Packets,
        tables: dict[str, pl.DataFrame],
        counted: Counted,
        problems: list[str],
    ) -> None:
        totals = counted.totals
        self._kept = files, packets
        self._fitted: Fitted | None = None
        super().__init__(self._captured, tables, {})
        self.packets = totals["packets"]
        """Packets in all files."""
        self.not_read = totals["other"] + totals["not_read"]
        """Packets among them that are not TCP, SCTP or UDP over IP, or whose headers are cut off."""
        self.mptcp_options = counted.mptcp_options
        """Packets with each option of MPTCP, by its name in RFC 8684."""
        self.problems = problems
        """A sentence on each file that could not be read whole, is out of order, or has packets twice."""

    @property
    def fitted(self) -> Fitted:
        """How the scenario follows from the capture: `nearest()`, with a thread per processor."""
        return self.nearest()

    def nearest(self, jobs: int | None = None) -> Fitted:
        """The fitted scenario, with what runs beside the capture tell. The runs are made once.

        Packets do not tell the scheduler, reinjection and the memory of a segment. Those of Linux stay if
        they are near, otherwise those count under which a run is nearest. The application writes at
        intervals, if a run with a bulk transfer is faster and further from the capture. Its attribute `near`
        and its file say how near runs of it are.

        Args:
            jobs: threads; None: one per processor.
        """
        if self._fitted is None:
            files, packets = self._kept
            self._fitted = nearest(files, self.tables, packets, jobs)
        return self._fitted

    def _captured(self) -> Origin:
        counted = Totals(None, self.packets, 0.0)
        return Origin(self.fitted.scenario, [0], _core.MODEL_VERSION, counted, CAPTURED, self.fitted.text)

    def __repr__(self) -> str:
        packets = numbers.count(self.packets, "packet")
        return f"<Reading of {self._kept[0]!r}: {packets}, {numbers.count(self.flows.height, 'flow')}>"


@dataclass(frozen=True, slots=True)
class Anonymised:
    """A capture without addresses, payload and keys."""

    written: int
    """TCP packets in it."""
    left_out: int
    """Other packets, which are not."""
    problems: list[str]
    """A sentence on each file that could not be read whole, is out of order, or has packets twice."""


def anonymise(files: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> Anonymised:
    """Writes the TCP packets of captures into one file (pcapng) without addresses, payload and keys.

    Addresses become 10.0.0.1, 10.0.0.2 and so on, or fd00::1; keys of MPTCP others, with tokens, HMACs and
    data sequence numbers that follow from them. Unknown options, payload and names of interfaces are left
    out; the first packet comes on 1 January 2020. Ports, sizes, times between packets, sequence numbers and
    timestamps stay.

    Raises:
        OSError: it cannot be written.
    """
    found = arguments.paths("files", files)
    with disk.whole(arguments.path("out", out)) as partial:
        return Anonymised(*_core.anonymise_captures(found, partial))


def read(files: Sequence[str | os.PathLike[str]]) -> Reading:
    """Reads captures (pcap, pcapng) together: TCP, MPTCP, SCTP and UDP, their subflows and their data.

    A file that is damaged is read up to there, and `problems` says so.
    """
    found = arguments.paths("files", files)
    tables, problems, totals, options = _core.read_captures(found)
    frames = {name: pl.DataFrame(columns) for name, columns in tables}
    packets = Packets(frames.pop("samples"), frames.pop("silences"), frames.pop("losses"))
    # A name that is not UTF-8 text is shown as far as it is.
    names = ", ".join(os.fsencode(file.name).decode(errors="replace") for file in found)
    return Reading(names, packets, frames, Counted(dict(totals), dict(options)), problems)
