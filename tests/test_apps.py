"""Applications as a user meets them: tables on the terminal, in Python and on disk."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import ropewalk as rw
from conftest import Ropewalk

BROWSING = """\
name = "browsing"
duration = "60s"
seeds = 2

[[path]]
name = "a"
both = { rate = "8Mbit/s", delay = "30ms", queue = "100p" }

[[path]]
name = "b"
like = "a"

[[flow]]
name = "web"
from = "server"
to = "terminal"
app = { kind = "http", page = "wikipedia", pages = 3, interval = "5s" }
transport = { kind = "mptcp" }

[[flow]]
name = "call"
count = 2
from = "server"
to = "terminal"
app = { kind = "video", duration = "10s" }
transport = { kind = "udp" }
spread = "5s"
"""


@pytest.fixture(scope="module")
def browsing() -> rw.Results:
    """Pages over two paths and two calls beside them."""
    return rw.Scenario.parse(BROWSING, "browsing.toml").run()


def test_the_terminal_shows_messages_and_pages(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "browsing.toml"
    file.write_text(BROWSING, encoding="utf-8")
    done = ropewalk("run", file)
    assert done.returncode == 0, done.stderr
    for word in [
        "Messages",
        "Pages",
        "wikipedia",
        "call1",
        "call2",
        "frame",
        "object",
        "late or",
        "load time",
    ]:
        assert word in done.stdout, word
    # The first of several connections has a number, too.
    assert re.search(r"^ web +0 +0 +a +", done.stdout, re.MULTILINE)
    summary = json.loads(ropewalk("run", file, "--json").stdout)
    [page] = summary["pages"]
    assert (page["flow"], page["name"], page["pages"], page["complete"]) == ("web", "wikipedia", 6, 6)
    assert 0.12 < page["load_time_s"]["mean"] < 2
    assert {(one["flow"], one["what"]) for one in summary["measures"]} == {
        ("web", "object"),
        ("call1", "frame"),
        ("call2", "frame"),
    }


def test_tables_agree_with_each_other(browsing: rw.Results) -> None:
    web = browsing.messages.filter((pl.col("flow") == "web") & (pl.col("run") == 1))
    assert web.height == 3 * 15
    pages = browsing.pages.filter(pl.col("run") == 1)
    assert pages["size_bytes"].to_list() == [72 * 1024] * 3
    assert pages["end_s"].to_list() == [
        web.filter((pl.col("start_s") >= start) & (pl.col("start_s") < start + 5))["end_s"].max()
        for start in pages["start_s"]
    ]
    row = browsing.measures.filter((pl.col("flow") == "web") & (pl.col("run") == 1)).row(0, named=True)
    assert row["sent"] == row["delivered"] == 45
    assert row["delay_mean_s"] == pytest.approx(web["delay_s"].mean())
    assert row["jitter_s"] == pytest.approx(web["delay_s"].diff().abs().mean())
    calls = browsing.measures.filter(pl.col("what") == "frame")
    assert calls["sent"].to_list() == [300] * 4
    starts = browsing.flows.filter(pl.col("flow").cast(pl.String).str.starts_with("call"))["start_s"]
    assert starts.n_unique() == 4
    assert starts.is_between(0, 5).all()


def test_fairness_and_shares(browsing: rw.Results) -> None:
    jain = browsing.jain(["call1", "call2"])
    assert list(jain) == [1, 2]
    assert all(0.99 < index <= 1 for index in jain.values())
    with pytest.raises(ValueError, match="call3"):
        browsing.jain(["call3"])
    shares = browsing.shares().filter((pl.col("flow") == "web") & (pl.col("run") == 1))
    assert set(shares["path"]) == {"a", "b"}
    assert shares["share"].sum() == pytest.approx(1)


def test_of_nothing_there_is_no_share(browsing: rw.Results) -> None:
    scenario = browsing.origin.scenario
    for path in ("a", "b"):
        scenario = scenario.set(f"path.{path}.both.loss", {"kind": "packet", "probability": 1})
    results = scenario.run(seeds=1, series=False)
    assert results.jain() == {}
    assert set(results.shares()["share"]) == {None}


def test_results_survive_the_disk(browsing: rw.Results, tmp_path: Path) -> None:
    browsing.write(tmp_path)
    again = rw.Results.read(tmp_path)
    assert again.pages.equals(browsing.pages)
    assert again.measures.equals(browsing.measures)
    assert again.summary() == browsing.summary()
