"""What a half-typed expression stands for, found without running anything of the program: names, attributes, items."""

import ast
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from gradsh.language import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradsh.runtime.machine import Machine

UNKNOWN = object()


def resolve(machine: "Machine", parts: "Sequence[tuple[str, str]]") -> Any:
    """Return the object that an expression's steps (kind, text) lead to, or UNKNOWN. Never raises, never calls."""
    found: Any = UNKNOWN
    for kind, text in parts:
        try:
            found = _step(machine, found, kind, text)
        except Exception:  # noqa: BLE001  # whatever is wrong with half-typed text is no error
            return UNKNOWN
        if found is UNKNOWN:
            return UNKNOWN
    return found


def _step(machine: "Machine", owner: object, kind: str, text: str) -> object:
    if kind == "name":
        return name_value(machine, text)
    if kind == "value":
        return ast.literal_eval(text) if text else UNKNOWN
    if kind == "attribute":
        return UNKNOWN if _is_property(owner, text) else machine.guard.read(owner, text)
    if kind == "call":
        return _result(owner)
    return _item(owner, text)


def name_value(machine: "Machine", name: str) -> object:
    """Return what a bare name stands for. Raises KeyError."""
    if name in machine.program and name[:2] != "__":
        return machine.program[name]
    if name in machine.builtins:
        return machine.builtins[name]
    return machine.offer.bare(name)


def _is_property(owner: object, name: str) -> bool:
    """Whether reading the attribute would run code of the script's."""
    from inspect import getattr_static

    from gradsh.runtime.guard import is_script_class

    kind = type(owner)
    return is_script_class(kind) and isinstance(getattr_static(kind, name, None), property)


def _result(called: object) -> object:
    """An example of what a call gives, where that is known without calling."""
    from gradsh.api.nn.module import Module
    from gradsh.engine.dispatch.operation import BoundOperation, Operation

    if isinstance(called, (Operation, BoundOperation, Module)):
        return example()
    return UNKNOWN


def example() -> object:
    """Return a tensor that stands for any."""
    from gradsh.engine.registry import find

    return find("zeros")(1)


def _item(owner: Any, text: str) -> object:
    from gradsh.engine.graph.tensor import Tensor

    if isinstance(owner, Tensor):
        return owner
    kind = type(owner)
    if kind in {list, tuple, dict, str, OrderedDict} or kind.__name__ in {"Sequential", "ModuleList", "ModuleDict"}:
        return owner[ast.literal_eval(text)]
    return UNKNOWN


def keys_of(owner: Any) -> list[object]:
    """Return the keys of a dictionary, or of a module that is indexed by names, as far as they can be typed."""
    if type(owner).__name__ in {"ModuleDict", "ParameterDict"}:
        return list(owner.keys())
    return [key for key in owner if isinstance(key, (str, int))] if type(owner) in {dict, OrderedDict} else []


def kind_of(value: object) -> str:
    """Return a few words on a value: shape, dtype and grad_fn of a tensor, else what it is."""
    from gradsh.engine.dispatch.operation import BoundOperation, Operation
    from gradsh.engine.graph.tensor import Tensor

    if isinstance(value, Tensor):
        made = value.grad_fn.name() if value.grad_fn is not None else "leaf" if value.requires_grad else ""
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')} {made}".rstrip()
    if isinstance(value, BoundOperation):
        value = value.operation
    if isinstance(value, Operation):
        return value.records[0].doc if value.records else ""
    if isinstance(value, type):
        return f"class {_first_line(value)}".strip()
    if isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return text if len(text) < 30 else type(value).__name__
    if isinstance(value, (list, tuple, dict, set)):
        return f"{type(value).__name__} of {len(value)}"
    return _first_line(value) if callable(value) and hasattr(value, "__name__") else type(value).__name__


def _first_line(value: object) -> str:
    return (getattr(value, "__doc__", None) or "").strip().split("\n")[0][:60]


def resolve_attribute(machine: "Machine", owner: object, name: str) -> object:
    """Return an attribute of an object, or UNKNOWN. Never raises."""
    try:
        return _step(machine, owner, "attribute", name)
    except Exception:  # noqa: BLE001  # it is only looked at
        return UNKNOWN


def source_of(machine: "Machine", name: str) -> list[str]:
    """Return the lines of the script that define a function, a class, or what a class's body defines (`Net.forward`)."""
    first, *path = name.split(".")
    for unit in reversed(list(machine.units.all())):
        found = _definition([unit.stmt], first)
        if found is not None:
            for part in path:
                found = None if found is None else _definition(found.body, part)
            return [] if found is None else [unit.source.line(number) for number in range(found.span.line, found.span.end_line + 1)]
    return []


def _definition(statements: "Sequence[Any]", name: str) -> Any:
    kinds = (tree.FunctionDef, tree.ClassDef)
    return next((one for one in statements if isinstance(one, kinds) and one.name == name), None)
