"""What every node of the tree is: a span, fields in a fixed order, and structural equality for tests."""

from __future__ import annotations

from types import FunctionType
from typing import Any, ClassVar, dataclass_transform

from gradsh.text.span import Span


def _constructors() -> list[Any]:
    """Return the constructors of nodes with a span and 0, 1, 2, … fields."""

    def none(self: Any, span: object) -> None:
        self.span = span

    def one(self: Any, span: object, a: object) -> None:
        self.span, self.a = span, a

    def two(self: Any, span: object, a: object, b: object) -> None:
        self.span, self.a, self.b = span, a, b

    def three(self: Any, span: object, a: object, b: object, c: object) -> None:
        self.span, self.a, self.b, self.c = span, a, b, c

    def four(self: Any, span: object, a: object, b: object, c: object, d: object) -> None:
        self.span, self.a, self.b, self.c, self.d = span, a, b, c, d

    def five(self: Any, span: object, a: object, b: object, c: object, d: object, e: object) -> None:
        self.span, self.a, self.b, self.c, self.d, self.e = span, a, b, c, d, e

    def six(self: Any, span: object, a: object, b: object, c: object, d: object, e: object, f: object) -> None:
        self.span, self.a, self.b, self.c, self.d, self.e, self.f = span, a, b, c, d, e, f

    def seven(
        self: Any, span: object, a: object, b: object, c: object, d: object, e: object, f: object, g: object
    ) -> None:
        self.span, self.a, self.b, self.c, self.d, self.e, self.f, self.g = span, a, b, c, d, e, f, g

    return [none, one, two, three, four, five, six, seven]


_CONSTRUCTORS = _constructors()


def _constructor(name: str, words: tuple[str, ...]) -> Any:
    """Return `__init__` of a class: renaming a template's variables takes a tenth of the time of compiling one."""
    code = _CONSTRUCTORS[len(words) - 1].__code__
    return FunctionType(
        code.replace(co_name="__init__", co_qualname=f"{name}.__init__", co_varnames=("self", *words), co_names=words), {},
    )


@dataclass_transform(eq_default=False)
class _Annotated:
    """Gives each class below it a constructor: of the names that the classes above annotate, then of its own."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _arguments: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        own = tuple(word for word in cls.__annotations__ if word != "_fields")
        cls._arguments = (*cls._arguments, *own)
        if "_fields" not in cls.__dict__:
            cls._fields = own
        cls.__init__ = _constructor(cls.__name__, cls._arguments)  # type: ignore[method-assign]


class SyntaxNode(_Annotated):
    """A node of the tree. Two nodes are equal when their classes and fields are; spans do not count.

    The annotated names of a class are the arguments of its constructor, behind the span; `_fields` are all of them,
    unless the class leaves some out of comparison. A metaclass could make them slots, but would slow `isinstance` down.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    span: Span

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(same(getattr(self, name), getattr(other, name)) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]  # equal nodes may stand at several places: key by id() where needed

    def __repr__(self) -> str:
        return dump(self)


class expr(SyntaxNode):  # noqa: N801
    """An expression."""


class stmt(SyntaxNode):  # noqa: N801
    """A statement."""


def same(left: object, right: object) -> bool:
    """Return whether two field values are equal: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return repr(left) == repr(right)
    return left == right


def dump(node: object) -> str:
    """Return a tree as one line of text, in the manner of `ast.dump`."""
    if isinstance(node, SyntaxNode):
        fields = (f"{name}={dump(getattr(node, name))}" for name in node._fields)
        return f"{type(node).__name__}({', '.join(fields)})"
    if isinstance(node, list):
        return f"[{', '.join(map(dump, node))}]"
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key!r}: {dump(value)}" for key, value in node.items()) + "}"
    return repr(node)
