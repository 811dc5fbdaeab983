"""Coupled congestion controls in the kernel: for a run, for a command, kept; the limit that they set."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from conftest import COMMAND, ROOT
from emulation import MPTCP, PATHS, flow, gone, loads_controls, needs_namespaces, run
from ropewalk.cli.control import available

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

MPTCP_PROTOCOL = 262
"""IPPROTO_MPTCP."""
LESS = "-bpf,-sys_admin"
"""Capabilities without which the kernel takes no program."""

pytestmark = needs_namespaces


@loads_controls
def test_a_run_loads_its_coupled_control_for_its_own_time() -> None:
    """Ten seconds of K6; the acceptance is that of `make compare`."""
    text = (ROOT / "crates/lab/tests/kernel/k6-lia.toml").read_text(encoding="utf-8").replace("40s", "10s")
    found = run(text)
    assert found.flows["congestion"].to_list() == ["lia", "newreno"]
    assert f"lia_{os.getpid()}" not in available(), "it is unloaded"


@loads_controls
@pytest.mark.parametrize(
    ("control", "limit", "least", "most"),
    [
        ("olia", None, 400_000, 4_000_000),
        # A burst of 64 KiB may begin just below the limit.
        *((name, "16KiB", 10_000, 16_384 + 65_536) for name in ("lia", "olia", "balia", "wvegas")),
    ],
)
def test_what_waits_on_a_subflow_is_limited_by_the_program(
    tmp_path: Path, control: str, limit: str | None, least: int, most: int
) -> None:
    """`ss` tells what a subflow of the sender has not sent yet."""
    limited = f', subflow_unsent_limit = "{limit}"' if limit else ""
    transport = MPTCP.replace(" }", f', congestion = "{control}", send_buffer = "4MiB"{limited} }}')
    path = tmp_path / "queue.toml"
    path.write_text(PATHS.replace("4s", "2s") + flow("f", '"bulk"', transport), encoding="utf-8")
    environment = {**os.environ, "ROPEWALK_NAMESPACES": "1"}
    arguments = [str(COMMAND), "emulate", str(path), "--seed", "1"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(arguments, stdout=quiet, stderr=subprocess.PIPE, env=environment, text=True) as run:
        assert run.stderr is not None
        lines = [run.stderr.readline() for _ in range(2)]
        [sender] = [line.partition(": ")[2].split() for line in lines if "server" in line]
        shown = ""
        while run.poll() is None:
            told = subprocess.run([*sender, "ss", "-tin"], capture_output=True, text=True, check=False)
            shown += told.stdout
            time.sleep(0.05)
    waiting = [int(number) for number in re.findall(r"notsent:(\d+)", shown)]
    assert least < max(waiting, default=0) < most


@pytest.mark.parametrize("name", ["", "1abc", "a.b", "../x", "two words", "sixteen_letters_"])
def test_a_name_that_the_kernel_would_not_take_is_refused(ropewalk: Ropewalk, name: str) -> None:
    """An empty name was taken for none, and the control had its own."""
    told = ropewalk("cc", "load", "lia", "--as", name)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith(f"--as {name}: no name of a congestion control\n")


@pytest.mark.parametrize(
    ("limit", "cause"),
    [
        ("0B", "whole bytes from 1B to 2147483647B"),
        ("-1B", "whole bytes"),
        ("1.4B", "whole bytes"),
        ("2GiB", "whole bytes"),
        ("16", "units: B, kB"),
        ("", "units: B, kB"),
    ],
)
def test_a_limit_that_the_kernel_would_not_take_is_refused(
    ropewalk: Ropewalk, limit: str, cause: str
) -> None:
    told = ropewalk("cc", "load", "lia", f"--subflow-unsent-limit={limit}")
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("--subflow-unsent-limit: ")
    assert cause in told.stderr
    assert told.stderr.endswith("  fix: a size, as in 16KiB, or unlimited\n")


@loads_controls
@pytest.mark.parametrize(("limit", "lowats"), [("16KiB", {16384}), ("unlimited", {-1, 0})])
def test_the_limit_of_a_loaded_control_is_that_of_its_sockets(limit: str, lowats: set[int]) -> None:
    """Plain TCP answers over loopback: the socket is that of the subflow. None: -1, before Linux 6.7 0."""
    name = f"rwlim{os.getpid() % 10_000}"
    arguments = [str(COMMAND), "cc", "load", "olia", "--as", name, "--subflow-unsent-limit", limit]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as loaded:
        assert loaded.stdout is not None
        assert loaded.stdout.readline().startswith(f"{name} is loaded")
        try:
            with socket.socket() as server, socket.socket(proto=MPTCP_PROTOCOL) as client:
                server.bind(("127.0.0.1", 0))
                server.listen()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
                client.connect(server.getsockname())
                client.send(b"data")
                assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) in lowats
        finally:
            loaded.send_signal(signal.SIGINT)


@loads_controls
@pytest.mark.parametrize(
    "command", [["unshare", "-U", "-r"], ["setpriv", f"--bounding-set={LESS}", f"--inh-caps={LESS}"]]
)
def test_root_of_a_namespace_is_told_that_it_loads_nothing(command: list[str]) -> None:
    found = subprocess.run([*command, COMMAND, "doctor"], capture_output=True, text=True, check=False)
    if not found.stdout:
        pytest.skip(found.stderr)
    assert "congestion controls: the kernel takes coupled congestion controls" in found.stdout
    name = f"rwnone{os.getpid() % 10_000}"
    found = subprocess.run(
        [*command, COMMAND, "cc", "load", "lia", "--as", name], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    cause, _, cure = found.stderr.partition("\n  fix: ")
    assert "from root" in cause
    assert "as with sudo" in cure
    assert "libbpf" not in found.stderr


@loads_controls
def test_a_run_in_a_user_namespace_is_told_before_it_starts_that_it_loads_no_control(tmp_path: Path) -> None:
    path = tmp_path / "lia.toml"
    path.write_text(
        PATHS + flow("f", '"bulk"', MPTCP.replace(" }", ', congestion = "lia" }')), encoding="utf-8"
    )
    command = ["unshare", "-U", "-r", str(COMMAND), "emulate", str(path), "--seed", "1"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.stderr.startswith("unshare"):
        pytest.skip(found.stderr)
    assert found.returncode == 1
    assert "from root of the machine, and not from that of a user namespace\n  fix: " in found.stderr
    assert 'or take one that the kernel has itself, as congestion = "cubic"' in found.stderr


@loads_controls
def test_a_build_that_was_killed_leaves_nothing_after_the_next(tmp_path: Path) -> None:
    """Killed when the sources of a program are there, in a cache of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    arguments = [str(COMMAND), "cc", "load", "lia", "--as", f"rwkill{os.getpid() % 10_000}"]
    quiet = subprocess.DEVNULL
    cache = tmp_path / "ropewalk" / "linux"
    with subprocess.Popen(arguments, stdout=quiet, stderr=quiet, env=environment) as command:
        while command.poll() is None and not list(cache.glob("*-*-*")):
            time.sleep(0.002)
        command.kill()
    assert list(cache.glob("*-*-*")), "it was killed while it built"
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env=environment, text=True) as command:
        assert command.stdout is not None
        assert "is loaded" in command.stdout.readline()
        command.kill()
    assert [path.name.partition("-")[0] for path in sorted(cache.iterdir())] == ["lia", "load"]


@loads_controls
def test_a_control_is_loaded_for_the_time_of_the_command(ropewalk: Ropewalk) -> None:
    name = f"rwtest{os.getpid() % 10_000}"
    assert ropewalk("cc", "unload", name).returncode == 2
    with subprocess.Popen(
        [COMMAND, "cc", "load", "balia", "--as", name], stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        assert f"{name} is loaded" in command.stdout.readline()
        assert name in available()
        again = ropewalk("cc", "load", "balia", "--as", name)
        assert again.returncode == 1
        assert "choose another name" in again.stderr
        command.kill()
    assert gone(lambda: name in available())


@loads_controls
def test_a_kept_control_stays_until_it_is_unloaded_by_its_name() -> None:
    """In a mount namespace of its own: pins are files of /sys/fs/bpf, which not every machine has mounted."""
    name = f"rwkeep{os.getpid() % 10_000}"
    steps = (
        "mount -t bpf bpf /sys/fs/bpf",
        f"{COMMAND} cc load lia --as {name} --keep",
        f"{COMMAND} cc list",
        f"! {COMMAND} cc unload another",
        f"{COMMAND} cc unload {name}",
        f"{COMMAND} cc list",
    )
    found = subprocess.run(
        [
            str(shutil.which("unshare")),
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-ec",
            " && ".join(steps),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    kept, _, unloaded = found.stdout.partition(f"{name} is unloaded")
    assert f"{name} is loaded until `ropewalk cc unload {name}`" in kept
    assert f"{name} (kept by ropewalk)" in kept
    assert f"no control another is kept loaded\n  fix: one of those that are: {name}" in found.stderr
    assert "cubic" in unloaded
    assert name not in unloaded
    assert name not in available()
