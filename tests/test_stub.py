"""The stub of the Rust module says what the module has, no more and no less."""

import ast
import inspect
from pathlib import Path

import ropewalk
from ropewalk import _core

STUB = Path(ropewalk.__file__).with_name("_core.pyi")


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def declared() -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


def parameters(node: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in node.args.args]


def test_the_same_names() -> None:
    assert public(list(declared())) == public(dir(_core))


def test_classes_have_the_same_members() -> None:
    for name, node in declared().items():
        if not isinstance(node, ast.ClassDef):
            continue
        real = getattr(_core, name)
        methods = {child.name: child for child in node.body if isinstance(child, ast.FunctionDef)}
        assert public(list(methods)) == public(list(vars(real))), name
        for method, definition in methods.items():
            assert hasattr(real, method), f"{name}.{method}"
            is_property = any(
                isinstance(d, ast.Name) and d.id == "property" for d in definition.decorator_list
            )
            member = inspect.getattr_static(real, method)
            assert is_property == inspect.isgetsetdescriptor(member), f"{name}.{method}"
            if not is_property:
                signature = list(inspect.signature(getattr(real, method)).parameters)
                assert signature == parameters(definition), f"{name}.{method}"


def test_functions_have_the_same_parameters() -> None:
    for name, node in declared().items():
        if isinstance(node, ast.FunctionDef):
            assert list(inspect.signature(getattr(_core, name)).parameters) == parameters(node), name


def test_everything_is_documented() -> None:
    for name in public(dir(_core)):
        member = getattr(_core, name)
        if inspect.isclass(member) or callable(member):
            assert member.__doc__, name


def test_exceptions_have_the_declared_bases() -> None:
    assert issubclass(_core.InvalidScenario, ValueError)
    assert issubclass(_core.RunFailed, RuntimeError)
