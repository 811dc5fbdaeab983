"""Fails if a source file is too long, or a function; clippy counts those in Rust."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70
ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("crates", "python", "tests", "tools", "benches", "validation", "examples")
SUFFIXES = {".rs", ".py", ".pyi", ".cc", ".h", ".js", ".css"}
# Before a brace that opens no function.
NO_FUNCTION = re.compile(r" *(?:namespace|class|struct|enum|union)\b")
NAME = re.compile(r"([\w:~]+)\(")
ARROW = re.compile(r"( *)const (\w+) = .*=> \{$")


Function = tuple[str, int, int]
"""Name, first line, last line."""


def sources() -> Iterator[Path]:
    """All source files of the project, in order."""
    for folder in FOLDERS:
        found = (path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
        yield from sorted(path for path in found if "target" not in path.relative_to(ROOT).parts)


def functions_of_python(text: str) -> Iterator[Function]:
    """Docstrings count."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, node.end_lineno or node.lineno


def functions_of_cpp(text: str) -> Iterator[Function]:
    """A body is what two braces enclose that stand alone, one below the other, as ns-3 sets them."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.strip() != "{" or NO_FUNCTION.match(lines[at - 1]):
            continue
        end = next(n for n in range(at, len(lines)) if lines[n].startswith(line.replace("{", "}")))
        heads = ((n, NAME.search(lines[n])) for n in range(at - 1, -1, -1))
        start, name = next(((n, found[1]) for n, found in heads if found), (at, "?"))
        yield name, start + 1, end + 1


def functions_of_javascript(text: str) -> Iterator[Function]:
    """Arrow functions that have a name and more than a line, as ours are written."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if found := ARROW.match(line):
            end = next(n for n in range(at + 1, len(lines)) if lines[n].startswith(found[1] + "}"))
            yield found[2], at + 1, end + 1


def long_functions(path: Path, text: str) -> Iterator[str]:
    """One message per function that is too long."""
    for name, first, last in FUNCTIONS[path.suffix](text) if path.suffix in FUNCTIONS else ():
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield (
                f"{path.relative_to(ROOT)}:{first}: function {name} has {last - first + 1} lines, "
                f"at most {MAX_FUNCTION_LINES} are allowed"
            )


FUNCTIONS = {
    ".py": functions_of_python,
    ".cc": functions_of_cpp,
    ".h": functions_of_cpp,
    ".js": functions_of_javascript,
}


def complaints() -> Iterator[str]:
    """One message per file or function that is too long."""
    for path in sources():
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > MAX_FILE_LINES:
            yield (
                f"{path.relative_to(ROOT)}:{MAX_FILE_LINES + 1}: the file has {lines} lines, "
                f"at most {MAX_FILE_LINES} are allowed"
            )
        yield from long_functions(path, text)


def main() -> int:
    """Prints all complaints; 1 if there are any."""
    found = list(complaints())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
