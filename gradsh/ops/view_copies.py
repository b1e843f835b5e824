"""Copies of views (`select_copy`, …), and tensors with a part replaced (`select_scatter`, …)."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import gradsh.ops.join  # noqa: F401  (its views are copied here too)
from gradsh.engine.ambient import current
from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import composite, op
from gradsh.engine.dispatch.inference import is_inference
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.dispatch.out import resize
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import broadcast_shapes, wrap_dim
from gradsh.engine.values.size import Size
from gradsh.ops.arguments import zeros_of_shape
from gradsh.ops.kernels.geometry import array_of, contiguous_layout
from gradsh.ops.slicing import MAX, diagonal, diagonal_array, diagonal_axes, narrow, select, slice_, slice_backward
from gradsh.ops.view import as_strided, storage_start
from gradsh.text.fault import fail

_VIEWS = (
    "alias", "as_strided", "expand", "permute", "select", "slice", "split_with_sizes", "squeeze", "t", "transpose", "unbind",
    "unfold", "unsqueeze", "view", "split",
)


def _own(found: object) -> object:
    return [np.array(one, order="C") for one in found] if isinstance(found, tuple) else np.array(found, order="C")


def _copy_of(name: str) -> None:
    """Declare NAME_copy: the same operation with memory of its own."""
    for record in find(name).records:
        if record.kind != "view":
            continue
        forward: Callable[..., Any] = record.forward
        text = record.text.replace("(", "_copy(", 1).replace("*size: ints", "size: tuple").replace("*dims: ints", "dims: tuple")
        op(
            text, record.node + "_copy", "As a copy: " + record.doc, forward=lambda *given, forward=forward: _own(forward(*given)),
            grads=record.grads, attributes=record.attributes, spaces=("torch",),
        )


for _name in _VIEWS:
    _copy_of(_name)
composite("detach_copy(self)", "A copy without history.", lambda self: find("clone")(self.detach()), ("torch",))
op(
    "narrow_copy(self, dim: int, start: int, length: int)", "NarrowCopyBackward0", "A range along a dimension, as a copy.",
    forward=lambda self, dim, start, length: np.array(narrow(self, dim, start, length), order="C"),
    grads={
        "self": lambda grad, self_sizes, dim, start, length: slice_backward(grad, self_sizes, dim, start, start + length, 1),
    },
)


def _replaced(part: Callable[..., Array]) -> Callable[..., Array]:
    """Make the kernel of a scatter over a view: a copy of `self` with `src` written into the part."""

    def kernel(self: Array, src: Array, *where: object) -> Array:
        whole = _same_place(self)
        place = part(whole, *where)
        if place.shape != src.shape:
            message = (
                "expected src to have a size equal to the slice of self. src size = "
                f"{list(src.shape)}, slice size = {list(place.shape)}"
            )
            raise fail("shape", message, shapes=(src.shape, place.shape))
        place[...] = src
        return whole

    return kernel


def _same_place(self: Array) -> Array:
    """Return a copy at the same place of a memory of its own, with the same strides (PyTorch's clone_preserve_strides)."""
    if 0 in self.shape or any(step == 0 and extent > 1 for step, extent in zip(self.strides, self.shape, strict=True)):
        return np.array(self, order="C")
    _, start = storage_start(self)
    if not start and self.flags.c_contiguous:
        return self.copy()
    end = start + sum((extent - 1) * step for extent, step in zip(self.shape, self.strides, strict=True)) + self.itemsize
    memory = np.zeros(end // self.itemsize, self.dtype)
    whole = np.ndarray(self.shape, self.dtype, memory, start, self.strides)
    whole[...] = self
    return whole


def _select_part(whole: Array, dim: int, index: int) -> Array:
    found: Array = whole[(slice(None),) * wrap_dim(dim, whole.ndim) + (index, Ellipsis)]
    return found


def _slice_part(whole: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    cut = slice(start or 0, MAX if end is None else end, step)
    found: Array = whole[(slice(None),) * wrap_dim(dim, whole.ndim) + (cut,)]
    return found


select_scatter: Operation = op(
    "select_scatter(self, src, dim: int, index: int)", "SelectScatterBackward0", "A copy with the part at one index replaced.",
    attributes=("dim", "index"),
    forward=_replaced(_select_part),
    grads={
        "self": lambda grad, src_sizes, dim, index: select_scatter(grad, zeros_of_shape(grad, src_sizes), dim, index),
        "src": lambda grad, dim, index: select(grad, dim, index),
    },
)
slice_scatter: Operation = op(
    "slice_scatter(self, src, dim: int = 0, start: int? = None, end: int? = None, step: int = 1)", "SliceScatterBackward0",
    "A copy with a range along a dimension replaced.", attributes=("dim", "start", "end", "step"), forward=_replaced(_slice_part),
    grads={
        "self": lambda grad, src_sizes, dim, start, end, step: slice_scatter(
            grad, zeros_of_shape(grad, src_sizes), dim, start, end, step
        ),
        "src": lambda grad, dim, start, end, step: slice_(grad, dim, start, end, step),
    },
)
diagonal_scatter: Operation = op(
    "diagonal_scatter(self, src, offset: int = 0, dim1: int = 0, dim2: int = 1)", "DiagonalScatterBackward0",
    "A copy with the diagonals replaced.", attributes=("offset", "dim1", "dim2"),
    forward=_replaced(lambda whole, offset, a, b: diagonal_array(whole, offset, *diagonal_axes(whole.ndim, a, b))),
    grads={
        "self": lambda grad, src_sizes, offset, dim1, dim2: diagonal_scatter(
            grad, zeros_of_shape(grad, src_sizes), offset, dim1, dim2
        ),
        "src": lambda grad, offset, dim1, dim2: diagonal(grad, offset, dim1, dim2),
    },
)


def _strided_scatter(self: Array, src: Array, size: object, stride: object, storage_offset: int | None) -> Array:
    whole = np.array(self, order="C")
    as_strided.records[0].forward(whole, size, stride, storage_offset)[...] = src
    return whole


@writes(1)
def _strided_self(grad: Any, self_sizes: Any, size: object, stride: object, storage_offset: object) -> ArrayOrTensor:
    """Return PyTorch's gradient: that of the replaced part, and zeros elsewhere (one would expect the opposite)."""
    part = as_strided(find("contiguous")(grad), size, stride, storage_offset)
    whole = zeros_of_shape(grad, self_sizes)
    place = as_strided(whole, size, stride, storage_offset)
    if isinstance(grad, np.ndarray):
        place[...] = part
    else:
        find("copy_")(place, part)
        whole = as_strided(whole, *contiguous_layout(tuple(self_sizes)))
    return whole


as_strided_scatter: Operation = op(
    "as_strided_scatter(self, src, size: tuple, stride: tuple, storage_offset: int? = None)", "AsStridedScatterBackward0",
    "A copy with the elements of any geometry replaced.", forward=_strided_scatter,
    attributes=("size", "stride", "storage_offset"),
    grads={
        "self": _strided_self,
        "src": lambda grad, size, stride, storage_offset: as_strided(find("contiguous")(grad), size, stride, storage_offset),
    },
)


# --- another size in place ----------------------------------------------------------------------------------------


def _resize(self: Tensor, shape: tuple[int, ...], memory_format: object) -> Tensor:
    del memory_format
    if self.requires_grad and not is_inference(self):
        raise fail("other", "cannot resize variables that require grad", tensor=self)
    if any(one < 0 for one in shape):
        raise fail("value", "numel: integer multiplication overflow")
    if shape != self.array.shape:
        before = self.array
        resize(self, shape)
        self.counter.moved(before, -1, self.array)
        self.counter.bump(current().location())
    return self


composite(
    "resize_(self, *size: ints, *, memory_format: any? = None)",
    "In place, another size over the same memory, row by row; over more memory where that is too small.", _resize, ("Tensor",),
)
composite(
    "resize_as_(self, the_template, *, memory_format: any? = None)", "In place, the size of another tensor.",
    lambda self, the_template, memory_format: _resize(self, tuple(the_template.shape), memory_format), ("torch", "Tensor"),
)


def _of_old(name: str, self: Tensor, shape: tuple[int, ...]) -> object:
    """Return the tensor in another shape, by the function that PyTorch calls deprecated and keeps."""
    current().warning(f"non-inplace {name} is deprecated")
    count = math.prod(shape)
    if count != self.array.size:
        asked, had = ("x".join(map(str, one)) for one in (shape, self.array.shape))
        message = (
            f"requested resize to {asked} ({count} elements in total), but the given tensor has a size of {had} ({self.array.size} "
            "elements). autograd's resize can only change the shape of a given tensor, while preserving the number of elements. "
        )
        raise fail("shape", message, tensor=self)
    return find("view")(find("contiguous")(self), shape)


composite(
    "resize(self, *sizes: ints)", "Another shape of as many elements; deprecated, write `reshape`.",
    lambda self, sizes: _of_old("resize", self, sizes), ("Tensor",),
)
composite(
    "resize_as(self, tensor)", "The shape of another tensor of as many elements; deprecated, write `reshape`.",
    lambda self, tensor: _of_old("resize_as", self, tuple(tensor.shape)), ("Tensor",),
)


# --- what is only a question, or the tensor itself --------------------------------------------------------------

for _name in ("resolve_conj", "resolve_neg"):
    composite(f"{_name}(self)", "The tensor itself: nothing here is conjugated or negated lazily.", lambda self: self)
composite("is_conj(self)", "False: no tensor is conjugated lazily.", lambda self: False)
composite("is_neg(self)", "False: no tensor is negated lazily.", lambda self: False)
def _adjoint(self: Any) -> ArrayOrTensor:
    if self.ndim == 1:
        message = "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."
        raise fail("shape", message, tensor=self)
    return find("transpose")(self, -2, -1) if self.ndim else self


composite("is_signed(self)", "Whether the dtype has negative values.", lambda self: array_of(self).dtype.kind in "if")
composite("is_same_size(self, other)", "Whether two tensors have the same extents.", lambda self, other: self.shape == other.shape)
composite("adjoint(self)", "The transposes of the matrices in the last two dimensions.", _adjoint)
composite("detach(self)", "A leaf over the same memory and version counter.", lambda self: self.detach(), ("torch",),
    note="Shares memory and version counter with its source; `.data` shares the memory but has a version counter "
         "of its own.")
composite("detach_(self)", "Cut a tensor off its history.", lambda self: self.detach_(), ("torch",))


def _broadcast_shapes(shapes: tuple[Size, ...]) -> tuple[int, ...]:
    found: tuple[int, ...] = ()
    for one in shapes:
        found = broadcast_shapes(found, (one,) if isinstance(one, int) else tuple(one))
    return Size(found)


composite("broadcast_shapes(*shapes: any)", "The common shape of several.", _broadcast_shapes, ("torch",))


def _unravel_index(indices: Tensor, shape: tuple[int, ...]) -> tuple[Any, ...]:
    if indices.array.dtype.kind not in "iu":
        raise fail("dtype", f"expected 'indices' to be integer dtype, but got {indices.dtype}", TypeError)
    _, strides, _ = contiguous_layout(shape)
    found = [
        find("remainder")(find("div")(indices, step, rounding_mode="floor"), extent)
        for step, extent in zip(strides, shape, strict=True)
    ]
    return find("unbind")(find("stack")(found, -1), -1) if found else ()


composite("unravel_index(indices, shape: ints)", "The coordinates of indices into the flattened tensor.", _unravel_index, ("torch",))
