"""A node that stands behind values which cannot be differentiated further: it fails when a gradient arrives."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor, gradient_edge
from gradsh.text.fault import fail


class Error(Node):
    """Fails with its message."""

    __slots__ = ("message",)

    message: str

    def name(self) -> str:
        """Return PyTorch's name."""
        return "torch::autograd::Error"

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Refuse."""
        del grads, needs
        raise fail("other", self.message, node=self)


def delayed_error(message: str, values: Sequence[object]) -> list[object]:
    """Return the tensors among values anew, with one node behind them that fails with `message`."""
    node = Error(
        tuple(gradient_edge(one) if isinstance(one, Tensor) else None for one in values),
        tuple((one.array.shape, one.array.dtype) if isinstance(one, Tensor) else ((), np.dtype(np.float32)) for one in values),
    )
    node.message = message
    return [behind_node(node, place, one) if isinstance(one, Tensor) else one for place, one in enumerate(values)]


def behind_node(node: Node, place: int, value: Tensor) -> Tensor:
    """Return a tensor anew, as output `place` of a node."""
    fresh: Tensor = value.detach()
    fresh.edge = (node, place)
    fresh.needs_grad = True
    return fresh
