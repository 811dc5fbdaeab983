"""Results in the forms of other programs."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ropewalk as rw
from conftest import Ropewalk
from ropewalk.export import export
from ropewalk.report.source import ReportError
from ropewalk.results import TABLES
from study_files import FACTORS_START, STUDY, write_study


def unpacked(path: Path) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def test_tables_have_all_rows(ran: Path, results: rw.Results, ropewalk: Ropewalk, tmp_path: Path) -> None:
    for form in ("csv", "parquet"):
        done = ropewalk("export", ran, "--format", form, "--out", tmp_path / form)
        assert done.returncode == 0, done.stderr
        assert {path.name for path in (tmp_path / form).iterdir()} == {f"{name}.{form}" for name in TABLES}
    for name in ("flows", "series"):
        whole = pl.read_parquet(tmp_path / "parquet" / f"{name}.parquet")
        assert whole.rows() == results.tables[name].rows()
        text = pl.read_csv(tmp_path / "csv" / f"{name}.csv", infer_schema_length=None)
        assert text.columns == whole.columns
        assert text.height == whole.height
    assert text["value"].to_list() == whole["value"].to_list()


def test_tables_of_a_study(tmp_path: Path) -> None:
    rw.Study.load(write_study(tmp_path)).run(tmp_path / "out")
    names = {path.name for path in export(tmp_path / "out", "csv")}
    assert {"cases.csv", "estimates.csv", "comparisons.csv", "flows.csv", "delays.csv"} <= names
    delays = pl.read_csv(tmp_path / "out" / "export" / "csv" / "delays.csv")
    assert delays["case"].n_unique() == 4
    with pytest.raises(ReportError, match="no time series of TCP or MPTCP were recorded"):
        export(tmp_path / "out", "flent")


def test_the_form_of_flent(ran: Path, results: rw.Results, tmp_path: Path) -> None:
    """The keys that flent 2.3 reads: its page on the data file format, `unserialise` of its result sets."""
    files = export(shutil.copytree(ran, tmp_path / "out"), "flent")
    assert [path.name for path in files][:2] == ["upload.seed-1.flent.gz", "upload.seed-2.flent.gz"]
    found = unpacked(files[0])
    assert set(found) == {"version", "x_values", "results", "raw_values", "metadata"}
    assert found["version"] == 4
    meta = found["metadata"]
    assert meta["NAME"] == "tcp_nup"
    assert meta["TEST_PARAMETERS"] == {"upload_streams": "2"}
    assert meta["T0"] == meta["TIME"] == "1970-01-01T00:00:00.000000Z"
    assert meta["TITLE"] == "small: upload, seed 1"
    for values in found["results"].values():
        assert len(values) == len(found["x_values"])
    assert np.diff(found["x_values"]).min() > 0
    streams = [found["results"][f"TCP upload::{number}"] for number in (1, 2)]
    total = [sum(value or 0.0 for value in at) for at in zip(*streams, strict=True)]
    assert found["results"]["TCP upload sum"] == pytest.approx(total, abs=1e-6)
    # Mbit/s times seconds is what the flow delivered, in Mbit.
    spans = np.diff(found["x_values"], prepend=0.0)
    goodput = np.array([value or 0.0 for value in found["results"]["Goodput"]])
    delivered = results.flows.filter((pl.col("run") == 1) & (pl.col("flow") == "upload"))["delivered_bytes"][
        0
    ]
    assert float(goodput @ spans) == pytest.approx(delivered * 8 / 1e6, rel=0.01)
    raw = found["raw_values"]["TCP upload::1"]
    assert {"t", "val", "tcp_rtt", "tcp_cwnd"} <= set(raw[-1])
    assert 60 < raw[-1]["tcp_rtt"] < 1000, "milliseconds over a path of 80 ms"


def test_the_same_results_are_the_same_file(ran: Path, tmp_path: Path) -> None:
    one, two = (export(ran, "flent", tmp_path / name) for name in "ab")
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_flent_of_a_study(tmp_path: Path) -> None:
    text = STUDY[:FACTORS_START] + "series = 1\n" + STUDY[FACTORS_START:]
    rw.Study.load(write_study(tmp_path, text)).run(tmp_path / "out")
    names = [path.name for path in export(tmp_path / "out", "flent")]
    assert len(names) == 4
    assert "olia_0.02.upload.seed-1.flent.gz" in names


def test_an_unknown_form(ran: Path, ropewalk: Ropewalk) -> None:
    with pytest.raises(ValueError, match="no form 'xml'; known: csv, parquet, flent"):
        export(ran, "xml")
    assert ropewalk("export", ran, "--format", "xml").returncode == 2
