"""Pages that explain say of the code what it is."""

import re
import tomllib

from conftest import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")


def manifests() -> dict[str, set[str]]:
    """The crates of the product that each crate depends on; without those of its tests."""
    found = {}
    for path in (ROOT / "crates").glob("*/Cargo.toml"):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        known = set(manifest.get("dependencies", {}))
        for target in manifest.get("target", {}).values():
            known |= set(target.get("dependencies", {}))
        found[manifest["package"]["name"]] = known
    for tests_only in ("testkit", "storm"):
        del found[tests_only]
    return {name: known & set(found) for name, known in found.items()}


def test_the_table_says_what_each_crate_knows() -> None:
    table: dict[str, set[str]] = {}
    for crates, known in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|$", PAGE, re.MULTILINE):
        for crate in re.findall(r"`(\w+)`", crates):
            table[crate] = set(re.findall(r"`(\w+)`", known))
    assert table == manifests()


def test_in_the_drawing_whatever_a_crate_knows_stands_below_it() -> None:
    [drawing] = re.findall(r"^```\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    crates = manifests()
    rows: dict[str, int] = {}
    for row, line in enumerate(drawing.splitlines()):
        # The description of a crate follows its name, after several blanks.
        words = line.split()
        named = words if all(word in crates for word in words) else words[:1]
        rows |= {word: row for word in named if word in crates}
    assert set(rows) == set(crates)
    assert [(user, known) for user in crates for known in crates[user] if rows[known] <= rows[user]] == []


def test_testkit_and_storm_belong_to_tests_alone() -> None:
    for path in (ROOT / "crates").glob("*/Cargo.toml"):
        known = tomllib.loads(path.read_text(encoding="utf-8")).get("dependencies", {})
        assert "storm" not in known, path
        assert "testkit" not in known or path.parent.name == "storm", path


def test_the_code_names_every_choice_at_its_place_and_no_other() -> None:
    page = (ROOT / "docs" / "explanation" / "modelling-choices.md").read_text(encoding="utf-8")
    named: set[str] = set()
    for path in (ROOT / "crates").rglob("*.rs"):
        named |= set(re.findall(r"\bD-\d+\b", path.read_text(encoding="utf-8")))
    assert sorted(named ^ set(re.findall(r"^\| (D-\d+) ", page, re.MULTILINE))) == []
