"""Methods of Tensor that are operations: each name stands on the class and finds its operation when first asked for.

A `__getattr__` would find them, too, but a class with one has every attribute read at ten times the cost.
"""

from typing import Any

from gradsh.engine.graph.types import TensorBase
from gradsh.engine.registry import method


class LazyMethod:
    """A method that an operation will be: finds it when first asked for, and makes room for it."""

    __slots__ = ("home", "name")

    def __init__(self, name: str, home: type | None = None) -> None:
        self.name = name
        self.home = home
        """The class on which it stands."""

    def __get__(self, tensor: object, owner: type) -> Any:
        found = method(self.name)
        if found is None:
            raise AttributeError(f"'{owner.__name__}' object has no attribute '{self.name}'")
        setattr(self.home, self.name, found)
        return getattr(owner if tensor is None else tensor, self.name)


def lazy_methods() -> type:
    """Return a base class for Tensor with a `LazyMethod` for each name of an operation, which may or may not be a method."""
    from gradsh.ops import homes

    lent = {name: LazyMethod(name) for name in homes() if not name.startswith("__")}
    made = type("Lent", (TensorBase,), {"__slots__": (), **lent})
    for one in lent.values():
        one.home = made
    return made


def install(home: type, name: str) -> None:
    """Put a `LazyMethod` on a class, if it has nothing of that name: an operation that is newer than the index."""
    if not any(name in base.__dict__ for base in home.__mro__):  # `hasattr` would look for the operation
        setattr(home, name, LazyMethod(name, home))
