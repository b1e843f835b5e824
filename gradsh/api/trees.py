"""Trees: nested dictionaries, lists and tuples, as the transforms of torch.func take and return them."""

from collections.abc import Iterator
from typing import Any

from gradsh.engine.graph.tensor import Tensor


def tensors_of(tree: object) -> list[Tensor]:
    """Return the tensors of a tree, in order."""
    return [one for one in leaves_of(tree) if isinstance(one, Tensor)]


def leaves_of(tree: object) -> list[Any]:
    """Return all that is no dictionary, list or tuple, in order."""
    if not isinstance(tree, (dict, list, tuple)):
        return [tree]
    return [leaf for part in _parts(tree) for leaf in leaves_of(part)]


def rebuilt(tree: object, tensors: Iterator[object]) -> Any:
    """Return the tree with other leaves in place of its tensors."""
    if isinstance(tree, Tensor):
        return next(tensors)
    if isinstance(tree, dict):
        return {name: rebuilt(part, tensors) for name, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [rebuilt(part, tensors) for part in tree]
        return parts if isinstance(tree, list) else tuple(parts)
    return tree


def spread(values: Any, tree: object) -> list[Any] | None:
    """Return a value for each leaf of a tree; `values` has the tree's form, or one value for a part of it. None: it has neither."""
    if not isinstance(values, (dict, list, tuple)):
        return [values] * len(leaves_of(tree))
    if type(values) is not type(tree) or len(values) != len(tree) or (isinstance(values, dict) and list(values) != list(tree)):
        return None
    found = [spread(one, part) for one, part in zip(_parts(values), _parts(tree), strict=True)]
    return None if None in found else [one for part in found if part is not None for one in part]


def form(tree: object, indent: int = 0) -> str:
    """Return how PyTorch prints the form of a tree."""
    if not isinstance(tree, (dict, list, tuple)):
        return "*"
    inner = f",\n{' ' * (indent + 2)}".join(form(part, indent + 2) for part in _parts(tree))
    return f"TreeSpec({type(tree).__name__}, {list(tree) if isinstance(tree, dict) else None}, [{inner}])"


def _parts(tree: Any) -> list[Any]:
    return list(tree.values() if isinstance(tree, dict) else tree)
