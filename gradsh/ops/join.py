"""Joining tensors, and cutting one into several."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import alias, composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.schema.signature import ACCEPT, MISMATCH
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.layout import laid
from gradsh.engine.values.shape import broadcast_shapes, wrap_dim
from gradsh.ops.slicing import narrow, select, slice_
from gradsh.ops.view import unsqueeze, view
from gradsh.text.fault import fail

# --- joining ----------------------------------------------------------------------------------------------------


def _checked_dim(arrays: Sequence[Array], dim: int) -> int:
    """Return the dimension to join along, of the first array that counts, counted from the front; refuses arrays that do not fit."""
    for place, one in enumerate(arrays):
        if one.ndim == 0:
            raise fail("shape", f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    start = next((place for place, one in enumerate(arrays) if one.shape != (0,)), 0)
    first = arrays[start]
    dim = wrap_dim(dim, first.ndim)
    for place, one in enumerate(arrays):
        if one.shape == (0,):
            continue
        if one.ndim != first.ndim:
            message = f"Tensors must have same number of dimensions: got {first.ndim} and {one.ndim}"
            raise fail("shape", message, shapes=(first.shape, one.shape), positions=(start, place), along=dim)
        for axis in range(first.ndim):
            if axis != dim and one.shape[axis] != first.shape[axis]:
                message = (
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {first.shape[axis]} but got "
                    f"size {one.shape[axis]} for tensor number {place} in the list."
                )
                raise fail("shape", message, shapes=(first.shape, one.shape), positions=(start, place), along=dim)
    return dim


def _cat(tensors: Sequence[Array], dim: int) -> Array:
    if not tensors:
        raise fail("value", "torch.cat(): expected a non-empty list of Tensors", ValueError)
    place = _checked_dim(tensors, dim)
    return np.concatenate([one for one in tensors if one.shape != (0,)] or [tensors[0]], axis=place)


def _cat_backward(
    grad: ArrayOrTensor, tensors_sizes: Sequence[tuple[int, ...]], dim: int
) -> list[Array] | list[Tensor]:
    start, found = 0, []
    place = wrap_dim(dim, grad.ndim)
    for size in tensors_sizes:
        if size == (0,):
            found.append(np.zeros(0, np.float32))
            continue
        found.append(narrow(grad, place, start, size[place]))
        start += size[place]
    return found


cat = op(
    "cat(tensors: Tensors, dim: int = 0)", "CatBackward0", "Join tensors along a dimension they have.",
    layout="channels", forward=_cat, dtypes="promote", spaces=("torch",), grads={"tensors": _cat_backward}, attributes=("dim",),
    samples=(sample([(2, 3), (4, 3)]), sample([(3, 2), (3, 4)], dim=-1), sample([(2, 3), (2, 4)], rejects="shape")),
)
alias("concat", cat, ("torch",))
alias("concatenate", cat, ("torch",))


def _stack(tensors: Sequence[Array], dim: int) -> Array:
    if not tensors:
        raise fail("value", "stack expects a non-empty TensorList")
    first = tensors[0]
    for place, one in enumerate(tensors):
        if one.shape != first.shape:
            message = (
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and "
                f"{list(one.shape)} at entry {place}"
            )
            raise fail("shape", message, shapes=(first.shape, one.shape), positions=(0, place), along=-1)
    place = wrap_dim(dim, first.ndim + 1)
    if place == first.ndim:
        return np.stack(tensors, place, np.empty((*first.shape, len(tensors)), first.dtype))
    out = np.empty((*first.shape[:place], len(tensors), *first.shape[place:]), first.dtype)  # memory of its own, no view
    joined = np.concatenate(tensors, place, out.reshape(*first.shape[:place], len(tensors) * first.shape[place], *first.shape[place + 1 :]))
    ordered = laid("channels", joined, [tensors])
    return out if ordered is joined else ordered.reshape(out.shape)


stack = op(
    "stack(tensors: Tensors, dim: int = 0)", "StackBackward0", "Join tensors of one shape along a new dimension.",
    layout="", forward=_stack, dtypes="promote", spaces=("torch",), attributes=("dim",),
    grads={"tensors": lambda grad, tensors_sizes, dim: [select(grad, dim, place) for place in range(len(tensors_sizes))]},
    samples=(sample([(3, 4), (3, 4)]), sample([(3, 4), (3, 4)], dim=-1), sample([(2,), (3,)], rejects="shape")),
)


def at_least(tensor: Tensor, ndim: int) -> Tensor:
    """Return a tensor of at least 1, 2 or 3 dimensions, as atleast_1d, atleast_2d and atleast_3d do."""
    if tensor.ndim == 0:
        return find("reshape")(tensor, (1,) * ndim)
    if ndim >= 2 and tensor.ndim == 1:
        tensor = unsqueeze(tensor, 0)
    if ndim == 3 and tensor.ndim == 2:
        tensor = unsqueeze(tensor, -1)
    return tensor


def _joiner(name: str, ndim: int, doc: str, dim: Any) -> None:
    def body(tensors: Sequence[Any]) -> Tensor:
        if not tensors:
            raise fail("value", f"{name} expects a non-empty TensorList")
        raised = [at_least(one, ndim) for one in tensors]
        return cat(raised, dim(raised))

    composite(f"{name}(tensors: Tensors)", doc, body, ("torch",))


_joiner("hstack", 1, "Join side by side: along dimension 1 (0 for 1-d tensors).", lambda all_: 0 if all_[0].ndim == 1 else 1)
_joiner("vstack", 2, "Join on top of each other: along dimension 0 of at least 2.", lambda all_: 0)
_joiner("dstack", 3, "Join in depth: along dimension 2 of at least 3.", lambda all_: 2)
alias("row_stack", find("vstack"), ("torch",))


def _column_stack(tensors: Sequence[Any]) -> Tensor:
    if not tensors:
        raise fail("value", "column_stack expects a non-empty TensorList")
    columns = [find("reshape")(one, (array_size(one), 1)) if one.ndim <= 1 else one for one in tensors]
    return cat(columns, 1)


def array_size(tensor: Tensor) -> int:
    """Return the number of elements of a Tensor or array."""
    return int(tensor.numel() if isinstance(tensor, Tensor) else tensor.size)


composite("column_stack(tensors: Tensors)", "Join tensors as columns of a matrix.", _column_stack, ("torch",))


# --- cutting ----------------------------------------------------------------------------------------------------


def _pieces(self: Array, sizes: Sequence[int], place: int) -> tuple[Array, ...]:
    found, start = [], 0
    for size in sizes:
        found.append(self[(slice(None),) * place + (slice(start, start + size),)])
        start += size
    return tuple(found)


def _check_split(self: Array) -> None:
    if self.ndim == 0:
        raise fail("shape", "split expects at least a 1-dimensional tensor")


def _split(self: Array, split_size: int, dim: int) -> tuple[Array, ...]:
    _check_split(self)
    place = wrap_dim(dim, self.ndim)
    extent = self.shape[place]
    if split_size < 0:
        raise fail("value", f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0:
        if extent:
            raise fail("value", f"split_size can only be 0 if dimension size is 0, but got dimension size of {extent}")
        return (self[...],)
    count = max(-(-extent // split_size), 1)
    sizes = [split_size] * (count - 1) + [extent - split_size * (count - 1)]
    return _pieces(self, sizes, place)


def _split_sizes(self: Array, split_sizes: tuple[int, ...], dim: int) -> tuple[Array, ...]:
    _check_split(self)
    place = wrap_dim(dim, self.ndim)
    if any(size < 0 for size in split_sizes):
        message = f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}"
        raise fail("value", message)
    if sum(split_sizes) != self.shape[place]:
        message = (
            f"split_with_sizes expects split_sizes to sum exactly to {self.shape[place]} (input tensor's size at dimension "
            f"{dim}), but got split_sizes={list(split_sizes)}"
        )
        raise fail("value", message, shapes=(self.shape,))
    return _pieces(self, split_sizes, place)


def _filled(grads: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Array] | list[Tensor]:
    """Return the gradients with zeros where none arrived."""
    known = next(grad for grad in grads if grad is not None)
    zeros = (lambda shape: np.zeros(shape, known.dtype)) if isinstance(known, np.ndarray) else (
        lambda shape: find("zeros")(shape, dtype=known.dtype)
    )
    return [zeros(shape) if grad is None else grad for grad, shape in zip(grads, shapes, strict=True)]


def _join_pieces(grads: Sequence[object], self_sizes: tuple[int, ...], sizes: Sequence[int], dim: int) -> ArrayOrTensor:
    place = wrap_dim(dim, len(self_sizes))
    shapes = [(*self_sizes[:place], size, *self_sizes[place + 1 :]) for size in sizes]
    return cat(_filled(grads, shapes), place)


def _split_backward(grads: Sequence[object], split_size: int, dim: int, self_sizes: tuple[int, ...]) -> ArrayOrTensor:
    extent = self_sizes[wrap_dim(dim, len(self_sizes))]
    count = len(grads)
    return _join_pieces(grads, self_sizes, [split_size] * (count - 1) + [extent - split_size * (count - 1)], dim)


split = op(
    "split(self, split_size: int, dim: int = 0)", "SplitBackward0", "Views of consecutive pieces of one size (the last may be smaller).",
    forward=_split, kind="view", multi_view=True, grads={"self": _split_backward}, samples=(sample((6, 4), 2), sample((5, 4), 3, 1)),
    note="The pieces may not be modified in place where gradients are recorded.", spaces=("Tensor",),
)
split_with_sizes = op(
    "split_with_sizes(self, split_sizes: tuple, dim: int = 0)", "SplitWithSizesBackward0", "Views of pieces of the given sizes.",
    forward=_split_sizes, kind="view", multi_view=True,
    grads={
        "self": lambda grads, split_sizes, dim, self_sizes: _join_pieces(grads, self_sizes, split_sizes, dim),
    },
    samples=(sample((6, 4), (1, 5)),),
)


def _split_either(self: Tensor, split_size: list[int] | int, dim: int) -> tuple[Tensor, ...]:
    given = ACCEPT["sizes"](split_size)
    if given is MISMATCH:
        found = type(split_size).__name__
        message = f"split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not {found}"
        raise fail("type", message, TypeError)
    return split(self, given, dim) if isinstance(given, int) else split_with_sizes(self, given, dim)


composite("split(self, split_size: any, dim: int = 0)", "Views of pieces of the given sizes.", _split_either, ("Tensor",))
composite("torch_split(tensor, split_size_or_sections: any, dim: int = 0)", "Views of pieces.", _split_either, ("torch",))


def _chunk(self: Tensor, chunks: int, dim: int) -> tuple[Tensor, ...]:
    if self.ndim == 0:
        raise fail("shape", "chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise fail("value", f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    extent = self.shape[wrap_dim(dim, self.ndim)]
    size = -(-extent // chunks)
    if size == 0:
        return split_with_sizes(self, (0,) * chunks, dim)
    return split(self, size, dim)


composite("chunk(self, chunks: int, dim: int = 0)", "Views of (at most) so many pieces.", _chunk, note="It is a split: SplitBackward0.")


def _unbind(self: Array, dim: int) -> tuple[Array, ...]:
    if self.ndim == 0:
        raise fail("index", "Dimension specified as 0 but tensor has no dimensions", IndexError)
    place: tuple[Any, ...] = (slice(None),) * wrap_dim(dim, self.ndim)
    return tuple(self[(*place, index, Ellipsis)] for index in range(self.shape[len(place)]))


def _unbind_backward(grads: Sequence[object], dim: int, self_sizes: tuple[int, ...]) -> ArrayOrTensor:
    place = wrap_dim(dim, len(self_sizes))
    shape = self_sizes[:place] + self_sizes[place + 1 :]
    return stack(_filled(grads, [shape] * len(grads)), dim)


unbind = op(
    "unbind(self, dim: int = 0)", "UnbindBackward0", "Views of all parts along a dimension, which is left out.",
    forward=_unbind, kind="view", multi_view=True, grads={"self": _unbind_backward}, attributes=("dim",),
    samples=(sample((3, 4)), sample((2, 3), 1)),
    note="Iterating over a tensor is unbind. The pieces may not be modified in place where gradients are recorded.",
)


def _tensor_split(self: Tensor, given: int, dim: int) -> tuple[Tensor, ...]:
    if self.ndim == 0:
        raise fail("shape", "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    place = wrap_dim(dim, self.ndim)
    extent = self.shape[place]
    if isinstance(given, Tensor):
        given = given.tolist()
    if isinstance(given, int):
        if given <= 0:
            raise fail("value", f"number of sections must be larger than 0, got {given}")
        small, larger = divmod(extent, given)
        sizes = [small + 1] * larger + [small] * (given - larger)
        ends = [sum(sizes[: count + 1]) for count in range(given)]
        starts = [0, *ends[:-1]]
    else:
        starts, ends = [0, *given], [*given, extent]
    return tuple(slice_(self, place, start, end) for start, end in zip(starts, ends, strict=True))


for _given in ("sections: int", "indices: ints", "tensor_indices_or_sections"):
    composite(
        f"tensor_split(self, {_given}, dim: int = 0)", "Views of pieces, by their number or the indices between them.", _tensor_split,
        note="One SliceBackward0 a piece: unlike those of split, these views may be modified in place.",
    )


def _splitter(name: str, least: int, axis: int) -> None:
    def body(self: Any, given: Any) -> Any:
        if self.ndim < least:
            message = (
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                f"with {self.ndim} dimensions!"
            )
            raise fail("shape", message)
        dim = 0 if name == "hsplit" and self.ndim == 1 else axis
        if isinstance(given, int) and (given == 0 or self.shape[dim] % given):
            message = (
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {self.shape[dim]} is "
                f"not divisible by the split_size {given}!"
            )
            raise fail("value", message)
        return _tensor_split(self, given, dim)

    composite(f"{name}(self, indices: any)", "Views of equal pieces, or of those between the indices.", body)
    composite(f"{name}(self, sections: any)", "Views of equal pieces.", body, example="")


_splitter("hsplit", 1, 1)
_splitter("vsplit", 2, 0)
_splitter("dsplit", 3, 2)


# --- grids and products -----------------------------------------------------------------------------------------


def _meshgrid(tensors: tuple[Tensor, ...], indexing: str) -> tuple[Tensor, ...]:
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    if not given:
        raise fail("value", "meshgrid expects a non-empty TensorList")
    for one in given:
        if one.ndim > 1:
            raise fail("shape", f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {one}")
    if indexing not in {"ij", "xy"}:
        raise fail("value", f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    shape = tuple(array_size(one) for one in given)
    grids = []
    for place, one in enumerate(given):
        column = tuple(-1 if dim == place else 1 for dim in range(len(given)))
        grids.append(find("expand")(view(one, column), shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


composite(
    "meshgrid(*tensors: any, *, indexing: str = 'ij')", "Coordinates of a grid, one tensor for each dimension, as views.",
    _meshgrid, ("torch",),
)


def _broadcast_tensors(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    shape: tuple[int, ...] = ()
    for one in given:
        shape = broadcast_shapes(shape, tuple(one.shape))
    # PyTorch gives back the tensor itself, not a view of it, where the shape is the common one already
    return tuple(one if tuple(one.shape) == shape else find("expand")(one, shape) for one in given)


composite("broadcast_tensors(*tensors: any)", "Views of all tensors in their common shape.", _broadcast_tensors, ("torch",))
