"""Scenarios on the kernel for tests, and what they need of the machine."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

import ropewalk as rw
from ropewalk import _core

PATHS = """\
name = "kernel"
duration = "4s"

[[path]]
name = "a"
both = { rate = "8Mbit/s", delay = "20ms", queue = "60kB" }

[[path]]
name = "b"
both = { rate = "8Mbit/s", delay = "20ms", queue = "60kB" }
"""
FLOW = """
[[flow]]
name = "{name}"
from = "server"
to = "terminal"
opened_by = "{opened_by}"
app = {app}
transport = {transport}
"""
TCP = '{ kind = "tcp", profile = "linux" }'
MPTCP = '{ kind = "mptcp", profile = "linux" }'
SUBFLOWS = (
    ', path_manager = { kind = "in-kernel" }, endpoints = '
    '[{ path = "a", flags = ["subflow"] }, { path = "b", flags = ["subflow"] }]'
)
needs_namespaces = pytest.mark.skipif(
    _core.emulation() not in {"real-time", "ordinary"}, reason="network namespaces are not permitted here"
)
loads_controls = pytest.mark.skipif(
    _core.emulation() != "real-time"
    or not Path("/sys/kernel/btf/vmlinux").exists()
    or not Path("/usr/include/bpf/libbpf.h").exists()
    or shutil.which("clang") is None,
    reason="BPF programs need root, BTF, clang and libbpf-dev",
)


def run(text: str, **options: object) -> rw.Results:
    """One run on the kernel; skipped where the machine is too busy."""
    try:
        return rw.Scenario.parse(text, "kernel").run(1, backend="linux", **options)  # type: ignore[arg-type]
    except rw.RunFailed as error:
        if "not exact enough" in str(error):
            pytest.skip(str(error))
        raise


def flow(name: str, app: str, transport: str = TCP) -> str:
    opened_by = "receiver" if any(kind in app for kind in ("command", "http")) else "sender"
    return FLOW.format(name=name, app=app, transport=transport, opened_by=opened_by)


def gone(there: object) -> bool:
    """Whether it goes within two seconds."""
    assert callable(there)
    for _ in range(100):
        if not there():
            return True
        time.sleep(0.02)
    return False
