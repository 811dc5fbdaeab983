"""The examples in Python run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import ROOT


def test_the_receive_buffer_is_as_large_as_the_example_says(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "receive_buffer.py")]
    environment = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"pays from (\d+) KiB on; (\d+) KiB are enough, the rule asks for 2637", done.stdout)
    assert found, done.stdout
    pays, enough = map(int, found.groups())
    # Below the product of the LEO path's rate and the GEO path's delay the two are slower than the faster.
    assert 512 < pays <= enough <= 4096
    assert (tmp_path / "receive-buffer.png").stat().st_size > 10_000
