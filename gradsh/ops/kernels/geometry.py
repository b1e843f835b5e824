"""Arithmetic on the geometry of views: sizes with a -1, strides of another shape, the gradient of any view."""

from typing import Any

import numpy as np

from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, NumpyDType
from gradsh.engine.values.storage import strided
from gradsh.text.fault import fail

Shape = tuple[int, ...]
Layout = tuple[Shape, Shape, int]
"""Extents, strides and offset, in elements."""


def array_of(value: object) -> Array:
    """Return the array of a Tensor, or the array itself (composites run on plain arrays within derivatives)."""
    return value.array if isinstance(value, Tensor) else np.asarray(value)


def beside(gradient: ArrayOrTensor, array: Array) -> ArrayOrTensor:
    """Return an array as an operand of the gradient: a Tensor within a derivative that is recorded, which has only Tensors."""
    return make(array) if isinstance(gradient, Tensor) else array


def resolve_size(size: Shape, count: int, shape: Shape = ()) -> Shape:
    """Return `size` with a -1 worked out for `count` elements; refuses a size of another number of elements."""
    known, unknown = 1, -1
    for dim, extent in enumerate(size):
        if extent == -1:
            if unknown >= 0:
                raise fail("value", "only one dimension can be inferred", RuntimeError)
            unknown = dim
        elif extent < 0:
            raise fail("value", f"invalid shape dimension {extent} at index {dim} of shape {list(size)}", RuntimeError)
        else:
            known *= extent
    if unknown < 0:
        if known == count:
            return tuple(size)
    elif known and count % known == 0:
        return (*size[:unknown], count // known, *size[unknown + 1 :])
    elif known == 0 and count == 0:
        message = (
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 can "
            "be any value and is ambiguous"
        )
        raise fail("shape", message, RuntimeError)
    raise fail("shape", f"shape '{list(size)}' is invalid for input of size {count}", RuntimeError, shapes=(shape,))


def view_strides(shape: Shape, strides: Shape, wanted: Shape, itemsize: int) -> Shape | None:
    """Return the strides (in bytes) that make the memory of a tensor one of shape `wanted`; None: only a copy can."""
    if 0 in shape:
        if shape == wanted:
            return strides
        found, step = [], itemsize
        for extent in reversed(wanted):
            found.append(step)
            step *= max(extent, 1)
        return tuple(reversed(found))
    blocks: list[list[int]] = []  # [elements, stride of the innermost] of stretches that one stride can walk
    for extent, step in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if blocks and blocks[-1][1] == extent * step:
            blocks[-1] = [blocks[-1][0] * extent, step]
        else:
            blocks.append([extent, step])
    found = [0] * len(wanted)
    left, step = blocks.pop() if blocks else (1, strides[-1] if strides else itemsize)
    for dim in range(len(wanted) - 1, -1, -1):
        extent = wanted[dim]
        if extent != 1 and left == 1:
            if not blocks:
                return None
            left, step = blocks.pop()
        found[dim] = step
        if left % extent:
            return None
        left //= extent
        step *= extent
    return tuple(found)


def memory_order(array: Array) -> list[int]:
    """Return the dimensions from the slowest to the fastest in memory; a stride of 0 stays next to its neighbours."""
    order = list(range(array.ndim))[::-1]
    shape, strides = array.shape, array.strides
    for last in range(1, array.ndim):
        here = last
        for place in range(last - 1, -1, -1):
            a, b = order[place], order[here]
            if strides[a] == 0 or strides[b] == 0:
                continue
            if strides[a] < strides[b] or (strides[a] == strides[b] and shape[a] <= shape[b]):
                if strides[a] < strides[b]:
                    break
                continue
            order[place], order[here] = b, a
            here = place
    return order[::-1]


def dense_like(array: Array, dtype: NumpyDType) -> Array:
    """Return uninitialised memory of the shape of `array`, without gaps, its dimensions in the same order of memory."""
    if array.flags.c_contiguous or 0 not in array.strides:
        return np.empty_like(array, dtype, order="K")
    order = memory_order(array)
    flat = np.empty([array.shape[dim] for dim in order], dtype)
    back = [0] * array.ndim
    for place, dim in enumerate(order):
        back[dim] = place
    return flat if back == sorted(back) else flat.transpose(back)


def contiguous_layout(shape: Shape) -> Layout:
    """Return the row-major layout of a shape."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(shape), tuple(reversed(strides)), 0


def _overlaps(size: Shape, stride: Shape) -> bool:
    """Whether two places of a geometry may be one element (strides too small to keep them apart)."""
    reach = 0
    for step, extent in sorted(zip(stride, size, strict=True)):
        if extent == 1:
            continue
        if step <= reach:
            return True
        reach += step * (extent - 1)
    return False


def as_strided_backward(grad: Any, layout: Layout, size: Shape, stride: Shape, offset: int | None) -> ArrayOrTensor:
    """Return the gradient of `as_strided(self, size, stride, offset)` for a `self` of the given layout.

    What falls on one element adds up. Of a `self` that repeats elements itself, each repetition gets the mean.
    """
    shape, strides, start = layout
    begin = start if offset is None else offset
    lowest = min(start, begin)
    here, there = start - lowest, begin - lowest
    if 0 in size:
        return np.zeros(shape, grad.dtype) if not isinstance(grad, Tensor) else find("zeros")(shape, dtype=grad.dtype)
    extent = max(_extent(shape, strides, here), _extent(size, stride, there))
    if not isinstance(grad, Tensor):
        flat = _gather_plain(grad, extent, size, stride, there)
        whole = _cut(flat, shape, strides, here)
        return whole / _repeats(shape, strides, here, extent) if _overlaps(shape, strides) else whole
    for dim in range(len(size) - 1, -1, -1):
        if size[dim] == 1:
            grad = find("squeeze")(grad, dim)
        elif stride[dim] == 0:
            grad = find("sum")(grad, (dim,), False)
    kept = [(n, step) for n, step in zip(size, stride, strict=True) if n != 1 and step]
    size, stride = tuple(n for n, _ in kept), tuple(step for _, step in kept)
    flat = find("zeros")((extent,), dtype=grad.dtype)
    if _overlaps(size, stride):
        places = _cut(np.arange(extent), size, stride, there).reshape(-1)
        flat = find("index_add")(flat, 0, make(places), find("reshape")(grad, (-1,)))
    else:
        find("copy_")(find("as_strided")(flat, size, stride, there), grad)
    if _overlaps(shape, strides):
        flat = flat / find("as_tensor")(_counts(shape, strides, here, extent).astype(grad.array.dtype))
    return find("as_strided")(flat, shape, strides, here)


def _extent(size: Shape, stride: Shape, offset: int) -> int:
    if 0 in size:
        return 0
    return offset + 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))


def _cut(flat: Array, size: Shape, stride: Shape, offset: int) -> Array:
    item = flat.itemsize
    return strided(flat, size, tuple(step * item for step in stride), offset * item)


def scatter_add(place: Array, grad: Array) -> None:
    """Add `grad` into a view; elements that share one memory (stride 0) receive the sum."""
    repeated = tuple(dim for dim, (n, s) in enumerate(zip(place.shape, place.strides, strict=True)) if s == 0 and n > 1)
    if repeated:
        grad = np.add.reduce(grad, axis=repeated, keepdims=True)
        place = place[tuple(slice(0, 1) if dim in repeated else slice(None) for dim in range(place.ndim))]
    place += grad


def _gather_plain(grad: Array, extent: int, size: Shape, stride: Shape, offset: int) -> Array:
    flat = np.zeros(extent, grad.dtype)
    place = _cut(flat, size, stride, offset)
    kept = tuple(n for n, step in zip(size, stride, strict=True) if step)
    if _overlaps(kept, tuple(step for step in stride if step)):
        np.add.at(flat, _cut(np.arange(extent), size, stride, offset), grad)
    else:
        scatter_add(place, grad)
    return flat


def _counts(shape: Shape, strides: Shape, offset: int, extent: int) -> Array:
    found = np.zeros(extent, np.int64)
    np.add.at(found, _cut(np.arange(extent), shape, strides, offset).reshape(-1), 1)
    return np.maximum(found, 1)


def _repeats(shape: Shape, strides: Shape, offset: int, extent: int) -> Array:
    return _cut(_counts(shape, strides, offset, extent), shape, strides, offset)
