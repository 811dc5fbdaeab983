"""The limits of a flow, as tables and report show them."""

import re
from pathlib import Path

import pytest

import ropewalk as rw
from conftest import SMALL, Ropewalk
from ropewalk import catalogue
from ropewalk.limits import ALL, limits


def test_every_limit_has_a_name_of_its_own() -> None:
    assert len(catalogue.limits()) == len(set(catalogue.limits().values())) == 9
    assert catalogue.limits()["limited_sndbuf_s"] == "send buffer"
    assert "path" not in catalogue.limits().values()


def test_shares_are_those_of_the_tables(results: rw.Results) -> None:
    found = limits(results)
    assert [(row.flow, row.path) for row in found] == [
        ("upload", ALL),
        ("upload", "a"),
        ("upload", "b"),
        ("upload@a", "a"),
        ("upload@b", "b"),
    ]
    for row in found:
        assert sum(row.shares.values()) == pytest.approx(1.0)
    own = results.flows.filter(results.flows["flow"] == "upload")
    seconds = own.select(list(catalogue.limits())).sum().row(0, named=True)
    share = seconds["limited_cwnd_s"] / sum(seconds.values())
    assert found[0].shares["congestion window"] == pytest.approx(share)


def test_a_small_send_buffer_is_the_limit() -> None:
    small = rw.Scenario.parse(SMALL, "small.toml").set("flow.upload.transport.send_buffer", "8KiB")
    first = limits(small.run(seeds=2))[0]
    assert max(first.shares, key=first.shares.__getitem__) == "send buffer"


def test_a_flow_that_begins_at_the_end_waits_for_its_handshake() -> None:
    late = SMALL.replace("compare_paths = true\n", 'start = "3.9s"\n')
    found = limits(rw.Scenario.parse(late, "small.toml").run(seeds=1))
    assert [max(row.shares, key=row.shares.__getitem__) for row in found] in ([], ["handshake"] * len(found))


def test_terminal_and_report_show_them(ropewalk: Ropewalk, small: Path, tmp_path: Path) -> None:
    told = ropewalk("run", small, "--out", tmp_path).stdout
    table = told[told.index("Limits, % of the time") : told.index("Links")]
    assert re.search(r"^ flow +path +window", table, re.MULTILINE)
    assert re.search(r"^ upload +all +\d", table, re.MULTILINE)
    assert ropewalk("report", tmp_path).returncode == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="limits"') : page.index('<section id="what"')]
    shares = re.findall(r'data-label="congestion window">([\d.]+)<', section)
    assert [float(share) for share in shares] == [
        pytest.approx(100 * row.shares["congestion window"], abs=0.051)
        for row in limits(rw.Results.read(tmp_path))
    ]
