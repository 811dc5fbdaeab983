"""Back ends as a user meets them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import ropewalk as rw
from conftest import ROOT
from ropewalk import _core, backends

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

CHAIN = ROOT / "validation" / "scenarios" / "chain.toml"


def test_the_simulator_is_the_default_and_measures_everything() -> None:
    assert backends.names() == ["simulator", "ns3", "usrsctp", "linux"]
    first = backends.all_backends()[0]
    assert first["name"] == backends.default()
    tables = {table["name"]: table["columns"] for table in json.loads(_core.metrics())["tables"]}
    for table, columns in first["measured"].items():
        if table != "series":
            assert columns == [column["name"] for column in tables[table] if not column["key"]], table


def test_what_ns3_cannot_run_is_wrong_input_with_place_and_cure(ropewalk: Ropewalk) -> None:
    done = ropewalk("run", ROOT / "scenarios" / "two-geo-beams.toml", "--backend", "ns3")
    assert done.returncode == 2
    assert done.stdout == ""
    assert (
        'flow.upload.transport.kind: found "mptcp", which ns3 cannot run; allowed: "tcp" [E023]'
        in done.stderr
    )
    assert "or use the back end simulator" in done.stderr
    assert ropewalk("run", CHAIN, "--backend", "ns3", "--trace").returncode == 2
    assert ropewalk("run", CHAIN, "--backend", "kernel").returncode == 2


def test_a_run_on_ns3_or_the_command_that_installs_it(
    ropewalk: Ropewalk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if _core.ns3_version() is None:
        done = ropewalk("run", CHAIN, "--backend", "ns3")
        assert done.returncode == 1
        assert "ns-3 is not installed\n  fix: on Debian 12" in done.stderr
        return
    # Where the comparison keeps its program, so that it is built once.
    monkeypatch.setattr(backends, "folder", lambda: ROOT / "results" / "validation")
    scenario = rw.Scenario.load(CHAIN).set("duration", "4s")
    results = scenario.run([1, 2], backend="ns3")
    results.write(tmp_path)
    read = rw.Results.read(tmp_path)
    assert read.origin.backend == "ns3"
    assert all(delivered > 10_000 for delivered in read.flows["delivered_bytes"].to_list())
    assert read.flows["timeouts"].null_count() == 2
    assert read.runs["events"].null_count() == 2
    assert read.links.height == read.subflows.height == 0
    assert read.totals.events is None


def test_an_unknown_back_end_is_named() -> None:
    with pytest.raises(ValueError, match="there is no back end kernel; back ends: simulator, ns3"):
        rw.Scenario.load(CHAIN).run(1, backend="kernel")
