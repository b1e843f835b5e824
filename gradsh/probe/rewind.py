"""Takes back what a backward pass has done: the gradients that it wrote and the saved tensors that it freed."""

from collections.abc import Iterable
from typing import Any

from gradsh.engine.dispatch.views import CopySlices
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor
from gradsh.engine.values.storage import VersionCounter
from gradsh.probe.snapshot import nodes_below_all


class Rewind:
    """What stood before a pass from `roots`. It keeps alive what the pass frees, and a copy of each gradient that may be added to."""

    def __init__(self, roots: Iterable[Node]) -> None:
        self._gradients = [_Gradient(tensor) for tensor in _receivers(roots)]
        self._held: dict[Node, Any] = {}

    def frees(self, node: Node) -> None:
        """Keep what a node saved, which is about to be freed."""
        for one in (node, node.function) if type(node) is CopySlices else (node,):
            if one not in self._held:
                self._held[one] = one.hold()

    def forget(self) -> None:
        """Let go of what was kept: the pass stays."""
        self._held.clear()
        self._gradients.clear()

    def restore(self) -> list[Node]:
        """Put gradients and saved tensors back; return the nodes that have theirs again."""
        for node, held in self._held.items():
            node.put_back(held)
        nodes = list(self._held)
        self._held.clear()
        for gradient in self._gradients:
            gradient.restore()
        return nodes


def _receivers(roots: Iterable[Node]) -> list[Tensor]:
    """Return the tensors whose `.grad` a pass may write: leaves, and what retains its gradient."""
    found: list[Tensor] = []
    for node in nodes_below_all(roots):
        if isinstance(node, AccumulateGrad):
            found.append(node.variable)
        elif node.extra is not None:
            found += [tensor for tensor in (kept() for kept in node.extra.keep_grads.values()) if tensor is not None]
    return found


class _Gradient:
    """The `.grad` of a tensor: which tensor it is, what it holds, how often it was written."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.grad: Tensor | None = None if tensor.meta is None else tensor.meta.grad
        if self.grad is not None:
            counter: VersionCounter = self.grad.counter
            self.counter, self.version, self.writes = counter, counter.version, list(counter.writes or ())
            self.array = self.grad.array
            self.values = self.array.copy()

    def restore(self) -> None:
        if self.tensor.meta is None:
            return
        self.tensor.meta.grad = self.grad
        if self.grad is None:
            return
        self.grad.array = self.array
        self.array[...] = self.values
        self.counter.advance(self.version - self.counter.version)
        self.counter.writes = self.writes or None
