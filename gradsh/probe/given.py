"""Which memories would be given back if some nodes were freed: told by counting references, so nothing else can hold them.

Names are not enough for this claim: a closure, a generator or a hook may hold an array, too. A memory dies with the
freed entries exactly when their references, and those of views that only they hold, are all there are.
"""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.dispatch.views import CopySlices
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import FreedVariables, Recomputed, SavedVariable
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import owner_of
from gradsh.probe.foreign import looking, tensor_of


def given_back(nodes: Iterable[Node]) -> dict[int, int]:
    """Return the memories (key -> bytes) that nothing holds but live entries of these nodes."""
    world = looking.get()
    if world is not None:
        return world.given_back(nodes)
    counted: dict[int, list[Any]] = {}
    for node in nodes:
        for array in arrays_kept(node):
            pair = counted.get(id(array))
            if pair is None:
                counted[id(array)] = [array, 1]
            else:
                pair[1] += 1
    array = None  # it must not be counted
    return _unheld(counted)


def arrays_kept(node: Node) -> list[Any]:
    """Return the arrays that a node's live entries hold, an array for each."""
    if type(node) is CompactNode:
        arrays: list[Any] | None = node.live_arrays()
        if arrays is not None:
            return arrays
    return [kept.array for kept in kept_in(node)]


def kept_in(node: Node) -> list[SavedVariable]:
    """Return the live entries of a node that hold an array."""
    return [one for one in _live(node) if one.array is not None]


def _live(node: Node) -> list[Any]:
    """Return the live entries of a node, those of lists one by one (of a write inside CopySlices: that write's)."""
    entries = node.function.entries if type(node) is CopySlices else node.entries
    if not entries or type(entries) is FreedVariables:
        return []
    slots = [entry if type(entry) is list else (entry,) for entry in entries]
    return [one for slot in slots for one in slot if one is not None]


def live_states(node: Node) -> list[tuple[Any, bool]]:
    """Return (array, whether it was modified since) of the saved tensors that a node keeps itself."""
    if type(node) is CompactNode:
        states: list[tuple[Any, bool]] | None = node.live_states()
        if states is not None:
            return states
    return [(kept.array, kept.counter.version != kept.version) for kept in kept_in(node)]


def arrays_in(node: Node) -> list[Any]:
    """Return the arrays that a node's live entries hold, and those that saved-tensor hooks keep in their place."""
    if type(node) is CompactNode:
        arrays: list[Any] | None = node.live_arrays()
        if arrays is not None:
            return arrays
    found = []
    for kept in _live(node):
        found += arrays_instead(kept.packed[1]) if kept.array is None else [kept.array]
    return found


def arrays_instead(packed: object, depth: int = 3) -> list[Any]:
    """Return the arrays in what a hook keeps in the place of a saved tensor; of a checkpoint, its arguments."""
    tensor = tensor_of(packed)
    if tensor is not None:
        return [tensor.array]
    if isinstance(packed, Recomputed):
        return arrays_instead([packed.value, packed.frame.saver.arguments, packed.frame.kwargs], depth)
    if not depth or not isinstance(packed, (list, tuple, dict)):
        return []
    parts = packed.values() if isinstance(packed, dict) else packed
    return [array for part in parts for array in arrays_instead(part, depth - 1)]


def freed_count(node: Node) -> int:
    """Return how many saved tensors of a node were freed."""
    entries = node.function.entries if type(node) is CopySlices else node.entries
    if type(entries) is not FreedVariables:
        return 0
    return sum(len([one for one in shape if one is not None]) if type(shape) is list else 1
               for shape in entries.shapes if shape is not None)


def _unheld(counted: dict[int, list[Any]]) -> dict[int, int]:
    """Return the memories whose owners are referred to by counted arrays alone; `counted`: id -> [array, entries]."""
    spare = references([np.zeros(1), 0])
    owners: dict[int, list[Any]] = {}
    explained: dict[int, int] = {}
    """owner -> how many of its views nothing but entries holds"""
    for key, pair in counted.items():
        if pair[0].base is None:
            owners[key] = pair
        else:
            _explain(pair, spare, owners, explained)
    return {key: bytes_of(pair[0]) for key, pair in owners.items() if references(pair) - pair[1] - explained.get(key, 0) == spare}


def _explain(pair: list[Any], spare: int, owners: dict[int, list[Any]], explained: dict[int, int]) -> None:
    """Count what refers to the owner of a view by way of its entries; an array over memory that is no array's is its own owner."""
    owner = owner_of(pair[0])
    key = id(owner)
    if owner is pair[0]:
        owners[key] = pair
        return
    owners.setdefault(key, [owner, 0])
    if pair[0].base is owner and references(pair) - pair[1] == spare:
        explained[key] = explained.get(key, 0) + 1


def references(pair: list[Any]) -> int:
    """Count the references to the first of a list, those of the counting itself included."""
    return sys.getrefcount(pair[0])


