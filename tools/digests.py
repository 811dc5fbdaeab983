"""Lists the cases whose results are on record, for `crates/lab/tests/digests.rs`.

    .venv/bin/python tools/digests.py target/cases.jsonl

Every shipped scenario (with time series), and every case of the shipped studies and of the reproductions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ropewalk.reproduce.studies import named
from ropewalk.study import Study

ROOT = Path(__file__).parents[1]


def scenarios() -> list[dict[str, Any]]:
    """The shipped scenarios as they are."""
    paths = sorted(ROOT.glob("scenarios/*.toml"))
    names = [str(path.relative_to(ROOT)) for path in paths]
    return [
        {"case": name, "study": name, "index": 0, "scenario": name, "set": [], "series": True}
        for name in names
    ]


def cases(path: Path, reading: str | None) -> list[dict[str, Any]]:
    """One entry for each combination of levels of a study."""
    plan = Study.load(path, reading=reading).plan
    named = path if reading is None else path.with_stem(f"{path.stem}-{reading}")
    name, scenario = named.relative_to(ROOT), Path(plan.study.scenario).resolve().relative_to(ROOT)
    return [
        {
            "case": f"{name}: {case.name}",
            "study": str(name),
            "index": case.index,
            "scenario": str(scenario),
            "set": case.overrides,
            "series": False,
        }
        for case in plan.cases
    ]


def main() -> None:
    """Writes the list."""
    shipped = [(path, None) for path in sorted(ROOT.glob("studies/*.toml"))]
    reproduced = [study for home in sorted(ROOT.glob("reproductions/*/")) for study in named(home).values()]
    entries = [*scenarios(), *(entry for study in reproduced + shipped for entry in cases(*study))]
    text = "".join(f"{json.dumps(entry, separators=(',', ':'))}\n" for entry in entries)
    Path(sys.argv[1]).write_text(text, encoding="utf-8")
    print(f"{len(entries)} cases")


if __name__ == "__main__":
    main()
