"""A backward pass as short as it can be: no fast path, no hooks, nothing freed. What the engine's own pass is held to."""

from typing import Any

import numpy as np

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, gradient_edge


def gradients(outputs: list[Tensor], cotangents: list[Any], leaves: list[Tensor]) -> list[Any]:
    """Return the gradient of each leaf as an array, or None where none arrives."""
    arrived: dict[Node, list[Any]] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        edge = gradient_edge(output)
        assert edge is not None
        add(arrived, edge, cotangent)
    while ready := [node for node in arrived if type(node) is not AccumulateGrad]:
        node = max(ready, key=lambda one: one.seq)
        grads = arrived.pop(node)
        if all(one is None for one in grads):
            continue
        needs = tuple(edge is not None for edge in node.edges)
        for edge, found in zip(node.edges, node.run(grads, needs), strict=True):
            if edge is not None and found is not None:
                add(arrived, edge, found)
    edges = [gradient_edge(leaf) for leaf in leaves]
    return [arrived[edge[0]][0] if edge is not None and edge[0] in arrived else None for edge in edges]


def add(arrived: dict[Node, list[Any]], edge: tuple[Node, int], gradient: Any) -> None:
    """Add a gradient to what has arrived at one output of a node."""
    node, output = edge
    held = arrived.setdefault(node, [None] * len(node.outputs))
    held[output] = gradient if held[output] is None else np.asarray(held[output] + gradient)
