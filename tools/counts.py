"""Records what came out of whole reproductions and writes it into their pages: typed counts go stale.

    .venv/bin/python tools/counts.py results/pedrazzi2020 ...

`reproductions/NAME/counts.json` also has a digest of what decides the verdicts; `tests/test_counts.py`
compares both. Where the simulator or the studies have changed and the reproduction was not run since,
`stale` in that file says of what the figures are, and so does the page; the next record is without it.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->\n"
WIDTH = 140
REFERENCE = "../../reference/reproductions.md"


def digest(name: str) -> str:
    """Of checks, quantities, studies, scenarios and published tables; words may change."""
    directory = ROOT / "reproductions" / name
    told = hashlib.sha256()
    for claim in tomllib.loads((directory / "claims.toml").read_text(encoding="utf-8"))["claim"]:
        told.update(repr([claim.get(key) for key in ("id", "published", "check", "cause_check")]).encode())
    files = {*directory.glob("*.toml"), *directory.glob("published/*")}
    for path in sorted(files - {directory / "claims.toml", directory / "figures.toml"}):
        told.update(f"{path.name}\n".encode() + path.read_bytes())
    return told.hexdigest()[:16]


def counted(verdicts: dict[str, Any]) -> dict[str, Any]:
    """What the page says, of a `verdicts.json`."""
    claims = verdicts["claims"]
    differing = [claim for claim in claims if claim["verdict"] == "differs"]
    readings = [claim["agrees_under"].split(", ") for claim in claims if claim["agrees_under"]]
    alone = sorted({under[0] for under in readings if len(under) == 1})
    return {
        "claims": len(claims),
        **verdicts["counts"],
        "unclear": sum(claim["unclear"] for claim in differing),
        "demonstrated": sum(claim["demonstrated"] for claim in differing),
        "chance": sum(claim["chance"] for claim in differing),
        "not demonstrated": [
            claim["id"].split(".", 1)[1] for claim in differing if not claim["demonstrated"]
        ],
        "only": {profile: readings.count([profile]) for profile in alone},
    }


def sentences(found: dict[str, Any]) -> str:
    """The paragraph of the page."""
    cannot, checked = found["cannot be checked"], found["claims"] - found["cannot be checked"]
    unclear, chance, missing = found["unclear"], found["chance"], found["not demonstrated"]
    said = f"{found['claims']} claims: {checked} can be checked, {found['agrees']} agree "
    said += f"({100 * found['agrees'] / checked:.0f} %), {found['differs']} differ"
    said += f"; {cannot} cannot be checked." if cannot else "."
    if unclear:
        said += f" Of {unclear} that differ [the runs cannot tell]({REFERENCE}#what-the-runs-cannot-tell)."
    said += f" The causes of {found['demonstrated']} are demonstrated"
    said += f", of {chance} as what [may be chance]({REFERENCE}#what-may-be-chance)" if chance else ""
    said += f"; no cause was found for {', '.join(missing)}." if missing else "."
    if found["only"]:
        told = ", ".join(f"{number} {profile}" for profile, number in found["only"].items())
        said += f" Of those that agree some do so under one reading only: {told}."
    if found.get("stale"):
        said += f" **These are figures of {found['stale']}**: the reproduction has not been judged anew."
    return wrapped(said)


def wrapped(text: str) -> str:
    """Lines that are not too long to read in an editor."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= WIDTH:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{word}"
    return "\n".join(lines) + "\n"


def page(name: str) -> Path:
    """Where people read it."""
    return ROOT / "docs/explanation/reproductions" / f"{name}.md"


def main() -> None:
    """For each directory of results."""
    for directory in map(Path, sys.argv[1:]):
        verdicts = json.loads((directory / "verdicts.json").read_text(encoding="utf-8"))
        if verdicts["quick"]:
            sys.exit(f"{directory}: results of --quick; run the whole reproduction")
        name = verdicts["reproduction"]
        found = counted(verdicts)
        record = ROOT / "reproductions" / name / "counts.json"
        record.write_text(json.dumps({"of": digest(name), **found}, indent=1) + "\n", encoding="utf-8")
        text = page(name).read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        page(name).write_text(before + BEGIN + sentences(found) + END + after, encoding="utf-8")
        print(f"{record.relative_to(ROOT)}, {page(name).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
