"""The gradients of a program's leaves in words, and what changed of them between two runs."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gradsh.engine.graph.tensor import Tensor, last_node_of
from gradsh.probe.names import named_tensors

_FEW = 4


class Change(NamedTuple):
    """The gradient of a leaf before and after, in words."""

    leaf: str
    before: str
    after: str


def gradients_of(variables: Mapping[str, object]) -> dict[str, str]:
    """Return the gradient of each leaf that requires grad, by its first name: its numbers where they are few, else shape and norm."""
    seen: set[int] = set()
    found: dict[str, str] = {}
    for name, tensor in named_tensors(variables):
        if last_node_of(tensor) is None and tensor.requires_grad and id(tensor) not in seen:
            seen.add(id(tensor))
            found[name] = _words(tensor)
    return found


def _words(leaf: Tensor) -> str:
    gradient = None if leaf.meta is None else leaf.meta.grad
    if gradient is None:
        return "none"
    array = gradient.array
    if array.size <= _FEW:
        numbers = ", ".join(f"{number:.4g}" for number in array.ravel().tolist())
        return numbers if array.ndim == 0 else f"[{numbers}]"
    return f"{tuple(array.shape)}, norm {float(np.linalg.norm(array.ravel())):.4g}"


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the leaves whose gradients are others now, in the order of their names in the program."""
    names = dict.fromkeys([*before, *after])
    pairs = [Change(name, before.get(name, "not there"), after.get(name, "not there")) for name in names]
    return tuple(one for one in pairs if one.before != one.after)

