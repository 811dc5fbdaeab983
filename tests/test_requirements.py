"""The list of requirements of the RFCs and the comments that quote them."""

import subprocess
import sys
from pathlib import Path

import pytest

import requirements
from conftest import ROOT

LIST = """
[[requirement]]
rfc = 6298
section = "5"
quote = "The host MUST set RTO <- RTO * 2"

[[requirement]]
rfc = 6298
section = "2"
quote = \"\"\"the host MUST set
  SRTT <- R\"\"\"
note = "not with `ns_3`"

[[requirement]]
rfc = 9293
section = "3.8.6"
quote = 'the "usable window" MUST | MAY_BE'

[[requirement]]
rfc = 9293
section = "3.1"
quote = "the receiver MUST check it"
not_kept = "No checksums. Effect: none."

[[requirement]]
rfc = 1122
section = "3.2.1.7"
quote = "The TTL MUST be configurable"
not_applicable = "no TTL"
"""

TEST = """
/// Doubles. RFC 6298 section 5: "The host
/// MUST set RTO <- RTO * 2"
#[test]
#[should_panic]
fn doubles() {}
"""

CODE = """
    // RFC 6298 section 2: "the host MUST set SRTT <- R"
    let srtt = r;
    /// RFC 9293 section 3.8.6: "the "usable window" MUST | MAY_BE"
    pub(crate) fn usable() {}
"""


def kept(
    *files: tuple[str, str],
) -> tuple[dict[requirements.Requirement, list[requirements.Place]], list[str]]:
    found = [one for path, text in files for one in requirements.comments(Path(path), text)]
    places, complaints = requirements.places(requirements.requirements(LIST), found)
    return places, complaints + list(requirements.objections(places))


def test_tests_and_code_keep_requirements() -> None:
    places, wrong = kept(("crates/x/tests/rfc6298.rs", TEST), ("crates/x/src/rtt.rs", CODE))
    assert wrong == []
    assert [[place.test for place in at] for at in places.values()] == [["doubles"], [""], [""], [], []]
    page = requirements.page(places)
    assert "5 requirements: 1 kept by a test, 2 by code only, 1 not kept, 1 not applicable." in page
    assert (
        "| 5 | The host MUST set RTO &lt;- RTO \\* 2 | test [`doubles`](../../crates/x/tests/rfc6298.rs) |"
        in page
    )
    assert "| 2 | the host MUST set SRTT &lt;- R<br>*not with `ns_3`* | code [rtt.rs](../../crates/" in page
    assert '| the "usable window" MUST \\| MAY\\_BE |' in page
    departures, beside = page.split("## Not kept")[1].split("## Not applicable")
    assert "| 9293 | 3.1 | the receiver MUST check it | No checksums. Effect: none. |" in departures
    assert "MUST be configurable | no TTL |" in beside


def test_a_requirement_is_departed_from_or_not_applicable() -> None:
    both = requirements.requirements(LIST.replace('"no TTL"', '"no TTL"\nnot_kept = "no reason"'))
    wrong = list(requirements.objections({one: [requirements.Place(Path("a"), "t")] for one in both[-1:]}))
    assert any("has both not_kept and not_applicable" in one for one in wrong)


def test_a_departure_says_what_its_effect_is() -> None:
    silent = requirements.requirements(LIST.replace(" Effect: none.", ""))
    for listed, told in ((silent, True), (requirements.requirements(LIST), False)):
        wrong = list(requirements.objections({one: [] for one in listed}))
        assert any("does not say what its effect is" in one for one in wrong) == told


def test_what_nothing_keeps_is_named() -> None:
    _, wrong = kept(("crates/x/src/rtt.rs", CODE))
    assert wrong == [
        "tools/requirements.toml: neither test nor code quotes it, and there is no reason: "
        'RFC 6298 section 5: "The host MUST set RTO <- RTO * 2"'
    ]


@pytest.mark.parametrize(
    ("path", "text", "word"),
    [
        ("crates/x/src/a.rs", '// RFC 6298 section 5: "The host MAY set"\n', "1: not in"),
        ("crates/x/src/a.rs", '// RFC 6298 section 2: "The host MUST set RTO <- RTO * 2"\n', "1: not in"),
        ("crates/x/src/a.rs", '// RFC 9293 section 3.1: "the receiver MUST check it"\n', "a reason why"),
        ("crates/x/tests/a.rs", TEST.replace("#[test]\n", ""), "above no #[test]"),
        ("crates/x/src/tests.rs", TEST.replace("#[test]\n", ""), "above no #[test]"),
        ("crates/x/tests/a.rs", TEST.replace("#[test]", "struct A;\n#[test]"), "above no #[test]"),
        ("crates/x/tests/a.rs", TEST.replace("should_panic", "ignore"), "the test is ignored"),
        ("crates/x/tests/a.rs", TEST.replace("should_panic", 'ignore = "slow"'), "the test is ignored"),
    ],
)
def test_wrong_quotations_are_named(path: str, text: str, word: str) -> None:
    _, wrong = kept(("crates/x/src/rtt.rs", CODE), ("crates/y/tests/rfc6298.rs", TEST), (path, text))
    assert len(wrong) == 1
    assert word in wrong[0]


def test_wrong_entries_are_named() -> None:
    with pytest.raises(ValueError, match="unknown key why"):
        requirements.requirements(LIST + 'why = "?"\n')
    with pytest.raises(ValueError, match="no quote"):
        requirements.requirements('[[requirement]]\nrfc = 1\nsection = "1"\n')
    twice = requirements.requirements(
        LIST.replace('"5"', '"2"').replace("The host MUST set RTO <- RTO * 2", "x")
    )
    again = [*twice, requirements.Requirement(6298, "2", "x", note="again")]
    wrong = list(requirements.objections({one: [requirements.Place(Path("a"), "t")] for one in again}))
    assert any('2 times in the list: RFC 6298 section 2: "x"' in one for one in wrong)


def test_quotations_are_compared_with_texts(tmp_path: Path) -> None:
    between = "\n\n\nPaxson  Standards Track  [Page 5]\n\f\nRFC 6298  June 2011\n\n\n"
    text = f"2.  Rules\n\n5.  Timers\n\n   (5.5) The host MUST{between}   set RTO <- RTO * 2 (and so on)."
    (tmp_path / "rfc6298.txt").write_text(text, encoding="utf-8")

    def wrong() -> list[str]:
        found = requirements.misquoted(requirements.requirements(LIST), tmp_path)
        return [line.split(": ", 1)[1] for line in found]

    assert wrong() == ['does not say: RFC 6298 section 2: "the host MUST set SRTT <- R"']
    (tmp_path / "rfc6298.txt").write_text(text.replace("5.  Timers", "4.  Timers"), encoding="utf-8")
    assert (
        wrong()[0] == 'does not say; section 4 does: RFC 6298 section 5: "The host MUST set RTO <- RTO * 2"'
    )
    (tmp_path / "rfc6298.txt").unlink()
    text = (
        '3.1.  Header\n\nthe receiver MUST check it (MUST-3).\n\n3.8.6.  Window\n\n  the "usable-\n  window"'
    )
    (tmp_path / "rfc9293.txt").write_text(text, encoding="utf-8")
    assert len(wrong()) == 1
    assert requirements.sections(text)["3.8.6"][0] == '3.8.6. Window the "usable-window"'


def test_a_test_of_another_name_changes_the_page() -> None:
    before, after = (
        requirements.page(kept(("crates/x/tests/rfc6298.rs", text), ("crates/x/src/rtt.rs", CODE))[0])
        for text in (TEST, TEST.replace("doubles", "twice"))
    )
    assert before != after


def test_each_requirement_of_this_project_is_kept_or_has_a_reason() -> None:
    tool = ROOT / "tools" / "requirements.py"
    done = subprocess.run([sys.executable, str(tool)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0
