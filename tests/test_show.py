"""`ropewalk show`, `schema`, `list`, `doctor`, `--version`."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import ROOT, Ropewalk, scenario_files
from ropewalk.cli.doctor import LIBRARIES
from ropewalk.reproduce.model import Kind
from ropewalk.results import TABLES


def test_shown_scenario_gives_the_same_bytes(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    shown = ropewalk("show", small, "--set", "flow.upload.transport.congestion=newreno")
    assert shown.returncode == 0
    expanded = tmp_path / "expanded.toml"
    expanded.write_text(shown.stdout, encoding="utf-8")
    override = ("--set", "flow.upload.transport.congestion=newreno")
    assert ropewalk("run", small, *override, "--out", tmp_path / "1").returncode == 0
    assert ropewalk("run", expanded, "--out", tmp_path / "2").returncode == 0
    for name in [*(f"{table}.parquet" for table in TABLES), "scenario.toml"]:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


@pytest.mark.parametrize("path", scenario_files(), ids=lambda path: path.stem)
def test_shown_scenarios_show_themselves(path: Path) -> None:
    shown = rw.Scenario.load(path).show()
    # Files that it names lie beside it.
    assert rw.Scenario.parse(shown, str(path)).show() == shown


def test_schema_is_a_json_schema(ropewalk: Ropewalk) -> None:
    done = ropewalk("schema")
    assert done.returncode == 0
    schema = json.loads(done.stdout)
    assert "json-schema.org" in schema["$schema"]
    assert {"duration", "path", "flow", "event"} <= set(schema["properties"])


def test_every_kind_of_file_has_a_schema(ropewalk: Ropewalk) -> None:
    for kind, key in (
        ("study", "vary"),
        ("reproduction", "title"),
        ("claims", "claim"),
        ("figures", "figure"),
    ):
        assert key in json.loads(ropewalk("schema", kind).stdout)["properties"], kind
    assert "study" in ropewalk("schema", "quantities").stdout
    claim = json.loads(ropewalk("schema", "claims").stdout)["$defs"]["claim"]
    assert claim["properties"]["kind"]["enum"] == list(Kind)
    assert ropewalk("schema", "stories").returncode == 2


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("congestion", "lia"),
        ("schedulers", "minrtt"),
        ("path-managers", "fullmesh"),
        ("rates", "markov"),
        ("delays", "pareto"),
        ("queues", "fq_codel"),
        ("loss", "packet"),
        ("apps", "bulk"),
        ("profiles", "opnet2007"),
    ],
)
def test_lists(ropewalk: Ropewalk, kind: str, member: str) -> None:
    done = ropewalk("list", kind)
    assert done.returncode == 0
    assert member in done.stdout
    entries = json.loads(ropewalk("list", kind, "--json").stdout)
    assert member in [entry["name"] for entry in entries]
    assert all(entry["summary"] for entry in entries)


def test_options_of_a_list_are_a_table(ropewalk: Ropewalk) -> None:
    shown = ropewalk("list", "queues").stdout
    assert re.search(r"^option +meaning +value +default", shown, re.MULTILINE)
    assert re.search(r"^codel\.target +wait that .* +a duration such as \"275ms\" +5ms", shown, re.MULTILINE)


def test_version(ropewalk: Ropewalk) -> None:
    done = ropewalk("--version")
    assert done.stdout == f"ropewalk {rw.__version__}, model version {rw.MODEL_VERSION}\n"


def test_doctor_is_content(ropewalk: Ropewalk) -> None:
    done = ropewalk("doctor")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("ok ") == 9
    assert re.search(r"^ok   ropewalk: .* (ordinary|guided by a profile|unoptimised) build, ", done.stdout)
    assert "FAIL" not in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="runs on the kernel need them there alone")
def test_doctor_names_the_programs_that_runs_on_the_kernel_start(
    ropewalk: Ropewalk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each missing one with its package and what needs it; the others are there."""
    needed = {
        "ip": "iproute2",
        "tc": "iproute2",
        "ss": "iproute2",
        "unshare": "util-linux",
        "setpriv": "util-linux",
    }
    for name in needed:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    told = ropewalk("doctor").stdout
    assert (
        "programs: ip, tc, ss, unshare, setpriv are there; mptcpize is not (Debian: package mptcpize)" in told
    )
    assert "mptcpize); commands as applications over MPTCP need it\n" in told
    for name, package in needed.items():
        (tmp_path / name).rename(tmp_path / "mptcpize")
        told = ropewalk("doctor").stdout
        assert f"; {name} is not (Debian: package {package}); " in told
        assert "mptcpize is" not in told
        (tmp_path / "mptcpize").rename(tmp_path / name)


def test_doctor_looks_for_all_that_is_needed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {re.split("[<>=]", need)[0] for need in project["dependencies"]} == set(LIBRARIES)


def test_help_is_quick_because_it_loads_nothing_heavy() -> None:
    heavy = ("polars", "numpy", "scipy", "matplotlib")
    program = f"import sys, ropewalk.cli.app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
