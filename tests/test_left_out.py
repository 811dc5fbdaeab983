"""Keys of a scenario that another `kind` leaves out: a warning wherever the kind is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import ropewalk as rw

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

OF_MPTCP = """\
duration = "1s"
path = [{ name = "a", both = { rate = "4Mbit/s", delay = "10ms" } },
        { name = "b", both = { rate = "2Mbit/s", delay = "40ms" } }]
flow = [{ name = "down", from = "server", to = "terminal",
          transport = { kind = "mptcp", receive_buffer_max = "512KiB" } }]
"""


def test_a_kind_that_leaves_out_keys_of_the_file_is_told(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(OF_MPTCP)
    cmt = ["--set", "flow.down.transport.kind=cmt-sctp"]
    for command in (["run", file], ["show", file], ["why", file, "--effort", "quick"]):
        done = ropewalk(*command, *cmt)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith(f"warning: {file}:5:41: flow.down.transport.receive_buffer_max: ")
        assert "is left out" in done.stderr
        assert "fix: set `receive_buffer`, which this kind has" in done.stderr
    assert ropewalk("run", file).stderr == ""
    with pytest.warns(UserWarning, match="receive_buffer_max.*is left out"):
        changed = rw.Scenario.load(file).set("flow.down.transport.kind", "cmt-sctp")
    assert changed.left_out is not None
    assert changed.set("duration", "2s").left_out == changed.left_out


def test_a_study_names_the_keys_that_a_kind_leaves_out(ropewalk: Ropewalk, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OF_MPTCP)
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "s"\nscenario = "mine.toml"\nreplications = 3\n[[vary]]\nname = "over"\n'
        'key = "flow.down.transport.kind"\nvalues = ["mptcp", "tcp", "sctp", "cmt-sctp"]\n'
    )
    done = ropewalk("study", study, "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "warning: flow.down.transport.receive_buffer_max of the scenario has no effect in sctp and 1 more: "
        "its kind does not have it\n"
    )
