"""Fails if comments or documentation have sentences that take a second reading.

A sentence names its subject: no relative clause ("What is lost is ..."), no person where a process is meant
("nobody overtakes"), no homely noun for a term.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CLAUSE = re.compile(
    r"^(?:What|Who|Whose|Whom|Whoever)\b(?! \||.*\?)"
    r"|[.:;,] (?:what|who|whom|whose) (?:is|are|was|has|comes|asks|wants|sends|would|will|does)\b"
)
PERSON = re.compile(r"\b(?:nobody|somebody)\b", re.IGNORECASE)
HOMELY = re.compile(r"\b(?:deeds?|mood|vanish\w*|bury|buried)\b", re.IGNORECASE)
PATTERNS = (
    (CLAUSE, "a relative clause as subject: name the thing"),
    (PERSON, "a person: name the part that acts"),
    (HOMELY, "a homely word: take the term of the field"),
)

MARKS = {
    ".rs": re.compile(r"//[/!]? ?(.*)"),
    ".cc": re.compile(r"// ?(.*)"),
    ".h": re.compile(r"// ?(.*)"),
    ".js": re.compile(r"// ?(.*)"),
    ".py": re.compile(r'(?:# ?|r?""")(.*)'),
    ".pyi": re.compile(r'(?:# ?|""")(.*)'),
    ".toml": re.compile(r"# ?(.*)"),
    "": re.compile(r"# ?(.*)"),
    ".md": re.compile(r"(.*)"),
}
"""Where the prose of a line begins, by the end of the file's name; the Makefile has none."""
BULLET = re.compile(r"^(?:[*>|-]|\d+\.) +")
EXAMPLES = ("tools/prose.py", "tests/test_prose.py", "reproductions/")
"""Not read: the patterns themselves, and the words of other authors."""


def files() -> Iterator[Path]:
    """All files with prose under version control."""
    found = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
    for name in found.stdout.splitlines():
        path = ROOT / name
        if (
            not name.startswith(EXAMPLES)
            and path.suffix in MARKS
            and (path.suffix or path.name == "Makefile")
        ):
            yield path


def complaints(name: str, text: str) -> Iterator[str]:
    """One message per line of the file `name` that has an odd sentence; code blocks of pages are left out."""
    suffix = Path(name).suffix
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if suffix == ".md" and line.lstrip().startswith("```"):
            code = not code
        if code or (suffix == ".md" and line.startswith("    ")):
            continue
        mark = MARKS[suffix].search(line)
        prose = BULLET.sub("", mark[1].strip()) if mark else ""
        for pattern, reason in PATTERNS:
            if found := pattern.search(prose):
                yield f"{name}:{number}: {found[0].strip('.:;, ')!r} is {reason}\n  {prose}"
                break


def main() -> int:
    """Prints all complaints; 1 if there are any."""
    found = [
        complaint
        for path in files()
        for complaint in complaints(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ]
    for complaint in found:
        print(complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
