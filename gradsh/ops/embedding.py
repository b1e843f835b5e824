"""Looking up rows: embedding, bags of embeddings, one_hot."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import grad_mode
from gradsh.engine.dispatch.declare import composite, op
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.row_scatter import sum_rows
from gradsh.text.fault import fail


def check_indices(indices: object, number: int, function: str) -> None:
    """Refuse indices that are no integers of 32 or 64 bits."""
    dtype = array_of(indices).dtype
    if dtype not in (np.int64, np.int32):
        message = (
            f"Expected tensor for argument #{number} 'indices' to have one of the following scalar types: Long, Int; but "
            f"got torch.{of_numpy(dtype).title}Tensor instead (while checking arguments for {function})"
        )
        raise fail("dtype", message)


def _rows(weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Array:
    if weight.ndim != 2:
        raise fail("shape", "'weight' must be 2-D")
    check_indices(indices, 1, "embedding")
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise fail("index", "index out of range in self", IndexError)
    return weight[indices]


def no_sparse(sparse: bool) -> None:
    """Refuse a sparse gradient, when backward comes to it."""
    if sparse:
        raise fail("value", "sparse gradients are not offered: leave out sparse=True")


def _dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    flat = indices.reshape(-1)
    rows = grad_output.reshape(flat.size, -1)
    if rows.shape[1] == 0 and grad_output.ndim:
        rows = rows.reshape(flat.size, grad_output.shape[-1])
    used = flat != padding_idx
    if padding_idx >= 0 and not used.all():
        flat, rows = flat[used], rows[used]
    if scale_grad_by_freq and flat.size:
        rows = rows / np.bincount(flat, minlength=num_weights)[flat][:, None].astype(rows.dtype)
    return sum_rows(rows, flat, num_weights)


def _second(grad: ArrayOrTensor, indices: Any, padding_idx: int) -> ArrayOrTensor:
    flat = find("reshape")(indices, (-1,))
    rows = find("index_select")(grad, 0, flat)
    if padding_idx >= 0:
        rows = find("masked_fill")(rows, find("reshape")(find("eq")(indices, padding_idx), (-1, 1)), 0)
    return find("view")(rows, (*tuple(indices.shape), -1))


embedding_dense_backward: Operation = op(
    "embedding_dense_backward(grad_output, indices, num_weights: int, padding_idx: int, scale_grad_by_freq: bool)",
    "EmbeddingDenseBackwardBackward0", "Gradient of embedding.", forward=_dense_backward, unguarded=True, spaces=(),
    grads={"grad_output": _second},
)
def _weight_gradient(
    grad: ArrayOrTensor, indices: ArrayOrTensor, weight_argsize0: int, padding_idx: int, scale_grad_by_freq: bool,
    sparse: bool,
) -> ArrayOrTensor:
    no_sparse(sparse)
    return embedding_dense_backward(grad, indices, weight_argsize0, padding_idx, scale_grad_by_freq)


embedding: Operation = op(
    "embedding(weight, indices, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False)",
    "EmbeddingBackward0", "The rows of a weight that indices name.", forward=_rows, spaces=("torch",),
    attributes=("weight_argsize0", "padding_idx", "scale_grad_by_freq", "sparse"), forward_mode="linear",
    grads={
        "weight": _weight_gradient,
    },
)


def _padding(padding_idx: int | None, rows: int) -> int:
    """Return the row that gets no gradient, counted from the front (-1: none)."""
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise fail("assert", "Padding_idx must be within num_embeddings", AssertionError)
    return padding_idx % rows


def _renorm(weight: object, indices: object, max_norm: float, norm_type: float) -> None:
    """Shrink the named rows to norm `max_norm`, in place and without a record."""
    rows = np.unique(array_of(indices))
    values = array_of(weight)[rows]
    norms = np.power(np.add.reduce(np.abs(values.astype(np.float64)) ** norm_type, axis=1), 1 / norm_type)
    factor = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)[:, None]
    fresh = array_of(weight).copy()
    fresh[rows] = (values * factor).astype(values.dtype)
    with grad_mode(False):
        find("copy_")(weight, make(fresh))


def _embedding_function(
    input: Tensor, weight: Tensor, padding_idx: int | None, max_norm: float | None, norm_type: float,
    scale_grad_by_freq: bool, sparse: bool,
) -> Tensor:
    padding = _padding(padding_idx, weight.shape[0] if weight.shape else 0)
    if max_norm is not None:
        check_indices(input, 2, "embedding_renorm_")
        _renorm(weight, input, max_norm, norm_type)
    return embedding(weight, input, padding, scale_grad_by_freq, sparse)


composite(
    "F_embedding(input, weight, padding_idx: int? = None, max_norm: float? = None, norm_type: float = 2.0, "
    "scale_grad_by_freq: bool = False, sparse: bool = False)",
    "The rows of weight that the indices in input name.", _embedding_function, ("F",),
    note="A row `padding_idx` gets no gradient. With `max_norm` the named rows are shrunk in place first.",
)

# --- one_hot ----------------------------------------------------------------------------------------------------


def _one_hot(input: Array, num_classes: int) -> Array:
    if input.dtype != np.int64:
        raise fail("dtype", "one_hot is only applicable to index tensor of type LongTensor.")
    if input.size == 0:
        if num_classes <= 0:
            raise fail("value", "Can not infer total number of classes from empty tensor.")
        return np.zeros((*input.shape, num_classes), np.int64)
    if input.min() < 0:
        raise fail("value", "Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(input.max()) + 1
    elif input.max() >= num_classes:
        raise fail("value", "Class values must be smaller than num_classes.")
    found = np.zeros((input.size, num_classes), np.int64)
    found[np.arange(input.size), input.reshape(-1)] = 1
    return found.reshape(*input.shape, num_classes)


_class_rows = op("_one_hot(input, num_classes: int)", "", "Rows of zeros with a one at each class.", forward=_one_hot, spaces=())


def _one_hot_written(input: Tensor, num_classes: int) -> Tensor:
    found = _class_rows(input, num_classes)
    found.counter.version = 2 if found.array.size else 0  # PyTorch scatters into zeros
    return found


one_hot = composite(
    "one_hot(input, num_classes: int = -1)", "Rows of zeros with a one at each class.", _one_hot_written, ("F",),
)
