"""What `type(x)` and `x.__class__` give a script: the class, where it is one that the language offers, else its name."""

from types import FunctionType, MethodType
from typing import Any

from gradsh.compiler import runtime_names
from gradsh.engine.graph.node import Facade, Node, behind
from gradsh.engine.graph.tensor import Tensor
from gradsh.runtime.allowlist import ATTRIBUTES
from gradsh.runtime.bounded_operators import times
from gradsh.runtime.unions import Alternative

_CALLABLE = frozenset({
    kind for kind in ATTRIBUTES if kind.__module__ in {"builtins", "collections"} and kind.__name__ in {
        "str", "int", "bool", "float", "list", "tuple", "slice", "dict", "set", "frozenset", "object",
        "OrderedDict", "defaultdict", "Counter", "deque", "NoneType",
    }
})

_IN_C = frozenset({"torch", "torch._C", "torch.return_types"})
"""Where PyTorch's classes are that are written in C, all but Tensor."""


class TypeProxy(Alternative):
    """A type that a script may compare, print and test with isinstance, and nothing else (function, generator, …)."""

    __slots__ = ("_kind",)
    _kind: type
    __script_attributes__ = frozenset({"__name__", "__module__"})

    def __init__(self, kind: type) -> None:
        object.__setattr__(self, "_kind", kind)

    @property
    def __name__(self) -> str:
        return str(self._kind.__name__)

    def __repr__(self) -> str:
        return repr(self._kind)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._kind)

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Refuse, as Python does for types of its own."""
        raise TypeError(f"cannot create '{self.__name__}' instances")

    def stands_for(self, kind: type) -> bool:
        """Tell whether it stands for a class."""
        return self._kind is kind

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)


class BytesKind(TypeProxy):
    """`bytes` or `bytearray`: called, it makes bytes of numbers, of a text, or so many zeros."""

    __slots__ = ()
    __script_attributes__ = TypeProxy.__script_attributes__ | {"fromhex"}

    def __call__(self, *source: object, **coding: object) -> object:
        """Return the bytes. Raises OverflowError of kind `limit` for too many zeros."""
        if len(source) == 1 and isinstance(source[0], int):
            times(b"\0", source[0])
        return self._kind(*source, **coding)

    def fromhex(self, text: str, /) -> object:
        """Return the bytes that two digits each write."""
        return self._kind.fromhex(text)  # type: ignore[attr-defined]


class MethodKind(TypeProxy):
    """`types.MethodType`: called, it binds a function to an object."""

    __slots__ = ()

    def __call__(self, function: Any, instance: Any, /) -> Any:
        """Return the function as a method of the object."""
        if not isinstance(function, FunctionType):
            raise TypeError("first argument must be a function")
        return MethodType(function, instance)


class NodeKind(TypeProxy):
    """The type of a graph's nodes of one name: PyTorch has a class for each operation."""

    __slots__ = ("_name",)
    _name: str

    def __init__(self, kind: type, name: str) -> None:
        super().__init__(kind)
        object.__setattr__(self, "_name", name)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(behind(value), Node) and behind(value).name() == self._name


def _is_public(kind: type) -> bool:
    """Tell whether a namespace of PyTorch's offers this class under its own name."""
    from gradsh.api.torch import NAMESPACES

    name = kind.__name__
    return any(name in space and space.get(name) is kind for space in NAMESPACES.values())


class KindOf:
    """Gives each value's type as a script sees it, the same object every time."""

    __slots__ = ("_known", "_nodes")

    def __init__(self) -> None:
        self._known: dict[type, object] = {}
        self._nodes: dict[str, NodeKind] = {}

    def stand_in(self, kind: type, builtin: object) -> None:
        """Let a builtin of the language stand for a type of Python's."""
        self._known[kind] = builtin

    def of(self, value: object) -> Any:
        """Return the type of `value`: its class if scripts may have it, else a `TypeProxy` that stands for it."""
        node = behind(value)
        if isinstance(node, Node):
            return self._of_nodes(type(node.facade()), node.name())
        return self.seen(type(value))

    def _of_nodes(self, kind: type, name: str) -> NodeKind:
        return self._nodes.get(name) or self._nodes.setdefault(name, NodeKind(kind, name))

    def seen(self, kind: type) -> object:
        """Return a class as scripts see it."""
        entries = type.__getattribute__(kind, "__dict__")
        if kind in _CALLABLE or runtime_names.SCRIPT in entries or issubclass(kind, BaseException):
            return kind
        if issubclass(kind, Facade):
            return self._of_nodes(kind, kind.__name__)
        found = self._known.get(kind)
        if found is None:
            found = self._known[kind] = kind if _is_public(kind) else TypeProxy(kind)
        return found

    def name(self, value: Any) -> str:
        """Return the name of a value's type, as error messages have it: with its module, where the type is written in C."""
        if isinstance(behind(value), Node):
            return str(self.of(value).__name__)
        kind = type(value)
        if kind.__module__ in _IN_C and not issubclass(kind, Tensor):
            return f"{kind.__module__}.{kind.__name__}"
        try:
            object.__getattribute__(value, ".")
        except AttributeError as error:
            return str(error).split("'")[1]
        return kind.__name__

    def readable(self, owner: object, name: str) -> bool:
        """Tell whether a value of Python's own type has the attribute, so that only setting it fails."""
        return name in ATTRIBUTES.get(type(owner), ())
