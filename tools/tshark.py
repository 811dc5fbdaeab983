"""Installs Debian's tshark if it is missing: the tests of captures need it."""

import os
import shutil
import sys

import debian


def find() -> str | None:
    """Path of the program; None if it is missing."""
    return shutil.which(os.environ.get("TSHARK", "tshark"))


def main() -> int:
    """Installs it if it is missing; 1 if that fails."""
    if find():
        return 0
    print("installing tshark for the tests of captures")
    reason = debian.install("tshark")
    if reason is None and find():
        return 0
    print(
        f"tshark is needed by tests/test_captures.py and cannot be installed: {reason}\n"
        "  fix: apt-get install tshark, or name it: TSHARK=/path/tshark make test",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
