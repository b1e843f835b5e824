"""What every node of the tree is: a span, fields in a fixed order, and structural equality for tests."""

from typing import ClassVar

from gradsh.text.span import Span


class Node:
    """A node of the tree. Two nodes are equal when their classes and fields are; spans do not count."""

    __slots__ = ("span",)
    _fields: ClassVar[tuple[str, ...]] = ()
    span: Span

    def __init__(self, span: Span) -> None:
        self.span = span

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(same(getattr(self, name), getattr(other, name)) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]  # equal nodes may stand at several places: key by id() where needed

    def __repr__(self) -> str:
        return dump(self)


class expr(Node):  # noqa: N801
    """An expression."""

    __slots__ = ()


class stmt(Node):  # noqa: N801
    """A statement."""

    __slots__ = ()


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
    if isinstance(node, Node):
        fields = (f"{name}={dump(getattr(node, name))}" for name in node._fields)
        return f"{type(node).__name__}({', '.join(fields)})"
    if isinstance(node, list):
        return f"[{', '.join(map(dump, node))}]"
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key!r}: {dump(value)}" for key, value in node.items()) + "}"
    return repr(node)
