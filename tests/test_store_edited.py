"""The store: records that were edited, with checksums that fit, are not taken for results."""

import io
import itertools
import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ropewalk as rw
from ropewalk import _core
from ropewalk.study import address, stored
from ropewalk.study.record import Damaged, unpack
from ropewalk.study.results import SMALL_TABLES
from study_files import write_study
from test_damage import FLIPS, SEED


def rewritten(victim: Path, change: Callable[[dict[str, Any]], object], *, fitting: bool) -> Path:
    """Writes another first line with its checksum; `fitting`: under the name of the new content, too."""
    line, _, body = victim.read_bytes().partition(b"\n")
    found = json.loads(line.partition(b" ")[2])
    text = json.dumps(change(found) or found).encode()
    content = b"%b %b\n%b" % (sha256(text).hexdigest().encode(), text, body)
    victim.unlink()
    name = f"{sha256(content).hexdigest()}.record" if fitting else victim.name
    place = victim.with_name(name)
    place.write_bytes(content)
    return place


def renumbered(found: dict[str, Any]) -> None:
    found["pieces"][0][1] = [seed + 100 for seed in found["pieces"][0][1]]


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no sizes": (lambda found: found.pop("sizes") and None, "has model_version, pieces, allowed are"),
    "one member more": (
        lambda found: found.update(more=1),
        "has model_version, pieces, sizes, more, allowed",
    ),
    "a list": (lambda found: [found], "the first line has list"),
    "pieces of nothing": (lambda found: found.update(pieces=3), "pieces: allowed is a list"),
    "a piece of texts": (lambda found: found.update(pieces=[["a", "b"]]), r"pieces\[0\]: allowed are a key"),
    "seeds of texts": (
        lambda found: found["pieces"][0].__setitem__(1, ["1"]),
        r"pieces\[0\]: allowed are a key, a list of seeds, and true or false",
    ),
    "huge sizes": (lambda found: found["sizes"].update(flows=10**30), "bytes of tables, the first line says"),
    "sizes exchanged": (lambda found: swap(found["sizes"]), "table "),
    "negative sizes": (lambda found: found["sizes"].update(flows=-1), "sizes: allowed are bytes by table"),
    "another model": (
        lambda found: found.update(model_version=99),
        "is not the key of its scenario and model",
    ),
    "a model of letters": (
        lambda found: found.update(model_version="1"),
        "model_version: found '1', allowed",
    ),
    "another scenario": (
        lambda found: found["pieces"][0].__setitem__(0, "0" * 32),
        "0{32} is not the key of its scenario and model version",
    ),
}


def swap(sizes: dict[str, int]) -> None:
    sizes["flows"], sizes["scenarios"] = sizes["scenarios"], sizes["flows"]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_first_line_is_refused_though_its_checksums_fit(tmp_path: Path, edit: str) -> None:
    study = rw.Study.load(write_study(tmp_path))
    study.run(tmp_path / "out", jobs=1)
    change, reason = EDITS[edit]
    victim = max((tmp_path / "out" / "store").glob("*.record"), key=lambda path: path.stat().st_size)
    place = rewritten(victim, change, fitting=True)
    with pytest.raises(Damaged, match=rf"{place.name}: damaged: .*{reason}.*\n  fix: run the study again"):
        unpack(place, {"flows"})
    ran = study.run(tmp_path / "again", store=tmp_path / "out" / "store", jobs=1)
    assert [text.partition(":")[0] for text in ran.damaged] == [str(place)]
    assert ran.conducted.computed > 0
    assert ran.results.summary() == rw.StudyResults.read(tmp_path / "again").summary()


def test_edited_figures_are_refused_though_all_else_fits(tmp_path: Path) -> None:
    """A forged record: the first line stays, a table gets other numbers."""
    study = rw.Study.load(write_study(tmp_path))
    before = study.run(tmp_path / "out", jobs=1).results.summary()
    victim = max((tmp_path / "out" / "store").glob("*.record"), key=lambda path: path.stat().st_size)
    head, tables = unpack(victim, {"flows"})
    better = tables["flows"].with_columns(goodput_bit_s=pl.lit(123456789.0))
    stream = io.BytesIO()
    better.write_ipc_stream(stream, compression="uncompressed")
    content = victim.read_bytes()
    start = content.find(b"\n") + 1
    at = start + sum(itertools.takewhile(lambda size: size != head.sizes["flows"], head.sizes.values()))
    body = content[start:at] + stream.getvalue() + content[at + head.sizes["flows"] :]
    victim.write_bytes(content[:start] + body)
    place = rewritten(
        victim, lambda found: found["sizes"].update(flows=len(stream.getvalue())), fitting=False
    )
    ran = study.run(tmp_path / "out", jobs=1)
    assert ran.damaged == [
        f"{place}: damaged: edited, cut or renamed: the name is not the SHA-256 of the content"
    ]
    assert ran.results.summary() == before


def test_any_flip_and_any_cut_is_noticed(tmp_path: Path) -> None:
    study = rw.Study.load(write_study(tmp_path))
    study.run(tmp_path / "out", jobs=1)
    tables = {*SMALL_TABLES, "scenarios"}
    for record in sorted((tmp_path / "out" / "store").glob("*.record")):
        content = record.read_bytes()
        for flip in range(FLIPS):
            where = f"{SEED} {flip}"
            chance = random.Random(where)
            bad = bytearray(content)
            bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
            record.write_bytes(bad if chance.random() < 0.7 else content[: chance.randrange(len(content))])
            with pytest.raises(Damaged, match=r"damaged: ") as told:
                unpack(record, tables)
            assert record.name in str(told.value), where
        record.write_bytes(content)
        unpack(record, tables)


def test_a_renamed_file_is_refused(tmp_path: Path) -> None:
    study = rw.Study.load(write_study(tmp_path))
    study.run(tmp_path / "out", jobs=1)
    first, second = sorted((tmp_path / "out" / "store").glob("*.record"))[:2]
    second.write_bytes(first.read_bytes())
    with pytest.raises(Damaged, match="edited, cut or renamed"):
        unpack(second, ())


def test_runs_of_another_model_version_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of the other version stay in the store; the same runs are computed again."""
    path, store = write_study(tmp_path), tmp_path / "out" / "store"
    rw.Study.load(path).run(tmp_path / "out", jobs=1)
    assert stored(rw.Study.load(path), store) == [3, 3, 3, 3]
    monkeypatch.setattr(address.key_of, "__defaults__", (_core.MODEL_VERSION + 1,))
    assert stored(rw.Study.load(path), store) == [0, 0, 0, 0]
