"""Installs what coupled congestion controls for the kernel need, if it is missing."""

import shutil
import sys
from pathlib import Path

import debian

PACKAGES = ("clang", "gcc", "libbpf-dev")


def installed() -> bool:
    """Whether compilers and headers are there."""
    return all(map(shutil.which, ("clang", "gcc"))) and Path("/usr/include/bpf/libbpf.h").exists()


def main() -> int:
    """Installs what is missing; 1 if that fails."""
    if installed():
        return 0
    print("installing clang and libbpf for coupled congestion controls")
    reason = debian.install(*PACKAGES)
    if reason is None and installed():
        return 0
    print(f"they cannot be installed: {reason}\n  fix: apt-get install {' '.join(PACKAGES)}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
