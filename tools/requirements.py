"""Compares the list of requirements of the RFCs (requirements.toml) with the comments that quote them.

    .venv/bin/python tools/requirements.py            prints what is wrong, one line each
    .venv/bin/python tools/requirements.py --write    writes docs/reference/standards.md
    .venv/bin/python tools/requirements.py --texts D  compares quotations with their sections in D/rfcNNNN.txt

A requirement is kept where a comment of a Rust source quotes it: `RFC 6298 section 5: "The host MUST ..."`.
Above a function with `#[test]` the test keeps it, elsewhere the code; a test that is ignored keeps nothing.
A requirement that nothing keeps needs a reason in the list.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
LIST = Path("tools/requirements.toml")
TITLES = {
    5681: "TCP congestion control",
    6298: "TCP's retransmission timer",
    6675: "Loss recovery with SACK",
    8684: "Multipath TCP",
    8985: "RACK-TLP",
    9260: "SCTP",
    9293: "TCP",
    9438: "CUBIC",
}
PAGE = Path("docs/reference/standards.md")
KEYS = {"rfc", "section", "quote", "note", "not_kept", "not_applicable"}
CITATION = re.compile(r'RFC (\d+) section ([\d.]*\d): "')
FUNCTION = re.compile(r"\s*(?:pub(?:\([a-z]+\))? )?fn (\w+)")
# Lines around a page break in a text of the RFC editor.
PAGE_BREAK = re.compile(r"\n+[^\n]*\[Page \d+\]\n\f?\n?(?:RFC \d+ [^\n]*\n)?\n*")
# The title of a section; those of the table of contents are indented.
SECTION = re.compile(r"^(\d+(?:\.\d+)*)\.? +\S", re.MULTILINE)
# The numbers of requirements, within the sentences of RFC 9293.
NUMBERS = re.compile(r" \((?:MUST|SHLD|MAY)- ?\d+\)")

HEAD = """\
# Standards

<!-- Written by tools/requirements.py from tools/requirements.toml and the comments of the sources. -->

Requirements of the RFCs that Ropewalk implements, word for word, and what keeps each. A *test* fails when the
requirement is broken. *Code* means that a comment quotes the requirement above the lines that obey it, and no
test observes it alone. Two lists with reasons stand at the end: requirements from which an endpoint of the
simulator departs, so that its results may differ (*not kept*), and requirements about parts that it does not
model, which no run can show (*not applicable*). Of the latter (checksums, options of IP, user
interfaces) only those are listed that a reader may expect.

`make test` fails for a requirement that has neither a test nor code nor a reason.
[CONTRIBUTING](../../CONTRIBUTING.md#standards) says how to add one.
"""


@dataclass(frozen=True)
class Requirement:
    """One entry of the list."""

    rfc: int
    section: str
    quote: str
    note: str = ""
    not_kept: str = ""
    """Why an endpoint departs from it, and what effect that has."""
    not_applicable: str = ""
    """Why no run can show it."""

    @property
    def reason(self) -> str:
        """Why nothing quotes it."""
        return self.not_kept or self.not_applicable

    @property
    def name(self) -> str:
        """How complaints call it."""
        return f'RFC {self.rfc} section {self.section}: "{self.quote}"'


@dataclass(frozen=True)
class Place:
    """Where a comment quotes a requirement."""

    path: Path
    test: str
    """Name of the test below the comment; empty above other code."""


@dataclass(frozen=True)
class Comment:
    """Comment lines without a line of code between them, and what follows them."""

    path: Path
    line: int
    text: str
    test: str
    ignored: bool = False


def plain(text: str) -> str:
    """With single spaces: quotations are wrapped as their comments are."""
    return " ".join(text.split())


def requirements(text: str) -> list[Requirement]:
    """The list; raises `ValueError` for an entry with an unknown key or without a needed one."""
    found = []
    for entry in tomllib.loads(text)["requirement"]:
        if wrong := set(entry) - KEYS:
            raise ValueError(f"{LIST}: unknown key {sorted(wrong)[0]} in {entry}")
        if missing := {"rfc", "section", "quote"} - set(entry):
            raise ValueError(f"{LIST}: no {sorted(missing)[0]} in {entry}")
        found.append(Requirement(**{**entry, "quote": plain(entry["quote"])}))
    return found


def comments(path: Path, text: str) -> Iterator[Comment]:
    """All comments of a Rust source; a comment behind code in a line is none."""
    lines = text.splitlines()
    start = None
    for number, line in enumerate([*lines, ""]):
        if line.lstrip().startswith("//"):
            start = number if start is None else start
        elif start is not None:
            words = (re.sub(r"^\s*//[/!]?", "", one) for one in lines[start:number])
            name, ignored = test_below(lines[number:])
            yield Comment(path, start + 1, plain(" ".join(words)), name, ignored)
            start = None


def test_below(lines: list[str]) -> tuple[str, bool]:
    """The name of the function that begins here, if it is a test, and whether it is ignored."""
    attributes: list[str] = []
    for line in lines:
        if (found := FUNCTION.match(line)) and "#[test]" in attributes:
            return found[1], any(one.startswith("#[ignore") for one in attributes)
        if not line.lstrip().startswith("#["):
            break
        attributes.append(line.strip())
    return "", False


def sources(root: Path) -> Iterator[Comment]:
    """All comments of all crates."""
    for path in sorted((root / "crates").rglob("*.rs")):
        yield from comments(path.relative_to(root), path.read_text(encoding="utf-8"))


def places(
    wanted: list[Requirement], found: list[Comment]
) -> tuple[dict[Requirement, list[Place]], list[str]]:
    """Where each requirement is quoted, and complaints about quotations that are not in the list."""
    kept: dict[Requirement, list[Place]] = {one: [] for one in wanted}
    complaints = []
    for comment in found:
        for match in CITATION.finditer(comment.text):
            rest = comment.text[match.start() :]
            quoted = [one for one in wanted if rest.startswith(one.name)]
            if not quoted:
                complaints.append(f"{comment.path}:{comment.line}: not in {LIST}: {rest[:90]}")
            in_tests = "tests" in comment.path.with_suffix("").parts
            if quoted and in_tests and not comment.test:
                complaints.append(f"{comment.path}:{comment.line}: above no #[test]: {rest[:90]}")
            if quoted and comment.ignored:
                complaints.append(f"{comment.path}:{comment.line}: the test is ignored: {rest[:90]}")
            for one in quoted:
                kept[one].append(Place(comment.path, comment.test))
    return kept, complaints


def objections(kept: dict[Requirement, list[Place]]) -> Iterator[str]:
    """The mistakes of the list."""
    for one, at in kept.items():
        if one.not_kept and one.not_applicable:
            yield f"{LIST}: has both not_kept and not_applicable: {one.name}"
        if one.not_kept and "effect" not in one.not_kept.lower():
            yield f"{LIST}: a departure that does not say what its effect is: {one.name}"
        if not at and not one.reason:
            yield f"{LIST}: neither test nor code quotes it, and there is no reason: {one.name}"
        if at and one.reason:
            yield f"{LIST}: has a reason why it is not kept, and {at[0].path} quotes it: {one.name}"
    for name, count in Counter(one.name for one in kept).items():
        if count > 1:
            yield f"{LIST}: {count} times in the list: {name}"


def readings(text: str) -> list[str]:
    """The text as it may be quoted: with or without numbers of requirements, hyphenated words whole."""
    whole = plain(re.sub(r"(?<=\w)-\n\s+", "-", text))
    return [whole, NUMBERS.sub("", whole), plain(text)]


def sections(text: str) -> dict[str, list[str]]:
    """The readings of each section, without those below it."""
    titles = list(SECTION.finditer(text))
    ends = [title.start() for title in titles[1:]] + [len(text)]
    parts: dict[str, str] = {}
    for title, end in zip(titles, ends, strict=True):
        parts[title[1]] = parts.get(title[1], "") + text[title.start() : end] + "\n"
    return {name: readings(part) for name, part in parts.items()}


def misquoted(wanted: list[Requirement], texts: Path) -> Iterator[str]:
    """Quotations that their section does not have, for the texts of RFCs that are there."""
    for rfc in sorted({one.rfc for one in wanted}):
        path = texts / f"rfc{rfc}.txt"
        if not path.exists():
            continue
        parts = sections(PAGE_BREAK.sub("\n", path.read_text(encoding="utf-8")))
        for one in wanted:
            if one.rfc != rfc or any(one.quote in text for text in parts.get(one.section, [])):
                continue
            elsewhere = [name for name, part in parts.items() if any(one.quote in text for text in part)]
            place = f"; section {elsewhere[0]} does" if elsewhere else ""
            yield f"{path}: does not say{place}: {one.name}"


def cell(text: str) -> str:
    """As a cell of a table; code between backticks stays as it is."""
    parts = text.split("`")
    parts[::2] = (re.sub(r"([|_*])", r"\\\1", part).replace("<", "&lt;") for part in parts[::2])
    return "`".join(parts)


def order(one: Requirement) -> tuple[int, ...]:
    """Where its section stands in the RFC."""
    return tuple(int(number) for number in one.section.split("."))


def by(at: list[Place]) -> str:
    """The tests, or the files if there is no test."""
    tests = [f"test [`{one.test}`](../../{one.path})" for one in at if one.test]
    code = [f"code [{one.path.name}](../../{one.path})" for one in at if not one.test]
    return ", ".join(dict.fromkeys(tests or code))


def page(kept: dict[Requirement, list[Place]]) -> str:
    """The page of the documentation."""
    tested = sum(any(place.test for place in at) for at in kept.values())
    refused = sum(bool(one.not_kept) for one in kept)
    beside = sum(bool(one.not_applicable) for one in kept)
    coded = len(kept) - tested - refused - beside
    text = [HEAD]
    text.append(
        f"{len(kept)} requirements: {tested} kept by a test, {coded} by code only, "
        f"{refused} not kept, {beside} not applicable.\n"
    )
    for rfc in sorted({one.rfc for one in kept}):
        title = f": {TITLES[rfc]}" if rfc in TITLES else ""
        text.append(f"## RFC {rfc}{title}\n\n| Section | Requirement | Kept by |\n|---|---|---|")
        text += [
            f"| {one.section} | {cell(one.quote)}{f'<br>*{cell(one.note)}*' if one.note else ''} | {by(at)} |"
            for one, at in sorted(kept.items(), key=lambda item: order(item[0]))
            if one.rfc == rfc and not one.reason
        ]
        text.append("")
    for title, key in (("Not kept", "not_kept"), ("Not applicable", "not_applicable")):
        text.append(f"## {title}\n\n| RFC | Section | Requirement | Reason |\n|---|---|---|---|")
        text += [
            f"| {one.rfc} | {one.section} | {cell(one.quote)} | {cell(getattr(one, key))} |"
            for one in sorted(kept, key=lambda one: (one.rfc, order(one)))
            if getattr(one, key)
        ]
        text.append("")
    return "\n".join(text)


def main() -> int:
    """Prints what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--texts", type=Path, help="folder with the texts of the RFCs")
    asked = parser.parse_args()
    wanted = requirements((ROOT / LIST).read_text(encoding="utf-8"))
    kept, wrong = places(wanted, list(sources(ROOT)))
    wrong += objections(kept)
    if asked.texts:
        wrong += misquoted(wanted, asked.texts)
    text = page(kept)
    if asked.write:
        (ROOT / PAGE).write_text(text, encoding="utf-8")
    elif not (ROOT / PAGE).exists() or (ROOT / PAGE).read_text(encoding="utf-8") != text:
        wrong.append(f"{PAGE}: not as the sources are; python tools/requirements.py --write")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
