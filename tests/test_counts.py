"""The counts on the pages of the reproductions: as recorded, of the claims and studies there are."""

import json

import pytest

import counts
from conftest import ROOT
from ropewalk import reproduce as rep


@pytest.mark.parametrize("name", rep.names())
def test_the_counts_of_the_page_are_those_of_the_last_whole_run(name: str) -> None:
    found = json.loads((ROOT / "reproductions" / name / "counts.json").read_text(encoding="utf-8"))
    cure = f"run `ropewalk reproduce {name}`, then `tools/counts.py results/{name}`"
    current = found["of"] == counts.digest(name) or "stale" in found
    assert current, f"checks or studies have changed since: {cure}"
    text = counts.page(name).read_text(encoding="utf-8")
    assert counts.BEGIN + counts.sentences(found) + counts.END in text, cure
    loaded = rep.load(name)
    assert found["claims"] == len(loaded.claims)
    if "stale" not in found:
        cannot = sum(claim.check is None for claim in loaded.claims)
        set_up = sum(loaded.is_set_up(claim) for claim in loaded.claims)
        assert found["verdicts"]["cannot be checked"] == cannot
        assert found["checked"] == len(loaded.claims) - cannot - set_up
