"""Installs Debian's Chromium and its driver if they are missing: the tests of the report need them."""

import os
import shutil
import subprocess
import sys

PROGRAMS = {"CHROMIUM": ("chromium", "chromium-browser", "google-chrome"), "CHROMEDRIVER": ("chromedriver",)}
"""Environment variables that name the programs, and names under which they are looked for."""
PACKAGES = ("chromium", "chromium-driver", "fonts-dejavu-core")


def find() -> dict[str, str] | None:
    """Paths of the programs; None if one of them is missing."""
    found = {}
    for variable, names in PROGRAMS.items():
        wanted = os.environ.get(variable)
        paths = [shutil.which(name) for name in ([wanted] if wanted else names)]
        there = next((path for path in paths if path), None)
        if there is None:
            return None
        found[variable] = there
    return found


def install() -> str | None:
    """Installs the packages; what is wrong if it cannot be done."""
    apt = shutil.which("apt-get")
    if apt is None:
        return "there is no apt-get here"
    sudo = shutil.which("sudo")
    if os.geteuid() != 0 and sudo is None:
        return "neither root nor sudo"
    before = [] if os.geteuid() == 0 else [str(sudo), "-n"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update", "-qq"], ["install", "-qq", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(  # noqa: S603
            [*before, apt, *step], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            return f"apt-get {step[0]} failed: {said[-1] if said else done.returncode}"
    return None if find() else "the packages have been installed, but the programs are not found"


def main() -> int:
    """Installs what is missing; 1 if that fails."""
    if find():
        return 0
    print("installing Chromium for the tests of the report")
    reason = install()
    if reason is None:
        return 0
    print(
        f"Chromium and its driver are needed by tests/test_report.py and cannot be installed: {reason}\n"
        f"  fix: apt-get install {' '.join(PACKAGES)}, or name them: CHROMIUM=/path/chromium "
        "CHROMEDRIVER=/path/chromedriver make test",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
