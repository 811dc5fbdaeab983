"""Installs Debian's Chromium and its driver if they are missing: the tests of the report need them."""

import os
import shutil
import sys

import debian

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
    """Installs the packages; returns the reason where it cannot."""
    reason = debian.install(*PACKAGES)
    if reason is None and not find():
        return "the packages have been installed, but the programs are not found"
    return reason


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
