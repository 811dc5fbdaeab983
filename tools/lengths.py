"""Fails if a source file or a Python function is too long. Functions in Rust are clippy's business."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70
ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("crates", "python", "tests", "tools", "benches", "validation")


def sources() -> Iterator[Path]:
    """All Rust and Python files of the project, in order."""
    for folder in FOLDERS:
        found = (ROOT / folder).rglob("*")
        yield from sorted(path for path in found if path.suffix in {".rs", ".py", ".pyi"})


def long_functions(path: Path, text: str) -> Iterator[str]:
    """One message per function that is too long, its docstring included."""
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield (
                    f"{path.relative_to(ROOT)}:{node.lineno}: function {node.name} has {lines} lines, "
                    f"at most {MAX_FUNCTION_LINES} are allowed"
                )


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
        if path.suffix == ".py":
            yield from long_functions(path, text)


def main() -> int:
    """Prints all complaints; 1 if there are any."""
    found = list(complaints())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
