"""Methods of Tensor that are operations: each name stands on the class and finds its operation when first asked for.

A `__getattr__` would find them, too, but a class with one has every attribute read at ten times the cost.
"""

from typing import Any


class LentMethod:
    """A method that an operation will be: finds it when first asked for, and makes room for it."""

    __slots__ = ("home", "name")

    def __init__(self, home: type, name: str) -> None:
        self.home = home
        self.name = name

    def __get__(self, tensor: Any, owner: type) -> Any:
        from gradsh.engine.op import method

        found = method(self.name)
        if found is None:
            raise AttributeError(f"'{owner.__name__}' object has no attribute '{self.name}'")
        setattr(self.home, self.name, found)
        return getattr(owner if tensor is None else tensor, self.name)


def lend(home: type) -> None:
    """Put a `LentMethod` on the class for each name of an operation, which may or may not be a method."""
    from gradsh.ops import homes

    for name in homes():
        if not name.startswith("__"):
            lend_one(home, name)


def lend_one(home: type, name: str) -> None:
    """Put the `LentMethod` of one name on the class, if nothing stands there."""
    if name not in home.__dict__:
        setattr(home, name, LentMethod(home, name))
