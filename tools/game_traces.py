"""Writes the game sessions of `reproductions/yedugundla2016`: the recorded ones were replayed exactly.

    .venv/bin/python tools/game_traces.py

Of each session the paper prints the mean gap and the mean size over ten minutes. Of the second one its
authors published the recording (`trace405.trace` in `examples/sctp/cmttest4` of github.com/dreibh/inet).
It begins with four writes of 33,296, 17,236, 62,780 and 11,726 bytes within a second, 13.4 % of all
bytes; half of the messages that follow have 45 bytes or less. Here every session begins with four writes
in that proportion, and goes on with exponential gaps and log-normal sizes. The mean of all sizes is the
one printed, and a standard deviation of the logarithm of 1.25 puts the median of the second session at 45
bytes.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

PLACE = Path(__file__).parents[1] / "reproductions" / "yedugundla2016"
LENGTH_S = 600.0
OPENING = [(0.0, 33_296), (0.054638, 17_236), (0.271627, 62_780), (0.976852, 11_726)]
OPENING_SHARE = 0.134
SIGMA = 1.25
LEAST, MOST = 5, 1565
SESSIONS = {1: (0.1814, 142.7), 2: (0.0741, 113.0), 3: (0.1677, 101.7)}


def sizes(count: int, total: int, rng: random.Random) -> list[int]:
    """Log-normal sizes between the smallest and the largest of the recording, with this sum."""
    logs = [SIGMA * rng.gauss(0.0, 1.0) for _ in range(count)]
    low, high = 0.0, math.log(MOST)
    for _ in range(60):
        middle = (low + high) / 2
        drawn = [round(min(max(math.exp(middle + z), LEAST), MOST)) for z in logs]
        low, high = (middle, high) if sum(drawn) < total else (low, middle)
    # Rounding leaves some bytes, which the messages in the middle take one by one.
    rest = total - sum(drawn)
    middling = sorted(range(count), key=lambda i: abs(logs[i]))[: abs(rest)]
    for i in middling:
        drawn[i] += 1 if rest > 0 else -1
    return drawn


def session(number: int) -> str:
    """The lines of a recording."""
    gap, size = SESSIONS[number]
    rng = random.Random(number)  # noqa: S311 - not for secrets
    count = round(LENGTH_S / gap)
    total = round(count * size)
    opening = [(at, round(OPENING_SHARE * total * part / sum(s for _, s in OPENING))) for at, part in OPENING]
    begin = OPENING[-1][0]
    rest = count - len(opening)
    gaps = [rng.expovariate(1.0) for _ in range(rest)]
    stretch = (LENGTH_S - begin) / (sum(gaps) + rng.expovariate(1.0))
    lines, at = [f"{when:.6f} {size} down" for when, size in opening], begin
    for wait, message in zip(gaps, sizes(rest, total - sum(s for _, s in opening), rng), strict=True):
        at += wait * stretch
        lines.append(f"{at:.6f} {message} down")
    about = (
        f"# Session {number} of Yedugundla et al. 2016, made up after its statistics: "
        f"mean gap {1000 * gap:.1f} ms, mean size {size} bytes.\n"
        "# Written by tools/game_traces.py, which says how.\n"
    )
    return about + "\n".join(lines) + "\n"


if __name__ == "__main__":
    for number in SESSIONS:
        (PLACE / f"game-{number}.txt").write_text(session(number), encoding="utf-8")
