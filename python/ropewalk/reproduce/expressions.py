"""Checks as text: arithmetic on quantities, judged by predicates. Nothing else can be written.

`within(time["sack", "on"], 470.1, 0.15) and order(time["sack", :], time["adalr-sack", :])`: in brackets are
levels of the factors of the quantity's study, in their order; `:` stands for all levels, a list for some.
`all(CHECK for v in ["on", "off"])` is one check for each level, see `quantifiers`.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import operator
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ropewalk.reproduce import chance, predicates, quantifiers
from ropewalk.reproduce.mistakes import ExpressionError
from ropewalk.reproduce.predicates import COMPULSORY, PREDICATES, Outcome, WrongUse
from ropewalk.reproduce.values import NoValue, Row, Sample, Value, combine, deviation, flat, mean_of, spread
from ropewalk.study.mistakes import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ropewalk.reproduce.published import Published

Choice: TypeAlias = "str | tuple[str, ...]"
"""One level of a factor, or several."""

ConfigArguments: TypeAlias = "tuple[str, str, str | float | bool, tuple[str, ...]]"
"""Scenario file or study, key, value, levels of one case."""

PUBLISHED = "published"
"""Name of the published figure in its own check, where it is a number."""
CONFIG = "config"
CHANCE = "by_chance"


class Source(Protocol):
    """Where quantities come from."""

    def sample(self, quantity: str, levels: tuple[str, ...]) -> Sample:
        """The quantity in the case with these levels, over its replications."""

    def config(self, place: str, key: str, value: str | float | bool, case: tuple[str, ...]) -> Outcome:
        """Whether a key of the scenario is `value`."""


@dataclass(frozen=True, slots=True)
class Use:
    """A quantity in an expression."""

    quantity: str
    levels: tuple[Choice, ...]


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_KEEP_UNIT = (ast.Add, ast.Sub)
_ELEMENTWISE: dict[str, Callable[[float], float]] = {"abs": math.fabs, "sqrt": math.sqrt}
_TOGETHER: dict[str, Callable[..., float]] = {
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "mean": lambda *values: math.fsum(values) / len(values),
}
_BY_MEAN = {"highest": max, "lowest": min}
_RUNS, _SPREAD = "runs", "spread"
FUNCTIONS = (*_ELEMENTWISE, *_TOGETHER, *_BY_MEAN, _RUNS, _SPREAD)
_TOP = "a check is a predicate, or several with and, or, not, all(... for v in [...])"
_ALLOWED = (
    "allowed: quantities[levels], numbers, + - * / **, lists, "
    f"functions {', '.join(FUNCTIONS)}, predicates {', '.join([*PREDICATES, CONFIG, CHANCE])}"
)


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression."""

    text: str
    tree: ast.expr
    """With `all` written out."""
    uses: tuple[Use, ...]
    configs: tuple[ConfigArguments, ...]
    """The keys that `config` reads."""
    counted: frozenset[str] = frozenset()
    """Quantities of which only the number of replications is asked."""


def parse(
    text: str, factors: Mapping[str, Sequence[Sequence[str]]], *, check: bool, published: bool = False
) -> Expression:
    """Reads a check (a truth), or with `check=False` a value, as in the curves of figures.

    Args:
        text: the expression.
        factors: the levels of each factor of each quantity's study, by quantity.
        check: whether it must be a predicate.
        published: whether the published figure is a number that the expression may name.

    Raises:
        ExpressionError: it has a mistake.
    """
    try:
        # In brackets it may be written on several lines.
        tree = ast.parse(f"({text.strip()}\n)", mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"not an expression: {error.msg}", _ALLOWED) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an expression: {error}", _ALLOWED) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) >= 2**63:
            raise ExpressionError("a number beyond 64 bits", "write it as 1e30")
    found = _Checker(factors, published=published)
    try:
        tree = quantifiers.written_out(tree) if check else tree
        if check:
            found.truth(tree)
        else:
            found.value(tree)
    except RecursionError:
        raise ExpressionError("too many levels of operators or brackets", _ALLOWED) from None
    return Expression(text, tree, tuple(found.uses), tuple(found.configs), _only_counted(tree))


def _only_counted(tree: ast.expr) -> frozenset[str]:
    """Names that stand within `runs` and nowhere else."""

    def names(node: ast.AST) -> Counter[str]:
        return Counter(part.id for part in ast.walk(node) if isinstance(part, ast.Name))

    within = Counter[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == _RUNS:
            within += names(node.args[0])
    everywhere = names(tree)
    return frozenset(name for name, number in within.items() if number == everywhere[name])


class _Checker:
    """Walks an expression before anything is run."""

    def __init__(self, factors: Mapping[str, Sequence[Sequence[str]]], *, published: bool) -> None:
        self._factors = factors
        self._published = published
        self.uses: list[Use] = []
        self.configs: list[ConfigArguments] = []

    def truth(self, node: ast.expr) -> None:
        match node:
            case ast.BoolOp(values=values):
                for value in values:
                    self.truth(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.truth(operand)
            case ast.Call(func=ast.Name(id=name)) if name == CONFIG:
                self._config(node)
            case ast.Call(func=ast.Name(id=name)) if name == CHANCE:
                self._chance(node)
            case ast.Call(func=ast.Name(id=name)) if name in PREDICATES:
                self._predicate(name, node)
            case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
                raise ExpressionError(
                    f"`{name}` is not a predicate", did_you_mean(name, [*PREDICATES, CONFIG, CHANCE])
                )
            case _:
                raise ExpressionError(f"`{ast.unparse(node)}` is neither true nor false", _TOP)

    def _chance(self, node: ast.Call) -> None:
        match node:
            case ast.Call(args=[check], keywords=[ast.keyword(arg="runs" | "seeds", value=runs), *more]):
                self.truth(check)
                self.value(runs)
                self._alike(check, more)
            case _:
                raise ExpressionError(
                    f"`{CHANCE}` is called otherwise", f"write {CHANCE}(order(a, b), runs=10), or seeds=4"
                )

    def _alike(self, check: ast.expr, more: Sequence[ast.keyword]) -> None:
        if not more:
            return
        cure = f'write {CHANCE}(order(x["a"], x["b"]), runs=10, alike=[["a", "b", "c"]])'
        groups = _groups(more[0].value) if len(more) == 1 and more[0].arg == "alike" else None
        if groups is None:
            raise ExpressionError(f"`{CHANCE}` is called otherwise", cure)
        named = {node.value for node in ast.walk(check) if isinstance(node, ast.Constant)}
        for group in groups:
            if not named & set(group):
                raise ExpressionError(f"the check names none of {', '.join(group)}", cure)

    def _config(self, node: ast.Call) -> None:
        self.configs.append(config_arguments(node))

    def _predicate(self, name: str, node: ast.Call) -> None:
        predicate = PREDICATES[name]
        least, most = predicate.values
        if len(node.args) < least or (most is not None and len(node.args) > most):
            doc = (predicate.judge.__doc__ or "").split("\n")[0]
            raise ExpressionError(f"`{name}` has {len(node.args)} arguments", f"write {doc}")
        for argument in node.args:
            self.value(argument)
        for keyword in node.keywords:
            if keyword.arg not in predicate.options:
                known = ", ".join(predicate.options) or "none"
                raise ExpressionError(f"`{name}` has no option `{keyword.arg}`", f"options: {known}")
            self.value(keyword.value)
        given = {keyword.arg for keyword in node.keywords}
        for option in COMPULSORY.get(name, ()):
            if option not in given:
                raise ExpressionError(f"`{name}` needs {option}=", f"add {option}=0.05 or the like")

    def value(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
                pass
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                self.value(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                self._values([left, right])
            case ast.List(elts=elements) if elements:
                self._values(elements)
            case ast.Name(id=name):
                self._name(name, ())
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                self._name(name, _index(index))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                name in FUNCTIONS and arguments
            ):
                self._function(name, arguments)
            case _:
                raise ExpressionError(f"`{ast.unparse(node)}` cannot be used as a value", _ALLOWED)

    def _values(self, nodes: Sequence[ast.expr]) -> None:
        for node in nodes:
            self.value(node)

    def _function(self, name: str, arguments: Sequence[ast.expr]) -> None:
        if name in {*_ELEMENTWISE, _RUNS, _SPREAD} and len(arguments) != 1:
            raise ExpressionError(f"`{name}` has {len(arguments)} arguments", f"write {name}(x)")
        self._values(arguments)

    def _name(self, name: str, index: tuple[Choice | None, ...]) -> None:
        if name == PUBLISHED and not index:
            if not self._published:
                raise ExpressionError("the published value is not a number", "write the number itself")
            return
        if name not in self._factors:
            raise ExpressionError(f"there is no quantity `{name}`", did_you_mean(name, self._factors))
        self.uses.append(Use(name, _levels(name, index, self._factors[name])))


def _index(node: ast.expr) -> tuple[Choice | None, ...]:
    """The index between brackets; None for `:`."""
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    return tuple(_choice(element) for element in elements)


def _choice(node: ast.expr) -> Choice | None:
    match node:
        case ast.Slice(lower=None, upper=None, step=None):
            return None
        case ast.Constant(value=str(text)):
            return text
        case ast.List(elts=[_, *_] as elements):
            texts = [element.value for element in elements if isinstance(element, ast.Constant)]
            if len(texts) == len(elements) and all(isinstance(text, str) for text in texts):
                return tuple(map(str, texts))
    raise ExpressionError(
        f"`{ast.unparse(node)}` is not a level",
        "write a level in quotes, a list of levels, or `:` for all of them",
    )


def _levels(
    name: str, index: tuple[Choice | None, ...], factors: Sequence[Sequence[str]]
) -> tuple[Choice, ...]:
    """The index with `:` written out, each level looked up."""
    if len(index) != len(factors):
        wanted = ", ".join(f'"{factor[0]}"' for factor in factors)
        raise ExpressionError(
            f"`{name}` has {len(factors)} factors, found {len(index)} levels",
            f"write {name}[{wanted}]" if factors else f"write {name} without brackets",
        )
    found: list[Choice] = []
    for choice, labels in zip(index, factors, strict=True):
        for level in (choice,) if isinstance(choice, str) else choice or ():
            if level not in labels:
                raise ExpressionError(f'`{name}` has no level "{level}" there', did_you_mean(level, labels))
        found.append(tuple(labels) if choice is None else choice)
    return tuple(found)


def config_arguments(node: ast.Call) -> ConfigArguments:
    """File or study, key, value, levels of one case (empty: all) of a call of `config`.

    Raises:
        ExpressionError: it is called otherwise.
    """
    cure = (
        'write config("scenario.toml", "link.sat.down.rate", "2Mbit/s"), '
        'or config("STUDY", KEY, VALUE, case=["on"])'
    )
    try:
        arguments = [ast.literal_eval(argument) for argument in node.args]
        options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
    except ValueError:
        raise ExpressionError("`config` takes texts and numbers only", cure) from None
    case = options.pop("case", [])
    right = len(arguments) == 3 and all(isinstance(argument, str) for argument in arguments[:2])  # noqa: PLR2004
    right = right and isinstance(arguments[2], str | int | float) and not options
    if not right or not isinstance(case, list) or not all(isinstance(level, str) for level in case):
        raise ExpressionError("`config` is called otherwise than it is meant", cure)
    return arguments[0], arguments[1], arguments[2], tuple(case)


@functools.lru_cache(maxsize=10_000)
def _text(node: ast.expr) -> str:
    """A part of a check as text; a check by chance asks for it thousands of times."""
    return ast.unparse(node)


def _groups(node: ast.expr) -> list[list[str]] | None:
    """Lists of two names or more; None if it is something else."""
    try:
        groups = ast.literal_eval(node)
    except ValueError:
        return None
    right = isinstance(groups, list) and all(
        isinstance(group, list) and len(group) > 1 and all(isinstance(name, str) for name in group)
        for group in groups
    )
    return groups if right and groups else None


class _Renamed(ast.NodeTransformer):
    """Other names in the place of some."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(self._names.get(node.value, node.value)) if isinstance(node.value, str) else node


class _Sorted(ast.NodeTransformer):
    """Lists of which the order does not matter."""

    def visit_List(self, node: ast.List) -> ast.List:
        return ast.List(sorted((self.visit(element) for element in node.elts), key=ast.dump), node.ctx)


def exchanged(check: ast.expr, groups: Sequence[Sequence[str]]) -> list[ast.expr]:
    """The outcomes of a check when the names of a group change places: every other outcome once.

    Its lists are taken for sets: outcomes that differ only in their order are the same.
    """
    text = ast.unparse(check)
    found: dict[str, ast.expr] = {}
    for orders in itertools.product(*map(itertools.permutations, groups)):
        names = dict(zip(itertools.chain(*groups), itertools.chain(*orders), strict=True))
        other = _Renamed(names).visit(ast.parse(text, mode="eval").body)
        found.setdefault(ast.dump(_Sorted().visit(ast.parse(ast.unparse(other), mode="eval").body)), other)
    return list(found.values())[1:]


def levels_of(use: Use) -> Iterator[tuple[str, ...]]:
    """Each case that a use stands for; the last factor changes fastest."""
    return itertools.product(*((choice,) if isinstance(choice, str) else choice for choice in use.levels))


class Evaluator:
    """Computes parsed expressions."""

    def __init__(
        self,
        source: Source,
        factors: Mapping[str, Sequence[Sequence[str]]],
        published: float | None = None,
        tables: Mapping[str, Published] | None = None,
        *,
        by_means: bool = False,
    ) -> None:
        self._source = source
        self._factors = factors
        self._published = published
        self._tables = tables or {}
        self._by_means = by_means

    def with_published(self, published: float | None) -> Evaluator:
        """The same with the published figure of a claim."""
        return Evaluator(self._source, self._factors, published, self._tables, by_means=self._by_means)

    def outcome(self, node: ast.expr) -> Outcome:
        """Whether a check holds.

        Raises:
            NoValue: a quantity has no value.
            WrongUse: a predicate is given what it does not take.
        """
        match node:
            case ast.BoolOp(op=op, values=values):
                outcomes = [self.outcome(value) for value in values]
                return predicates.both(outcomes) if isinstance(op, ast.And) else predicates.either(outcomes)
            case ast.UnaryOp(operand=operand):
                return predicates.neither(self.outcome(operand))
            case ast.Call(func=ast.Name(id=name)) if name == CONFIG:
                return self._source.config(*config_arguments(node))
            case ast.Call(func=ast.Name(id=name), args=[check], keywords=[runs, *more]) if name == CHANCE:
                groups = _groups(more[0].value) if more else None
                return chance.by_chance(
                    self._judge(check),
                    self._source,
                    self._plain(runs.value),
                    common=runs.arg == "seeds",
                    others=lambda: [self._judge(other) for other in exchanged(check, groups or [])],
                )
            case ast.Call(func=ast.Name(id=name)):
                options = {str(k.arg): self._plain(k.value) for k in node.keywords}
                found = [self.value(argument) for argument in node.args]
                return PREDICATES[name].judge(
                    *(map(chance.by_means, found) if self._by_means else found), **options
                )
        raise AssertionError(ast.dump(node))

    def _judge(self, check: ast.expr) -> Callable[[Source], Outcome]:
        """A check by means, of any source."""
        return lambda source: Evaluator(
            source, self._factors, self._published, self._tables, by_means=True
        ).outcome(check)

    def _plain(self, node: ast.expr) -> float:
        value = self.value(node)
        if isinstance(value, Sample | Row):
            raise WrongUse(f"`{ast.unparse(node)}` must be a number, not a quantity")
        return value

    def value(self, node: ast.expr) -> Value:
        """A number, a sample, or a row of them.

        Raises:
            NoValue: a quantity has no value.
        """
        match node:
            case ast.Constant(value=value):
                return float(value)  # type: ignore[arg-type]
            case ast.UnaryOp() | ast.BinOp():
                return self._arithmetic(node)
            case ast.List(elts=elements):
                return self._list(elements)
            case ast.Name(id=name):
                return self._quantity(name, ())
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self._quantity(name, _index(index))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._function(name, [self.value(argument) for argument in arguments])
        raise AssertionError(ast.dump(node))

    def _arithmetic(self, node: ast.UnaryOp | ast.BinOp) -> Value:
        if isinstance(node, ast.UnaryOp):
            found = self.value(node.operand)
            if isinstance(node.op, ast.UAdd):
                return found
            return spread(operator.neg, found, unit=_common_unit([found]))
        operands = [self.value(node.left), self.value(node.right)]
        unit = _common_unit(operands) if isinstance(node.op, _KEEP_UNIT) else ""
        return spread(_ARITHMETIC[type(node.op)], *operands, unit=unit)

    def _list(self, elements: Sequence[ast.expr]) -> Row:
        items: list[Sample | float] = []
        for element in elements:
            value = self.value(element)
            items += value.items if isinstance(value, Row) else (value,)
        labels = tuple(map(_text, elements))
        return Row(
            tuple(items), labels if len(labels) == len(items) else tuple(map(str, range(1, len(items) + 1)))
        )

    def _quantity(self, name: str, index: tuple[Choice | None, ...]) -> Value:
        if name == PUBLISHED and not index and self._published is not None:
            return self._published
        use = Use(name, _levels(name, index, self._factors[name]))
        cases = list(levels_of(use))
        samples = tuple(self._sample(name, levels) for levels in cases)
        many = [place for place, choice in enumerate(use.levels) if not isinstance(choice, str)]
        if not many:
            return samples[0]
        return Row(samples, tuple(", ".join(levels[place] for place in many) for levels in cases), len(many))

    def _sample(self, name: str, levels: tuple[str, ...]) -> Sample | float:
        table = self._tables.get(name)
        return self._source.sample(name, levels) if table is None else table.value(levels)

    def _function(self, name: str, values: list[Value]) -> Value:
        unit = _common_unit(values) if name not in {"sqrt"} else ""
        if name in _ELEMENTWISE:
            return spread(_ELEMENTWISE[name], values[0], unit=unit)
        if name == _RUNS:
            return _each(_count, values[0])
        if name == _SPREAD:
            return _each(deviation, values[0])
        if name in _BY_MEAN:
            items = flat(values)
            return _BY_MEAN[name](items, key=mean_of)
        if len(values) == 1 and isinstance(values[0], Row):
            return combine(_TOGETHER[name], *values[0].items, unit=unit)
        return spread(_TOGETHER[name], *values, unit=unit)


def _each(function: Callable[[Sample | float], Sample | float], value: Value) -> Value:
    """A function of a quantity, of a row level by level."""
    if isinstance(value, Row):
        return replace(value, items=tuple(map(function, value.items)))
    return function(value)


def _count(item: Sample | float) -> float:
    if not isinstance(item, Sample):
        raise WrongUse("`runs` counts the replications of a quantity, not numbers")
    return float(len(item.values))


def _common_unit(values: Sequence[Value]) -> str:
    """That of the quantities, if they have one in common."""
    units = {
        item.unit
        for value in values
        for item in (value.items if isinstance(value, Row) else (value,))
        if isinstance(item, Sample)
    }
    return units.pop() if len(units) == 1 else ""


__all__ = ["Evaluator", "Expression", "ExpressionError", "NoValue", "Source", "Use", "levels_of", "parse"]
