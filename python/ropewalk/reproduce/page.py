"""One HTML file with the verdicts and the figures of a reproduction; it loads nothing else."""

from __future__ import annotations

import base64
import re
from collections import Counter
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from ropewalk.reproduce.verdicts import Verdict, causes_told, counts, readings_told, share_agreeing
from ropewalk.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ropewalk.reproduce.conduct import Reproduced
    from ropewalk.reproduce.figures import Drawing
    from ropewalk.reproduce.verdicts import VerdictRow

COLUMNS = ("claim", "what", "published", "measured", "verdict", "why")
SIGNS = {Verdict.AGREES: "✓", Verdict.DIFFERS: "✗", Verdict.CANNOT: "?"}
NAMES = {Verdict.AGREES: "agrees", Verdict.DIFFERS: "differs", Verdict.CANNOT: "cannot"}
"""For classes and filters."""
LONG = 320
"""Characters of a reason above which it is read in two parts."""
PARTS = {"F": "Figure", "T": "Table", "S": "Section"}
_PART = re.compile(r"^([FTS])(\d\w*)$")
CONTROLS = (
    '<div class="controls"><fieldset><legend>Show</legend>{boxes}</fieldset>'
    '<label>Find <input type="search" id="find"></label>'
    '<button type="button" data-open="true">Open all</button>'
    '<button type="button" data-open="false">Close all</button>'
    '<span id="shown" role="status" class="soft"></span></div>'
)
FIGURES = '<details open id="figures"><summary><h2>Figures ({count})</h2></summary>{shown}</details>'


def page(made: Reproduced, drawings: Sequence[Drawing], figures: Sequence[Path]) -> str:
    """The whole file.

    Args:
        made: what came out.
        drawings: the figures as they were described.
        figures: their files (PNG), in the same order.

    Raises:
        OSError: a figure cannot be read.
    """
    reproduction = made.reproduction
    title = visible(f"{reproduction.name}: {reproduction.title}")
    boxes = "".join(
        f'<label><input type="checkbox" checked data-verdict="{NAMES[verdict]}"> {verdict} ({count})</label>'
        for verdict, count in zip(Verdict, counts(made.rows).values(), strict=True)
    )
    shown = visible("".join(_figure(drawing, path) for drawing, path in zip(drawings, figures, strict=True)))
    parts: dict[str, list[VerdictRow]] = {}
    for row in made.rows:
        parts.setdefault(_part(row), []).append(row)
    groups = visible("".join(_group(part, rows) for part, rows in parts.items()))
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    quick = " Only the claims of the quick part, with few replications." if made.quick else ""
    share = share_agreeing(made.rows)
    agreeing = f"{share:.0%} of the claims that can be checked agree" if share is not None else ""
    told = "; ".join(
        filter(None, (agreeing, readings_told(made.rows, list(made.sources)), causes_told(made.rows)))
    )
    summary = f" {told.capitalize()}." if told else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
        f"<style>{_asset('page.css')}</style></head>\n<body><main>"
        f'<h1>{escape(title)}</h1><p class="soft">{escape(visible(reproduction.source))}</p>'
        f"<p>Measured: means over replications ± the half width of the 95 % interval.{quick}{summary}</p>"
        f"<h2>Claims</h2>{CONTROLS.format(boxes=boxes)}"
        f"<table><thead><tr>{head}</tr></thead>{groups}</table>"
        f"{FIGURES.format(count=len(figures), shown=shown) if shown else ''}</main>"
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def _part(row: VerdictRow) -> str:
    """Figure, table or section of the document: `NAME.F5_1.c2` is of figure 5.1."""
    part = row.id.split(".")[1] if row.id.count(".") > 1 else row.id
    found = _PART.match(part)
    return f"{PARTS[found[1]]} {found[2].replace('_', '.')}" if found else part


def _group(part: str, rows: Sequence[VerdictRow]) -> str:
    """The claims of a part under a button that opens them; without scripts they are open."""
    numbers = Counter(row.verdict for row in rows)
    tally = " ".join(
        f'<span class="{NAMES[verdict]}" title="{verdict}">{SIGNS[verdict]}&nbsp;{numbers[verdict]}</span>'
        for verdict in Verdict
        if numbers[verdict]
    )
    button = f'<button type="button" aria-expanded="true">{escape(part)} {tally}</button>'
    head = f'<tr class="part"><th colspan="{len(COLUMNS)}">{button}</th></tr>'
    return f"<tbody>{head}{''.join(map(_row, rows))}</tbody>"


def _asset(name: str) -> str:
    return (resources.files("ropewalk.reproduce") / name).read_text(encoding="utf-8")


def _row(row: VerdictRow) -> str:
    more = "; ".join(filter(None, (*row.conditions.split(";"), row.locator)))
    unit = f" {row.unit}" if row.unit not in {"", "1", "-"} else ""
    start, rest = _split(row.reason)
    why = [escape(start)]
    if row.cause:
        why.append(f'<span class="more">Cause: {escape(row.cause)}</span>')
    if row.verdict is Verdict.DIFFERS and not row.demonstrated:
        why.append('<span class="more">No cause is demonstrated.</span>')
    if row.expected:
        why.append('<span class="more">The document contradicts itself here: expected to differ.</span>')
    check = f'<span class="more">Checked: <code>{escape(row.check)}</code></span>' if row.check else ""
    if rest or check:
        why.append(f"<details><summary>more</summary>{escape(rest)}{check}</details>")
    cells = (
        f'<td class="id">{escape(row.id.partition(".")[2] or row.id)}</td>'
        f'<td data-of="what">{escape(row.what)}<span class="more">{escape(more)}</span></td>'
        f'<td data-of="published">{escape(row.published + unit)}</td>'
        f'<td data-of="measured">{escape(row.measured or "nothing")}</td>'
        f'<td class="verdict" data-of="verdict">{SIGNS[row.verdict]} {row.verdict}</td>'
        f'<td data-of="why">{"".join(why)}</td>'
    )
    return f'<tr class="{NAMES[row.verdict]}">{cells}</tr>'


def _split(reason: str) -> tuple[str, str]:
    """What is read at once, and the rest of a long reason."""
    if len(reason) <= LONG:
        return reason, ""
    cut = reason.rfind("; ", 0, LONG) + 1 or reason.rfind(" ", 0, LONG)
    return f"{reason[:cut]} …", f"… {reason[cut:].strip()}"


def _figure(drawing: Drawing, path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    title = escape(drawing.title)
    return (
        f'<figure id="{escape(drawing.id)}"><img alt="{title}" src="data:image/png;base64,{data}">'
        f'<figcaption class="soft">{title}. Hollow marks and dashes: published.</figcaption></figure>'
    )
