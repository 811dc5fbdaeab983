"""`all(CHECK for v in [...])` in checks: one check for each case.

`all(order(time["sack", ack], time["adalr", ack]) for ack in ["on", "off"])` stands for two checks joined by
`and`. Several `for` make every combination; `for x, b in [("PER 1e-5", "1e-5"), ...]` takes names in pairs.
They are written out before a check is read, so that nothing after the parser knows them.
"""

from __future__ import annotations

import ast
import itertools
import math
from typing import TYPE_CHECKING, cast

from ropewalk.reproduce.mistakes import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = "all"
MOST_CASES = 1000
CURE = 'write all(order(x["a", v], x["b", v]) for v in ["1", "2"])'


def written_out(node: ast.expr) -> ast.expr:
    """A check without quantifiers.

    Raises:
        ExpressionError: a quantifier is written otherwise.
    """
    return cast("ast.expr", _WrittenOut().visit(node))


class _WrittenOut(ast.NodeTransformer):
    """Expands the outer quantifier first, so that an inner one can use its names."""

    def __init__(self) -> None:
        self._cases = 0
        """Number of cases of all quantifiers so far: nested ones multiply."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not (isinstance(node.func, ast.Name) and node.func.id == ALL):
            return self.generic_visit(node)
        match node:
            case ast.Call(args=[ast.GeneratorExp(elt=check, generators=loops)], keywords=[]):
                values = [list(_cases(loop)) for loop in loops]
            case _:
                raise ExpressionError(f"`{ALL}` is called otherwise", CURE)
        self._cases += math.prod(map(len, values))
        if self._cases > MOST_CASES:
            raise ExpressionError(f"`{ALL}` has {self._cases} cases", f"name {MOST_CASES} at most")
        text = ast.unparse(check)
        checks = [
            self.visit(_Named({name: value for names in case for name, value in names.items()}).of(text))
            for case in itertools.product(*values)
        ]
        return checks[0] if len(checks) == 1 else ast.BoolOp(ast.And(), checks)


def _cases(loop: ast.comprehension) -> Iterator[dict[str, ast.Constant]]:
    """Names and their values, case by case."""
    match loop.target:
        case ast.Name(id=name):
            names = [name]
        case ast.Tuple(elts=targets) if targets and all(isinstance(each, ast.Name) for each in targets):
            names = [each.id for each in targets if isinstance(each, ast.Name)]
        case _:
            raise ExpressionError(f"`for {ast.unparse(loop.target)}` is not a name", CURE)
    if loop.ifs or loop.is_async or not isinstance(loop.iter, ast.List) or not loop.iter.elts:
        raise ExpressionError(f"`in {ast.unparse(loop.iter)}` is not a list of levels or numbers", CURE)
    for entry in loop.iter.elts:
        values = entry.elts if isinstance(entry, ast.Tuple) else [entry]
        constants = [value for value in values if isinstance(value, ast.Constant)]
        if len(values) != len(names) or len(constants) != len(values):
            raise ExpressionError(f"`{ast.unparse(entry)}` does not go with {', '.join(names)}", CURE)
        yield dict(zip(names, constants, strict=True))


class _Named(ast.NodeTransformer):
    """Constants in the place of names."""

    def __init__(self, names: dict[str, ast.Constant]) -> None:
        self._names = names

    def of(self, text: str) -> ast.expr:
        """The expression with the names put in."""
        return cast("ast.expr", self.visit(ast.parse(text, mode="eval").body))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        found = self._names.get(node.id)
        return node if found is None else ast.Constant(found.value)
