"""`typing` for scripts: names for annotations. Python's own keep what they are subscripted with in caches that scripts would share."""

import collections
import typing
from typing import Any

from gradsh.compiler import runtime_names


class TypeHint:
    """A type for annotations, as it is or with arguments (`List[int]`)."""

    __slots__ = ("_args", "_name")
    __script_attributes__: frozenset[str] = frozenset()

    def __init__(self, name: str, args: tuple[object, ...] = ()) -> None:
        self._name = name
        self._args = args

    def __getitem__(self, args: object) -> "TypeHint":
        return TypeHint(self._name, args if isinstance(args, tuple) else (args,))

    def __or__(self, other: object) -> "TypeHint":
        return TypeHint("Union", (self, other))

    def __ror__(self, other: object) -> "TypeHint":
        return TypeHint("Union", (other, self))

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of a union, else the one itself."""
        optional = (None,) if self._name == "Optional" else ()
        return (*self._args, *optional) if self._args and self._name in {"Union", "Optional"} else (self,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeHint) and (self._name, self._args) == (other._name, other._args)

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


class Variable(TypeHint):
    """What `TypeVar(name)` gives."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"~{self._name}"


def _shown(arg: object) -> str:
    if isinstance(arg, type):
        return arg.__qualname__ if arg.__module__ == "builtins" else f"{arg.__module__}.{arg.__qualname__}"
    return "..." if arg is ... else repr(arg)


def type_variable(name: str, *constraints: object, bound: object = None, covariant: bool = False, contravariant: bool = False) -> Variable:
    """Return a type variable; what bounds it is of no use to a running program."""
    del constraints, bound, covariant, contravariant
    return Variable(str(name))


HINTS = {
    name: TypeHint(name) for name in (
        "Annotated", "Any", "AnyStr", "Awaitable", "Callable", "ClassVar", "Collection", "Container", "ContextManager", "Counter",
        "DefaultDict", "Deque", "Dict", "Final", "FrozenSet", "Generator", "Hashable", "IO", "Iterable", "Iterator", "KeysView",
        "List", "Literal", "Mapping", "MutableMapping", "MutableSequence", "Never", "NoReturn", "NotRequired", "Optional",
        "OrderedDict", "Pattern", "Required", "Reversible", "Self", "Sequence", "Set", "Sized", "SupportsFloat",
        "SupportsInt", "Text", "Tuple", "Type", "TypeAlias", "Union", "AbstractSet", "AsyncGenerator", "AsyncIterable",
        "AsyncIterator", "BinaryIO", "ByteString", "ChainMap", "Concatenate", "Coroutine", "ItemsView", "LiteralString", "Match",
        "MutableSet", "SupportsAbs", "SupportsBytes", "SupportsComplex", "SupportsIndex", "SupportsRound", "TextIO", "TypeGuard",
        "TypeIs", "Unpack", "ValuesView",
    )
}
"""What `typing` offers for annotations, by name."""
ABSTRACT = (
    "Callable Collection Container Generator Hashable Iterable Iterator KeysView Mapping MutableMapping MutableSequence "
    "Reversible Sequence Set Sized Awaitable AsyncGenerator AsyncIterable AsyncIterator Coroutine ItemsView MutableSet ValuesView"
)
"""What `collections.abc` offers."""


class Generic:
    """Base of classes with type variables, and of protocols: it changes nothing about a class."""

    __module__ = "typing"
    __slots__ = ()
    __script_base__ = True

    def __class_getitem__(cls, _: object) -> object:
        return cls


class Protocol(Generic):
    """Base of classes that say what others have to offer."""

    __module__ = "typing"
    __slots__ = ()


class _Rows(type):
    """What makes a tuple with names of a class that derives from `NamedTuple`."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, object]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, members)
        from inspect import get_annotations  # no small script needs it

        fields = list(get_annotations(type(name, (), dict(members))))
        defaults = [members.pop(field) for field in fields if field in members]
        return type(name, (named_tuple(name, fields, defaults=defaults),), {**members, "__slots__": ()})


class NamedTuple(metaclass=_Rows):
    """Base of tuples whose places have names."""

    __module__ = "typing"
    __script_base__ = True


class _Tables(type):
    """What makes a dictionary of a class that derives from `TypedDict`."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, object]) -> Any:
        return type(name, (dict,), members) if bases else super().__new__(cls, name, bases, members)


class TypedDict(metaclass=_Tables):
    """Base of dictionaries whose keys are declared: the dictionary itself."""

    __module__ = "typing"
    __script_base__ = True


def named_tuple(typename: str, field_names: object, *, rename: bool = False, defaults: object = None) -> Any:
    """Return a class of tuples whose places have names; it counts as one that the script defines."""
    make: Any = collections.namedtuple
    made = make(typename, field_names, rename=rename, defaults=defaults, module="__main__")
    setattr(made, runtime_names.SCRIPT, True)
    return made


def get_args(tp: object) -> tuple[object, ...]:
    """Return what a type for annotations is subscripted with."""
    if not isinstance(tp, TypeHint):
        return typing.get_args(tp)
    return (*tp._args, type(None)) if tp._name == "Optional" and tp._args else tp._args


def get_origin(tp: object) -> object:
    """Return what is subscripted: the builtin class that a name of `typing` stands for, or the name."""
    if not isinstance(tp, TypeHint):
        return typing.get_origin(tp)
    kind = getattr(getattr(typing, tp._name, None), "__origin__", None)
    if kind in {list, dict, set, frozenset, tuple}:
        return kind
    return HINTS["Union" if tp._name == "Optional" else tp._name] if tp._args else None


def _as_given(value: object) -> object:
    return value


BASES = {
    "Generic": Generic, "Protocol": Protocol, "NamedTuple": NamedTuple, "TypedDict": TypedDict, "runtime_checkable": _as_given,
    **dict.fromkeys(("overload", "final", "override", "no_type_check", "reveal_type", "assert_never"), _as_given),
    **dict.fromkeys(("TypeVar", "ParamSpec", "TypeVarTuple"), type_variable), "cast": lambda typ, val: val,
    "NewType": lambda name, tp: _as_given, "get_args": get_args, "get_origin": get_origin,
}
"""What else `typing` offers: bases of classes, and functions that give back what they are given."""
