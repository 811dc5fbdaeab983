"""Seeds of a scenario without chance: said where they are one run, and made to differ where that misleads."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import ropewalk as rw
from ropewalk.jitter import is_one_run, jittered
from terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Ropewalk

PATHS = ["--path", "20Mbit/s,30ms", "--path", "20Mbit/s,280ms"]
ALIKE = """\
duration = "20s"
seeds = 4

[[path]]
name = "a"
both = { rate = "20Mbit/s", delay = "30ms", queue = "100p" }

[[path]]
name = "b"
both = { rate = "20Mbit/s", delay = "280ms", queue = "940p" }

[[flow]]
name = "up"
from = "terminal"
to = "server"
app = "bulk"
transport = { kind = "mptcp", profile = "linux" }
"""


def goodputs(scenario: rw.Scenario) -> set[float]:
    return set(scenario.run(jobs=2, series=False).flows["goodput_bit_s"])


def test_seeds_differ_only_where_nothing_else_is_random() -> None:
    alike = rw.Scenario.parse(ALIKE)
    assert len(goodputs(alike)) == 1
    assert len(goodputs(jittered(alike))) == 4
    varies = '{ kind = "uniform", min = "30ms", max = "31ms", reorder = false }'
    varying = alike.override([("path.a.up.delay", varies)])
    tcp = alike.override([("flow.up.transport.kind", "tcp"), ("flow.up.via", "a")])
    for scenario in (varying, tcp, alike.set("jitter", "0s"), jittered(alike)):
        assert jittered(scenario).show() == scenario.show()


def test_it_is_uniform_in_order_and_only_on_constant_delays() -> None:
    """The same as a model of each delay, to the byte; a model stays as it is."""
    alike = rw.Scenario.parse(ALIKE).set("duration", "5s")
    model = '{{ kind = "uniform", min = "{0}ms", max = "{0}.1ms", reorder = false }}'
    varied = alike.override(
        [("path.a.both.delay", model.format(30)), ("path.b.both.delay", model.format(280))]
    )
    assert alike.set("jitter", "0.1ms").run(2).flows.equals(varied.run(2).flows)
    assert varied.set("jitter", "5ms").run(2).flows.equals(varied.run(2).flows)


def test_the_note_names_a_command_whose_seeds_differ(ropewalk: Ropewalk, tmp_path: Path) -> None:
    file = tmp_path / "alike.toml"
    file.write_text(ALIKE, encoding="utf-8")
    code, shown = on_terminal(60, "run", str(file), "--seeds", "3")
    assert code == 0, shown
    assert "Nothing is random here" in shown
    command = shown.replace("\\\n", "").partition("  ropewalk run ")[2].partition("\n")[0]
    done = ropewalk("run", *shlex.split(command))
    assert done.returncode == 0, done.stderr
    assert "3 replications" in done.stdout
    assert "Nothing is random" not in done.stdout


def test_no_note_where_seeds_differ_or_there_is_one() -> None:
    scenario = rw.Scenario.parse(ALIKE)
    assert not is_one_run(scenario.run(1))
    assert is_one_run(scenario.run(2))
    lossy = scenario.override([("path.a.up.loss", '{ kind = "packet", probability = "1%" }')])
    assert not is_one_run(lossy.run(2))


def test_what_bonding_is_worth_has_an_interval(ropewalk: Ropewalk) -> None:
    """Over paths that never differ the first seed has 29.5 Mbit/s; others have 31 to 33."""
    done = ropewalk("bond", *PATHS, "--size", "100MB")
    assert done.returncode == 0, done.stderr
    assert "Bonding pays: " in done.stdout
    assert "± 0 Mbit/s" not in done.stdout
