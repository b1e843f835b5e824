"""Normalising large float32 arrays whose samples or channels lie together in memory: row by row, in blocks that stay in the cache.

Few numbers are added up in float32, by BLAS where that can be, and what they give in float64.
"""

from collections.abc import Iterator

import numpy as np

from gradsh.engine.graph.tensor import Gradients
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.accurate_sum import WIDE

_MANY, _SHORT, _LONG = 1 << 14, 32, 1 << 12
"""Numbers in all, and in a row, from which this pays; products up to which float32 adds them up well."""
_STACK, _PRODUCT = 32, 128
"""How many numbers are added to each other in float32; how many by a product that does so in several sums at once."""
_PART, _TILE = 1 << 17, 1 << 13
"""Numbers that stay in the cache, fewer being too few for a call; numbers of factors that are used again and again."""


def fits(size: int, *arrays: Array) -> bool:
    """Return whether arrays can be taken as rows of that size."""
    return size >= _SHORT and all(
        one.dtype == np.float32 and one.size >= _MANY and one.flags.c_contiguous for one in arrays
    )


def parts(count: int, size: int, cycle: int = 1) -> Iterator[slice]:
    """Yield slices over rows, each of so many that they stay in the cache, and of whole cycles of rows or a part of one."""
    step = rows_of_part(size, cycle)
    for start in range(0, count, step):
        yield slice(start, start + step)


def rows_of_part(size: int, cycle: int = 1) -> int:
    """Return how many rows of that size stay in the cache: a multiple or a divisor of `cycle`."""
    most = max(1, _PART // max(size, 1))
    return most - most % cycle if most >= cycle else next(one for one in range(most, 0, -1) if cycle % one == 0)


def sums(rows: Array) -> Array:
    """Return the sum of each row, in float64."""
    count, size = rows.shape
    few = size if size <= _PRODUCT else _STACK if size % _PRODUCT else _PRODUCT
    even = size - size % few
    short = rows[:, :even].reshape(-1, few) if even == size else rows[:, :even].reshape(count, -1, few)
    found = (short @ np.ones(few, rows.dtype)).reshape(count, -1).astype(WIDE) @ np.ones(size // few)
    return found if even == size else found + rows[:, even:] @ np.ones(size - even, rows.dtype)


def dots(a: Array, b: Array) -> Array:
    """Return the sum of the products of each two rows, in float64."""
    count, size = a.shape
    if size <= _PRODUCT:
        return sums(a * b)
    even = size - size % _LONG
    rest = np.asarray(np.vecdot(a[:, even:], b[:, even:]), WIDE)
    if even:
        rest += np.add.reduce(np.vecdot(*(one[:, :even].reshape(count, -1, _LONG) for one in (a, b))), axis=1, dtype=WIDE)
    return rest


def column_sums(rows: Array, factors: Array | None = None) -> Array:
    """Return the sum of each column in float64, of rows times a factor each."""
    factors = np.ones(len(rows), rows.dtype) if factors is None else factors
    even = len(rows) - len(rows) % _STACK
    stacked = factors[:even].reshape(-1, 1, _STACK) @ rows[:even].reshape(-1, _STACK, rows.shape[1])
    found: Array = np.add.reduce(stacked, axis=(0, 1), dtype=WIDE)
    return found if even == len(rows) else found + factors[even:] @ rows[even:]


def upright(values: Array) -> Array:
    """Return one value for each row as a float32 column."""
    return values.astype(np.float32)[:, None]


def centred(rows: Array, out: Array) -> tuple[Array, Array]:
    """Write rows without their means; return the means and the variances (the biased ones)."""
    size = rows.shape[1]
    mean = sums(rows) / size
    np.subtract(rows, upright(mean), out=out)
    return mean, dots(out, out) / size


def _tiled(row: Array | None, rows: Array, cycle: int) -> Array | None:
    """Return values, one for each so many numbers of a cycle of rows, for one or more cycles."""
    if row is None:
        return None
    size = rows.shape[1]
    times = max(1, min(_TILE // (cycle * size), len(rows) // cycle))
    each = np.broadcast_to(row.reshape(1, -1, 1), (times, row.size, cycle * size // row.size))
    return each.reshape(times * cycle, size)


def _with_tile(ufunc: np.ufunc, rows: Array, tile: Array, part: slice, out: Array) -> None:
    """Write a ufunc of a part's rows and a tile again and again, which takes half as long as one row again and again."""
    if len(rows) < len(tile):
        first = part.start % len(tile)
        tile = tile[first : first + len(rows)]
    whole = len(rows) - len(rows) % len(tile)
    shape = -1, *tile.shape
    ufunc(rows[:whole].reshape(shape), tile, out=out[:whole].reshape(shape))
    if whole < len(rows):
        ufunc(rows[whole:], tile[: len(rows) - whole], out=out[whole:])


def layer_norm(
    x: Array, weight: Array | None, bias: Array | None, size: int, eps: float, cycle: int = 1,
) -> tuple[Array, Array, Array]:
    """Return the normalised rows, their means and inverse deviations; so many rows after each other share weight and bias."""
    rows = x.reshape(-1, size)
    result = np.empty_like(rows)
    mean, inverse = (np.empty((len(rows), 1), x.dtype) for _ in range(2))
    factor, shift = (_tiled(one, rows, cycle) for one in (weight, bias))
    for part in parts(*rows.shape, cycle if factor is None else len(factor)):
        out = result[part]
        mean[part, 0], variance = centred(rows[part], out)
        inverse[part, 0] = 1 / np.sqrt(variance + eps)
        out *= inverse[part]
        if factor is not None:
            _with_tile(np.multiply, out, factor, part, out)
        if shift is not None:
            _with_tile(np.add, out, shift, part, out)
    return result, mean, inverse


def layer_norm_backward(
    grad: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, size: int, output_mask: tuple[bool, ...]
) -> Gradients:
    """Return the gradients by input (as rows), weight and bias (flat)."""
    grads, rows = grad.reshape(-1, size), x.reshape(-1, size)
    mean, inverse = mean.reshape(-1, 1), inverse.reshape(-1, 1)
    factor = _tiled(weight, rows, 1)
    found = np.empty_like(rows) if output_mask[0] else None
    to_weight = np.zeros(size, WIDE) if output_mask[1] else None
    to_bias = np.zeros(size, WIDE) if output_mask[2] else None
    for part in parts(*rows.shape):
        given = grads[part]
        centred = rows[part] - mean[part]
        if to_weight is not None:
            to_weight += column_sums(given * centred, inverse[part, 0])
        if to_bias is not None:
            to_bias += column_sums(given)
        if found is not None:
            out = found[part]
            if factor is None:
                out[...] = given
            else:
                _with_tile(np.multiply, given, factor, part, out)
            _finish(centred, inverse[part], dots(out, centred), sums(out), out)
    narrow = [None if one is None else one.astype(x.dtype) for one in (to_weight, to_bias)]
    return found, narrow[0], narrow[1]


def _finish(centred: Array, inverse: Array, dotted: Array, total: Array, out: Array) -> None:
    """Make the gradient of what a row gave of that of the normalised numbers, of which `dotted` and `total` are sums."""
    size = out.shape[1]
    centred *= upright(dotted / size * np.square(inverse[:, 0], dtype=WIDE))
    out -= centred
    out -= upright(total / size)
    out *= inverse


def group_norm_backward(
    grad: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, shape: tuple[int, int, int], wanted: bool
) -> tuple[Array | None, Array, Array]:
    """Return the gradient by the input (as rows) if it is wanted, and what each channel of each sample gives to weight and bias.

    `shape` has the groups of a sample, the channels of a group and the numbers of a channel.
    """
    cycle, together, area = shape
    grads, rows = (one.reshape(-1, together * area) for one in (grad, x))
    mean, inverse = mean.reshape(-1, 1), inverse.reshape(-1, 1)
    factor = _tiled(weight, rows, cycle) if wanted else None
    found = np.empty_like(rows) if wanted else None
    scale = None if weight is None else np.tile(weight, len(rows) // cycle).reshape(-1, together)
    dotted, total = np.empty((2, len(rows), together))
    for part in parts(*rows.shape, cycle if factor is None else len(factor)):
        given = grads[part]
        centred = rows[part] - mean[part]
        of = [each[part] for each in (dotted, total)]
        of[0][...] = dots(given.reshape(-1, area), centred.reshape(-1, area)).reshape(-1, together)
        of[1][...] = sums(given.reshape(-1, area)).reshape(-1, together)
        if found is None:
            continue
        out = found[part]
        if factor is None or scale is None:
            out[...] = given
        else:
            _with_tile(np.multiply, given, factor, part, out)
            of = [each * scale[part] for each in of]  # of the weighted gradient
        _finish(centred, inverse[part], of[0].sum(1), of[1].sum(1), out)
    return found, dotted * inverse, total
