"""Where a tensor's gradient goes, as programs name it to a pass in the place of the tensor."""

from typing import Any, NamedTuple

import numpy as np

from gradsh.engine.graph.node import Node, behind
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, gradient_edge, make
from gradsh.text.fault import fail


class GradientEdge(NamedTuple):
    """A node and the number of its output."""

    node: Any
    output_nr: int
    ownership_token: object = None


setattr(GradientEdge, "__script_attributes__", frozenset({*GradientEdge._fields, "_fields", "_asdict", "_replace"}))  # noqa: B010  (no field of a named tuple)


def tensor_at(value: object) -> object:
    """Return what stands for an edge: its leaf, or a tensor without memory of its own at that place; anything else as it is."""
    if not isinstance(value, GradientEdge):
        return value
    node, output = behind(value.node), value.output_nr
    if not isinstance(node, Node):
        raise fail("type", f"GradientEdge's first object must be an autograd.graph.Node but got {type(node).__name__}")
    if isinstance(node, AccumulateGrad):
        if gradient_edge(node.variable) == (node, 0):
            return node.variable
        shape, dtype = node.variable.array.shape, node.variable.array.dtype  # that of its former memory
    else:
        shape, dtype = node.outputs[output]
    stand_in: Tensor = make(np.broadcast_to(np.zeros((), dtype), shape))
    stand_in.edge = (node, output)
    stand_in.needs_grad = True
    return stand_in
