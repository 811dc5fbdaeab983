"""The page of what a program uses: as the docstrings say, and nothing without a word."""

import re

import python_page
import ropewalk as rw

PAGE = python_page.PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_docstrings_say() -> None:
    assert python_page.written() == PAGE, "run tools/python_page.py"


def test_everything_has_words() -> None:
    assert re.findall(r"^\| `\w+` \| *\|$", PAGE, re.MULTILINE) == []
    assert re.findall(r"^(#{3,} `.*`)\n\n(?:#|\|)", PAGE, re.MULTILINE) == []


def test_what_the_package_hands_out_is_there() -> None:
    for name in rw.__all__:
        if name != name.upper() and not name.startswith("_"):
            assert f"`{name}`" in PAGE, name
