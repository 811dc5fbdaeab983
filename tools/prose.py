"""Fails if comments or documentation have sentences that take a second reading.

A sentence names its subject: no relative clause ("What is lost is ..."), no person where a process is meant
("nobody overtakes"), no homely noun for a term. A comment on an item names the item: it does not
begin with "Of ..." or "Those ...". A number is named by its parameter, and not called "so many".
"""

import contextlib
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CLAUSE = re.compile(
    r"(?:^|(?<=[.:;] ))(?:What|Who|Whose|Whom|Whoever)\b(?! \|| to look |.*\?)"
    r"|[.:;,] (?:what|who|whom|whose) (?:is|are|was|has|comes|asks|wants|sends|would|will|does)\b"
)
PERSON = re.compile(
    r"\b(?:nobody|somebody|anybody|anyone|someone|everybody|everyone|whoever)\b", re.IGNORECASE
)
HOMELY = re.compile(
    r"\b(?:deeds?|mood|vanish\w*|bury|buried|hears?|heard|at hand|thrown away|business|wish|dress(?:ed|es)?"
    r"|dares?)\b",
    re.IGNORECASE,
)
NAMED = re.compile(r"\b(?:fn|def) (?:\w+_)?(?:nobody|somebody|who)(?:_|\b)")
QUANTITY = re.compile(r"\b[Ss]o (?:many|much|often)\b(?!,|.*\b(?:that|as)\b)|^As (?:many|much)\b(?!.*\bas\b)")
FRAGMENT = re.compile(r"^(?:Of [a-z`]|Those\b|They\b)")
PATTERNS = (
    (CLAUSE, "a relative clause as subject: name the thing"),
    (PERSON, "a person: name the part that acts"),
    (HOMELY, "a homely word: take the term of the field"),
    (QUANTITY, "a number without a name: name the parameter"),
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
LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}
TEXT = re.compile(r'"[^" ]+ [^"]*"')
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


def docstrings(text: str) -> frozenset[int]:
    """Lines of docstrings after the first of each."""
    lines: set[int] = set()
    begins = True
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if begins and token.type == tokenize.STRING:
                lines.update(range(token.start[0] + 1, token.end[0] + 1))
            begins = token.type in LAYOUT
    return frozenset(lines)


def complaints(name: str, text: str) -> Iterator[str]:
    """One message per line of the file `name` that has an odd sentence; code blocks of pages are left out."""
    suffix = Path(name).suffix
    code = after = False
    inside = docstrings(text) if suffix in {".py", ".pyi"} else frozenset()
    for number, line in enumerate(text.splitlines(), 1):
        if suffix == ".md" and line.lstrip().startswith("```"):
            code = not code
        if code or (suffix == ".md" and line.startswith("    ")):
            continue
        mark = MARKS[suffix].search(line)
        prose = BULLET.sub("", (line if number in inside else mark[1] if mark else "").strip())
        checked = [(pattern, prose, reason) for pattern, reason in PATTERNS]
        if suffix != ".md" and not after:
            checked.append((FRAGMENT, prose, "not the name of the item: say what it is"))
        checked.append((NAMED, line, "a person: name the part that acts"))
        if suffix == ".rs":
            checked += [(PERSON, one, "a person: name the part that acts") for one in TEXT.findall(line)]
        after = number + 1 in inside or mark is not None
        for pattern, words, reason in checked:
            if found := pattern.search(words):
                yield f"{name}:{number}: {found[0].strip('.:;, ')!r} is {reason}\n  {words}"
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
