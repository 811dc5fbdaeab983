"""Names relative links of the documentation that lead nowhere and pages that its index does not list."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
ELSEWHERE = re.compile(r"[a-z]+:")


def pages() -> list[Path]:
    """Every page of the project in Markdown."""
    return sorted({*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *(ROOT / "docs").rglob("*.md")})


def text(page: Path) -> list[str]:
    """The lines of a page; those of code are empty."""
    lines, code = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        code ^= line.lstrip().startswith("```")
        lines.append("" if code else line)
    return lines


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings as GitHub writes them."""
    found: set[str] = set()
    for line in text(page):
        if heading := re.match(r"#+ (.*)", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            copies = sum(1 for a in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", a))
            found.add(f"{slug}-{copies}" if copies else slug)
    return found


def links(page: Path) -> Iterator[tuple[int, str, Path, str]]:
    """Line, text, target and anchor of every link that stays in the project."""
    for number, line in enumerate(text(page), 1):
        for link in LINK.findall(CODE.sub("code", line)):
            if not ELSEWHERE.match(link):
                name, _, anchor = link.partition("#")
                yield number, link, (page.parent / name).resolve() if name else page, anchor


def complaints() -> Iterator[str]:
    """The mistakes, one line each."""
    listed: set[Path] = set()
    index = ROOT / "docs" / "README.md"
    for page in pages():
        for number, link, target, anchor in links(page):
            if page == index:
                listed.add(target)
            if not target.exists():
                yield f"{page.relative_to(ROOT)}:{number}: {link} leads nowhere"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield f"{page.relative_to(ROOT)}:{number}: {link} has no such heading"
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page != index and page not in listed:
            yield f"docs/README.md: does not list {page.relative_to(ROOT)}"


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
