"""torch.utils._pytree: functions of nested containers, whose leaves are all that is no container.

Containers are Python's own (by their exact types), named tuples and `torch.Size`; what a program derives from them is a leaf.
"""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from gradsh.engine.values.named_result import NamedResult
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail

IsLeaf = Callable[[Any], bool] | None


class TreeSpec:
    """The form of a tree: its node's type and what that needs besides the parts, and their forms. A leaf's form has no type."""

    __module__ = "torch.utils._pytree"
    __script_attributes__ = frozenset({"type", "context", "num_leaves", "is_leaf", "unflatten"})

    def __init__(self, type: type | None, context: Any, parts: "list[TreeSpec]") -> None:
        self.type = type
        self.context = context
        self._parts = parts
        self.num_leaves: int = 1 if type is None else sum(part.num_leaves for part in parts)

    def is_leaf(self) -> bool:
        """Tell whether the tree is one leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[object]) -> Any:
        """Return the tree with these leaves. Raises ValueError for a wrong number of them."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise fail("value", f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree "
                       f"that holds {self.num_leaves} items ({self!r}).", ValueError)
        return self._filled(iter(given))

    def _filled(self, leaves: Any) -> Any:
        if self.type is None:
            return next(leaves)
        return _made(self.type, self.context, [part._filled(leaves) for part in self._parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.type, self.context, self._parts) == (other.type, other.context, other._parts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self._shown(0)

    def _shown(self, indent: int) -> str:
        if self.type is None:
            return "*"
        name = "namedtuple" if self.context is self.type else self.type.__name__
        inner = f",\n{' ' * (indent + 2)}".join(part._shown(indent + 2) for part in self._parts)
        return f"TreeSpec({name}, {self.context}, [{inner}])"


def _taken_apart(tree: Any) -> tuple[Any, list[Any]] | None:
    """Return what a container needs besides its parts, and the parts; None for a leaf."""
    kind = type(tree)
    if kind in {dict, OrderedDict}:
        return list(tree), list(tree.values())
    if kind is defaultdict:
        return [tree.default_factory, list(tree)], list(tree.values())
    if kind is deque:
        return tree.maxlen, list(tree)
    if kind in {list, tuple, Size} or issubclass(kind, NamedResult):
        return None, list(tree)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return kind, list(tree)
    return None


def _made(kind: Any, context: Any, parts: list[Any]) -> Any:
    """Return a container of these parts."""
    if kind in {dict, OrderedDict}:
        return kind(zip(context, parts, strict=True))
    if kind is defaultdict:
        return defaultdict(context[0], zip(context[1], parts, strict=True))
    if kind is deque:
        return deque(parts, maxlen=context)
    return kind(*parts) if context is kind else kind(parts)


def tree_flatten(tree: object, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves in order, and the form. What `is_leaf` tells to be a leaf is not taken apart."""
    leaves: list[Any] = []

    def form(part: object) -> TreeSpec:
        apart = None if is_leaf is not None and is_leaf(part) else _taken_apart(part)
        if apart is None:
            leaves.append(part)
            return TreeSpec(None, None, [])
        return TreeSpec(type(part), apart[0], [form(one) for one in apart[1]])

    return leaves, form(tree)


def tree_unflatten(leaves: Iterable[object], treespec: TreeSpec) -> Any:
    """Return a tree of this form."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: object, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: object, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the form."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: object, *rests: object, is_leaf: IsLeaf = None) -> Any:
    """Return the tree of what `func` gives for the leaves, and for the parts at their places in `rests`. Raises ValueError."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(_up_to(spec, one) for one in rests)))


def _up_to(spec: TreeSpec, tree: object) -> list[Any]:
    """Return the parts of a tree where a form has its leaves."""
    if spec.type is None:
        return [tree]
    apart = _taken_apart(tree)
    if type(tree) is not spec.type or apart is None:
        raise fail("type", f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.", ValueError)
    if len(apart[1]) != len(spec._parts):
        raise fail("value", f"Node arity mismatch; expected {len(spec._parts)}, but got {len(apart[1])}.", ValueError)
    held: Any = tree
    parts = [held[key] for key in spec.context] if spec.type in {dict, OrderedDict} else apart[1]
    return [leaf for part, one in zip(spec._parts, parts, strict=True) for leaf in _up_to(part, one)]


def tree_map_only(kinds: Any, func: Callable[[Any], object], tree: object, is_leaf: IsLeaf = None) -> Any:
    """Return the tree with what `func` gives for the leaves of these types."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kinds) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Tell whether `pred` holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Tell whether `pred` holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
