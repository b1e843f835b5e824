"""Sums of float32 that are as good as those that run in float64, as PyTorch accumulates wider too."""

from math import prod
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array

WIDE = np.float64


_HALVINGS = 4
"""How often halves of float32 are added to each other before what is left is added up in float64."""
_SHORT, _MANY = 32, 1 << 14
"""Numbers that are left in a row, and in all, from which this pays."""


def wide_sum(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum over axes in float64, dims kept."""
    trailing = 0
    while x.ndim - 1 - trailing in axes:
        trailing += 1
    kept, size = x.shape[: x.ndim - trailing], prod(x.shape[x.ndim - trailing :])
    if x.dtype != np.float32 or size < 2 * _SHORT or x.size < _MANY or not x.flags.c_contiguous:
        return np.add.reduce(x, axis=axes, keepdims=True, dtype=WIDE)
    found = np.add.reduce(_halved(x.reshape(prod(kept), size)), axis=1, dtype=WIDE)
    lead = tuple(axis for axis in axes if axis < len(kept))
    return np.add.reduce(found.reshape(*kept, *(1,) * trailing), axis=lead, keepdims=True)


def _halved(rows: Array) -> Array:
    """Return rows with the same sums, in which fewer numbers are left."""
    for _ in range(_HALVINGS):
        size = rows.shape[1]
        if size < 2 * _SHORT:
            break
        half = size // 2
        found: Array = rows[:, :half] + rows[:, half : 2 * half]
        if size % 2:
            found[:, 0] += rows[:, -1]
        rows = found
    return rows


_NARROW, _COLUMNS = 8, 1 << 12
"""Extent below which numpy adds up the numbers of a row one by one; numbers in all from which columns are added up faster."""


def narrow_sum(array: Array, axes: tuple[int, ...], keepdim: bool) -> Array | None:
    """Return the sums over the last axis, to the bits those of numpy, where these are the axes and it is narrow; None elsewhere."""
    if axes != (array.ndim - 1,) or array.size < _COLUMNS or not 1 < array.shape[-1] < _NARROW:
        return None
    if array.dtype.kind != "f" or not array.flags.c_contiguous:
        return None
    columns = [array[..., place : place + 1] if keepdim else array[..., place] for place in range(array.shape[-1])]
    total: Array = columns[0] + columns[1]
    for column in columns[2:]:
        total += column
    total += 0.0  # a sum begins with 0: of negative zeros alone it is none
    return total


_LEAST, _MOST, LARGE = 32, 128, 1 << 16
"""Numbers that a product adds up, in several float32 sums at once; numbers in all from which this pays."""


def long_sum(array: Array, axes: tuple[int, ...], keepdim: bool = False) -> Array | None:
    """Return the sums over the last axes of many float32 in long rows, from products with ones and then in float64; None elsewhere."""
    kept = array.ndim - len(axes)
    if array.dtype != np.float32 or array.size < LARGE or not array.flags.c_contiguous or min(axes, default=0) < kept:
        return None
    size = prod(array.shape[kept:])
    if size < _MOST:
        return None
    few = next((few for few in range(_MOST, _LEAST - 1, -1) if not size % few), 0)
    rows, even = array.reshape(-1, size), size - size % (few or _MOST)
    ones = np.ones(few or _MOST, array.dtype)
    parted = rows.reshape(-1, few) if few else rows[:, :even].reshape(len(rows), -1, _MOST)
    found = np.add.reduce((parted @ ones).reshape(len(rows), -1), axis=1, dtype=WIDE)
    if even < size:
        found += rows[:, even:] @ ones[: size - even]
    return found.astype(array.dtype).reshape(array.shape[:kept] + (1,) * (len(axes) if keepdim else 0))


def sum_all(array: Array) -> Array:
    """Return the sum of all elements."""
    found = None if array.size < LARGE else long_sum(array, tuple(range(array.ndim)))
    return np.add.reduce(array, axis=None) if found is None else found


_ROW = 1 << 10
"""Numbers of a row whose products are added up in float32, in several sums at once."""


def dot(a: Array, b: Array) -> Any:
    """Return the sum of the products of two rows of float32, in float64."""
    even = a.size - a.size % _ROW
    short = np.vecdot(a[:even].reshape(-1, _ROW), b[:even].reshape(-1, _ROW))
    return np.add.reduce(short, dtype=WIDE) + WIDE(np.vecdot(a[even:], b[even:]))
