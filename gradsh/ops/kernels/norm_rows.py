"""Normalising large float32 arrays whose samples or channels lie together in memory: row by row, in blocks that stay in the cache.

Few numbers are added up in float32, by BLAS where that can be, and what they give in float64.
"""

from collections.abc import Iterator

import numpy as np

from gradsh.engine.graph.tensor import Gradients
from gradsh.engine.parallel import BLOCK
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.accurate_sum import WIDE, wide_sum

_MANY, _SHORT, _LONG = 1 << 14, 32, 1 << 12
"""Numbers in all, and in a row, from which this pays; products up to which float32 adds them up well."""
_STACK, _PRODUCT = 32, 128
"""How many numbers are added to each other in float32; how many by a product that does so in several sums at once."""


def fits(size: int, *arrays: Array) -> bool:
    """Return whether arrays can be taken as rows of that size."""
    return size >= _SHORT and all(
        one.dtype == np.float32 and one.size >= _MANY and one.flags.c_contiguous for one in arrays
    )


def parts(count: int, size: int) -> Iterator[slice]:
    """Yield slices over rows, each of so many that they stay in the cache."""
    step = rows_of_part(size)
    for start in range(0, count, step):
        yield slice(start, start + step)


def rows_of_part(size: int) -> int:
    """Return how many rows of that size stay in the cache."""
    return max(1, BLOCK // max(size, 1))


def sums(rows: Array) -> Array:
    """Return the sum of each row, in float64."""
    size = rows.shape[1]
    if size % _STACK:
        return np.asarray(wide_sum(rows, (1,))[:, 0])
    few = _STACK if size % _PRODUCT else _PRODUCT
    short = rows.reshape(-1, few) @ np.ones(few, rows.dtype)
    return np.asarray(np.add.reduce(short.reshape(-1, size // few), axis=1, dtype=WIDE))


def dots(a: Array, b: Array) -> Array:
    """Return the sum of the products of each two rows, in float64."""
    if a.shape[1] > _LONG:
        return sums(a * b)
    return np.asarray(np.vecdot(a, b), WIDE)


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


def _repeated(row: Array | None, rows: Array) -> Array | None:
    """Return a row as often as there are rows in a part: arrays of one shape are multiplied twice as fast as rows by one row."""
    return None if row is None else np.tile(row.reshape(1, -1), (min(rows_of_part(rows.shape[1]), len(rows)), 1))


def layer_norm(x: Array, weight: Array | None, bias: Array | None, size: int, eps: float) -> tuple[Array, Array, Array]:
    """Return the normalised rows, their means and inverse deviations."""
    rows = x.reshape(-1, size)
    result = np.empty_like(rows)
    mean, inverse = (np.empty((len(rows), 1), x.dtype) for _ in range(2))
    factor, shift = (_repeated(one, rows) for one in (weight, bias))
    for part in parts(*rows.shape):
        out = result[part]
        mean[part, 0], variance = centred(rows[part], out)
        inverse[part, 0] = 1 / np.sqrt(variance + eps)
        out *= inverse[part]
        if factor is not None:
            out *= factor[: len(out)]
        if shift is not None:
            out += shift[: len(out)]
    return result, mean, inverse


def layer_norm_backward(
    grad: Array, x: Array, mean: Array, inverse: Array, weight: Array | None, size: int, output_mask: tuple[bool, ...]
) -> Gradients:
    """Return the gradients by input (as rows), weight and bias (flat)."""
    grads, rows = grad.reshape(-1, size), x.reshape(-1, size)
    mean, inverse = mean.reshape(-1, 1), inverse.reshape(-1, 1)
    factor = _repeated(weight, rows)
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
            _input_rows(given, centred, inverse[part], factor, found[part])
    narrow = [None if one is None else one.astype(x.dtype) for one in (to_weight, to_bias)]
    return found, narrow[0], narrow[1]


def _input_rows(grad: Array, centred: Array, inverse: Array, factor: Array | None, out: Array) -> None:
    """Write the gradient of normalised rows by what was normalised; `centred`, the rows without their means, is used up."""
    size = grad.shape[1]
    if factor is None:
        out[...] = grad
    else:
        np.multiply(grad, factor[: len(grad)], out=out)
    level, slope = sums(out) / size, dots(out, centred) / size * np.square(inverse[:, 0], dtype=WIDE)
    centred *= upright(slope)
    out -= centred
    out -= upright(level)
    out *= inverse
