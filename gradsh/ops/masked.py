"""Elements at flat indices and where masks hold: take, put, masked_select, masked_scatter, nonzero."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.overlap import check_apart, check_distinct
from gradsh.engine.values.shape import at_dim, broadcast_shapes, wrap_dim
from gradsh.ops.arguments import zeros_of_shape
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.scatter import gather, write_at
from gradsh.ops.view import expand_array
from gradsh.text.fault import fail


def _flat_index(name: str, self: Array, index: Array) -> Array:
    if index.dtype != np.int64:
        message = f"{name}(): Expected a long tensor for index, but got {of_numpy(index.dtype).title}"
        raise fail("dtype", message, RuntimeError)
    if index.size and not self.size:
        raise fail("index", f"{name}(): tried to take from an empty tensor", IndexError)
    if index.size and (index.min() < -self.size or index.max() >= self.size):
        bad = next(int(one) for one in index.reshape(-1) if not -self.size <= one < self.size)
        message = f"out of range: tried to access index {bad} on a tensor of {self.size} elements."
        raise fail("index", message, IndexError)
    return index


def _put(self: Array, index: Array, source: Array, accumulate: bool) -> Array:
    where = _flat_index("put_", self, index).reshape(-1)
    if source.dtype != self.dtype:
        message = (
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {of_numpy(self.dtype).title} and "
            f"source.dtype = {of_numpy(source.dtype).title}"
        )
        raise fail("dtype", message, RuntimeError)
    if source.size != index.size:
        message = (
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
        raise fail("shape", message, IndexError)
    out = np.array(self, order="C")
    (np.add.at if accumulate else write_at)(out.reshape(-1), where, source.reshape(-1))
    return out


take = op(
    "take(self, index)", "TakeBackward0", "The elements at indices into the flattened tensor.",
    forward=lambda self, index: np.array(self.reshape(-1)[_flat_index("take", self, index)], order="C"),
    grads={"self": writes(1)(lambda grad, self, index: put(zeros_of_shape(grad, self.shape), index, grad, True))},
    note="Saves `self`, though only its shape is used.",
)
put: Operation = op(
    "put(self, index, source, accumulate: bool = False)", "PutBackward0", "A copy with values at indices into the flattened tensor.",
    forward=_put, inplace=True, saves=("index",), spaces=("torch", "Tensor"), forward_mode="linear",
    grads={
        "self": lambda grad, index, source_sizes, accumulate: grad if accumulate else put(
            grad, index, zeros_of_shape(grad, source_sizes)
        ),
        "source": lambda grad, index, source: find("reshape")(take(grad, index), tuple(source.shape)),
    }, attributes=("accumulate",),
)


def _take_along_dim(self: Tensor, indices: Tensor, dim: int | None) -> Tensor:
    if dim is not None and self.ndim != indices.ndim:
        message = (
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
        raise fail("shape", message, RuntimeError)
    if array_of(indices).dtype not in (np.int64, np.int32):
        message = f"torch.take_along_dim(): dtype of indices should be Long but got {of_numpy(array_of(indices).dtype).title}"
        raise fail("dtype", message, RuntimeError)
    if dim is None:
        return gather(find("reshape")(self, (-1,)), 0, find("reshape")(indices, (-1,)))
    place = wrap_dim(dim, self.ndim)
    at_dim(self.shape, place)
    mine, theirs = list(self.shape), list(indices.shape)
    mine[place] = theirs[place]
    common = broadcast_shapes(tuple(mine), tuple(theirs))
    spread = find("expand")(indices, common)
    wide = find("expand")(self, (*common[:place], self.shape[place], *common[place + 1 :]))
    return gather(wide, place, find("remainder")(spread, self.shape[place]))


composite("take_along_dim(self, indices, dim: int? = None)",
    "The elements at indices along a dimension, with broadcasting.", _take_along_dim)


def _check_mask(name: str, mask: Array) -> None:
    if mask.dtype != np.bool_:
        message = {
            "masked_select": "masked_select: expected BoolTensor for mask",
            "masked_scatter": f"masked_scatter_ only supports boolean masks, but got mask with dtype {of_numpy(mask.dtype).title}",
        }[name]
        raise fail("dtype", message, RuntimeError)


def _together(a: Array, b: Array) -> tuple[int, ...]:
    return broadcast_shapes(a.shape, b.shape)


def _masked_select(self: Array, mask: Array) -> Array:
    _check_mask("masked_select", mask)
    shape = broadcast_shapes(mask.shape, self.shape)
    current().note_read()
    return np.broadcast_to(self, shape)[np.broadcast_to(mask.astype(np.bool_), shape)]


@writes(1)
def _masked_select_backward(grad: ArrayOrTensor, self: ArrayOrTensor, mask: ArrayOrTensor) -> ArrayOrTensor:
    shape = _together(array_of(self), array_of(mask))
    return masked_scatter(zeros_of_shape(grad, shape), mask, grad)


masked_select = op(
    "masked_select(self, mask)", "MaskedSelectBackward0", "The elements where a mask holds, as a 1-d tensor.",
    forward=_masked_select, grads={"self": _masked_select_backward},
    note="Saves `self`, though only its shape is used.",
)


def _masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    _check_mask("masked_scatter", mask)
    if source.dtype != self.dtype:
        message = (
            f"masked_scatter: expected self and source to have same dtypes but got{of_numpy(self.dtype).title} and "
            f"{of_numpy(source.dtype).title}"
        )
        raise fail("dtype", message, RuntimeError)
    shape = _together(mask, self)
    out = np.array(np.broadcast_to(self, shape), order="C")
    chosen = np.broadcast_to(mask, shape)
    count = int(np.count_nonzero(chosen))
    if source.size < count:
        raise _too_few()
    out[chosen] = source.reshape(-1)[:count]
    return out


def _too_few() -> Exception:
    return fail("shape", "Number of elements of source < number of ones in mask", RuntimeError)


def _masked_scatter_into(self: Array, mask: Array, source: Array) -> Array:
    """Write in place; with too few elements those that there are, before it fails."""
    check_distinct(self)
    check_apart(self, (mask,))
    chosen = expand_array(mask, self.shape)
    if source.dtype == self.dtype and mask.dtype == np.bool_:
        count = int(np.count_nonzero(chosen))
        if source.size < count:
            self.flat[np.flatnonzero(chosen)[: source.size]] = source.reshape(-1)
            raise _too_few()
        if source.flags.c_contiguous and np.may_share_memory(self, source):  # one by one, and what is read may have been written
            given = source.reshape(-1)
            for number, place in enumerate(np.flatnonzero(chosen)):
                self.flat[place] = given[number]
            return self
    self[...] = _masked_scatter(self, mask, source)
    return self


def _masked_scatter_backward(grad_output: Array, mask: Array, sizes: Sequence[int]) -> Array:
    chosen = grad_output[np.broadcast_to(mask, grad_output.shape)]
    whole = np.zeros(tuple(sizes), grad_output.dtype)
    whole.reshape(-1)[: chosen.size] = chosen
    return whole


masked_scatter: Operation = op(
    "masked_scatter(self, mask, source)", "MaskedScatterBackward0", "A copy with the elements of `source`, in order, where a mask holds.",
    forward=_masked_scatter, inplace={"forward": _masked_scatter_into, "writes": True}, saves=("mask",),
    grads={
        "self": lambda grad, mask: find("masked_fill")(grad, mask, 0),
        "source": lambda grad, mask, source_sizes: masked_scatter_backward(grad, mask, source_sizes),
    },
)
masked_scatter_backward: Operation = op(
    "masked_scatter_backward(grad_output, mask, sizes: ints)", "MaskedScatterBackwardBackward0",
    "The gradient of the source of masked_scatter.", forward=_masked_scatter_backward, spaces=(),
    grads={"grad_output": lambda grad, grad_output_sizes, mask: masked_scatter(zeros_of_shape(grad, grad_output_sizes), mask, grad)},
)


# --- where elements are not zero --------------------------------------------------------------------------------


def _nonzero(self: Array) -> Array:
    current().note_read()
    if self.ndim == 0:
        return np.zeros((int(bool(self)), 0), np.int64)
    return np.array(np.nonzero(self), np.int64).T  # row by row in memory, as PyTorch lays it out


def _nonzero_static(self: Tensor, size: int, fill_value: int) -> Tensor:
    rows = _nonzero(self.array)[:size]
    found = np.full((size, self.ndim), fill_value, np.int64)
    found[: len(rows)] = rows
    return make(found)


composite(
    "nonzero_static(self, *, size: int, fill_value: int = -1)", "The indices of the first elements that are not zero, so many rows.",
    _nonzero_static,
)
nonzero_rows = op("argwhere(self)", "", "The indices of the elements that are not zero, one row each.",
    forward=_nonzero, samples=(sample((3, 4)),))


def _nonzero_forms(self: Any, as_tuple: bool) -> object:
    if not as_tuple:
        return nonzero_rows(self)
    rows = nonzero_rows(find("unsqueeze")(self, 0) if self.ndim == 0 else self)
    return find("unbind")(rows, 1)


composite(
    "nonzero(self, *, as_tuple: bool = False)", "The indices of the elements that are not zero, one row each or one tensor a dimension.",
    _nonzero_forms,
)
