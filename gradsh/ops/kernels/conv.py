"""Convolution of arrays: the product with a filter, and its two adjoints. Any number of spatial dims, grouped.

With x (N, C, in…), w (O, C / groups, k…), y (N, O, out…) all three are linear in each of two arguments:
`correlate(x, w) -> y`, `spread(y, w) -> x` and `filter_of(x, y) -> w`. A transposed convolution is `spread`.

All are products of matrices over windows that are copied for a few samples, or some rows of one, at a time, so that they
are still in the cache when they are multiplied.
"""

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array, NumpyDType
from gradsh.ops.kernels.conv_windows import (
    Columns,
    ConvGeometry,
    Scatter,
    Spread,
    WindowWalk,
    add_part,
    out_extents,
    walks_of,
    widest_first,
)

BLOCK = 1 << 18
"""Elements of the copied windows at a time."""
FEW = 256
"""Columns below which a product of matrices is slow: then the windows of several samples are taken together."""
LARGE = 1 << 14
"""Elements of an input from which it pays to copy less and to call numpy more often."""
ADDED = 1.75
"""How much longer it takes to write a product and add it up than to copy a window."""
WASTE = 1.25
"""How much larger than itself an output may become when it is laid over the input."""


def _parts(batch: int, extents: tuple[int, ...], rows: int) -> tuple[list[slice], list[slice]]:
    """Cut places of the first dim, and samples, into parts with about BLOCK elements: `rows` are copied for each place."""
    each = max(prod(extents[1:]), 1)
    step = extents[0]
    if rows * each * step > BLOCK:
        most = max(BLOCK // (rows * each), -(-FEW // each))
        step = -(-step // -(-step // most))  # parts of even size
    count = max(BLOCK // (rows * each * step), -(-FEW // (each * step)))
    return _cut(extents[0], step), _cut(batch, count)


def _cut(whole: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, whole)) for start in range(0, whole, step)]


def _buffer(make: Callable[..., object], channels: int, dtype: NumpyDType) -> Callable[[int, tuple[WindowWalk, ...]], Any]:
    """Return what gives the buffer for a part of the work: the same one as long as parts are alike."""
    held: list[Any] = [None, None]

    def buffer(samples: int, walks: tuple[WindowWalk, ...]) -> object:
        if held[0] != (samples, walks):
            held[1] = None  # gone before the next is made
            held[:] = (samples, walks), make(channels, samples, walks, dtype)
        return held[1]

    return buffer


def _flat(array: Array, groups: int) -> Array:
    """Return (N, channels, places…) as (N, groups, channels of a group, places)."""
    return array.reshape(array.shape[0], groups, array.shape[1] // groups, prod(array.shape[2:]))


def _range(places: slice, out: tuple[int, ...]) -> slice:
    """Return the range among all places of some along the first dim."""
    each = prod(out[1:])
    return slice(places.start * each, places.stop * each)


def _pointwise(kernel: tuple[int, ...], geometry: ConvGeometry) -> bool:
    """Whether the filter is one point that meets each element once: then nothing is copied."""
    return all(k == 1 for k in kernel) and all(s == 1 for s in geometry.stride) and not any(geometry.padding)


def _filter_columns(w: Array, groups: int) -> Array:
    """Return a filter as (groups, O of a group, rows of `Columns` of a group)."""
    return np.moveaxis(w, -1, 2).reshape(groups, w.shape[0] // groups, -1)


def correlate(
    x: Array, w: Array, geometry: ConvGeometry, out: tuple[int, ...] = (), bias: Array | None = None
) -> Array:
    """Return the product of a filter with the windows of the input: the first `out` of them, or all."""
    kernel = w.shape[2:]
    out = out or out_extents(x.shape[2:], kernel, geometry)
    groups = geometry.groups
    y = np.empty((x.shape[0], w.shape[0], *out), x.dtype)
    if not y.size:
        return y
    flat = _flat(y, groups)
    matrix = _filter_columns(w, groups)
    shift = None if bias is None else bias.reshape(groups, -1, 1)
    if _pointwise(kernel, geometry):
        np.matmul(matrix, _flat(x, groups), out=flat)
        if shift is not None:
            flat += shift
        return y
    walk, *rest = walks = walks_of(x.shape[2:], out, kernel, geometry)
    columns = _buffer(Columns, x.shape[1], x.dtype)
    if x.size >= LARGE and _few_filters(walks, w.shape[0], x.shape[1]):
        _correlate_rows(x, _filter_rows(w, groups).swapaxes(1, 2), walks, columns, y)
        if shift is not None:
            flat += shift
        return y
    rows, batches = _parts(x.shape[0], out, x.shape[1] * prod(kernel))
    for places, samples in product(rows, batches):
        first, taken = walk.some(places)
        found = columns(samples.stop - samples.start, (first, *rest)).fill(x[samples, :, taken])
        target = flat[samples, ..., _range(places, out)]
        _multiply(matrix, found, target)
        if shift is not None:
            target += shift
    return y


def _few_filters(walks: tuple[WindowWalk, ...], filters: int, channels: int) -> bool:
    """Whether it is less to add up the products for each place of the filter in all dims but the last than to copy all windows."""
    *others, last = walks
    if prod(walk.size for walk in others) > WASTE * prod(walk.places for walk in others):
        return False
    rest = prod(walk.kernel for walk in others)
    return ADDED * filters * rest + channels * last.kernel < channels * last.kernel * rest


def _correlate_rows(x: Array, matrix: Array, walks: tuple[WindowWalk, ...], columns: Callable[..., Any], y: Array) -> None:
    """Write the product of a filter with windows along the last dim, added up along the others. `matrix` is that of `_filter_rows`."""
    walk, *rest = walks
    kernel = tuple(one.kernel for one in walks[:-1])
    groups, _, rows = matrix.shape
    parts, batches = _parts(x.shape[0], y.shape[2:], max(1, x.shape[1] * walks[-1].kernel // 2))  # each is copied but once
    for places, samples in product(parts, batches):
        first, taken = walk.some(places)
        found = columns(samples.stop - samples.start, (first, *rest)).shift(x[samples, :, taken])
        products = np.matmul(matrix, found.reshape(groups, rows, -1)).reshape(y.shape[1], *kernel, *found.shape[2:])
        target = y[samples, :, places].swapaxes(0, 1)
        fresh = True
        for place, out, met in widest_first((first, *rest[:-1])):
            add_part(target, (slice(None), slice(None), *out), products[(slice(None), *place, slice(None), *met)], fresh)
            fresh = False


def _multiply(matrix: Array, columns: Array, target: Array) -> None:
    """Write the product of a filter with the columns of some samples: (samples, groups, O of a group, places)."""
    groups, filters, rows = matrix.shape
    columns = columns.reshape(groups, rows, -1)
    if target.shape[0] == 1:
        np.matmul(matrix, columns, out=target[0])
    else:
        found = np.matmul(matrix, columns).reshape(groups, filters, target.shape[0], -1)
        target[...] = found.transpose(2, 0, 1, 3)


# --- the adjoints -----------------------------------------------------------------------------------------------


def spread(y: Array, w: Array, extents: tuple[int, ...], geometry: ConvGeometry) -> Array:
    """Return the adjoint by the input: every place of y laid back over an input of `extents` through the filter."""
    return adjoints(y, geometry, extents, w.shape[2:], None, w)[0]


def filter_of(x: Array, y: Array, kernel: tuple[int, ...], geometry: ConvGeometry) -> Array:
    """Return the adjoint by the filter: what of the input each filter place met, weighted by y."""
    return adjoints(y, geometry, x.shape[2:], kernel, x, None)[1]


def adjoints(
    y: Array, geometry: ConvGeometry, extents: tuple[int, ...], kernel: tuple[int, ...], x: Array | None,
    w: Array | None,
) -> tuple[Any, Any]:
    """Return the adjoint by an input of `extents`, where the filter is given, and that by the filter, where the input is."""
    walks = walks_of(extents, y.shape[2:], kernel, geometry)
    if _pointwise(kernel, geometry):
        return _by_points(y, geometry.groups, extents, x, w)
    by_rows = _fits_rows(walks, y.shape[1], _channels(x, w, geometry.groups))
    return (_by_rows if by_rows else _by_columns)(y, geometry.groups, walks, x, w)


def _fits_rows(walks: tuple[WindowWalk, ...], filters: int, channels: int) -> bool:
    """Whether `_by_rows` can compute the adjoints, with less to copy than `_by_columns`."""
    others = walks[:-1]
    if any(walk.stride != 1 for walk in others):
        return False
    if prod(walk.size for walk in others) > WASTE * prod(walk.places for walk in others):
        return False
    last, rest = walks[-1].kernel, prod(walk.kernel for walk in others)
    return filters * rest + 2 * channels * last < 2 * channels * last * rest


def _by_points(
    y: Array, groups: int, extents: tuple[int, ...], x: Array | None, w: Array | None
) -> tuple[object, object]:
    """Return the adjoints of a filter of one point."""
    by_input = by_filter = None
    flat = _flat(y, groups)
    if w is not None:
        by_input = np.empty((y.shape[0], w.shape[1] * groups, *extents), y.dtype)
        np.matmul(_filter_columns(w, groups).swapaxes(1, 2), flat, out=_flat(by_input, groups))
    if x is not None:
        by_filter = np.empty((y.shape[1], x.shape[1] // groups, *(1,) * len(extents)), y.dtype)
        products = np.matmul(flat, _flat(x, groups).swapaxes(2, 3))
        np.add.reduce(products, axis=0, out=by_filter.reshape(products.shape[1:]))
    return by_input, by_filter


def _by_columns(
    y: Array, groups: int, walks: tuple[WindowWalk, ...], x: Array | None, w: Array | None
) -> tuple[Array | None, Array | None]:
    """Return the adjoints over the columns of all windows, as `correlate` has them."""
    walk, *rest = walks
    out, kernel, (batch, filters) = y.shape[2:], tuple(one.kernel for one in walks), y.shape[:2]
    channels = _channels(x, w, groups)
    flat = _flat(y, groups)
    by_input = np.zeros((batch if w is not None else 0, channels, *(one.size for one in walks)), y.dtype)
    total = np.zeros((groups, channels // groups * prod(kernel), filters // groups), y.dtype)
    matrix = None if w is None else _filter_columns(w, groups).swapaxes(1, 2)
    columns, scatter = _buffer(Columns, channels, y.dtype), _buffer(_all_dims, channels, y.dtype)
    rows, batches = _parts(batch, out, channels * prod(kernel))
    for places, samples in product(rows, batches):
        count = samples.stop - samples.start
        first, taken = walk.some(places)
        factor = flat[samples, ..., _range(places, out)].transpose(1, 2, 0, 3).reshape(groups, filters // groups, -1)
        if matrix is not None:
            back = scatter(count, (first, *rest))
            np.matmul(matrix, factor, out=back.columns.reshape(groups, -1, factor.shape[2]))
            back.add(by_input[samples, :, taken], False)
        if x is not None:
            found = columns(count, (first, *rest)).fill(x[samples, :, taken])
            total += _products(found.reshape(groups, -1, factor.shape[2]), factor)
    each = total.reshape(groups, channels // groups, kernel[-1], *kernel[:-1], filters // groups)
    turned = np.moveaxis(np.moveaxis(each, -1, 1), 3, -1)
    return None if w is None else by_input, None if x is None else _filter(turned)


def _by_rows(
    y: Array, groups: int, walks: tuple[WindowWalk, ...], x: Array | None, w: Array | None
) -> tuple[Array | None, Array | None]:
    """Return the adjoints with y laid over the input in all dims but the last: less to copy and to add than all windows."""
    walk, *rest = walks
    sizes, kernel, (batch, filters) = tuple(one.size for one in walks), tuple(one.kernel for one in walks), y.shape[:2]
    channels = _channels(x, w, groups)
    by_input = np.empty((batch if w is not None else 0, channels, *sizes), y.dtype)
    total = np.zeros((groups, channels // groups * kernel[-1], filters // groups * prod(kernel[:-1])), y.dtype)
    matrix = None if w is None else _filter_rows(w, groups)
    columns, scatter = _buffer(Columns, channels, y.dtype), _buffer(_last_dim, channels, y.dtype)
    spreads = _buffer(Spread, filters, y.dtype)
    copied = filters * prod(kernel[:-1]) + channels * kernel[-1]
    rows, batches = _parts(batch, (*sizes[:-1], y.shape[-1]), copied)
    for inputs, samples in product(rows, batches):
        count = samples.stop - samples.start
        first, reaching = walk.reaching(inputs)
        factor = spreads(count, (first, *rest)).fill(y[samples, :, reaching]).reshape(groups, total.shape[2], -1)
        if matrix is not None:
            back = scatter(count, (first, *rest))
            np.matmul(matrix, factor, out=back.columns.reshape(groups, -1, factor.shape[2]))
            back.add(by_input[samples, :, inputs], True)
        if x is not None:
            found = columns(count, (first, *rest)).shift(x[samples, :, inputs])
            total += _products(found.reshape(groups, -1, factor.shape[2]), factor)
    each = total.reshape(groups, channels // groups, kernel[-1], filters // groups, *kernel[:-1])
    turned = np.moveaxis(np.moveaxis(each, 3, 1), 3, -1)
    return None if w is None else by_input, None if x is None else _filter(turned)


def _products(a: Array, b: Array) -> Array:
    """Return the products of each two rows of two stacks of matrices; that of more rows comes first, which takes less time."""
    if a.shape[1] < b.shape[1]:
        return np.matmul(b, a.swapaxes(1, 2)).swapaxes(1, 2)
    return np.matmul(a, b.swapaxes(1, 2))


def _filter(turned: Array) -> Array:
    """Return (groups, O of a group, C of a group, k…) as a filter that owns its memory, so that a leaf can take it over."""
    groups, filters, *rest = turned.shape
    found = np.empty((groups * filters, *rest), turned.dtype)
    found.reshape(turned.shape)[...] = turned
    return found


def _channels(x: Array | None, w: Array | None, groups: int) -> int:
    channels: int = 0 if x is None else x.shape[1]
    return channels if w is None else w.shape[1] * groups


def _filter_rows(w: Array, groups: int) -> Array:
    """Return a filter as (groups, rows of `Scatter` of a group, rows of `Spread` of a group)."""
    split = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    return np.moveaxis(split, (2, -1), (1, 2)).reshape(groups, w.shape[1] * w.shape[-1], -1)


def _all_dims(channels: int, samples: int, walks: tuple[WindowWalk, ...], dtype: NumpyDType) -> Scatter:
    return Scatter(channels, samples, walks, dtype, False)


def _last_dim(channels: int, samples: int, walks: tuple[WindowWalk, ...], dtype: NumpyDType) -> Scatter:
    return Scatter(channels, samples, walks, dtype, True)
