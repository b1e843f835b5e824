"""The state at the end of a run, as the JSON stream tells it: every tensor that a variable holds, and what is saved.

Plain data only (dicts, lists, numbers); the renderer writes nan and the infinities as strings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor, node_of
from gradsh.engine.graph.types import LineOf
from gradsh.probe.foreign import tensor_of
from gradsh.probe.modules import is_module, parameters_of
from gradsh.probe.places import LineTable
from gradsh.process.pace import EVERY, found
from gradsh.text.fault import fail

LARGEST = 1 << 27
"""Elements of the largest tensor whose data are told."""
_OF_A_SCRIPT = "saved_tensors"
"""What a script's own Function saves stands under this name."""


def tensors_of(variables: Mapping[str, object]) -> Iterator[tuple[str, Tensor]]:
    """Yield (name, tensor) for each variable bound to a tensor, and for each parameter of a bound module."""
    for name, value in variables.items():
        if name.startswith("__"):
            continue
        tensor = tensor_of(value)
        if tensor is not None:
            yield name, tensor
        elif is_module(value):
            yield from ((f"{name}.{parameter}", one) for parameter, one in parameters_of(value))


def snapshot(variables: Mapping[str, object], line_of: LineOf) -> tuple[dict[str, object], dict[str, object]]:
    """Return (`tensors`, `buffers`) of product.md's `state`; `line_of` turns an engine's place into a line."""
    line_of = LineTable(line_of).of
    tensors: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    for name, tensor in tensors_of(variables):
        tensors[name] = record = describe(tensor)
        if record["grad_fn"] is not None and "." not in name:
            buffers[name] = saved_below(node_of(tensor), line_of)
    return tensors, buffers


def describe(tensor: Tensor) -> dict[str, object]:
    """Return what can be asked of a tensor; null where the question fails, as for a view that became invalid."""

    def ask(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except RuntimeError:
            return None

    grad = ask(lambda: tensor.grad)
    return {
        "shape": list(tensor.array.shape),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "requires_grad": ask(lambda: bool(tensor.requires_grad)),
        "is_leaf": ask(lambda: bool(tensor.is_leaf)),
        "grad_fn": ask(lambda: node_name(node_of(tensor))),
        "version": ask(lambda: tensor._version),
        "data": _numbers(tensor),
        "grad": None if grad is None else _numbers(grad),
    }


def _numbers(tensor: Tensor) -> object:
    """The data as nested lists. Raises (kind `limit`) where that would fill any machine: an expanded tensor's may."""
    if tensor.array.size > LARGEST:
        raise fail("limit", f"the state holds a tensor of {tensor.array.size:,} elements: too many to list", MemoryError)
    return tensor.array.tolist()


def node_name(node: Node | None) -> str | None:
    """Return the name that people know a node by: PyTorch's, without its C++ namespace."""
    return None if node is None else short_name(node.name())


def short_name(name: str) -> str:
    """Return PyTorch's name of a node without its C++ namespace."""
    return name.rsplit("::", 1)[-1] if "::" in name else name


def nodes_below(root: Node | None, seen: set[Node] | None = None) -> Iterator[Node]:
    """Yield each node reachable from `root` once, depth first along `next_functions`, without recursion.

    Nodes in `seen` are left out with all below them; those that are yielded are added to it.
    """
    seen = set() if seen is None else seen
    stack: list[Any] = [root]
    pop, add = stack.pop, seen.add
    while stack:
        node = pop()
        if node is None or node in seen:
            continue
        add(node)
        if not len(seen) & (EVERY - 1):
            found(len(seen))
        yield node
        stack += node.below()[::-1]


def nodes_below_all(roots: Iterable[Node], seen: set[Node] | None = None) -> Iterator[Node]:
    """Yield each node reachable from the roots once, as `nodes_below` yields those of one."""
    seen = set() if seen is None else seen
    for root in roots:
        yield from nodes_below(root, seen)


def saved_below(root: Node | None, line_of: LineOf) -> list[dict[str, Any]]:
    """Return the saved tensors of every node below `root`, but those that PyTorch hides.

    These are what a CopySlices node holds inside, and what a script's own Function keeps, which has no `_saved_` name.
    """
    saved_tensors = []
    for node in nodes_below(root):
        name = node_name(node)
        if name == "CopySlices":
            continue
        for saved in node.saved:
            if saved.name == _OF_A_SCRIPT:
                continue
            saved_tensors.append({
                "node": name,
                "name": saved.name,
                "shape": None if saved.freed else list(saved.shape),
                "freed": saved.freed,
                "nbytes": saved.nbytes,
                "saved_line": line_of(node.location),
                "freed_line": line_of(saved.freed_where) if saved.freed else None,
            })
    return saved_tensors
