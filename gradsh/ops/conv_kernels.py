"""Convolution of arrays: the product with a filter, and its two adjoints. Any number of spatial dims, grouped.

With x (N, C, in…), w (O, C / groups, k…), y (N, O, out…) all three are linear in each of two arguments:
`correlate(x, w) -> y`, `spread(y, w) -> x` and `filter_of(x, y) -> w`. A transposed convolution is `spread`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradsh.engine.dtype import Array

BLOCK = 1 << 22
"""Elements of the copied windows at a time: larger batches are worked off in parts."""


class Geometry(NamedTuple):
    """How a filter walks over its input: a number for each spatial dim."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


def out_extents(extents: tuple[int, ...], kernel: tuple[int, ...], geometry: Geometry) -> tuple[int, ...]:
    """Return how many places the filter takes in each dim."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(extents, kernel, geometry.stride, geometry.padding, geometry.dilation, strict=True)
    )


def padded(x: Array, padding: tuple[int, ...], value: Any = 0) -> Array:
    """Return the array with a border of `value` around its spatial dims; the array itself without padding."""
    if not any(padding):
        return x
    lead = x.ndim - len(padding)
    shape = x.shape[:lead] + tuple(n + 2 * p for n, p in zip(x.shape[lead:], padding, strict=True))
    whole = np.zeros(shape, x.dtype) if value == 0 else np.full(shape, value, x.dtype)
    inner: Any = (..., *(slice(p, p + n) for n, p in zip(x.shape[lead:], padding, strict=True)))
    whole[inner] = x
    return whole


def windows(
    x: Array, kernel: tuple[int, ...], out: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> Array:
    """Return a read-only view (lead…, k…, out…) of a padded array: for each place in the kernel what it meets."""
    lead = x.ndim - len(kernel)
    steps = x.strides[lead:]
    shape = x.shape[:lead] + kernel + out
    strides = x.strides[:lead] + tuple(s * d for s, d in zip(steps, dilation, strict=True))
    strides += tuple(s * t for s, t in zip(steps, stride, strict=True))
    return as_strided(x, shape, strides, writeable=False)


def _plain(kernel: tuple[int, ...], geometry: Geometry) -> bool:
    """Whether the filter is one point that meets each element once: then no windows are needed."""
    return all(k == 1 for k in kernel) and all(s == 1 for s in geometry.stride) and not any(geometry.padding)


def _columns(x: Array, kernel: tuple[int, ...], out: tuple[int, ...], geometry: Geometry) -> Array:
    """Copy the windows of a padded input to (N, groups, C / groups * K, places)."""
    n, c = x.shape[:2]
    rows = c // geometry.groups * int(np.prod(kernel))
    shape = (n, geometry.groups, rows, int(np.prod(out)))
    if _plain(kernel, geometry):
        return x.reshape(shape)
    return windows(x, kernel, out, geometry.stride, geometry.dilation).reshape(shape)


def _parts(batch: int, each: int) -> Iterator[slice]:
    """Cut a batch so that `each` elements per sample stay below BLOCK."""
    step = max(1, BLOCK // max(each, 1))
    for start in range(0, batch, step):
        yield slice(start, min(start + step, batch))


def correlate(x: Array, w: Array, geometry: Geometry, out: tuple[int, ...] = ()) -> Array:
    """Return the product of a filter with the windows of the input: the first `out` of them, or all."""
    kernel = w.shape[2:]
    out = out or out_extents(x.shape[2:], kernel, geometry)
    groups, filters = geometry.groups, w.shape[0]
    y = np.empty((x.shape[0], filters, *out), x.dtype)
    if not y.size:
        return y
    whole = padded(x, geometry.padding)
    matrix = w.reshape(groups, filters // groups, -1)
    places = int(np.prod(out))
    flat = y.reshape(x.shape[0], groups, filters // groups, places)
    for part in _parts(x.shape[0], whole.shape[1] * int(np.prod(kernel)) * places):
        np.matmul(matrix, _columns(whole[part], kernel, out, geometry), out=flat[part])
    return y


def filter_of(x: Array, y: Array, kernel: tuple[int, ...], geometry: Geometry) -> Array:
    """Return the adjoint by the filter: what of the input each filter place met, weighted by y."""
    groups, filters, channels = geometry.groups, y.shape[1], x.shape[1] // geometry.groups
    out = y.shape[2:]
    places = int(np.prod(out))
    whole = padded(x, geometry.padding)
    total = np.zeros((groups, filters // groups, channels * int(np.prod(kernel))), x.dtype)
    flat = y.reshape(y.shape[0], groups, filters // groups, places)
    for part in _parts(x.shape[0], whole.shape[1] * int(np.prod(kernel)) * places):
        columns = _columns(whole[part], kernel, out, geometry)
        total += np.add.reduce(np.matmul(flat[part], columns.swapaxes(2, 3)), axis=0)
    return total.reshape(filters, channels, *kernel)


def spread(y: Array, w: Array, extents: tuple[int, ...], geometry: Geometry) -> Array:
    """Return the adjoint by the input: every place of y laid back over the input through the filter."""
    kernel = w.shape[2:]
    groups, filters = geometry.groups, w.shape[0]
    channels = w.shape[1] * groups
    whole_extents = tuple(n + 2 * p for n, p in zip(extents, geometry.padding, strict=True))
    whole = np.zeros((y.shape[0], channels, *whole_extents), y.dtype)
    out = y.shape[2:]
    places = int(np.prod(out))
    matrix = np.ascontiguousarray(w.reshape(groups, filters // groups, -1).swapaxes(1, 2))
    flat = y.reshape(y.shape[0], groups, filters // groups, places)
    for part in _parts(y.shape[0], channels * int(np.prod(kernel)) * places):
        columns = np.matmul(matrix, flat[part])
        add_windows(whole[part], columns.reshape(columns.shape[0], channels, *kernel, *out), geometry)
    inner: Any = (..., *(slice(p, p + n) for n, p in zip(extents, geometry.padding, strict=True)))
    return np.ascontiguousarray(whole[inner])


def add_windows(whole: Array, columns: Array, geometry: Geometry) -> None:
    """Add columns (lead…, k…, out…) into a padded array at the places they came from, one filter place at a time."""
    dims = len(geometry.stride)
    kernel, out = columns.shape[-2 * dims : -dims], columns.shape[-dims:]
    if not columns.size:
        return
    for place in np.ndindex(*kernel):
        walk = zip(place, geometry.dilation, geometry.stride, out, strict=True)
        target: Any = (..., *(slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in walk))
        source: Any = (..., *place, *(slice(None),) * dims)
        whole[target] += columns[source]
