"""What nets do most, made at once: nodes, saved tensors and result are those of the operations that it consists of.

Linear on a matrix of rows, with a bias and a trainable weight, is `t` and `addmm`; the cross entropy of rows of classes is
`log_softmax` and `nll_loss`. One by one they take three to four times as long. None is returned where the case is another.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import Ambient, current
from gradsh.engine.dispatch.op_node import OpNode
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import SavedVariable
from gradsh.engine.graph.tensor import Tensor, gradient_edge, make_result
from gradsh.engine.schema.overload import Overload
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.storage import VersionCounter

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_CLASSES = np.dtype(np.int64)


def _plain(*operands: object) -> Ambient | None:
    """Return the ambient value if graphs are recorded in it and nothing looks at saved tensors; None otherwise."""
    ambient = current()
    plain = ambient.grad_enabled and not ambient.saved_hooks and all(isinstance(one, Tensor) for one in operands)
    return ambient if plain else None


def _born(record: Overload, edges: tuple[Any, ...], outputs: tuple[Array, ...], values: dict[str, Any]) -> OpNode:
    node = OpNode.__new__(OpNode)
    Node.__init__(node, edges, tuple([(one.shape, one.dtype) for one in outputs]))
    node.record = record
    record.plan  # noqa: B018  (worked out on first use; the node is asked by the names that it has)
    node.spans = None
    node.values = values
    return node


def _kept(tensor: Tensor, array: Array, edge: tuple[Node | int, ...] | None) -> SavedVariable:
    counter = tensor.counter
    return SavedVariable(array, counter, counter.version, edge)


def linear_at_once(t: Overload, addmm: Overload, input: Any, weight: Any, bias: Any) -> Tensor | None:
    """Return input @ weight.T + bias."""
    ambient = _plain(input, weight, bias)
    if ambient is None:
        return None
    a, w, b = input.array, weight.array, bias.array
    dtype = a.dtype
    if dtype not in _FLOATS or w.dtype != dtype or b.dtype != dtype or (a.ndim, w.ndim, b.ndim) != (2, 2, 1):
        return None
    if a.shape[1] != w.shape[1] or b.shape[0] != w.shape[0]:
        return None
    to_weight = gradient_edge(weight)
    if to_weight is None:
        return None
    if ambient.check is not None:
        ambient.check(a.shape[0] * w.shape[0] * w.itemsize)
    turned = w.T
    transposed = _born(t, (to_weight,), (turned,), {})
    out = a.dot(turned)
    out += b
    to_input, to_turned = gradient_edge(input), (transposed, 0)
    node = _born(addmm, (gradient_edge(bias), to_input, to_turned), (out,), {
        "beta": 1, "alpha": 1, "mat1_sizes": a.shape, "mat1_strides": () if to_input is None else input.stride(),
        "mat2_sizes": turned.shape, "mat2_strides": tuple([step // w.itemsize for step in turned.strides]),
    })
    node.entries = (_kept(input, a, to_input), None if to_input is None else _kept(weight, turned, to_turned))
    return make_result(out, node, 0)


def cross_entropy_at_once(
    log_softmax: Overload, nll_loss: Overload, log_of: Callable[..., Any], input: Tensor, target: Tensor,
    reduction: int, ignore_index: int,
) -> Tensor | None:
    """Return the loss of rows against classes without weights; `log_of` is the kernel of log_softmax."""
    ambient = _plain(input, target)
    if ambient is None:
        return None
    scores, classes = input.array, target.array
    if scores.dtype not in _FLOATS or classes.dtype != _CLASSES or scores.ndim != 2 or scores.shape[:1] != classes.shape:
        return None
    to_input = gradient_edge(input)
    if to_input is None or not scores.size:
        return None
    if ambient.check is not None:
        ambient.check(2 * scores.nbytes)
    logs = log_of(scores, 1)
    loss, total = nll_loss.forward(logs, classes, None, reduction, ignore_index)
    first = _born(log_softmax, (to_input,), (logs,), {"dim": 1, "self_dtype": scores.dtype})
    counter = VersionCounter()
    first.entries = (SavedVariable(logs, counter, 0, 0),)
    node = _born(nll_loss, ((first, 0),), (loss, total), {"reduction": reduction, "ignore_index": ignore_index})
    node.entries = (
        SavedVariable(logs, counter, 0, (first, 0)), _kept(target, classes, None), None, SavedVariable(total, VersionCounter(), 0, None),
    )
    return make_result(loss, node, 0)
