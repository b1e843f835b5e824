"""Bags of embeddings: sums, means or greatest values of the rows that stretches of indices name."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy, type_name
from gradsh.ops.arguments import count
from gradsh.ops.embedding import _renorm, no_sparse
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.row_scatter import sum_rows
from gradsh.text.fault import fail

_SUM, _MEAN, _MAX = 0, 1, 2
_MODES = {"sum": _SUM, "mean": _MEAN, "max": _MAX}


def _bags(indices: Array, offsets: Array, include_last_offset: bool) -> tuple[Array, int]:
    """Return the bag of each index, and how many bags there are."""
    if offsets.size and offsets[0] != 0:
        message = (
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {int(offsets[0])}"
        )
        raise fail("value", message)
    if offsets.size and offsets[-1] > indices.size:
        message = (
            f"offsets[-1] can not be greater than input's length {indices.size} but got offsets[-1] of {int(offsets[-1])}"
        )
        raise fail("value", message)
    bags = offsets.size - 1 if include_last_offset else offsets.size
    starts = np.bincount(offsets[: max(bags, 0)], minlength=indices.size + 1)[: indices.size]
    return np.cumsum(starts) - 1, max(bags, 0)


def _check(weight: Array, indices: Array, offsets: Array, per_sample_weights: Any) -> None:
    for name, one in (("indices", indices), ("offsets", offsets)):
        if one.dtype not in (np.int64, np.int32):
            message = (
                f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got "
                f"torch.{of_numpy(one.dtype).title}Tensor instead (while checking arguments for embedding_bag)"
            )
            raise fail("dtype", message)
    wrong = (indices < 0) | (indices >= weight.shape[0])
    if wrong.any():
        place = int(np.argmax(wrong))
        message = (
            f"Index {place} of input takes value {int(indices[place])} which is not in the valid range "
            f"[0, {weight.shape[0]})"
        )
        raise fail("index", message)
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        wanted, got = (type_name(one.dtype) for one in (weight, per_sample_weights))
        message = (
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but type "
            f"{wanted} does not equal {got} (while checking arguments for embedding_bag)"
        )
        raise fail("dtype", message)


def _forward(
    weight: Array, indices: Array, offsets: Array, scale_grad_by_freq: bool, mode: int, sparse: bool,
    per_sample_weights: Any, include_last_offset: bool, padding_idx: int,
) -> tuple[Array, Array, Array, Array]:
    """Return the bags, the bag of each index, the bags' sizes, and which indices were greatest."""
    _check(weight, indices, offsets, per_sample_weights)
    owner, bags = _bags(indices, offsets, include_last_offset)
    used = indices != padding_idx
    sizes = np.bincount(owner[used], minlength=bags)[:bags].astype(np.int64)
    if mode == _MAX:
        values, which = _greatest(weight, indices, owner, used, bags)
        return values, owner, sizes, which
    rows = weight[indices]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    total = sum_rows(rows[used], owner[used], bags)
    if mode == _MEAN:
        total = total / np.maximum(sizes, 1).astype(weight.dtype)[:, None]
        return total, owner, sizes, sizes
    if padding_idx < 0 and weight.dtype == np.float32:  # PyTorch's fast path makes no table of bags
        owner = np.zeros(0, np.int64)
    return total, owner, np.zeros(bags, np.int64), np.zeros(bags, np.int64)


def _greatest(weight: Array, indices: Array, owner: Array, used: Array, bags: int) -> tuple[Array, Array]:
    values = np.zeros((bags, weight.shape[1]), weight.dtype)
    which = np.zeros((bags, weight.shape[1]), np.int64)
    for bag in range(bags):
        mine = indices[(owner == bag) & used]
        if mine.size:
            best = np.argmax(weight[mine], axis=0)
            which[bag] = mine[best]
            values[bag] = np.take_along_axis(weight[mine], best[None], 0)[0]
    return values, which


def _backward(
    grad: Array, indices: Array, offsets: Array, offset2bag: Array, bag_size: Array, maximum_indices: Array,
    num_weights: int, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any, padding_idx: int,
    include_last_offset: bool,
) -> Array:
    no_sparse(sparse)
    if mode == _MAX:
        total = np.zeros((num_weights, grad.shape[1]), grad.dtype)
        filled = bag_size > 0
        columns = np.broadcast_to(np.arange(grad.shape[1]), grad.shape)
        np.add.at(total, (maximum_indices[filled], columns[filled]), grad[filled])
        return total
    owner, _ = _bags(indices, offsets, include_last_offset)
    used = indices != padding_idx
    rows = grad[owner]
    if mode == _MEAN:
        rows = rows / np.maximum(bag_size, 1).astype(grad.dtype)[owner][:, None]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if scale_grad_by_freq:
        rows = rows / np.bincount(indices, minlength=num_weights)[indices][:, None].astype(grad.dtype)
    return sum_rows(rows[used], indices[used], num_weights)


def _sample_weights_backward(
    grad: Array, weight: Array, indices: Array, offsets: Array, offset2bag: Array, mode: int, padding_idx: int,
    include_last_offset: bool,
) -> Array:
    owner, _ = _bags(indices, offsets, include_last_offset)
    products = np.add.reduce(grad[owner] * weight[indices], axis=1)
    found: Array = np.where(indices == padding_idx, products.dtype.type(0), products)
    return found


bag_backward = op(
    "_embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights: int, "
    "scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Tensor?, padding_idx: int, "
    "include_last_offset: bool)",
    "EmbeddingBagBackwardBackward0", "Gradient of bags by the weight. It has no derivative.", forward=_backward,
    spaces=(),
    grads=dict.fromkeys(("grad", "per_sample_weights")),
)
sample_weights_backward = op(
    "_embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, offset2bag, mode: int, "
    "padding_idx: int, include_last_offset: bool)",
    "", "Gradient of bags by the weights of their entries. It has no derivative.", forward=_sample_weights_backward,
    spaces=(), grads={"grad": None, "weight": None},
)
embedding_bag = op(
    "_embedding_bag(weight, indices, offsets, scale_grad_by_freq: bool, mode: int, sparse: bool, "
    "per_sample_weights: Tensor?, include_last_offset: bool, padding_idx: int)",
    "EmbeddingBagBackward0", "Bags of embeddings.", forward=_forward, spaces=(),
    attributes=("weight_argsize0", "scale_grad_by_freq", "mode", "sparse", "padding_idx"), saves=("per_sample_weights",),
    grads={
        "weight":
            lambda grad, indices, offsets, result1, result2, result3, weight_argsize0, scale_grad_by_freq, mode, sparse,
            per_sample_weights, padding_idx, include_last_offset:
                bag_backward(
                    grad, indices, offsets, result1, result2, result3, weight_argsize0, scale_grad_by_freq, mode,
                    sparse, per_sample_weights, padding_idx, include_last_offset),
        "per_sample_weights":
            lambda grad, weight, indices, offsets, result1, mode, padding_idx, include_last_offset:
                sample_weights_backward(
                    grad, weight, indices, offsets, result1, mode, padding_idx, include_last_offset),
    },
)


def _flattened(input: Tensor, offsets: Tensor, per_sample_weights: object) -> tuple[Any, Any, Any]:
    """Return 1-D indices with offsets; a 2-D input has one bag a row."""
    ndim = len(input.shape)
    if ndim == 2:
        if offsets is not None:
            message = (
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
            raise fail("value", message, ValueError)
        step = input.shape[1]
        starts = np.arange(0, count(input), step) if step else np.zeros(0)
        reshape = find("reshape")
        weights = None if per_sample_weights is None else reshape(per_sample_weights, (-1,))
        return reshape(input, (-1,)), make(starts.astype(array_of(input).dtype)), weights
    if ndim != 1:
        raise fail("shape", f"input has to be 1D or 2D Tensor, but got Tensor of dimension {ndim}", ValueError)
    if offsets is None:
        raise fail("value", "offsets has to be a 1D Tensor but got None", ValueError)
    if len(offsets.shape) != 1:
        raise fail("shape", "offsets has to be a 1D Tensor", ValueError)
    return input, offsets, per_sample_weights


def _function(
    input: Tensor, weight: Tensor, offsets: Tensor, max_norm: Any, norm_type: float, scale_grad_by_freq: bool, mode: str,
    sparse: bool, per_sample_weights: Any, include_last_offset: bool, padding_idx: int | None,
) -> Tensor:
    if array_of(weight).dtype == np.int64 and array_of(input).dtype.kind == "f":
        current().warning(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    if per_sample_weights is not None and tuple(input.shape) != tuple(per_sample_weights.shape):
        message = (
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
        raise fail("shape", message, ValueError)
    if len(weight.shape) != 2:
        message = f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight.shape)}"
        raise fail("shape", message, ValueError)
    last = include_last_offset and len(input.shape) == 1
    indices, offsets, per_sample_weights = _flattened(input, offsets, per_sample_weights)
    code = _MODES.get(mode)
    if code is None:
        raise fail("value", "mode has to be one of sum, mean or max", ValueError)
    if code == _MAX and scale_grad_by_freq:
        raise fail("value", "max mode does not support scaling the gradient by the frequency", ValueError)
    if code == _MAX and sparse:
        raise fail("value", "max mode does not support sparse weights", ValueError)
    if max_norm is not None:
        _renorm(weight, indices, max_norm, norm_type)
    if per_sample_weights is not None and code != _SUM:
        message = (
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
        raise fail("value", message, NotImplementedError)
    padding = -1 if padding_idx is None else padding_idx % max(weight.shape[0], 1)
    return embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, code, sparse, per_sample_weights, last, padding
    )[0]


composite(
    "embedding_bag(input, weight, offsets: Tensor? = None, max_norm: float? = None, norm_type: float = 2.0, "
    "scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor? = None, "
    "include_last_offset: bool = False, padding_idx: int? = None)",
    "Sum, mean or greatest values of the rows that each bag of indices names.", _function, ("F",),
)
