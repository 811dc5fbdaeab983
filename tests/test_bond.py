"""`ropewalk bond` and `ropewalk init`: from one line per path to figures and to a file."""

from __future__ import annotations

import json
import shlex
import tomllib
from typing import TYPE_CHECKING

import pytest

from ropewalk import Scenario
from ropewalk.bonding import BondedPath, Bonding, PathError, parse_path
from ropewalk.statistics import Estimate
from ropewalk.worth import Alone, Verdict, Worth, told, verdict
from terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

LTE = "lte,20Mbit/s,30ms"
GEO = "geo,20Mbit/s,280ms,0.5%"
OPERATOR = ["--path", LTE, "--path", GEO, "--receive-buffer", "512KiB"]
SHORT = ["--path", "a,4Mbit/s,10ms", "--path", "b,2Mbit/s,40ms", "--duration", "3s", "--seeds", "2"]


def test_a_path_is_read_by_units_in_any_order() -> None:
    assert parse_path(GEO, 1) == BondedPath("geo", "20Mbit/s", "20Mbit/s", "280ms", "0.5%")
    assert parse_path("280ms, 0.5% ,20Mbit/s,geo", 1) == parse_path(GEO, 1)
    assert parse_path("rtt=61ms,down=20Mbit/s,up=5Mbit/s,64KiB", 3) == BondedPath(
        "path3", "20Mbit/s", "5Mbit/s", "30.5ms", None, "64KiB"
    )
    assert parse_path("20Mbit/s,up=5Mbit/s,30ms", 1, "80p").queue == "80p"


@pytest.mark.parametrize(
    ("text", "found", "fix"),
    [
        ("20Mbps,30ms", '"20Mbps" with the unknown unit "Mbps"', 'did you mean "20Mbit/s"'),
        ("20,30ms", '"20" has no unit', "20Mbit/s"),
        ("20Mbit/s", "no delay", "one way"),
        ("lte,30ms", "no rate", "RATE,DELAY"),
        ("20Mbit/s,5Mbit/s,30ms", '"5Mbit/s" is a second rate', "up=5Mbit/s"),
        ("20Mbit/s,30ms,rtt=60ms", "both a delay and an rtt", "half"),
        ("20Mbit/s,30ms,dealy=3ms", '"dealy" is no key', "delay"),
        ("20Mbit/s,30ms,loss=3ms", '"3ms" is no loss', "delay"),
        ("20Mbit/s,30ms,name=1x", '"1x" is no name', "letter"),
        ("-20Mbit/s,30ms", '"-20Mbit/s"', "from 0 on"),
        ("1e999Mbit/s,30ms", '"1e999Mbit/s"', "from 0 on"),
        ("20Mbit/s,30ms,#", '"#" is neither', "RATE,DELAY"),
        ("rate=1Mbit/s,down=2Mbit/s,up=3Mbit/s,1ms", "a rate beside both", "leave the rate out"),
    ],
)
def test_a_mistake_in_a_path_has_its_cure(ropewalk: Ropewalk, text: str, found: str, fix: str) -> None:
    with pytest.raises(PathError) as caught:
        parse_path(text, 1)
    assert found in str(caught.value)
    assert fix in str(caught.value).split("\n  fix: ")[1]
    if "Mbps" in text:
        done = ropewalk("bond", "--path", text)
        assert done.returncode == 2
        assert found in done.stderr
        assert "Traceback" not in done.stderr


def test_a_queue_holds_a_product_of_bandwidth_and_delay() -> None:
    path = parse_path(GEO, 1)
    # 20 Mbit/s * 0.56 s / 12 kbit = 933.
    assert path.queue_of("20Mbit/s") == "940p"
    assert path.queue_of("64kbit/s") == "50p"


def test_one_path_and_one_name_twice_are_refused(ropewalk: Ropewalk) -> None:
    for paths, said in ((["--path", LTE], "1 path"), (["--path", LTE, "--path", LTE], 'the name "lte"')):
        done = ropewalk("bond", *paths)
        assert done.returncode == 2
        assert said in done.stderr
        assert "fix: " in done.stderr
    done = ropewalk("bond", *OPERATOR, "--size", "100Mb")
    assert (done.returncode, '--size 100Mb: found "100Mb"' in done.stderr) == (2, True)


def test_what_a_scenario_refuses_is_told(ropewalk: Ropewalk) -> None:
    done = ropewalk("bond", *OPERATOR, "--scheduler", "minrt")
    assert done.returncode == 2
    assert "--scheduler minrt: " in done.stderr
    assert "the scenario of these paths:" not in done.stderr
    assert "did you mean `minrtt`" in done.stderr


def test_a_receive_buffer_that_is_too_small_is_told_as_its_option(ropewalk: Ropewalk, tmp_path: Path) -> None:
    paths = ["--path", LTE, "--path", GEO, "--receive-buffer", "128kB"]
    for command in (("bond",), ("init", "mine.toml")):
        done = ropewalk(*command, *paths, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("--receive-buffer 128kB: ")
        assert "fix: give more than 128KiB" in done.stderr
    assert not (tmp_path / "mine.toml").exists()
    for size, doubled in (("128KiB", True), ("129KiB", False)):
        done = ropewalk("bond", *SHORT, "--receive-buffer", size)
        assert (done.returncode, done.stderr) == (0, "")
        assert ("counts as SO_RCVBUF, which Linux doubles" in done.stdout) == doubled


def test_cmt_sctp_is_an_option_that_keeps_the_buffer(ropewalk: Ropewalk) -> None:
    cmt = [*SHORT, "--transport", "cmt-sctp"]
    found = {}
    for size in ("64kB", "4MB"):
        done = ropewalk("bond", *cmt, "--receive-buffer", size, "--json")
        assert done.returncode == 0, done.stderr
        found[size] = json.loads(done.stdout)
        assert f'receive_buffer = "{size}"' in found[size]["scenario"].replace("62.5KiB", "64kB").replace(
            "3906.25KiB", "4MB"
        )
        assert 'kind = "cmt-sctp"' in found[size]["scenario"]
    assert found["64kB"]["goodput_bit_s"]["mean"] < 0.9 * found["4MB"]["goodput_bit_s"]["mean"]
    shown = ropewalk("bond", *cmt, "--receive-buffer", "64kB").stdout
    assert "CMT-SCTP over all paths and SCTP over each" in shown
    assert "--transport cmt-sctp" in shown.split("As a file")[1]
    refused = ropewalk("bond", *SHORT, "--set", "flow.download.transport.kind=cmt-sctp")
    assert refused.returncode == 2
    assert "fix: --transport NAME; allowed: mptcp, cmt-sctp" in refused.stderr


def test_each_sentence_of_the_verdict_is_a_line(ropewalk: Ropewalk) -> None:
    lines = ropewalk("bond", *SHORT).stdout.splitlines()
    assert lines[0].startswith("Bonding")
    assert lines[1].startswith("Alone the paths add up to")
    assert max(map(len, lines[:3])) <= 120


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_operators_case_is_told_on_any_terminal(columns: int) -> None:
    code, shown = on_terminal(columns, "bond", *OPERATOR, "--size", "20MB", "--seeds", "3")
    assert code == 0, shown
    before, commands = shown.split("As a file, to")
    for line in shown.splitlines():
        assert len(line) <= columns
        assert line == line.rstrip()
    assert "Bonding makes it slower:" in before.replace("\n", " ")
    for row in ("bonded", "lte alone", "geo alone", "sum of these"):
        assert f" {row} " in before
    words = shlex.split(commands.partition(":")[2].replace("\\\n", ""))
    assert words[:7] == ["ropewalk", "init", "bonded.toml", "--path", LTE, "--path", GEO]
    assert words[-3:] == ["ropewalk", "why", "bonded.toml"]


def test_the_cure_is_one_option_away(ropewalk: Ropewalk) -> None:
    done = ropewalk("bond", *SHORT, "--why")
    assert done.returncode == 0, done.stderr
    before, _, rest = done.stdout.partition("replications under the same seeds.")
    assert "Bonding" in before
    assert "download" in rest
    assert "with --why" not in rest
    refused = ropewalk("bond", *SHORT, "--why", "--json")
    assert (refused.returncode, "fix: ropewalk init" in refused.stderr) == (2, True)


def test_the_same_command_gives_an_object(ropewalk: Ropewalk) -> None:
    done = ropewalk("bond", *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "faster"
    assert [one["path"] for one in found["alone"]] == ["a", "b"]
    total = sum(one["goodput_bit_s"]["mean"] for one in found["alone"])
    assert found["sum_bit_s"]["mean"] == pytest.approx(total)
    # The mean of the ratios; delays differ from seed to seed by less than a hundredth.
    assert found["goodput_bit_s"]["mean"] / total == pytest.approx(found["vs_sum"]["mean"], rel=1e-3)
    assert found["seeds"] == [1, 2]
    again = Scenario.parse(found["scenario"]).run(jobs=1).summary()["flows"][0]["goodput_bit_s"]
    assert again == found["goodput_bit_s"]


def test_an_override_changes_the_scenario(ropewalk: Ropewalk) -> None:
    done = ropewalk("bond", *SHORT, "--set", "path.b.both.loss=20%", "--upload", "--json")
    assert done.returncode == 2
    done = ropewalk("bond", *SHORT, "--set", "path.a.both.rate=8Mbit/s", "--upload")
    assert done.returncode == 0, done.stderr
    assert "Upload for 3 s" in done.stdout
    assert "why bonded.toml --set path.a.both.rate=8Mbit/s" in done.stdout


def test_init_writes_what_bond_runs(ropewalk: Ropewalk, tmp_path: Path) -> None:
    done = ropewalk("init", "mine.toml", *OPERATOR, "--size", "100MB", "--seeds", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ropewalk run mine.toml" in done.stdout
    file = tmp_path / "mine.toml"
    text = file.read_text()
    tomllib.loads(text)
    assert sum("# " in line for line in text.splitlines()) > 8
    assert max(map(len, text.splitlines())) <= 120
    shown = ropewalk("show", file)
    assert shown.returncode == 0, shown.stderr
    assert 'receive_buffer_max = "512KiB"' in shown.stdout
    again = ropewalk("init", "mine.toml", *OPERATOR, cwd=tmp_path)
    assert (again.returncode, "already" in again.stderr) == (2, True)
    assert file.read_text() == text
    assert ropewalk("new", "-", *OPERATOR, "--size", "100MB", "--seeds", "2").stdout == text


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_init_asks_on_a_terminal(tmp_path: Path, columns: int) -> None:
    typed = f"{LTE}\n20Mbps\n{LTE}\n{GEO}\n\n100MB\n"
    code, shown = on_terminal(columns, "init", typed=typed, cwd=tmp_path)
    assert code == 0, shown
    # Prompts of a terminal come on stderr, here in one line at the end.
    assert max(map(len, shown.splitlines()[:-1])) <= columns
    assert "did you mean" in shown
    assert "there is a path lte already" in shown
    bonding = Bonding((parse_path(LTE, 1), parse_path(GEO, 2)), "100MB")
    assert (tmp_path / "bonded.toml").read_text() == bonding.text()


def test_init_without_paths_or_terminal_says_what_to_add(ropewalk: Ropewalk, tmp_path: Path) -> None:
    done = ropewalk("init", cwd=tmp_path)
    assert done.returncode == 2
    assert "fix: add --path" in done.stderr


def of(mean: float, ci95: float | None = 0.0) -> Estimate:
    return Estimate(mean, ci95, mean, mean, 5)


def invented(ratio: Estimate | None, goodput: float = 1e7) -> Worth:
    alone = (Alone("a", of(1e7), None, of(1.0)), Alone("b", of(2e6), None, of(0.2)))
    return Worth("f", 5, of(goodput), None, ratio, of(0.8), of(1.2e7), of(1.2), alone)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (of(1.5, 0.4), Verdict.FASTER),
        (of(1.02, 0.01), Verdict.HARDLY),
        (of(1.5, 0.6), Verdict.UNCLEAR),
        (of(0.9, 0.2), Verdict.UNCLEAR),
        (of(0.9, 0.05), Verdict.SLOWER),
        (of(0.9, None), Verdict.SLOWER),
    ],
)
def test_the_verdict_is_that_of_the_interval(ratio: Estimate, expected: Verdict) -> None:
    found = invented(ratio)
    assert verdict(found) is expected
    assert "times the rate of a alone (10 Mbit/s)" in told(found)[0]


def test_nothing_and_paths_that_deliver_nothing() -> None:
    assert verdict(invented(None, 0.0)) is Verdict.NOTHING
    assert told(invented(None, 0.0))[0].startswith("Nothing arrived")
    assert verdict(invented(None)) is Verdict.FASTER
