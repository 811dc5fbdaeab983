"""The glossary names what the code has."""

import re

from conftest import ROOT

GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"


def test_names_of_the_glossary_are_in_the_code() -> None:
    rows = re.findall(r"^\|.*\| ([^|]*) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    names = {name for cell in rows for name in re.findall(r"`(\w+)`", cell)}
    source = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("crates/*/src/**/*.rs"))
    known = set(re.findall(r"\w+", source))
    assert len(names) > 30
    assert sorted(names - known) == []
