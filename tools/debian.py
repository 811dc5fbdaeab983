"""Installs Debian packages: what tests and benchmarks need besides Rust and Python."""

import os
import shutil
import subprocess


def install(*packages: str) -> str | None:
    """Installs the packages; returns the reason where it cannot."""
    apt = shutil.which("apt-get")
    if apt is None:
        return "there is no apt-get here"
    sudo = shutil.which("sudo")
    if os.geteuid() != 0 and sudo is None:
        return "neither root nor sudo"
    before = [] if os.geteuid() == 0 else [str(sudo), "-n"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update", "-qq"], ["install", "-qq", "--yes", "--no-install-recommends", *packages]):
        done = subprocess.run(  # noqa: S603
            [*before, apt, *step], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            return f"apt-get {step[0]} failed: {said[-1] if said else done.returncode}"
    return None
