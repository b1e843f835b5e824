"""What a class of the engine gives a script that asks the class itself: its methods and properties, each with a check of `self`."""

from typing import Any

from gradsh.text.fault import fail


class Member:
    """A method (or property) of a class. As Python's own do, it refuses a `self` that is no instance of the class."""

    __slots__ = ("_entry", "_name", "_owner")
    __script_attributes__ = frozenset({"__name__", "__doc__", "__module__"})

    def __init__(self, owner: type, name: str, entry: Any) -> None:
        self._owner = owner
        self._name = name
        self._entry = entry

    def _check(self, value: Any) -> None:
        if self._owner not in type.__getattribute__(type(value), "__mro__"):
            text = f"'{self._name}' for '{self._owner.__name__}' objects doesn't apply to a '{type(value).__name__}' object"
            raise fail("type", text, TypeError)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method with the object first."""
        if not args:
            raise TypeError(f"unbound method {self._owner.__name__}.{self._name}() needs an argument")
        self._check(args[0])
        return self._entry(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        self._check(instance)
        return self._entry.__get__(instance, owner)

    @property
    def __name__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<function {self._owner.__name__}.{self._name}>"


def _as_function(kind: type) -> None:
    """Let the class go by Python's name for functions, in errors, too."""
    kind.__name__ = kind.__qualname__ = "function"
    kind.__module__ = "builtins"


_as_function(Member)


def needs_check(entry: Any) -> bool:
    """Tell whether an entry of a class's dictionary takes any `self`: Python's own descriptors check it, static ones have none."""
    if isinstance(entry, (staticmethod, classmethod)) or not hasattr(type(entry), "__get__"):
        return False
    return not hasattr(type(entry), "__script_attributes__") and not hasattr(type(entry), "__objclass__")
