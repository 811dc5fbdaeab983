"""Installs libusrsctp if it is missing: tests of the real SCTP stack need it, and are skipped without it.

With ROPEWALK_REQUIRE=usrsctp, as in continuous integration, it is an error if that fails.
"""

import os
import shutil
import subprocess
import sys

import debian

PACKAGE = "libusrsctp-dev"


def installed() -> bool:
    """Whether the package with the headers is there."""
    if not shutil.which("dpkg-query"):
        return False
    query = ["dpkg-query", "--show", "--showformat", "${db:Status-Status}", PACKAGE]
    done = subprocess.run(query, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout == "installed"


def main() -> int:
    """Installs what is missing; 1 if that fails and is needed."""
    if installed():
        return 0
    print("installing libusrsctp for the tests of SCTP")
    reason = debian.install(PACKAGE)
    if reason is None:
        return 0
    print(f"libusrsctp cannot be installed: {reason}\n  fix: apt-get install {PACKAGE}", file=sys.stderr)
    return 1 if os.environ.get("ROPEWALK_REQUIRE") == "usrsctp" else 0


if __name__ == "__main__":
    sys.exit(main())
