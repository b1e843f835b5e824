"""Operands that nodes saved, when their tensor is given other data or is cut off its history in place.

In PyTorch a node saves an operand as the very tensor, so `x.data = …` changes what it saved, and `x.detach_()` makes it
unusable. Nodes here keep arrays (a graph must not hold tensors), so the few statements that do this look for the nodes:
nobody else pays. Results that a node saved of its own are another matter, in PyTorch too.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import DETACHED, SavedVariable
from gradsh.engine.graph.tensor import Tensor

_ALONE = 3
"""References to the array of a tensor, as `sys.getrefcount` counts in here, if nothing else has it."""


def replace_data(tensor: Tensor, before: object) -> None:
    """Give what was saved of a tensor, whose array was `before`, its array of now (the same after `x.data += …`)."""
    if tensor.array is not before and sys.getrefcount(before) > _ALONE:
        _resave(tensor, before, lambda kept: kept._replace(array=tensor.array))


def cut_off(tensor: Tensor) -> None:
    """Make what was saved of a non-leaf unusable for a pass, before the tensor loses its history."""
    array = tensor.array
    if tensor.grad_fn_ref is not None and sys.getrefcount(array) > _ALONE:
        _resave(tensor, array, lambda kept: kept._replace(edge=None, packed=(DETACHED, None, array.shape, array.dtype)))


def _resave(tensor: Tensor, array: object, change: Callable[[SavedVariable], SavedVariable]) -> None:
    counter = tensor.counter

    def changed(entry: Any) -> object:
        if type(entry) is list:
            return [changed(one) for one in entry]
        mine = isinstance(entry, SavedVariable) and entry.array is array and entry.counter is counter and entry.packed is None
        return change(entry) if mine and _is_of(tensor, entry.edge) else entry

    for node in list(_nodes_with(array)):
        entries = node.entries
        if type(entries) is tuple:
            node.entries = tuple(map(changed, entries))


def _is_of(tensor: Tensor, edge: object) -> bool:
    """Whether an operand with this edge is the tensor, and not another over the same memory (or a node's own result)."""
    if type(edge) is tuple:
        leaf = None if tensor.meta is None or tensor.meta.accumulator is None else tensor.meta.accumulator()
        return bool(edge == tensor.edge or (tensor.edge is None and edge[0] is leaf))
    return edge is None and not tensor.needs_grad


def _nodes_with(array: object) -> Iterator[Node]:
    """Find the nodes that keep an array, in slots of their own or in tuples and lists."""
    gc.unfreeze()  # what is frozen would not be looked through
    looked = [array]
    for _ in range(4):  # the array, a `SavedVariable`, perhaps a list of these, the entries
        found = gc.get_referrers(*looked)
        yield from (one for one in found if isinstance(one, Node))
        looked = [one for one in found if type(one) in {SavedVariable, list, tuple} and one is not looked]
        if not looked:
            return
