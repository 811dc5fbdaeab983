"""The check of comments and pages: which sentences it refuses, and that none is left."""

import subprocess
import sys

import pytest

import prose
from conftest import ROOT


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.rs", "/// What is not written will not be."),
        ("a.rs", "let a = 1; // Who sends what is here has missed an acknowledgement."),
        ("a.rs", "/// A shorter delay lets nobody overtake."),
        ("a.rs", "//! The queue is empty: who comes now is next."),
        ("a.py", '    """What the user asked for."""'),
        ("a.py", "x = 1  # somebody reads"),
        ("a.md", "* What is lost is sent again."),
        ("a.rs", "/// Offers a packet. What becomes of it is a fate."),
        ("a.md", "The path is slow. Who changes it answers for it."),
        ("a.md", "| `droptail` | first in, first out; what is too much is dropped |"),
        ("a.toml", "# Such a machine is not always in the same mood."),
        ("a.toml", "# Options vanish in mid-transfer."),
        ("a.rs", "/// Those of the connection until `end`."),
        ("a.py", '"""Of the widest line."""'),
        ("a.py", 'def f(n):\n    """First.\n\n    Whoever asks is answered.\n    """'),
        ("a.rs", "/// STAR with a window of so many segments."),
        ("a.rs", "/// So many dummies are answered."),
        ("a.rs", "/// As much."),
        ("a.rs", "/// A wish for another schema is not granted."),
        ("a.rs", "/// How far the controller dares to go."),
        ("a.md", "The window is not the controller's business."),
        ("a.rs", "fn an_abort_that_nobody_answers() {"),
        ("a.rs", 'let record = world.run().expect("nobody cancels");'),
    ],
)
def test_odd_sentences_are_named(name: str, line: str) -> None:
    told = list(prose.complaints(name, f"\n{line}\n"))
    assert len(told) == 1
    place = 2 + line[: line.find("Whoever")].count("\n")
    assert told[0].startswith(f"{name}:{place}: ")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.rs", "/// Says what it is and its units."),
        ("a.rs", 'let nobody = "What is this";'),
        ("a.rs", "fn the_whole_window() {"),
        ("a.rs", 'let key = "flow.nobody.start";'),
        ("a.rs", "/// The scheduler may choose any\n/// Of these subflows."),
        ("a.rs", "/// The source leaves so much open that results need not agree."),
        ("a.rs", "/// As much as the send buffer takes."),
        ("a.rs", "/// The address has its own ID."),
        ("a.py", 'text = """\nOf nobody\n"""'),
        ("a.md", "Of several rates the lowest applies."),
        ("a.md", "What is it worth to bond LTE and GEO?"),
        ("a.md", "The path is slow. What limits it?"),
        ("a.toml", "# Two paths. What to look for: the share of each."),
        ("a.md", "| What | Page |"),
        ("a.md", "```text\nWhat is printed by a command.\n```"),
        ("a.md", "    What is indented is code."),
    ],
)
def test_others_are_not(name: str, line: str) -> None:
    assert not list(prose.complaints(name, line))


def test_none_is_left() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "prose.py"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == ""
    assert done.returncode == 0
