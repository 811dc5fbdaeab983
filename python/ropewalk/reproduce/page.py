"""One HTML file with the verdicts and the figures of a reproduction; it loads nothing else."""

from __future__ import annotations

import base64
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from ropewalk.reproduce.verdicts import Verdict, causes_told, counts, readings_told, share_agreeing

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
    title = f"{reproduction.name}: {reproduction.title}"
    boxes = "".join(
        f'<label><input type="checkbox" checked data-verdict="{NAMES[verdict]}"> {verdict} ({count})</label>'
        for verdict, count in zip(Verdict, counts(made.rows).values(), strict=True)
    )
    shown = "".join(_figure(drawing, path) for drawing, path in zip(drawings, figures, strict=True))
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
        f'<h1>{escape(title)}</h1><p class="soft">{escape(reproduction.source)}</p>'
        f"<p>Measured: means over replications ± the half width of the 95 % interval.{quick}{summary}</p>"
        f"<h2>Claims</h2><fieldset><legend>Show</legend>{boxes}</fieldset>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(map(_row, made.rows))}</tbody></table>"
        f"{'<h2>Figures</h2>' if shown else ''}{shown}</main>"
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return (resources.files("ropewalk.reproduce") / name).read_text(encoding="utf-8")


def _row(row: VerdictRow) -> str:
    more = "; ".join(filter(None, (*row.conditions.split(";"), row.locator)))
    unit = f" {row.unit}" if row.unit not in {"", "1", "-"} else ""
    why = [escape(row.reason)]
    if row.cause:
        why.append(f'<span class="more">Cause: {escape(row.cause)}</span>')
    if row.verdict is Verdict.DIFFERS and not row.demonstrated:
        why.append('<span class="more">No cause is demonstrated.</span>')
    if row.expected:
        why.append('<span class="more">The document contradicts itself here: expected to differ.</span>')
    if row.check:
        why.append(f'<span class="more">Checked: <code>{escape(row.check)}</code></span>')
    cells = (
        f'<td class="id">{escape(row.id.partition(".")[2] or row.id)}</td>'
        f'<td data-of="what">{escape(row.what)}<span class="more">{escape(more)}</span></td>'
        f'<td data-of="published">{escape(row.published + unit)}</td>'
        f'<td data-of="measured">{escape(row.measured or "nothing")}</td>'
        f'<td class="verdict" data-of="verdict">{SIGNS[row.verdict]} {row.verdict}</td>'
        f'<td data-of="why">{"".join(why)}</td>'
    )
    return f'<tr class="{NAMES[row.verdict]}">{cells}</tr>'


def _figure(drawing: Drawing, path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    title = escape(drawing.title)
    return (
        f'<figure id="{escape(drawing.id)}"><img alt="{title}" src="data:image/png;base64,{data}">'
        f'<figcaption class="soft">{title}. Hollow marks and dashes: published.</figcaption></figure>'
    )
