"""`ropewalk cc`: coupled congestion controls for the MPTCP of this machine's kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

from ropewalk import _core, backends
from ropewalk.cli.reporting import RUN_FAILED, WRONG_INPUT, fail, reported
from ropewalk.quantities import BYTES, quantity

CONTROLS = ("lia", "olia", "balia", "wvegas")
"""The programs of deploy/bpf."""
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
MOUNT = Path("/sys/fs/bpf")
PINS = MOUNT / "ropewalk"
"""Files that keep controls loaded."""
LONGEST = 15
"""Characters of the name of a congestion control in the kernel."""
LARGEST = 2**31 - 1
"""Bytes that a limit of the kernel can have."""


def available() -> list[str]:
    """The congestion controls of the kernel."""
    return AVAILABLE.read_text(encoding="ascii").split()


def kept() -> list[str]:
    """Names of the controls that `--keep` keeps loaded."""
    return sorted(pin.name for pin in PINS.iterdir()) if PINS.is_dir() else []


@click.group(no_args_is_help=True)
def cc() -> None:
    """Load coupled congestion controls into the kernel.

    LIA, OLIA, BALIA and wVegas as BPF programs, for MPTCP of a Linux kernel from 6.4 on with BTF. As root.
    """


@cc.command()
@click.argument("control", type=click.Choice(CONTROLS))
@click.option("--as", "name", metavar="NAME", help="Its name in the kernel; without it the same.")
@click.option("--keep", is_flag=True, help="Keep it loaded when the command ends, until `cc unload NAME`.")
@click.option(
    "--subflow-unsent-limit",
    "limit",
    metavar="SIZE",
    help="A subflow gets no more while this much waits on it to be sent, as in 16KiB; without it no limit.",
)
def load(*, control: str, name: str | None, keep: bool, limit: str | None) -> None:
    """Load CONTROL until the command ends.

    Sockets that use it keep it to their end.
    """
    with reported():
        name = control if name is None else name
        unsent = 0 if limit is None else _limit(limit)
        if not name.isidentifier() or not name.isascii() or len(name) > LONGEST:
            fail(
                f"--as {name}: no name of a congestion control\n"
                f"  fix: letters, digits and _, {LONGEST} at most, the first one no digit",
                WRONG_INPUT,
            )
        if name in available():
            fail(
                f"the kernel has a congestion control {name}\n  fix: choose another name with --as",
                RUN_FAILED,
            )
        if needed := _core.kernel_controls():
            fail(needed, RUN_FAILED)
        if keep and not os.path.ismount(MOUNT):
            fail(f"{MOUNT} is not mounted\n  fix: mount -t bpf bpf {MOUNT}", RUN_FAILED)
        loader, program = _core.kernel_control(backends.folder() / "linux", control)
        arguments = [str(loader), str(program), name, str(unsent)]
        if keep:
            PINS.mkdir(exist_ok=True)
            arguments.append(str(PINS / name))
        _follow(arguments, name, keep=keep)


def _limit(text: str) -> int:
    """The number of bytes in `text`; 0 for no limit."""
    if text == "unlimited":
        return 0
    try:
        size = quantity(text, BYTES)
    except ValueError as error:
        fail(f"--subflow-unsent-limit: {error}\n  fix: a size, as in 16KiB, or unlimited", WRONG_INPUT)
    if not 1 <= size <= LARGEST or not size.is_integer():
        fail(
            f'--subflow-unsent-limit: found "{text}", allowed are whole bytes from 1B to {LARGEST}B\n'
            "  fix: a size, as in 16KiB, or unlimited",
            WRONG_INPUT,
        )
    return int(size)


def _follow(arguments: list[str], name: str, *, keep: bool) -> None:
    with subprocess.Popen(  # noqa: S603
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as loader:
        said = iter(loader.stdout or ())
        first = next(said, "").strip()
        if first != "ready":
            _refused(name, [first, *said])
        end = f"until `ropewalk cc unload {name}`" if keep else "until this command ends (Ctrl-C)"
        sys.stdout.write(
            f"{name} is loaded {end}\n"
            f'  one socket:  setsockopt(TCP_CONGESTION, "{name}")\n'
            f"  all of them: sysctl net.ipv4.tcp_congestion_control={name}\n"
        )
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            loader.wait()
    # The end of its input has ended it, and with it the registration.


def _refused(name: str, said: list[str]) -> NoReturn:
    last = "; ".join(line.strip() for line in said[-2:])
    fail(
        f"the kernel does not take {name}: {last}\n"
        "  fix: a kernel from 6.4 on, which may load BPF programs: a container or `lockdown` can forbid that",
        RUN_FAILED,
    )


@cc.command()
@click.argument("name")
def unload(name: str) -> None:
    """Unload NAME, which `cc load --keep` has loaded."""
    with reported():
        if name not in kept():
            others = ", ".join(kept()) or "none"
            fail(f"no control {name} is kept loaded\n  fix: one of those that are: {others}", WRONG_INPUT)
        (PINS / name).unlink()
        if not kept():
            PINS.rmdir()
        sys.stdout.write(f"{name} is unloaded; sockets that use it keep it to their end\n")


@cc.command(name="list")
def list_() -> None:
    """List the congestion controls of the kernel."""
    with reported():
        pinned = kept()
        for name in available():
            sys.stdout.write(f"{name}{' (kept by ropewalk)' if name in pinned else ''}\n")
