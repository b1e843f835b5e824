"""Views: the operations whose result shares memory and version counter with their first argument."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.op_node import sum_tensor_to
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, DType, of_numpy, type_name
from gradsh.engine.values.reduced import BFLOAT16
from gradsh.engine.values.shape import sum_axes, sum_to, wrap_dim, wrap_dims
from gradsh.engine.values.storage import owner_of, strided
from gradsh.ops.function_forms import takes_tuple
from gradsh.ops.kernels.accurate_sum import narrow_sum
from gradsh.ops.kernels.geometry import as_strided_backward, resolve_size, view_strides
from gradsh.text.fault import fail

# --- another shape ----------------------------------------------------------------------------------------------


def _view(self: Array, size: tuple[int, ...]) -> Array:
    shape = resolve_size(size, self.size, self.shape)
    if self.size > 1 and self.flags.c_contiguous:  # of one element, numpy makes up new steps
        return self.reshape(shape)
    strides = view_strides(self.shape, self.strides, shape, self.itemsize)
    if strides is None:
        message = (
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
        raise fail("shape", message, shapes=(self.shape, shape))
    return strided(self, shape, strides)


view = op(
    "view(self, *size: ints)", "ViewBackward0", "The same elements in another shape, without copying; -1 is worked out.",
    forward=_view, kind="view", spaces=("Tensor",),
    grads={"self": lambda grad, self_sizes: find("reshape")(grad, self_sizes)},
    samples=(sample((2, 6), (3, 4)), sample((2, 6), (-1,)), sample((2, 3), (4,), rejects="shape")),
    note="A view that changes nothing is a new tensor still, with a node.",
)


def _view_dtype(self: Array, dtype: Any) -> Array:
    if (self.dtype == BFLOAT16) != (dtype == BFLOAT16):
        way = "convert it with .to(dtype), or run the program on PyTorch: `gradsh trace FILE`"
        raise fail("dtype", "gradsh keeps bfloat16 in four bytes: its bits cannot be read as another dtype", way=way)
    old, new = self.itemsize, dtype.itemsize
    if old == new:
        return self.view(dtype)
    if self.ndim == 0:
        message = "self.dim() cannot be 0 to view {} as {} (different element sizes)"
        raise fail("dtype", message.format(of_numpy(self.dtype).title, of_numpy(dtype).title))
    if self.shape[-1] * old % new:
        message = (
            f"self.size(-1) must be divisible by {new // old} to view {of_numpy(self.dtype).title} as "
            f"{of_numpy(dtype).title} (different element sizes), but got {self.shape[-1]}"
        )
        raise fail("dtype", message)
    return self.view(dtype)


def _retyped(self: Tensor, dtype: DType | None) -> Tensor:
    """Share memory and version counter, but no history: bytes read as another dtype have no derivative."""
    if isinstance(self, np.ndarray):
        return _view_dtype(self, dtype)
    found = self.detach()
    found.array = _view_dtype(self.array, dtype)
    found.descriptor = None
    return found


composite("view(self, dtype: dtype)", "The same bytes read as another dtype.", _retyped, ("Tensor",))
alias_view = op(
    "alias(self)", "AliasBackward0", "The same tensor as a view of itself.",
    forward=lambda self: self[...], kind="view", spaces=(), grads={"self": lambda grad: grad},
)
unsafe_view = op(
    "_unsafe_view(self, size: ints)", "UnsafeViewBackward0", "A fresh tensor in another shape, no view of anything.",
    forward=lambda self, size: _view(self, size), spaces=(),
    grads={"self": lambda grad, self_sizes: find("reshape")(grad, self_sizes)},
)


def _reshape_alias(self: Array, size: tuple[int, ...]) -> Array:
    strides = view_strides(self.shape, self.strides, size, self.itemsize)
    assert strides is not None
    return strided(self, size, strides)


reshape_alias = op(
    "_reshape_alias(self, size: ints)", "ReshapeAliasBackward0", "A view in another shape of a tensor whose memory has gaps.",
    forward=_reshape_alias, kind="view", spaces=(),
    grads={"self": lambda grad, self_sizes: find("reshape")(grad, self_sizes)},
)


def expand_array(self: Array, size: tuple[int, ...]) -> Array:
    """Return an array expanded to a size in which -1 keeps an extent; refuses where it does not fit."""
    lead = len(size) - self.ndim
    if lead < 0:
        message = (
            f"expand({type_name(self.dtype)}{{{list(self.shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({self.ndim})"
        )
        raise fail("shape", message, shapes=(self.shape, size))
    if not self.ndim and any(wanted < 0 for wanted in size):
        raise fail("shape", "numel: integer multiplication overflow", shapes=(self.shape, size))
    shape: list[int] = []
    strides: list[int] = []
    for dim in range(len(size) - 1, -1, -1):
        if dim >= lead:
            extent, step = self.shape[dim - lead], self.strides[dim - lead]
        else:
            extent, step = 1, shape[-1] * strides[-1] if strides and self.ndim else 0
        wanted = size[dim]
        if wanted == -1:
            if dim < lead:
                message = (
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {dim}"
                )
                raise fail("shape", message, shapes=(self.shape, size))
            wanted = extent
        if extent != wanted:
            if extent != 1 or wanted < 0:
                raise _cannot_expand(self.shape, size, wanted, extent, dim)
            step = 0
        shape.append(wanted)
        strides.append(step)
    return strided(self, tuple(reversed(shape)), tuple(reversed(strides)))


def _cannot_expand(shape: tuple[int, ...], size: tuple[int, ...], wanted: int, extent: int, dim: int) -> Exception:
    message = (
        f"The expanded size of the tensor ({wanted}) must match the existing size ({extent}) at non-singleton dimension "
        f"{dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
    )
    return fail("shape", message, shapes=(shape, size), dim=dim)


def sum_to_shape(grad: ArrayOrTensor, shape: tuple[int, ...]) -> ArrayOrTensor:
    """Sum a gradient (array or Tensor) down to the shape it was expanded from."""
    shape = tuple(shape)
    if isinstance(grad, np.ndarray):
        if grad.shape == shape:
            return grad
        found = narrow_sum(grad, sum_axes(grad.shape, shape), True) if grad.ndim == len(shape) else None
        return sum_to(grad, shape) if found is None else found
    return grad if shape and tuple(grad.shape) == shape else sum_tensor_to(grad, shape)


expand = op(
    "expand(self, *size: ints, *, implicit: bool = False)", "ExpandBackward0",
    "A view that repeats dimensions of extent 1 without copying; -1 keeps an extent.",
    forward=lambda self, size, implicit: expand_array(self, size), kind="view", spaces=("Tensor",),
    grads={"self": lambda grad, self_sizes: sum_to_shape(grad, self_sizes)},
    samples=(sample((3, 1), (2, 3, 4)), sample((3, 1), (-1, 4)), sample((2, 3), (4, 3), rejects="shape")),
    note="Never copies: what a product saves of an expanded operand is the operand itself.",
)


# --- dimensions of extent 1 -------------------------------------------------------------------------------------


def _squeezed(self: Array, dims: Sequence[int]) -> Array:
    if self.size > 1 and self.flags.c_contiguous:
        return self.reshape(tuple(n for dim, n in enumerate(self.shape) if n != 1 or dim not in dims))
    return _without(self, [dim for dim in dims if self.shape[dim] == 1])


def _without(self: Array, dims: Sequence[int]) -> Array:
    key: tuple[Any, ...] = tuple(0 if dim in dims else slice(None) for dim in range(self.ndim))
    return self[(*key, Ellipsis)]


def _squeeze_dims(self: Array, dim: tuple[int, ...]) -> Array:
    dims = wrap_dims(dim, self.ndim) if dim else ()
    return _squeezed(self, dims)


def _squeeze_dim(self: Array, dim: int) -> Array:
    wrapped = wrap_dim(dim, self.ndim)
    return _squeezed(self, (wrapped,)) if self.ndim and self.shape[wrapped] == 1 else self[...]


def unsqueeze_to(grad: ArrayOrTensor, sizes: tuple[int, ...], dims: Sequence[int] | None = None) -> ArrayOrTensor:
    """Put back dimensions of extent 1 (all of them, or those among `dims`) that a squeeze took out."""
    for dim in range(len(sizes)) if dims is None else sorted(wrap_dim(dim, len(sizes)) for dim in dims):
        if sizes and sizes[dim] == 1:
            grad = unsqueeze(grad, dim)
    return grad


squeeze = op(
    "squeeze(self)", "SqueezeBackward0", "A view without the dimensions of extent 1.",
    forward=lambda self: _squeezed(self, range(self.ndim)), kind="view",
    grads={"self": lambda grad, self_sizes: unsqueeze_to(grad, self_sizes)}, samples=(sample((3, 1, 4, 1)),),
)
op(
    "squeeze(self, dim: int)", "SqueezeBackward1", "A view without this dimension, if its extent is 1.",
    forward=_squeeze_dim, kind="view",
    grads={"self": lambda grad, self_sizes, dim: unsqueeze_to(grad, self_sizes, (dim,))},
    samples=(sample((3, 1, 4), 1), sample((3, 4), 0)),
)
op(
    "squeeze(self, dim: ints)", "SqueezeBackward2", "A view without those of these dimensions whose extent is 1.",
    forward=_squeeze_dims, kind="view",
    grads={"self": lambda grad, self_sizes, dim: unsqueeze_to(grad, self_sizes, dim)},
    samples=(sample((3, 1, 4, 1), (1, 3)),),
)


def _unsqueeze(self: Array, dim: int) -> Array:
    place = wrap_dim(dim, self.ndim + 1)
    shape, steps = self.shape, self.strides
    step = self.itemsize if place == self.ndim else shape[place] * steps[place]  # numpy would say 0
    return strided(self, (*shape[:place], 1, *shape[place:]), (*steps[:place], step, *steps[place:]))


unsqueeze = op(
    "unsqueeze(self, dim: int)", "UnsqueezeBackward0", "A view with one more dimension, of extent 1, at `dim`.",
    forward=_unsqueeze, kind="view", grads={"self": lambda grad, dim: squeeze(grad, dim)},
    samples=(sample((3, 4), 1), sample((3, 4), -1)),
)


# --- order of dimensions ----------------------------------------------------------------------------------------


def _transpose(self: Array, dim0: int, dim1: int) -> Array:
    a, b = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    return self.swapaxes(a, b) if self.ndim else self[...]


def _t(self: Array, name: str = "t") -> Array:
    if self.ndim > 2:
        message = f"{name}() expects a tensor with <= 2 dimensions, but self is {self.ndim}D"
        raise fail("shape", message, shapes=(self.shape,))
    return self.T


def _permute(self: Array, dims: tuple[int, ...]) -> Array:
    if len(dims) != self.ndim:
        message = (
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}"
        )
        raise fail("shape", message, shapes=(self.shape,))
    wrapped = tuple(wrap_dim(dim, self.ndim) for dim in dims)
    if len(set(wrapped)) != len(wrapped):
        raise fail("value", "permute(): duplicate dims are not allowed.")
    return self.transpose(wrapped)


def inverse_order(dims: Sequence[int]) -> tuple[int, ...]:
    """Return the order of dimensions that undoes a permutation."""
    count = len(dims)
    found = [0] * count
    for place, dim in enumerate(dims):
        found[dim % count] = place
    return tuple(found)


transpose: Operation = op(
    "transpose(self, dim0: int, dim1: int)", "TransposeBackward0", "A view with two dimensions exchanged.",
    forward=_transpose, kind="view", grads={"self": lambda grad, dim0, dim1: transpose(grad, dim0, dim1)},
    samples=(sample((2, 3, 4), 0, 2), sample((3, 4), -1, -2), sample((2, 3), 0, 2, rejects="index")),
)
t: Operation = op(
    "t(self)", "TBackward0", "The transpose of a matrix, as a view.", forward=_t, kind="view",
    grads={"self": lambda grad: t(grad)}, samples=(sample((3, 4)), sample((5,)), sample((2, 3, 4), rejects="shape")),
    note="`x.t()` makes a TBackward0 node, `x.T` a PermuteBackward0, `x.mT` a TransposeBackward0.",
)
permute: Operation = op(
    "permute(self, *dims: ints)", "PermuteBackward0", "A view with the dimensions in another order.",
    forward=_permute, kind="view", grads={"self": lambda grad, dims: permute(grad, inverse_order(dims))},
    samples=(sample((2, 3, 4), (2, 0, 1)), sample((2, 3, 4), (-1, 0, 1))),
    note="`x.T` is a PermuteBackward0, `x.t()` a TBackward0.",
)
takes_tuple(permute)


# --- any geometry -----------------------------------------------------------------------------------------------


def storage_start(self: Array) -> tuple[Array, int]:
    """Return the array that owns the memory and how many bytes after its start `self` begins."""
    owner = owner_of(self)
    start = self.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return owner, int(start)


def as_strided_array(self: Array, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None) -> Array:
    """Return a view of the memory of `self` with any geometry, counted in elements."""
    if len(size) != len(stride):
        raise fail("value", "mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        message = f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        raise fail("value", message)
    owner, start = storage_start(self)
    item = self.itemsize
    offset = start if storage_offset is None else storage_offset * item
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) * item + item
    if all(size) and last > owner.nbytes:
        message = (
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset // item}, and itemsize {item} "
            f"requiring a storage size of {last} are out of bounds for storage of size {owner.nbytes}"
        )
        raise fail("value", message)
    return strided(self, size, tuple(step * item for step in stride), offset - start)


as_strided = op(
    "as_strided(self, size: tuple, stride: tuple, storage_offset: int? = None)", "AsStridedBackward0",
    "A view of the memory of `self` with any extents, strides and offset (counted in elements).",
    forward=as_strided_array, kind="view", attributes=("size", "stride", "storage_offset"),
    grads={
        "self": writes(1)(
            lambda grad, self_sizes, self_strides, self_offset, size, stride, storage_offset: as_strided_backward(
                grad, (self_sizes, self_strides, self_offset), size, stride, storage_offset
            )
        )
    },
    samples=(sample((3, 4), (2, 2), (4, 1)), sample((3, 4), (2, 2), (1, 1), 1)),
)


# --- the same in place: another geometry over the memory -----------------------------------------------------


def _in_place(text: str, node: str, source: str, overload: int = 0) -> None:
    """Declare the in-place form of a view operation: same geometry and derivative, another node."""
    record = find(source).records[overload]
    forward = (lambda self: _t(self, "t_")) if source == "t" else record.forward
    op(text, node, record.doc.replace("A view", "In place, the tensor", 1), forward=forward, kind="geometry",
       spaces=("torch", "Tensor") if source in {"squeeze", "as_strided"} else ("Tensor",), grads=record.grads,
       attributes=record.attributes)


_in_place("t_(self)", "TBackward1", "t")
_in_place("transpose_(self, dim0: int, dim1: int)", "TransposeBackward1", "transpose")
for _text in ("swapaxes_(self, axis0: int, axis1: int)", "swapdims_(self, dim0: int, dim1: int)"):
    composite(_text, "In place, the tensor with two dimensions exchanged.", lambda self, a, b: find("transpose_")(self, a, b), ("Tensor",))
_in_place("unsqueeze_(self, dim: int)", "UnsqueezeBackward1", "unsqueeze")
_in_place("squeeze_(self)", "SqueezeBackward3", "squeeze")
_in_place("squeeze_(self, dim: int)", "SqueezeBackward4", "squeeze", 1)
_in_place("squeeze_(self, dim: ints)", "SqueezeBackward5", "squeeze", 2)
_in_place("as_strided_(self, size: tuple, stride: tuple, storage_offset: int? = None)", "AsStridedBackward1", "as_strided")


def _contiguous_offset(
    grad: ArrayOrTensor, shape: tuple[int, ...], strides: tuple[int, ...], size: tuple[int, ...],
    stride: tuple[int, ...], offset: int,
) -> ArrayOrTensor:
    return as_strided_backward(grad, (tuple(shape), tuple(strides), 0), size, stride, offset)


op(
    "as_strided_backward(grad, shape: ints, strides: ints, size: ints, stride: ints, storage_offset: int)", "",
    "The gradient of a view made anew from a base of this shape and these strides.",
    forward=_contiguous_offset, kind="composite", spaces=(),
)
