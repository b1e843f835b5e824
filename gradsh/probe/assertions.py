"""What scripts assert about their graphs: `freed(t)`, `saved(t, "self")`, `live_bytes()`, `reclaimable_bytes(t)`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradsh.engine.node import Node
from gradsh.engine.storage import memory_bytes, memory_key
from gradsh.engine.tensor import Tensor
from gradsh.probe.names import Names, roots_of
from gradsh.probe.passes import saved_inside
from gradsh.probe.snapshot import nodes_below
from gradsh.text.fault import fail


def functions(variables: Callable[[], Mapping[str, object]]) -> dict[str, Callable[..., Any]]:
    """Return the functions that scripts call, by name; `variables` gives all that a script can reach just now."""

    def live_bytes() -> int:
        """Bytes of the memories that saved tensors of live graphs stand in, each memory once."""
        return sum(_memories(node for _, node in roots_of(variables())).values())

    def reclaimable_bytes(tensor: Tensor) -> int:
        """Bytes that a backward from the tensor would give back: memories that nothing but freed nodes holds."""
        return _reclaimable(_tensor("reclaimable_bytes", tensor), variables())

    return {"freed": freed, "saved": saved, "live_bytes": live_bytes, "reclaimable_bytes": reclaimable_bytes}


def freed(tensor: Tensor) -> bool:
    """Whether what the tensor's node saved was freed; where it saves nothing, the nearest nodes below that do."""
    found = False
    level = [_tensor("freed", tensor).grad_fn]
    seen: set[Node] = set()
    while level:
        below: list[Node | None] = []
        for node in level:
            if node is None or node in seen:
                continue
            seen.add(node)
            states = [one.freed for one in saved_inside(node)]
            if not all(states):
                return False
            found = found or bool(states)
            below += [] if states else [one for one, _ in node.next_functions]
        level = below
    return found


def saved(tensor: Tensor, name: str) -> bool:
    """Whether the tensor's node holds a saved tensor of that name, not freed."""
    node = _tensor("saved", tensor).grad_fn
    return node is not None and any(one.name == name and not one.freed for one in saved_inside(node))


def _tensor(function: str, value: object) -> Tensor:
    if isinstance(value, Tensor):
        return value
    raise fail("type", f"{function}(): argument 'tensor' must be Tensor, not {type(value).__name__}", TypeError)


def _memories(roots: Iterable[Node | None]) -> dict[int, int]:
    """The memories that live saved tensors below the roots stand in: key -> bytes."""
    seen: set[Node] = set()
    sizes: dict[int, int] = {}
    for root in roots:
        if root in seen:
            continue
        for node in nodes_below(root, seen):
            for one in saved_inside(node):
                if one.array is not None:
                    sizes[memory_key(one.array)] = memory_bytes(one.array)
    return sizes


def _reclaimable(tensor: Tensor, variables: Mapping[str, object]) -> int:
    below = set(nodes_below(tensor.grad_fn))
    mine: dict[int, int] = {}
    kept: set[int] = set()
    for node in {*below, *(node for _, root in roots_of(variables) for node in nodes_below(root))}:
        for one in saved_inside(node):
            if one.array is None:
                continue
            if node in below and not node.pins:
                mine[memory_key(one.array)] = memory_bytes(one.array)
            else:
                kept.add(memory_key(one.array))
    names = Names(variables)
    return sum(size for key, size in mine.items() if key not in kept and not names.of_memory(key))
