"""Messages on a terminal: broken between words, long lines of a file cut around the mark."""

from pathlib import Path

import pytest

from conftest import SMALL
from ropewalk.cli.excerpts import folded
from terminal import messages_on_terminal

LONG = (
    'both = { rate = "20Mbit/s", delya = "280ms", queue = "10p", loss = { kind = "ber", probability = 5 } }'
)
WRONG = SMALL.replace('delay = "40ms"', 'delya = "40ms"')


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("part", ['"20Mbit/s"', "delya", "probability", "5"])
def test_the_mark_stays_below_its_text(part: str, width: int) -> None:
    at = LONG.index(part)
    shown = folded(f"  10 | {LONG}\n     | {' ' * at}{'^' * len(part)}", width)
    source, mark = shown.split("\n")
    assert len(source) <= width
    assert len(mark) <= width
    assert source[mark.index("^") : mark.rindex("^") + 1] == part
    assert ("…" in source[:10]) == (not source[7:].startswith("both"))


def test_words_are_kept_whole_and_lines_that_fit_are_unchanged() -> None:
    fix = "fix: did you mean `delay`? keys of a link direction: rate, delay, queue"
    text = f"a.toml:2:1: key: found a value\n  {fix}\n"
    assert folded(text, 100) == text
    assert folded(text, 40) == (
        "a.toml:2:1: key: found a value\n"
        "  fix: did you mean `delay`? keys of a\n"
        "      link direction: rate, delay, queue\n"
    )
    assert folded("x" * 50, 40) == "x" * 50


def test_a_tab_and_a_mark_beyond_the_line() -> None:
    text = "  1 | \ta = 1\n    | \t^"
    assert folded(text, 60) == text
    cut = folded(f"  1 | {'a' * 90}\n    | {'^' * 90}", 60)
    assert cut == f"  1 | {'a' * 53}…\n    | {'^' * 54}"


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_no_message_is_wider_than_the_terminal(columns: int, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(WRONG, encoding="utf-8")
    for arguments in (
        ["run", "a.toml"],
        ["run", "a.toml", "--seeds", "ten"],
        ["list", "congestions"],
        ["bond", "--path", "20Mbits,30ms"],
        ["report", "."],
    ):
        code, shown = messages_on_terminal(columns, *arguments, cwd=tmp_path)
        assert code == 2, arguments
        assert max(map(len, shown.split("\n"))) <= columns, shown
    code, shown = messages_on_terminal(columns, "run", "a.toml", cwd=tmp_path)
    assert "delya" in shown
    assert "^^^^^" in shown
