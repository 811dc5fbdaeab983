"""Edited files of results: the mistake is named, with its place and the cure."""

import contextlib
import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Ropewalk
from ropewalk import provenance
from ropewalk.report import ReportError
from ropewalk.report.source import open_source
from ropewalk.reproduce.counting import to_dicts
from ropewalk.reproduce.verdicts import Verdict, VerdictRow
from ropewalk.study.store import Disappeared
from ropewalk.written import digests, seal

GONE = object()
WRONG: tuple[object, ...] = (GONE, None, True, "x", -1, 1.5, 10**12, [], {}, [1], ["x"])


def places(value: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Places of all values of an object; of a list those of the first and the last."""
    if place:
        yield place
    if isinstance(value, dict):
        for key, one in value.items():
            yield from places(one, (*place, key))
    elif isinstance(value, list):
        for index in {*range(len(value))[:1], *range(len(value))[-1:]}:
            yield from places(value[index], (*place, index))


def edited(text: str, only: tuple[str, ...] = ()) -> Iterator[tuple[str, bytes]]:
    """The edit and the file after it, with a checksum that fits."""
    whole = json.loads(text)
    del whole["sha256"]
    files = whole.pop("files", {})
    for *above, last in places(whole):
        if only and [*above, last][0] not in only:
            continue
        for wrong in WRONG:
            found = copy.deepcopy(whole)
            parent = found
            for key in above:
                parent = parent[key]
            if wrong is GONE:
                del parent[last]
            else:
                parent[last] = wrong
            yield f"{above} {last}: {wrong!r}", seal({**found, "files": files}, indent=1)


def refusals(file: Path, only: tuple[str, ...] = ()) -> str:
    """The message for each refused file; any other exception is a bug."""
    text = file.read_text(encoding="utf-8")
    said = []
    for what, other in edited(text, only):
        file.write_bytes(other)
        # A run or a figure of another name is a file that is not there.
        with contextlib.suppress(FileNotFoundError, IsADirectoryError, Disappeared):
            try:
                open_source(file.parent)
            except ReportError as error:
                said.append((what, str(error)))
    file.write_text(text, encoding="utf-8")
    for what, message in said:
        assert f"{file}: " in message, what
        assert "\n  fix: " in message, what
    return "\n".join(message for _, message in said)


def rewrite(file: Path, old: str, new: str) -> None:
    """Replaces a text once and makes the checksum fit."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    found = json.loads(text.replace(old, new, 1))
    del found["sha256"]
    file.write_bytes(seal(found, indent=1))


def test_the_list_of_a_study(studied: Path, ropewalk: Ropewalk, tmp_path: Path) -> None:
    shutil.copytree(studied, tmp_path / "out")
    (tmp_path / "out" / provenance.FILE).unlink()
    file = tmp_path / "out" / "study.json"
    said = refusals(file)
    for part in (
        'cases[0].replications: found "x", allowed is a whole number',
        "cases[3] has no key",
        "cases[0].replications: found -1, allowed are 1 to 1000000",
        "baseline: found [], allowed is an object or null",
        "metrics[0]: ",
        "treatment.test: found 'x', allowed is t or wilcoxon",
        "has no baseline among them",
    ):
        assert part in said
    rewrite(file, '"replications": 3', '"replications": "3"')
    done = ropewalk("report", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.endswith(
        f'{file}: cases[0].replications: found "3", allowed is a whole number\n  fix: run it again\n'
    )


def test_the_summary_of_a_run(ran: Path, tmp_path: Path) -> None:
    shutil.copytree(ran, tmp_path / "out")
    said = refusals(tmp_path / "out" / "summary.json", ("seeds", "model_version", "events", "cpu_s"))
    assert "seeds: not those of runs.parquet" in said


def test_the_verdicts_of_a_reproduction(tmp_path: Path) -> None:
    row = VerdictRow("X-1", "delay", "360.6", "s", "412 ± 8 s", Verdict.AGREES, "allowed 306 to 415 s")
    found = {"form": 2, "reproduction": "omueti2007", "title": "Title", "source": "Authors", "quick": True}
    found |= {"version": "0.1.0", "model_version": 1, "studies": ["rates"], "counts": {"agrees": 1}}
    reading = {"name": "", "says": "", "agrees": 1, "calibrated": 0, "checked": 1}
    root = {"name": "r", "title": "a root", "value": "", "cause": "unknown"}
    found |= {"readings": [reading], "roots": [root], "unexplained": ["X-2"], "claims": to_dicts([row])}
    found["figures"] = [{"id": "2", "title": "Figure 2", "file": "2.png"}]
    picture = b"\x89PNG picture"
    (tmp_path / "2.png").write_bytes(picture)
    found["files"] = digests({"2.png": picture})
    file = tmp_path / "verdicts.json"
    file.write_bytes(seal(found, indent=1))
    assert len(open_source(tmp_path).table.rows) == 1
    said = refusals(file)
    assert f"{file}: claims[0].verdict: found -1, allowed is a text\n  fix: reproduce it again" in said
    assert f"{file}: claims[0] has no measured\n" in said


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '"x"', "{", "\ud800"])
def test_what_is_no_json(text: str, ran: Path, tmp_path: Path) -> None:
    shutil.copytree(ran, tmp_path / "out")
    for name in ("study.json", "verdicts.json", "summary.json", "provenance.json"):
        file = tmp_path / "out" / name
        before = file.read_bytes() if file.exists() else None
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(ReportError, match=f"{file}: "):
            open_source(tmp_path / "out")
        file.unlink() if before is None else file.write_bytes(before)
