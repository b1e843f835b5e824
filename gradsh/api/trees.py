"""Trees: nested dictionaries, lists and tuples, as the transforms of torch.func take and return them."""

from collections.abc import Iterator
from typing import Any

from gradsh.api.pytree import tree_leaves, tree_map
from gradsh.engine.graph.tensor import Tensor


def tensors_of(tree: object) -> list[Tensor]:
    """Return the tensors of a tree, in order."""
    return [one for one in tree_leaves(tree) if isinstance(one, Tensor)]


def rebuilt(tree: object, tensors: Iterator[object]) -> Any:
    """Return the tree with other leaves in place of its tensors."""
    return tree_map(lambda leaf: next(tensors) if isinstance(leaf, Tensor) else leaf, tree)


def spread(values: object, tree: object) -> list[Any] | None:
    """Return a value for each leaf of a tree; `values` has the tree's form, or one value for a part of it. None: it has neither."""
    if not isinstance(values, (dict, list, tuple)):
        return [values] * len(tree_leaves(tree))
    if type(values) is not type(tree) or len(values) != len(tree) or (isinstance(values, dict) and list(values) != list(tree)):
        return None
    found = [spread(one, part) for one, part in zip(_parts(values), _parts(tree), strict=True)]
    return None if None in found else [one for part in found if part is not None for one in part]


def _parts(tree: Any) -> list[Any]:
    return list(tree.values() if isinstance(tree, dict) else tree)
