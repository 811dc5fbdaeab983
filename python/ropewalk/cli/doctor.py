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
    # Not by `rich`: it may be the library that is missing.
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
    return f"{platform.release()}, {'with' if mptcp else 'without'} MPTCP; {found}"


def _controls() -> str:
    """Whether `ropewalk cc load` has what it needs."""
    missing = [tool for tool in ("clang", "gcc") if shutil.which(tool) is None]
    missing += [] if Path("/usr/include/bpf/libbpf.h").exists() else ["libbpf-dev"]
    if needed := _core.kernel_controls():
        return needed.replace("\n  fix:", ";")
    if missing:
        return f"the coupled ones need {' and '.join(missing)} (Debian: apt-get install clang gcc libbpf-dev)"
    return "coupled ones can be loaded into the kernel"


COMMANDS = {
    "ip": ("iproute2", "runs on the kernel"),
    "tc": ("iproute2", "runs on the kernel"),
    "ss": ("iproute2", "coupled congestion controls"),
    "unshare": ("util-linux", "runs of ordinary users, and commands as applications"),
    "setpriv": ("util-linux", "commands as applications"),
    "mptcpize": ("mptcpize", "commands as applications over MPTCP"),
}
"""Programs of the system that `ropewalk emulate` starts: package of Debian, and what needs it."""


def _commands() -> str:
    if platform.system() != "Linux":
        return "none are needed: scenarios run on the kernel of Linux alone"
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    found = ", ".join(name for name in COMMANDS if name not in missing) or "none"
    lacking = [
        f"{name} is not (Debian: package {COMMANDS[name][0]}); {COMMANDS[name][1]} need it"
        for name in missing
    ]
    return "; ".join([f"{found} are there" if "," in found else f"{found} is there", *lacking])


CHECKS: dict[str, Callable[[], str]] = {
    "ropewalk": _versions,
    "python": _python,
    "libraries": _libraries,
    "engine": _engine,
    "plots": _plots,
    "directories": _directories,
    "kernel": _kernel,
    "congestion controls": _controls,
    "programs": _commands,
}
