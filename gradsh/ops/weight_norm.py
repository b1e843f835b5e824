"""The weight of nn.utils.weight_norm: a length times the direction of a tensor, norms taken over all dims but one."""

from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array


def _others(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(ndim) if axis != dim)


def _forward(v: Array, g: Array, dim: int) -> tuple[Array, Array]:
    norms = np.sqrt(np.square(v).sum(_others(v.ndim, dim), keepdims=True))
    return v * (g / norms), norms


def _backward(
    grad: ArrayOrTensor, v: ArrayOrTensor, g: ArrayOrTensor, result1: ArrayOrTensor, dim: int
) -> tuple[ArrayOrTensor, ArrayOrTensor]:
    """Return both gradients; the norms are constants for the gradient of a gradient, as they are for PyTorch's."""
    norms = result1.detach() if isinstance(result1, Tensor) else result1
    along: Any
    if isinstance(grad, Tensor):
        size = v.shape[dim]
        flat, over = ((size, -1), 1) if dim == 0 else ((-1, size), 0)
        along = find("view")(find("sum")(find("view")(grad * v, flat), (over,)), norms.shape)
    else:
        along = find("sum")(grad * v, _others(len(v.shape), dim), True)
    return (g / norms) * (grad - v * (along / (norms * norms))), along / norms


weight_norm_interface = op(
    "_weight_norm_interface(v, g, dim: int = 0)", "WeightNormInterfaceBackward0",
    "g times v divided by its norm over all dimensions but one.", forward=_forward, returns=1, spaces=("torch",),
    grads={("v", "g"): _backward}, samples=(sample((3, 4), (3, 1)), sample((2, 3, 4), (1, 1, 4), 2)),
)
