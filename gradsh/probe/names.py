"""Which name leads to which tensor: the paths (`h`, `losses[2]`, `net.fc.weight`) by which a program holds tensors.

Only looks; values are reached through lists, tuples, dicts, sets, modules and the attributes of objects that scripts
made, never through the engine's graph.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gradsh.engine.node import AccumulateGrad, Node
from gradsh.engine.storage import memory_key
from gradsh.engine.tensor import Parameter, Tensor

_LONGEST = 20_000  # values looked at inside containers; a program's own data may be of any size


def named_tensors(variables: Mapping[str, object]) -> Iterator[tuple[str, Tensor]]:
    """Yield (path, tensor) for every tensor that a variable leads to, each path once, without recursion."""
    seen: set[int] = set()
    stack: list[tuple[str, object]] = [
        (name, value) for name, value in reversed(list(variables.items())) if not name.startswith("__")
    ]
    looked = 0
    while stack and looked < _LONGEST:
        path, value = stack.pop()
        looked += 1
        if isinstance(value, Tensor):
            yield path, value
            continue
        below = _inside(path, value)
        if below is None or id(value) in seen:
            continue
        seen.add(id(value))
        stack.extend(reversed(below))


def _inside(path: str, value: object) -> list[tuple[str, object]] | None:
    """Return the (path, value) pairs directly inside a container or object, None for what holds nothing."""
    if isinstance(value, (list, tuple)):
        return [(f"{path}[{place}]", one) for place, one in enumerate(value)]
    if isinstance(value, dict):
        return [(f"{path}[{key!r}]", one) for key, one in value.items()]
    if isinstance(value, (set, frozenset)):
        return [(f"an item of {path}", one) for one in value]
    if hasattr(type(value), "named_parameters"):
        return _module(path, value)
    closure = getattr(value, "__closure__", None)
    if closure:
        names = value.__code__.co_freevars  # type: ignore[attr-defined]
        return [
            (f"{path}'s {name}", cell.cell_contents) for name, cell in zip(names, closure, strict=True) if _filled(cell)
        ]
    if isinstance(value, type) or type(value).__module__.startswith(("numpy", "gradsh.api.namespace")):
        return None
    attributes = getattr(value, "__dict__", None)
    return [(f"{path}.{key}", one) for key, one in attributes.items()] if isinstance(attributes, dict) else None


def _module(path: str, module: Any) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, one in vars(module).items():
        if key in {"_parameters", "_buffers", "_modules"} and isinstance(one, dict):
            found.extend((f"{path}[{name}]" if name.isdigit() else f"{path}.{name}", each) for name, each in one.items())
        elif not key.startswith("_"):
            found.append((f"{path}.{key}", one))
    return found


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (an empty cell raises)
    except ValueError:
        return False
    return True


class Names:
    """The names of a program's tensors, by tensor, by node and by memory."""

    __slots__ = ("memory", "nodes", "tensors")

    def __init__(self, variables: Mapping[str, object]) -> None:
        self.tensors: dict[int, list[str]] = {}
        self.nodes: dict[Node, list[tuple[str, int]]] = {}
        """node -> (path, output number) of the tensors it made"""
        self.memory: dict[int, list[tuple[str, bool]]] = {}
        """memory -> (path, whether it is a parameter or another leaf that needs a gradient)"""
        for path, tensor in named_tensors(variables):
            self._add(path, tensor)

    def _add(self, path: str, tensor: Tensor) -> None:
        first = id(tensor) not in self.tensors
        self.tensors.setdefault(id(tensor), []).append(path)
        leaf = tensor.edge is None and tensor.tracked
        self.memory.setdefault(memory_key(tensor.array), []).append((path, leaf or isinstance(tensor, Parameter)))
        meta = tensor.meta
        if tensor.edge is not None:
            self.nodes.setdefault(tensor.edge[0], []).append((path, tensor.edge[1]))
        elif meta is not None and meta.accumulator is not None:
            node = meta.accumulator()
            if node is not None:
                self.nodes.setdefault(node, []).append((path, 0))
        if first and meta is not None and meta.grad is not None and meta.grad is not tensor:
            self._add(f"{path}.grad", meta.grad)

    def of_node(self, node: Node) -> tuple[str, ...]:
        """Return the names bound to the results of a node."""
        return tuple(path for path, _ in self.nodes.get(node, ()))

    def of_memory(self, key: int) -> tuple[str, ...]:
        """Return the names that hold a memory (see `storage.memory_key`)."""
        if key not in self.memory:
            return ()
        return tuple(path for path, _ in self.memory.get(key, ()))

    def of_leaf(self, leaf: Tensor) -> str:
        """Return a leaf's first name, or words for one that no variable holds."""
        paths = self.tensors.get(id(leaf))
        return paths[0] if paths else f"an unnamed leaf {tuple(leaf.array.shape)}"


def roots_of(variables: Mapping[str, object]) -> list[tuple[str, Node]]:
    """Return (path, grad_fn) of each tensor that a variable leads to and that has a history; of its gradient, too."""
    found: list[tuple[str, Node]] = []
    for path, tensor in named_tensors(variables):
        held: Tensor | None = tensor
        seen: set[int] = set()
        while held is not None and id(held) not in seen:
            seen.add(id(held))
            edge = held.edge
            if edge is not None and not isinstance(edge[0], AccumulateGrad):
                found.append((path, edge[0]))
            held = None if held.meta is None else held.meta.grad
            path += ".grad"
    return found


def top_name(path: str) -> str:
    """Return the variable that a path begins with: `net` of `net.fc.weight`, `losses` of `losses[2]`."""
    head = path.removeprefix("an item of ")
    for mark in (".", "[", "'"):
        head = head.partition(mark)[0]
    return head
