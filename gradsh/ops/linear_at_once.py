"""Linear on a matrix of rows, with a bias and a trainable weight: its two nodes at once, the same that `t` and `addmm` make.

A net's layers are mostly this; the long way through two operations takes four times as long.
"""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.node import Kept, Node
from gradsh.engine.opnode import OpNode
from gradsh.engine.record import Record
from gradsh.engine.tensor import Tensor, gradient_edge, make_result

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _fits(a: Any, w: Any, b: Any) -> bool:
    dtype = a.dtype
    return (
        dtype in _FLOATS and w.dtype == dtype and b.dtype == dtype and a.ndim == 2 and w.ndim == 2 and b.ndim == 1
        and a.shape[1] == w.shape[1] and b.shape[0] == w.shape[0]
    )


def _born(record: Record, edges: tuple[Any, ...], output: Any, values: dict[str, Any]) -> OpNode:
    node = OpNode.__new__(OpNode)
    Node.__init__(node, edges, ((output.shape, output.dtype),))
    node.record = record
    node.spans = None
    node.values = values
    return node


def linear_at_once(t: Record, addmm: Record, input: Any, weight: Any, bias: Any) -> Tensor | None:
    """Return input @ weight.T + bias; None where the case is another one, which the operations take one by one."""
    ambient = current()
    if not ambient.grad_enabled or ambient.saved_hooks or not all(isinstance(one, Tensor) for one in (input, weight, bias)):
        return None
    a, w, b = input.array, weight.array, bias.array
    if not _fits(a, w, b):
        return None
    to_weight = gradient_edge(weight)
    if to_weight is None:
        return None
    if ambient.check is not None:
        ambient.check(a.shape[0] * w.shape[0] * w.itemsize)
    turned = w.T
    transposed = _born(t, (to_weight,), turned, {})
    out = a.dot(turned)
    out += b
    to_input, to_turned = gradient_edge(input), (transposed, 0)
    node = _born(addmm, (gradient_edge(bias), to_input, to_turned), out, {
        "beta": 1, "alpha": 1, "mat1_sizes": a.shape, "mat1_strides": () if to_input is None else input.stride(),
        "mat2_sizes": turned.shape, "mat2_strides": tuple([step // w.itemsize for step in turned.strides]),
    })
    saved = None if to_input is None else Kept(turned, weight.counter, weight.counter.version, to_turned)
    node.entries = (Kept(a, input.counter, input.counter.version, to_input), saved)
    return make_result(out, node, 0)
