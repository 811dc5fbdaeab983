"""Text that ping prints: Linux (iputils, also with -D and -O), macOS and BSD, Windows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ropewalk.measured.model import Quantity, Series, Source, losses, series

ANSWER = re.compile(
    r"(?:\[(?P<clock>\d+(?:\.\d+)?)\]\s*)?.*?(?:icmp_seq|seq)[= ](?P<number>\d{1,9})\b.*?"
    r"time[=<](?P<time>\d+(?:[.,]\d+)?)\s*(?P<unit>ms|us|s)\b"
)
WINDOWS = re.compile(r".*?\bbytes=\d+\s+\S+?[=<](?P<time>\d+(?:[.,]\d+)?)\s*ms\b")
LOST = re.compile(
    r"(?:\[(?P<clock>\d+(?:\.\d+)?)\]\s*)?(?:no answer yet for|Request timeout for|.*Unreachable.*?) "
    r"?icmp_seq[= ](?P<number>\d{1,9})",
    re.IGNORECASE,
)
TIMED_OUT = re.compile(r"Request timed out|Destination .* unreachable", re.IGNORECASE)
SENT = re.compile(r"(?<!\d)(\d{1,9}) packets transmitted")
WRAP = 1 << 16
MOST = 10_000_000
"""Probes of one measurement: more are a mistake."""
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def recognise(text: str) -> bool:
    """Whether a text is from ping."""
    head = text[:4000]
    return bool(re.search(r"icmp_seq[= ]\d+|^PING |^Pinging ", head, re.MULTILINE))


@dataclass(slots=True)
class _Log:
    """Probes by their number."""

    answered: dict[int, tuple[float | None, float]]
    """Clock and round-trip time in seconds."""
    lost: set[int] = field(default_factory=set)
    last: int = 0
    round: int = 0
    sent: int | None = None

    def number(self, written: int) -> int:
        """Numbers have 16 bits and start again."""
        if written + self.round < self.last - WRAP // 2:
            self.round += WRAP
        self.last = max(self.last, written + self.round)
        return written + self.round

    def probes(self) -> tuple[int, int]:
        """First and last number of all that were sent, as far as the text tells."""
        lowest = min((*self.answered, *self.lost))
        if self.sent is None:
            return lowest, self.last
        # macOS counts from 0, Linux from 1.
        first = min(lowest, 1) if self.last <= self.sent else lowest
        return first, max(self.last, first + self.sent - 1)


def read(source: Source) -> list[Series]:
    """Round-trip times and losses.

    Without -D there are no times: probes are taken as sent at equal intervals.

    Raises:
        MeasurementError: a line with an answer cannot be read, or there is no answer.
    """
    log = _Log({})
    unnumbered = 0
    for line, text in enumerate(source.text.splitlines(), 1):
        if match := ANSWER.match(text):
            number = log.number(int(match["number"]))
            clock = float(match["clock"]) if match["clock"] else None
            time = float(match["time"].replace(",", ".")) * UNITS[match["unit"]]
            log.answered.setdefault(number, (clock, time))
        elif match := LOST.match(text):
            log.lost.add(log.number(int(match["number"])))
        elif match := WINDOWS.match(text):
            unnumbered += 1
            log.answered[log.number(unnumbered)] = (None, float(match["time"].replace(",", ".")) * 1e-3)
        elif TIMED_OUT.search(text) and "icmp_seq" not in text:
            unnumbered += 1
            log.lost.add(log.number(unnumbered))
        elif match := SENT.search(text):
            log.sent = int(match[1])
        elif "icmp_seq" in text and "time" in text and "Time to live" not in text:
            raise source.wrong(line, f'found "{text.strip()[:60]}"', "write lines as ping prints them")
    if not log.answered:
        raise source.wrong(None, "no answer to any probe", "give the text that ping printed")
    return _series(source, log)


def _series(source: Source, log: _Log) -> list[Series]:
    first, last = log.probes()
    if last - first >= MOST:
        raise source.wrong(None, f"{last - first + 1} probes", "give the text that ping printed")
    clocks = {number: clock for number, (clock, _) in log.answered.items() if clock is not None}
    timed = len(clocks) == len(log.answered)
    known = min(log.answered)
    interval = source.options.interval
    if timed and len(clocks) > 1:
        newest = max(clocks)
        interval = (clocks[newest] - clocks[known]) / (newest - known)

    def sent(number: int) -> float:
        # With -D the clock is that of the answer.
        if timed and number in clocks:
            return clocks[number] - log.answered[number][1]
        return (clocks[known] - log.answered[known][1] if timed else 0.0) + (number - known) * interval

    began = sent(first) if timed else None
    rtt = [(sent(number), time) for number, (_, time) in log.answered.items()]
    probes = [(sent(number), number not in log.answered) for number in range(first, last + 1)]
    found = [series(source, Quantity.RTT, rtt, rtt[0][0] if timed else None)]
    if any(lost for _, lost in probes):
        found.append(losses(source, Quantity.LOSS, probes, began))
    return found
