"""Records the verdicts of whole reproductions, and writes their counts into pages and README.

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

import page_numbers
import page_tables
from ropewalk.reproduce.studies import named
from ropewalk.study.file import load
from ropewalk.study.plan import plan

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FILES = ("quantities", "reproduction")
"""Files of which every byte may decide."""
BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->\n"
WIDTH = 140
REFERENCE = "../../reference/reproductions.md"
CALIBRATED, SET_UP, OTHERWISE = "agrees by calibration", "set up as published", "set up otherwise"
DIFFERENT = {
    "differs, explained": "differ and are explained",
    "differs, fitted": "differ and come out with a fitted value",
    "within chance": f"are [within chance]({REFERENCE}#what-may-be-chance)",
    "cannot be carried by the published figures": "cannot be carried by the published figures",
    "differs, unexplained": "differ unexplained",
}


def digest(name: str) -> str:
    """Digest of checks, quantities, published tables and the cases of all studies.

    Words may change, and files of studies that say the same otherwise.
    """
    directory = ROOT / "reproductions" / name
    told = hashlib.sha256()
    claims = tomllib.loads((directory / "claims.toml").read_text(encoding="utf-8"))
    kinds = {root["name"]: root.get("kind") for root in claims.get("root", [])}
    for claim in claims["claim"]:
        decisive = [claim.get(key) for key in ("id", "published", "check", "cause_check", "root")]
        kind = claim.get("kind", kinds.get(claim.get("root")))
        told.update(repr([*decisive, kind, sorted(claim.get("calibrated", ""))]).encode())
    for path in (*(directory / f"{one}.toml" for one in FILES), *sorted(directory.glob("published/*"))):
        told.update(f"{path.name}\n".encode() + path.read_bytes())
    for study, (path, reading) in sorted(named(directory).items()):
        planned = plan(load(path, reading))
        told.update(repr((study, planned.stopping, planned.series)).encode())
        told.update(repr([(case.name, case.key) for case in planned.cases]).encode())
    return told.hexdigest()[:16]


def counted(verdicts: dict[str, Any]) -> dict[str, Any]:
    """The text of the page for a `verdicts.json`."""
    claims = verdicts["claims"]
    return {
        "model_version": verdicts["model_version"],
        "claims": len(claims),
        "checked": verdicts["checked"],
        "readings": {
            reading["name"]: {key: reading[key] for key in ("agrees", "calibrated", "apart")}
            for reading in verdicts["readings"]
        },
        "verdicts": verdicts["counts"],
        "unclear": sum(claim["unclear"] for claim in claims),
        "unexplained": [claim.split(".", 1)[1] for claim in verdicts["unexplained"]],
    }


def sentences(found: dict[str, Any]) -> str:
    """The paragraph of the page: readings first, what agrees under one or another of them last."""
    if "before" in found:
        # A record of before the verdicts had their kinds: no run since then can say more.
        return wrapped(f"{found['before']} **These are figures of {found['stale']}.**")
    checked, verdicts = found["checked"], found["verdicts"]
    said = "; ".join(
        f"**{name}{_apart(reading)}: {reading['agrees']} of {checked} agree**" + _more(reading["calibrated"])
        for name, reading in found["readings"].items()
    )
    union = verdicts["agrees"]
    said += f". Under one reading or another {union} of {checked} agree{_more(verdicts[CALIBRATED])}."
    different = [f"{verdicts[verdict]} {words}" for verdict, words in DIFFERENT.items() if verdicts[verdict]]
    said += f" The others: {', '.join(different)}." if different else ""
    if found["unclear"]:
        said += f" Of {found['unclear']} [the runs cannot tell]({REFERENCE}#what-the-runs-cannot-tell)."
    set_up = verdicts[SET_UP] + verdicts[OTHERWISE]
    said += f" Set up as published, and not counted: {verdicts[SET_UP]} of {set_up}."
    if cannot := verdicts["cannot be checked"]:
        said += f" {cannot} of the {found['claims']} claims cannot be checked."
    if found["unexplained"]:
        said += f" Unexplained: {', '.join(found['unexplained'])}."
    if found.get("stale"):
        said += f" **These are figures of {found['stale']}**: the reproduction has not been judged anew."
    return wrapped(said)


def _apart(reading: dict[str, Any]) -> str:
    return " (counted apart)" if reading.get("apart") else ""


def _more(number: int) -> str:
    return f", {number} more by calibration" if number else ""


def wrapped(text: str) -> str:
    """Lines that are not too long to read in an editor."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= WIDTH:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{word}"
    return "\n".join(lines) + "\n"


def table() -> str:
    """The table of the README: readings first, what agrees under one or another of them last."""
    lines = [
        "| Document | Claims that can be checked | Agree under | Under one or another |",
        "|---|---|---|---|",
    ]
    for path in sorted((ROOT / "reproductions").glob("*/counts.json")):
        found, name = json.loads(path.read_text(encoding="utf-8")), path.parent.name
        readings = "; ".join(
            f"`{reading}`: {one['agrees']}{_more(one['calibrated'])}"
            for reading, one in found["readings"].items()
            if not one.get("apart")
        )
        if apart := sum(bool(one.get("apart")) for one in found["readings"].values()):
            readings += f"; {apart} more counted apart"
        union = f"{found['verdicts']['agrees']}{_more(found['verdicts'][CALIBRATED])}"
        place = page(name).relative_to(ROOT)
        lines.append(f"| [{name}]({place}) | {found['checked']} | {readings} | {union} |")
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
        text = page(name).read_text(encoding="utf-8")
        told = page_numbers.computed(name, directory, text)
        before, rest = text.split(BEGIN)
        text = before + BEGIN + sentences(found) + END + rest.split(END)[1]
        text = page_numbers.rewritten(text, lambda number: told[number.key])  # noqa: B023
        found["numbers"] = told
        text = page_numbers.with_tables(name, directory, text)
        if tables := page_tables.digests(text):
            found["tables"] = tables
        record = ROOT / "reproductions" / name / "counts.json"
        record.write_text(
            json.dumps({"of": digest(name), **found}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        page(name).write_text(text, encoding="utf-8")
        print(f"{record.relative_to(ROOT)}, {page(name).relative_to(ROOT)}")
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + table() + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
