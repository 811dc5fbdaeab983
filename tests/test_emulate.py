"""Applications, commands and captures on the kernel; what a killed run leaves behind."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ropewalk as rw
from conftest import COMMAND, ROOT
from emulation import MPTCP, PATHS, SUBFLOWS, flow, gone, loads_controls, needs_namespaces, run
from ropewalk.cli.control import available

if TYPE_CHECKING:
    from conftest import Ropewalk

KILLS = int(os.environ.get("ROPEWALK_KILLS", "4"))
"""Moments at which a run is killed; the ten of the record take a minute."""

pytestmark = needs_namespaces


def test_pages_messages_and_probes_are_those_of_the_simulator() -> None:
    """Sizes and times are drawn from the same streams; over idle links delays are near."""
    apps = (
        flow("pages", '{ kind = "http", page = "wikipedia" }', MPTCP)
        + flow("messages", '{ kind = "onoff", rate = "400kbit/s", packet = "1000B" }')
        + flow("probe", '{ kind = "ping", interval = "100ms" }', '{ kind = "udp" }')
    )
    found = run(PATHS + apps)
    simulated = rw.Scenario.parse(PATHS + apps, "kernel").run(1)
    assert found.flows["failure"].to_list() == [None] * 3
    for name in ("messages", "probe"):
        ours, theirs = (
            results.flows.filter(results.flows["flow"] == name)["delivered_bytes"][0]
            for results in (found, simulated)
        )
        assert theirs == pytest.approx(ours, rel=0.05), name
    pings = found.messages.filter(found.messages["flow"] == "probe")["delay_s"].drop_nulls()
    assert 0.040 < float(str(pings.median())) < 0.050
    pages = found.tables["pages"]
    assert pages["end_s"].drop_nulls().len() > 0


@pytest.mark.parametrize(
    ("direction", "strip", "fell_back", "carries"),
    [
        ("a.up", "true", True, ["a"]),
        ("a.up", "'syn'", True, ["a"]),
        ("b.up", "'syn'", False, ["a"]),
        ("b.down", "true", False, ["a"]),
        ("a.up", "40", False, ["a", "b"]),
    ],
)
def test_a_middlebox_strips_options(
    direction: str, strip: str, fell_back: object, carries: list[str]
) -> None:
    """1 MB: fallback where the first path strips, no second subflow where the second does, a reset later."""
    path, _, way = direction.partition(".")
    upload = flow("f", '{ kind = "bulk", size = "1MB" }', MPTCP).replace(
        'from = "server"\nto = "terminal"', 'from = "terminal"\nto = "server"'
    )
    text = PATHS.replace(f'name = "{path}"\n', f'name = "{path}"\n{way}.strip_mptcp = {strip}\n') + upload
    found, simulated = run(text), rw.Scenario.parse(text, "kernel").run(1)
    for results in (found, simulated):
        [row] = results.flows.iter_rows(named=True)
        assert row["completed"]
        assert row["fell_back"] is fell_back
        sent = results.subflows.filter(results.subflows["bytes_sent"] > 0)
        assert sent["path"].to_list() == carries
    took = [results.flows["completion_s"][0] for results in (found, simulated)]
    assert took[0] == pytest.approx(took[1], rel=0.2)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is missing")
def test_commands_run_inside_if_permitted_and_leave_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"x" * 500_000)
    server = f"{sys.executable} -m http.server -d {tmp_path} {{port}} 2>/dev/null"
    curl = "curl -s --retry 5 --retry-connrefused"
    client = f"{curl} -o {tmp_path}/copy http://{{server}}:{{port}}/file && echo done"
    app = f"{{ kind = 'command', client = '{client}', server = '{server}' }}"
    with pytest.raises(rw.RunFailed, match=r"(?s)commands that its scenario names.*ROPEWALK_COMMANDS=1"):
        run(PATHS + flow("curl", app))
    assert not (tmp_path / "copy").exists()
    monkeypatch.setenv("ROPEWALK_COMMANDS", "1")
    found = run(PATHS + flow("curl", app))
    [row] = found.flows.iter_rows(named=True)
    assert row["failure"] is None
    assert row["completed"]
    assert (tmp_path / "copy").read_bytes() == b"x" * 500_000
    # Beside the file there are headers of HTTP; the rate bounds the time.
    assert 500_000 < row["delivered_bytes"] < 501_000
    assert row["completion_s"] > 500_000 * 8 / 8e6
    assert "done" in capfd.readouterr().err
    assert not [line for line in processes() if str(tmp_path) in line]


def test_a_command_that_fails_is_told(
    ropewalk: Ropewalk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROPEWALK_COMMANDS", "1")
    path = tmp_path / "false.toml"
    app = "{ kind = 'command', client = 'false {server} {port}', server = 'exit 3 # {port}' }"
    path.write_text(PATHS + flow("f", app), encoding="utf-8")
    done = ropewalk("emulate", path, "--seed", "1")
    assert done.returncode == 1
    assert (
        "flow f: the server's command ended with exit code 3, it said nothing (exit 3 # {port})"
        in done.stderr
    )
    done = ropewalk("run", path, "--seed", "1")
    assert done.returncode == 2
    assert "flow.f.app" in done.stderr
    assert "ropewalk emulate" in done.stderr


@pytest.mark.parametrize(
    ("commands", "failure"),
    [
        (
            ("echo one; echo two >&2; exit 7", ""),
            "the client's command ended with exit code 7, it said: one | two (echo one; ",
        ),
        (("timeout -s KILL 0.1 sleep 9", ""), "the client's command ended with exit code 137, it said"),
        (("sleep 1", "timeout --preserve-status -s KILL 0.7 "), "the server's command ended with "),
    ],
)
def test_the_exit_code_and_the_last_words_of_a_command_are_told(
    ropewalk: Ropewalk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    commands: tuple[str, str],
    failure: str,
) -> None:
    """The flow has failed, with its results kept, and so has `ropewalk emulate`."""
    monkeypatch.setenv("ROPEWALK_COMMANDS", "1")
    path, out = tmp_path / "fails.toml", tmp_path / "out"
    client, before = commands
    server = f"{before}{sys.executable} -m http.server {{port}}"
    app = f"{{ kind = 'command', client = '{client} # {{server}} {{port}}', server = '{server}' }}"
    path.write_text(PATHS + flow("f", app), encoding="utf-8")
    done = ropewalk("emulate", path, "--seed", "1", "--out", out)
    if "not exact enough" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 1
    assert f"f: failed in 1 of 1 replications: {failure}" in done.stdout
    assert f"commands of f failed in 1 of 1 replications: {failure}" in done.stderr
    assert "the results are kept in" in done.stderr
    [row] = rw.Results.read(out).flows.iter_rows(named=True)
    assert row["failure"].startswith(failure)
    assert row["completed"] is ("server" in failure)


def test_a_comparison_refuses_before_the_kernel_takes_its_time(ropewalk: Ropewalk, tmp_path: Path) -> None:
    path = tmp_path / "hour.toml"
    app = "{ kind = 'command', client = 'a {server} {port}', server = 'b {port}' }"
    path.write_text(PATHS.replace("4s", "50min") + flow("f", app), encoding="utf-8")
    done = ropewalk("compare", path, "--seed", "1")
    assert done.returncode == 2
    assert "which simulator cannot run; allowed: any but command" in done.stderr


@pytest.mark.parametrize(
    ("manager", "opened_by", "join"),
    [
        ("", "sender", "10.65.1.1 to 10.64.1.1"),
        # The client's second address joins the first one of the other end, over the second path.
        (SUBFLOWS, "sender", "10.65.1.1 to 10.64.0.1"),
        (SUBFLOWS, "receiver", "10.65.0.1 to 10.64.1.1"),
    ],
)
def test_a_capture_reads_back_as_the_run(
    ropewalk: Ropewalk, tmp_path: Path, manager: str, opened_by: str, join: str
) -> None:
    path = tmp_path / "capture.toml"
    text = PATHS + flow("f", '{ kind = "bulk", size = "500kB" }', MPTCP.replace(" }", manager + " }"))
    path.write_text(text.replace('"sender"', f'"{opened_by}"'), encoding="utf-8")
    out = tmp_path / "out"
    done = ropewalk("emulate", path, "--seed", "1", "--out", out, "--capture", "both")
    if "not exact enough" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    [file] = (out / "capture").glob("*.pcapng")
    found = ropewalk("read", file, "--out", tmp_path / "read")
    assert found.returncode == 0, found.stderr
    measured, captured = rw.Results.read(out), rw.Results.read(tmp_path / "read")
    assert captured.subflows.height == measured.subflows.height == 2
    assert measured.subflows["path"].to_list() == ["a", "b"]
    assert captured.subflows["path"].to_list() == ["10.65.0.1 to 10.64.0.1", join]
    assert measured.links.filter(measured.links["link"] == "b.up")["packets"][0] > 10
    for column in ("segments_sent", "retransmitted_segments"):
        if column in captured.subflows.columns:
            assert sorted(captured.subflows[column]) == sorted(measured.subflows[column]), column


def test_an_address_leaves_and_comes_back() -> None:
    """The server's second address is withdrawn after 1.5 s and announced again after 3.5 s.

    A program of the system does both, and a busy machine starts it late: there is one silence, whenever.
    The limits leave room for both joins. With limits of 1 about one run in twelve had no second join: Linux
    then refuses addresses from the first join until REMOVE_ADDR closes a subflow, and the server, which
    closes the subflow as well, may be first.
    """
    manager = '{ kind = "in-kernel", subflows = 2, add_addr_accepted = 2 }'
    endpoints = '[{ path = "b", end = "server", flags = ["signal"] }]'
    transport = MPTCP.replace(" }", f", path_manager = {manager}, endpoints = {endpoints} }}")
    events = "".join(
        f'[[event]]\nat = "{at}"\nflow = "f"\ndo = {{ {what} = "b", end = "server" }}\n'
        for at, what in (("1500ms", "leave"), ("3500ms", "join"))
    )
    upload = flow("f", '"bulk"', transport).replace(
        'from = "server"\nto = "terminal"', 'from = "terminal"\nto = "server"'
    )
    text = PATHS.replace("4s", "7s") + upload + events
    found = run(text)
    assert found.subflows["path"].to_list() == ["a", "b", "b"], "the second subflow of b is a new one"
    series = found.series.filter(found.series["metric"] == "throughput_bit_s")
    on_b = series.filter((series["link"] == "b.up") & (series["t_s"] > 1.5)).sort("t_s")
    silent = on_b.filter(on_b["value"] == 0.0)["t_s"]
    first, last = float(str(silent.min())), float(str(silent.max()))
    assert last - first > 0.5
    assert on_b.filter(on_b["t_s"].is_between(first, last))["value"].max() == 0.0, "one silence"
    assert on_b.filter(on_b["t_s"] > last)["value"].max() > 4e6  # type: ignore[operator]


def test_devices_neither_pace_nor_drop(tmp_path: Path) -> None:
    """Whatever `net.core.default_qdisc` is: with `fq` the kernel paces CUBIC, too."""
    path = tmp_path / "queue.toml"
    path.write_text(PATHS + flow("f", '"bulk"'), encoding="utf-8")
    environment = {**os.environ, "ROPEWALK_NAMESPACES": "1"}
    arguments = [str(COMMAND), "emulate", str(path), "--seed", "1"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(arguments, stdout=quiet, stderr=subprocess.PIPE, env=environment, text=True) as run:
        assert run.stderr is not None
        hosts = [run.stderr.readline().partition(": ")[2].split() for _ in range(2)]
        shown = [
            subprocess.run([*host, "tc", "qdisc"], capture_output=True, text=True, check=True)
            for host in hosts
        ]
        run.kill()
    for one in shown:
        kinds = [line.split()[1] for line in one.stdout.splitlines() if "dev rw" in line]
        assert kinds == ["pfifo"] * 2, one.stdout


def processes() -> list[str]:
    """The command lines of all processes."""
    lines = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(place.read_text(encoding="utf-8", errors="replace").replace("\0", " "))
    return lines


def state() -> dict[str, set[str]]:
    """Network namespaces with a name, devices outside of namespaces, and programs of controls."""
    named = Path("/run/netns")
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    command = [bpftool, "struct_ops", "list"]
    programs = ""
    if Path(bpftool).exists():
        programs = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return {
        "named": {place.name for place in named.iterdir()} if named.is_dir() else set(),
        "devices": {place.name for place in Path("/sys/class/net").iterdir()},
        "programs": set(programs.splitlines()),
    }


@loads_controls
def test_nothing_is_left_when_a_run_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill -9 at random moments from the set-up on: the process or its group, a control or commands."""
    monkeypatch.setenv("ROPEWALK_COMMANDS", "1")
    text = (ROOT / "crates/lab/tests/kernel/k6-lia.toml").read_text(encoding="utf-8")
    marker = f"sleep 97{os.getpid()}"
    server = f"{sys.executable} -m http.server {{port}}"
    app = f"{{ kind = 'command', client = '{marker} # {{server}} {{port}}', server = '{server}' }}"
    transport = '{ kind = "tcp", profile = "linux", congestion = "newreno" }'
    for number, congestion in zip(range(KILLS), ["lia", "newreno"] * KILLS, strict=False):
        path = tmp_path / "killed.toml"
        # Commands have the control of their neighbours, and the coupled one has none.
        commands = "" if congestion == "lia" else flow("c", app, transport)
        path.write_text(text.replace('"lia"', f'"{congestion}"') + commands, encoding="utf-8")
        before = state()
        arguments = [str(COMMAND), "emulate", str(path), "--seed", "1"]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(arguments, stdout=quiet, stderr=quiet, start_new_session=True) as command:
            time.sleep(random.uniform(0.3, 5.0))
            running = command.poll() is None
            pid = command.pid
            # As `timeout -s KILL` does.
            os.kill(pid if number // 2 % 2 else -pid, signal.SIGKILL)
        assert running, "it was killed before its end"

        def left(pid: int = pid, before: dict[str, set[str]] = before) -> list[str]:
            now = state()
            found = [f"{kind} {one}" for kind in now for one in now[kind] - before[kind]]
            found += [name for name in available() if name.endswith(f"_{pid}")]
            return found + [line for line in processes() if marker in line or f"_{pid}" in line]

        assert gone(lambda left=left: bool(left())), (number, left())


@pytest.mark.parametrize(
    ("without", "cause"),
    [
        ("mount -t tmpfs none /dev/net", "/dev/net/tun is not there"),
        (
            "touch {0} && chmod 0 {0} && mount --bind {0} /dev/net/tun",
            "/dev/net/tun may not be opened by this user",
        ),
        ("echo 0 > /proc/sys/user/max_user_namespaces", "user namespaces are forbidden"),
    ],
)
def test_a_machine_that_permits_nothing_says_what_is_missing(
    without: str, cause: str, tmp_path: Path
) -> None:
    """In namespaces of its own, as an ordinary user there."""
    without = without.format(tmp_path / "tun")
    command = f"setpriv --bounding-set=-all --inh-caps=-all {COMMAND}"
    file = ROOT / "scenarios" / "two-geo-beams.toml"
    script = f"{without} && {{ {command} emulate {file}; {command} doctor; }}"
    made = [str(shutil.which("unshare")), "--user", "--map-root-user", "--mount", "sh", "-c", script]
    found = subprocess.run(made, capture_output=True, text=True, timeout=60, check=False)
    if not found.stdout:
        pytest.skip(found.stderr)
    assert "this machine does not permit network namespaces with TUN devices: " in found.stderr
    assert cause in found.stderr.partition("\n  fix: ")[0]
    assert cause in found.stdout.partition("scenarios cannot run on it: ")[2]
    cure = found.stderr.partition("\n  fix: ")[2]
    assert ("modprobe" in cure) is ("is not there" in cause)
    assert ("chmod 666 /dev/net/tun" in cure) is ("may not be opened" in cause)
