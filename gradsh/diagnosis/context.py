"""Where an expression stands while a value is followed: its function, live variables, what its parameters stand for."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from gradsh.diagnosis.code import Code, Site, base_of, headed, path_of, targets_of
from gradsh.language import tree
from gradsh.language.node import expr, stmt
from gradsh.text.span import Span


class Context(NamedTuple):
    """Where an expression stands: its function (None: the top level), live variables, and the arguments of the call."""

    site: Site | None
    function: tree.FunctionDef | None
    local: dict[str, Any] | None
    arguments: dict[str, tuple[expr, "Context"]]
    before: Span | None
    outer: "Context | None" = None


def arguments_of(call: tree.Call, function: tree.FunctionDef, context: Context) -> dict[str, tuple[expr, Context]]:
    """Return what each parameter of a function stands for in a call."""
    names = [one.arg for one in function.args.args]
    found: dict[str, tuple[expr, Context]] = {}
    if names[:1] in (["self"], ["cls"], ["ctx"]):
        owner = call.func.value if isinstance(call.func, tree.Attribute) and call.func.attr == function.name else call.func
        found[names.pop(0)] = (owner, context)
    found.update((name, (value, context)) for name, value in zip(names, call.args, strict=False))
    found.update((word.arg, (word.value, context)) for word in call.keywords if word.arg)
    return found


def part_of(value: Any, item: Any) -> object:
    """Return a part of a container, where it has that part; else the value."""
    try:
        return value[item] if item is not None and isinstance(value, dict | list | tuple) else value
    except (KeyError, IndexError, TypeError):
        return value


def is_tensor_other(value: object, leaf: object) -> bool:
    """Whether a value is a tensor and another one than the leaf."""
    return hasattr(value, "grad_fn") and value is not leaf and getattr(value, "_base", None) is not leaf


def registrations(statement: stmt) -> Iterator[tree.Call]:
    """Yield the call that registers a buffer or a parameter, where a statement is one."""
    call = statement.value if isinstance(statement, tree.Expr) else None
    if isinstance(call, tree.Call) and getattr(call.func, "attr", "") in {"register_buffer", "register_parameter"}:
        yield call


def makes_numbers(node: object) -> bool:
    """Whether a cut gives Python's numbers: the tensor without a history is then made later."""
    return isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr in {"item", "tolist"}


def stored_by(statement: stmt) -> tuple[Any, list[Any]]:
    """Return the container that a statement puts something into, and what: of `image[rows] = value` also the place."""
    call = statement.value if isinstance(statement, tree.Expr) else None
    if isinstance(call, tree.Call) and isinstance(call.func, tree.Attribute) and call.func.attr in {"append", "extend"}:
        return call.func.value, call.args[:1]
    target = next((one for one in targets_of(statement) if isinstance(one, tree.Subscript)), None)
    return (None, []) if target is None else (base_of(target), [getattr(statement, "value", None), target.slice])


def called(code: Code) -> set[str]:
    """Return the names of the functions and methods that a script calls."""
    return {path_of(node.func).rpartition(".")[2] for site in code.sites for node in headed(site.statement) if isinstance(node, tree.Call)}
