"""Random kernels' rounding and functions as PyTorch has them: sums with products rounded once, the C library's logarithm,
and the Box-Muller transform of whole blocks.
"""

import math
from collections.abc import Callable

import numpy as np

from gradsh.engine.rng import float32_math
from gradsh.engine.rng.float32_math import nudged
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.exact import Doubles, product_error, sum_error

_CHUNK = 16384  # elements a pass: a dozen temporaries of 128 kB stay near the processor
_BLOCK = 1 << 15  # pairs of float32 a pass, which is some 60 calls of numpy
_PART = 1 << 20  # words a part of the float32 normals: what is done once a part costs little
_UNIFORM = np.uint32((1 << 24) - 1)  # the bits of a word that make a uniform of float32
_TINY = 2.0**-126  # below it float32 has fewer bits, and the half lies elsewhere
_HUGE, _SMALL = 2.0**900, 2.0**-900  # between them the error-free products of float64 neither overflow nor underflow


def single(value: float) -> float:
    """Return a number rounded to float32."""
    return float(np.float32(value))


def _to_odd(a: Doubles, b: Doubles) -> Doubles:
    """Return a + b rounded to odd: an inexact sum with an even last bit moves one step towards the exact one."""
    total = a + b
    even = (total.view(np.int64) & 1) == 0
    return np.where(even, nudged(a, b, total), total)


def _fma_exactly(a: float, b: float, c: float) -> float:
    """Return a·b+c rounded once, by fractions: for the few numbers of extreme size."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    from fractions import Fraction

    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else a * b + c
    except OverflowError:
        return math.copysign(math.inf, exact)


def _fma64(a: Doubles, b: float, c: float) -> Doubles:
    """Return a·b+c rounded once to float64 (Boldo and Melquiond: the low parts are added rounding to odd)."""
    if c == 0 or abs(b) == 1:
        return a * b + c
    sizes = np.abs(a)
    extreme = (sizes != 0) & ((sizes < _SMALL) | (sizes > _HUGE))
    if not (_SMALL < abs(b) < _HUGE and _SMALL < abs(c) < _HUGE) or extreme.any():
        return np.array([_fma_exactly(x, b, c) for x in a.tolist()], np.float64)
    factor, addend = np.full_like(a, b), np.full_like(a, c)
    product = a * factor
    low = product_error(a, factor, product)
    tail = addend + low
    total = product + tail
    rest = _to_odd(sum_error(addend, low, tail), sum_error(product, tail, total))
    return total + rest


def _fma32(a: Array, b: float, c: float) -> Array:
    """Return a·b+c rounded once, of float32 of any size."""
    if c == 0:
        return a * np.float32(b) + np.float32(0)
    wide = a.astype(np.float64)
    total = wide * b + c
    if total.size and np.abs(total).min() < _TINY:
        return _to_odd(wide * b, np.full_like(wide, c)).astype(np.float32)
    return float32_math.fused(a, b, c)


def scale(values: Array, factor: float, offset: float) -> Array:
    """Return values·factor + offset rounded once, in the dtype of `values` (flat, float32 or float64)."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if values.dtype == np.float64:
            return _chunked(lambda part: _fma64(part, factor, offset), values)
        b, c = single(factor), single(offset)
        return _chunked(lambda part: _fma32(part, b, c), values)


def _chunked(function: Callable[[Array], Array], values: Array) -> Array:
    """Return the function of a flat array, taken piece by piece to stay in the cache."""
    out = np.empty_like(values)
    for start in range(0, values.size, _CHUNK):
        out[start : start + _CHUNK] = function(values[start : start + _CHUNK])
    return out


def _pairs64(u1: Array, u2: Array, std: float, mean: float) -> tuple[Doubles, Doubles]:
    radius, angle = np.sqrt(-2.0 * log(u1)), 2.0 * math.pi * u2
    return _fma64((radius * np.cos(angle)).ravel(), std, mean).reshape(u1.shape), _fma64(
        (radius * np.sin(angle)).ravel(), std, mean
    ).reshape(u1.shape)


def transform(drawn: Array, mean: float, std: float, out: Array) -> None:
    """Write normals, in blocks of 16, made of words (float32) or of uniforms (float64); both are flat, of whole blocks."""
    part, step = (_part32, _PART) if drawn.dtype == np.uint32 else (_part64, _CHUNK)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, drawn.size, step):
            part(drawn[start : start + step], mean, std, out[start : start + step])


def _part64(uniforms: Array, mean: float, std: float, out: Array) -> None:
    drawn, made = uniforms.reshape(-1, 16), out.reshape(-1, 16)
    made[:, :8], made[:, 8:] = _pairs64(1 - drawn[:, :8], drawn[:, 8:], std, mean)


def _part32(words: Array, mean: float, std: float, out: Array) -> None:
    """Make all radii first: in the second half of `out`, where each is read before its place is needed."""
    size = words.size // 2
    halves, radii, step = words.reshape(-1, 2, 8), out[size:], min(_BLOCK, size)
    room, drawn = float32_math.Room(step), np.empty((step // 8, 8), np.uint32)

    def uniforms(half: int, start: int) -> Array:
        part = halves[start // 8 : (start + step) // 8]
        found = part.take(half, 1, drawn[: len(part)], "clip").reshape(-1)
        return np.bitwise_and(found, _UNIFORM, out=found)

    starts = range(0, size, step)
    unsure = [start + float32_math.radii(uniforms(0, start), radii[start : start + step], room) for start in starts]
    at = np.concatenate(unsure)
    radii[at] = float32_math.exact_radii(words[at + (at & ~7)] & _UNIFORM)
    order = np.empty(0, np.int64)
    for start in starts:
        pairs = float32_math.cos_sin(uniforms(1, start), room)
        pairs *= radii[start : start + step]
        if mean or std != 1:
            pairs = _fma32(pairs.reshape(-1), single(std), single(mean))
        else:
            pairs += np.float32(0)  # leaves no negative zero
        rows = pairs.reshape(-1, 8)
        if len(rows) != len(order):
            order = np.arange(len(rows), dtype=np.int64).reshape(2, -1).T.reshape(-1)
        rows.take(order, 0, out[2 * start : 2 * (start + step)].reshape(-1, 8), "clip")


def box_muller(u1: Doubles, u2: Doubles) -> tuple[Doubles, Doubles]:
    """Return the two standard normals of each pair of float64 uniforms, as the serial rule has them."""
    radius, angle = np.sqrt(-2.0 * log1p(-u2)), 2.0 * math.pi * u1
    return radius * np.cos(angle), radius * np.sin(angle)


def _by_libm(function: Callable[[float], float], values: Doubles) -> Doubles:
    """Return a function of each element by the C library, whose last bits differ from numpy's vector code."""
    return np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size).reshape(values.shape)


def log(values: Doubles) -> Doubles:
    """Return the natural logarithms by the C library; that of 0 is -inf."""
    return _by_libm(lambda value: math.log(value) if value else -math.inf, values)


def log1p(values: Doubles) -> Doubles:
    """Return log(1 + x) by the C library, x > -1."""
    return _by_libm(math.log1p, values)


_HALF_BITS, _HALF, _NEAR = np.int64((1 << 29) - 1), np.int64(1 << 28), np.int64(1 << 8)
"""The bits of float64 that float32 lacks, what they are half-way between two float32, and how far numpy may be off the library."""
_TINY_BY_FAR = 2.0**-120


def scaled_log1p(values: Doubles, factor: float) -> Array:
    """Return factor · log(1 + x) rounded to float32, x > -1, with the logarithm of the C library.

    numpy's, many times as fast, differs in the last bits of float64. That matters near the half between two float32 only.
    """
    found = np.log1p(values)
    found *= factor
    sizes = np.abs(found)
    off = found.view(np.int64) & _HALF_BITS
    off -= _HALF
    unsure = (np.abs(off, out=off) <= _NEAR) | (sizes < _TINY_BY_FAR) | ~(sizes < math.inf)
    at = np.flatnonzero(unsure)
    if at.size:
        found[at] = log1p(values[at]) * factor
    with np.errstate(over="ignore", under="ignore"):
        return found.astype(np.float32)


def tan(values: Doubles) -> Doubles:
    """Return the tangents by the C library."""
    return _by_libm(math.tan, values)


def exp(values: Doubles) -> Doubles:
    """Return the exponentials by the C library; beyond its range inf."""
    return _by_libm(_exp, values)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
