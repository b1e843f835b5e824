"""`typing` for scripts: names for annotations. Python's own keep what they are subscripted with in caches that scripts would share."""

import typing
from typing import Any


class Hint:
    """A type for annotations, as it is or with arguments (`List[int]`)."""

    __slots__ = ("_args", "_name")
    __script_attributes__: frozenset[str] = frozenset()

    def __init__(self, name: str, args: tuple[Any, ...] = ()) -> None:
        self._name = name
        self._args = args

    def __getitem__(self, args: Any) -> "Hint":
        return Hint(self._name, args if isinstance(args, tuple) else (args,))

    def __or__(self, other: Any) -> "Hint":
        return Hint("Union", (self, other))

    def __ror__(self, other: Any) -> "Hint":
        return Hint("Union", (other, self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hint) and (self._name, self._args) == (other._name, other._args)

    def __hash__(self) -> int:
        return hash((self._name, self._args))

    def __instancecheck__(self, value: object) -> bool:
        kind = getattr(getattr(typing, self._name, None), "__origin__", None)
        if self._args or not isinstance(kind, type):
            raise TypeError(f"{self!r} cannot be used with isinstance()")
        return isinstance(value, kind)

    def __repr__(self) -> str:
        if not self._args:
            return f"typing.{self._name}"
        return f"typing.{self._name}[{', '.join(map(_shown, self._args))}]"


class Variable(Hint):
    """What `TypeVar(name)` gives."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"~{self._name}"


def _shown(arg: Any) -> str:
    if isinstance(arg, type):
        return arg.__qualname__ if arg.__module__ == "builtins" else f"{arg.__module__}.{arg.__qualname__}"
    return "..." if arg is ... else repr(arg)


def type_variable(name: str, *constraints: Any, bound: Any = None, covariant: bool = False, contravariant: bool = False) -> Variable:
    """Return a type variable; what bounds it is of no use to a running program."""
    del constraints, bound, covariant, contravariant
    return Variable(str(name))


HINTS = {
    name: Hint(name) for name in (
        "Any", "Callable", "ClassVar", "Dict", "Final", "FrozenSet", "Generator", "Generic", "Iterable", "Iterator", "List",
        "Literal", "Mapping", "Optional", "Sequence", "Set", "Tuple", "Type", "Union", "Self",
    )
}
"""What `typing` offers, by name."""
