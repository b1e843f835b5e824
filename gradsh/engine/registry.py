"""The operations by name, and the functions behind the operators of Tensor: what `ops/` declares, loaded on first use.

It imports nothing of the engine, so that every file of it can ask for an operation.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradsh.engine.dispatch.operation import Operation

REGISTRY: dict[str, "Operation"] = {}
"""The operations of the families loaded so far."""
OPERATORS: dict[str, Any] = {}
"""The functions behind the operators of Tensor, by the name of the method."""


def find(name: str) -> "Operation":
    """Return the operation called `name`, loading its family on first use; raises KeyError where there is none."""
    return REGISTRY.get(name) or _loaded(name, REGISTRY)


def _loaded(name: str, names: Mapping[str, object]) -> Any:
    """Return what a family declares that may not be loaded yet; raises KeyError."""
    from gradsh.ops import load, load_all

    if not load(name):
        load_all()
    return names[name]


def method(name: str) -> "Operation | None":
    """Return the operation that is the Tensor method `name`, or None."""
    return lookup(name, "Tensor", thorough=not name.startswith("__"))


def operator(symbol: str, reflected: bool) -> Callable[..., Any]:
    """Return the function behind an operator of Tensor."""
    special = special_name(symbol, reflected)
    function = OPERATORS.get(special) or _loaded(special, OPERATORS)
    return function.specialized(special) if hasattr(function, "specialized") else function  # type: ignore[no-any-return]


def special_name(symbol: str, reflected: bool) -> str:
    """Return the name of an operator's method: `__radd__`."""
    return f"__{'r' if reflected else ''}{symbol}__"


def lookup(name: str, space: str = "", *, thorough: bool = False) -> "Operation | None":
    """Return the operation called `name`, or None; with `space` the one of that namespace.

    An operation whose name means another thing elsewhere is recorded as SPACE_NAME: `linalg_norm` is linalg's `norm`.
    Only the families that the index names are loaded; a `thorough` search that finds none there goes through all of them,
    so that a record is found as soon as it is written.
    """
    from gradsh.ops import load, load_all

    for each in (f"{space}_{name}", name) if space else (name,):
        if space and each.startswith(f"{space}_{space}_"):
            break  # the name of the record is none of the namespace's
        found = REGISTRY.get(each)
        if found is None and load(each):
            found = REGISTRY.get(each)  # the index has the operators of Tensor, too
        if found is not None and (not space or space in found.spaces):
            return found
    return lookup(name, space) if thorough and load_all() else None


def operations() -> list[str]:
    """Return the names of all operations."""
    return sorted(every_operation())


def every_operation() -> "dict[str, Operation]":
    """Return all operations by name: loads every family."""
    from gradsh.ops import load_all

    load_all()
    return REGISTRY
