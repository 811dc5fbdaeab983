"""`ropewalk doctor`: does everything work on this machine?"""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
import textwrap
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk import _core, store
from ropewalk.cli.reporting import RUN_FAILED, fail
from ropewalk.scenario import Scenario, available_processors

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARIES = ("polars", "numpy", "scipy", "matplotlib", "pillow", "plotly", "jinja2", "click", "rich")

SCENARIO = """
name = "doctor"
duration = "2s"
[[path]]
name = "a"
both = { rate = "10Mbit/s", delay = "10ms", queue = "100p" }
[[flow]]
name = "upload"
from = "terminal"
to = "server"
app = { kind = "bulk" }
transport = { kind = "tcp", profile = "linux" }
"""


def examine() -> None:
    """Prints one line per check; exit code 1 if one fails."""
    failed = [name for name, check in CHECKS.items() if not _passes(name, check)]
    if failed:
        fail(f"not working: {', '.join(failed)}", RUN_FAILED)


def _passes(name: str, check: Callable[[], str]) -> bool:
    try:
        found, ok = check(), True
    except Exception as error:  # whatever is broken is to be reported
        found, ok = f"{type(error).__name__}: {error}", False
    text = f"{'ok  ' if ok else 'FAIL'} {name}: {found}"
    # The library that knows terminals may be what is missing.
    if sys.stdout.isatty():
        columns = shutil.get_terminal_size().columns
        text = textwrap.fill(
            text, columns, subsequent_indent=" " * 5, break_long_words=False, break_on_hyphens=False
        )
    sys.stdout.write(f"{text}\n")
    return ok


def _versions() -> str:
    found = f"{_core.VERSION}, model version {_core.MODEL_VERSION}, {_core.BUILD} build"
    return f"{found}, {available_processors()} processors"


def _python() -> str:
    return f"{platform.python_version()} on {platform.system()} {platform.machine()}"


def _libraries() -> str:
    missing = []
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        raise ModuleNotFoundError(", ".join(missing))
    return ", ".join(found)


def _engine() -> str:
    results = Scenario.parse(SCENARIO, "doctor").run(seeds=1, jobs=1)
    goodput = results.flows["goodput_bit_s"][0]
    if not goodput:
        raise RuntimeError("a transfer over an idle link delivered nothing")
    return f"{goodput / 1e6:.2f} Mbit/s over a 10 Mbit/s link, {results.totals.events} events"


def _plots() -> str:
    results = Scenario.parse(SCENARIO, "doctor").run(seeds=1, jobs=1)
    with tempfile.TemporaryDirectory() as directory:
        return f"{len(results.plot.write(directory))} plots drawn"


def _directories() -> str:
    places = [Path(tempfile.gettempdir()), Path.cwd()]
    for place in places:
        store.check_writable(place)
    return ", ".join(str(place) for place in places) + " are writable"


def _kernel() -> str:
    rights = _core.emulation()
    why_not = rights.replace("\n  fix:", ";")
    found = {
        "real-time": "scenarios can run on it, with real-time priority",
        "ordinary": "scenarios can run on it, with ordinary priority: exact on an idle machine alone",
        "user-namespace": "scenarios can run on it in a user namespace, with ordinary priority: exact on an "
        "idle machine alone",
    }.get(rights, f"scenarios cannot run on it: {why_not}")
    try:
        mptcp = Path("/proc/sys/net/mptcp/enabled").read_text(encoding="ascii").strip() == "1"
    except OSError:
        mptcp = False
    return f"{platform.release()}, {'with' if mptcp else 'without'} MPTCP; {found}; {_programs()}"


NEEDED = 1 << 12 | 1 << 38 | 1 << 39
"""CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF."""


def _may_load() -> bool:
    """Whether this process is root of the first user namespace, with what BPF programs need."""
    try:
        mapped = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    held = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
    return mapped == ["0", "0", "4294967295"] and held & NEEDED == NEEDED


def _programs() -> str:
    """Whether `ropewalk cc load` has what it needs."""
    missing = [tool for tool in ("clang", "gcc") if shutil.which(tool) is None]
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "no coupled congestion control: the kernel has no BTF"
    if not _may_load():
        return (
            "no coupled congestion control: that needs root of the machine, not of a namespace or container"
        )
    if missing:
        return f"coupled congestion controls need {' and '.join(missing)}"
    return "coupled congestion controls can be loaded"


CHECKS: dict[str, Callable[[], str]] = {
    "ropewalk": _versions,
    "python": _python,
    "libraries": _libraries,
    "engine": _engine,
    "plots": _plots,
    "directories": _directories,
    "kernel": _kernel,
}
