"""What scripts assert of their graphs: `freed(t)`, `saved(t, "self")`, `live_bytes()`, `peak_bytes()`, `reclaimable_bytes(t)`."""

from collections.abc import Callable, Mapping

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor, node_of
from gradsh.probe.accounts import saved_memories
from gradsh.probe.given import given_back
from gradsh.probe.meter import Meter
from gradsh.probe.names import roots_of
from gradsh.probe.passes import saved_inside
from gradsh.probe.snapshot import nodes_below
from gradsh.text.fault import fail


def functions(
    variables: Callable[[], Mapping[str, object]], meter: Meter | None = None
) -> dict[str, Callable[..., object]]:
    """Return the functions that scripts call, by name; `variables` gives all that a script can reach just now."""

    def live_bytes() -> int:
        """Bytes of the memories that saved tensors of live graphs stand in, each memory once."""
        return sum(saved_memories(node for _, node in roots_of(variables()))[0].values())

    def peak_bytes() -> int:
        """The most that `live_bytes` has been: after each statement, and before each backward pass."""
        now = live_bytes()
        return now if meter is None else max(now, meter.peak_saved)

    def reclaimable_bytes(tensor: Tensor) -> int:
        """Bytes that a backward from the tensor would give back: memories that nothing but freed nodes holds."""
        return _reclaimable(_tensor("reclaimable_bytes", tensor))

    found = (freed, saved, live_bytes, peak_bytes, reclaimable_bytes)
    for one in found:
        one.__qualname__ = one.__name__  # Python's own errors about a call show it
    return {one.__name__: one for one in found}


def freed(tensor: Tensor) -> bool:
    """Whether what the tensor's node saved was freed; where it saves nothing, the nearest nodes below that do."""
    found = False
    level = [node_of(_tensor("freed", tensor))]
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
            below += [] if states else node.below()
        level = below
    return found


def saved(tensor: Tensor, name: str) -> bool:
    """Whether the tensor's node holds a saved tensor of that name, not freed."""
    node = node_of(_tensor("saved", tensor))
    return node is not None and any(one.name == name and not one.freed for one in saved_inside(node))


def _tensor(function: str, value: object) -> Tensor:
    if isinstance(value, Tensor):
        return value
    raise fail("type", f"{function}(): argument 'tensor' must be Tensor, not {type(value).__name__}", TypeError)


def _reclaimable(tensor: Tensor) -> int:
    nodes = [node for node in nodes_below(node_of(tensor)) if not node.pins]
    return sum(given_back(nodes).values())
