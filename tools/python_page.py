"""Writes docs/reference/python.md out of the docstrings; a test sees that it has been done.

.venv/bin/python tools/python_page.py
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "python.md"
SOURCES = ROOT / "python" / "ropewalk"
WIDTH = 120

HEAD = """\
# Python

<!-- Written by tools/python_page.py out of the docstrings. -->

The interface for programs and notebooks. `import ropewalk as rw` has `Scenario`, `Capture`, `Results`,
`read` and `Reading`, `Study`, `StudyResults` and the errors `ScenarioError`, with `Diagnostic`, and
`RunFailed` (a replication failed; the text names its seed and the cure). The other modules are imported by
name, as in `from ropewalk import statistics`; objects of the other classes are what calls return. Arguments
after `*` are given by name. Tables are polars data frames (`to_pandas()` where pandas and pyarrow are
installed): [their columns](results.md). There is [an example, cell by
cell](../../examples/receive_buffer.py).
"""

PARTS = {
    "A scenario and its results": {
        "scenario.py": ["Scenario"],
        "captures.py": ["Capture"],
        "results.py": ["Results", "Totals", "Accuracy"],
        "comparison.py": ["compare", "Comparison", "Compared"],
        "connections.py": ["read", "Reading", "anonymise", "Anonymised"],
        "why/model.py": ["Diagnosis", "FlowDiagnosis", "Reason", "Cure"],
        "plots/__init__.py": ["Plots"],
        "errors.py": ["ScenarioError", "Diagnostic"],
    },
    "Studies": {"study/__init__.py": ["Study", "Ran"], "study/results.py": ["StudyResults"]},
    "`ropewalk.statistics`": {
        "statistics.py": [
            *("Estimate", "estimate", "Description", "describe", "quantile", "Box", "box", "jain"),
            *("Paired", "paired", "holm", "alike", "pooled", "WithoutOutliers", "without_outliers"),
        ]
    },
    "`ropewalk.report`, `ropewalk.export`": {
        "report/__init__.py": ["write", "build"],
        "export/__init__.py": ["export"],
    },
    "`ropewalk.reproduce`": {
        "reproduce/files.py": ["names", "load"],
        "reproduce/conduct.py": ["reproduce", "Reproduced"],
    },
    "`ropewalk.rain`": {
        "rain.py": [
            *("Site", "Fade", "times", "exceeded", "at_rain_rate", "specific_attenuation", "free_space_loss"),
            *("synthesis", "deepest", "level", "losses", "write"),
        ]
    },
}
"""Headings, and under each what of which module; of a class all that is public."""
INTERNAL = {
    *("Scenario.output", "Scenario.override", "Results.from_output", "ScenarioError.from_core"),
    "Estimate.to_dict",
    *("StudyResults.rows", "StudyResults.forget"),
}
"""Public for other parts of the package."""
OWNERS = {"Scenario": "scenario", "Results": "results", "Plots": "results.plot", "Study": "study"}
"""The names of objects in calls that differ from the name of the class."""
SECTION = re.compile(r"^(Args|Returns|Raises):$", re.MULTILINE)
NAMES = {"Args": "Arguments", "Returns": "Returns", "Raises": "Raises"}


def signature(function: ast.FunctionDef, name: str) -> str:
    """A call with the defaults, without types."""
    given = function.args
    positional = [argument.arg for argument in given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    words = [_argument(*pair) for pair in zip(positional, defaults, strict=True)]
    if words and words[0] in {"self", "cls"}:
        words = words[1:]
    words += ["*"] * bool(given.kwonlyargs)
    words += [
        _argument(a.arg, default) for a, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return f"{name}({', '.join(words)})"


def _argument(name: str, default: ast.expr | None) -> str:
    return name if default is None else f"{name}={ast.unparse(default)}"


def prose(doc: str) -> str:
    """A docstring in Markdown: its sections become lists."""
    first, *rest = SECTION.split(doc)
    found = [textwrap.fill(paragraph, WIDTH) for paragraph in first.strip().split("\n\n")]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        entries = re.split(r"\n(?=\S)", textwrap.dedent(body.strip("\n")).strip())
        lines = [_entry(" ".join(entry.split()), title) for entry in entries]
        found.append(f"{NAMES[title]}:\n\n" + "\n".join(lines))
    return "\n\n".join(found)


def _entry(text: str, title: str) -> str:
    name, colon, rest = text.partition(": ")
    named = title != "Returns" and colon
    return textwrap.fill(f"* `{name}`: {rest}" if named else f"* {text}", WIDTH, subsequent_indent="  ")


def documented(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Fields, and what is set at the beginning, with the text that follows them."""
    starts = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    for body in (node.body, *(start.body for start in starts)):
        for field, text in itertools.pairwise([*body, ast.Pass()]):
            match field:
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name, _said(text)
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                    if not name.startswith("_") and _said(text):
                        yield name, _said(text)


def _said(node: ast.stmt) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
    return ""


def of_class(node: ast.ClassDef, name: str) -> Iterator[str]:
    """A class: what it is, its fields and properties, its methods."""
    yield f"### `{name}`\n\n{prose(ast.get_docstring(node) or '')}"
    rows = list(documented(node))
    of_object = OWNERS.get(node.name, "results" if node.name.endswith("Results") else node.name.lower())
    methods = []
    for child in node.body:
        if not isinstance(child, ast.FunctionDef) or child.name.startswith("_"):
            continue
        if f"{node.name}.{child.name}" in INTERNAL:
            continue
        decorators = {ast.unparse(decorator) for decorator in child.decorator_list}
        doc = ast.get_docstring(child) or ""
        if decorators & {"property", "cached_property"}:
            rows.append((child.name, doc.partition("\n\n")[0]))
        else:
            owner = node.name if decorators & {"classmethod", "staticmethod"} else of_object
            methods.append(f"#### `{signature(child, f'{owner}.{child.name}')}`\n\n{prose(doc)}")
    if rows:
        table = "\n".join(f"| `{name}` | {' '.join(text.split())} |" for name, text in rows)
        yield f"| Attribute | Meaning |\n|---|---|\n{table}"
    yield from methods


def of_module(path: str, names: list[str], before: str) -> Iterator[str]:
    """Classes and functions in the order of `names`; `before` stands in front of these."""
    tree = ast.parse((SOURCES / path).read_text(encoding="utf-8"))
    nodes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    for name in names:
        node = nodes[name]
        if isinstance(node, ast.ClassDef):
            yield from of_class(node, f"{before}{name}")
        else:
            yield f"### `{signature(node, f'{before}{name}')}`\n\n{prose(ast.get_docstring(node) or '')}"


def written() -> str:
    """The whole page."""
    parts = [HEAD.rstrip()]
    for title, modules in PARTS.items():
        parts.append(f"## {title}")
        for module, names in modules.items():
            name = Path(module).parts[0].removesuffix(".py")
            parts += of_module(module, names, f"{name}." if f"`ropewalk.{name}`" in title else "")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
