"""Rounding and elementary functions as PyTorch's random kernels have them: fused products, float32 log, sin and cos,
and the Box-Muller transform of whole blocks.

Float32 values are held in float64 arrays here: there a product of two is exact, and a sum of two, rounded to float32
afterwards, is the float32 sum. The polynomials are those of the Cephes library (single precision).
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]

_CHUNK = 16384  # elements a pass: a dozen temporaries of 128 kB stay near the processor
_HALF_BITS = np.int64((1 << 29) - 1)  # what a float64 mantissa has beyond a float32 one
_HALF = np.int64(1 << 28)
_TINY = 2.0**-126  # below it float32 has fewer bits, and the half lies elsewhere
_SPLIT = 134217729.0
_HUGE, _SMALL = 2.0**900, 2.0**-900  # between them the error-free products of float64 neither overflow nor underflow

_LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_QUARTERS = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)


def single(value: float) -> float:
    """Return a number rounded to float32."""
    return float(np.float32(value))


def _round(values: Doubles) -> Doubles:
    return values.astype(np.float32).astype(np.float64)


def _sum_error(a: Doubles, b: Doubles, total: Doubles) -> Doubles:
    """Return what a + b has beyond its rounded `total`, exactly (Knuth's two-sum)."""
    shadow = total - a
    return (a - (total - shadow)) + (b - shadow)


def _fused(a: Doubles, b: Doubles | float, c: Doubles | float) -> Doubles:
    """Return a·b+c rounded once to float32; all hold float32 values, and no result is subnormal.

    The float64 sum is rounded a second time to float32. That goes wrong only where it lies half-way between two
    float32 numbers and was itself inexact: there it is moved one step towards the exact sum first.
    """
    product = a * b
    total = product + c
    ties = (total.view(np.int64) & _HALF_BITS) == _HALF
    if ties.any():
        at = np.nonzero(ties)
        added = np.broadcast_to(np.asarray(c), product.shape)[at]
        total[at] = _nudged(product[at], added, total[at])
    return _round(total)


def _nudged(a: Doubles, b: Doubles, total: Doubles) -> Doubles:
    """Return the sums a + b moved by one step of float64 towards the exact sum, where they are not exact."""
    error = _sum_error(a, b, total)
    towards = np.nextafter(total, np.copysign(np.inf, error))
    return np.where((error != 0) & np.isfinite(error), towards, total)


def _to_odd(a: Doubles, b: Doubles) -> Doubles:
    """Return a + b rounded to odd: an inexact sum with an even last bit moves one step towards the exact one."""
    total = a + b
    even = (total.view(np.int64) & 1) == 0
    return np.where(even, _nudged(a, b, total), total)


def _split(a: Doubles) -> tuple[Doubles, Doubles]:
    scaled = a * _SPLIT
    high = scaled - (scaled - a)
    return high, a - high


def _product_error(a: Doubles, b: Doubles, product: Doubles) -> Doubles:
    """Return what a·b has beyond its rounded `product`, exactly (Dekker)."""
    ah, al = _split(a)
    bh, bl = _split(b)
    return ((ah * bh - product) + ah * bl + al * bh) + al * bl


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
    low = _product_error(a, factor, product)
    tail = addend + low
    total = product + tail
    rest = _to_odd(_sum_error(addend, low, tail), _sum_error(product, tail, total))
    return total + rest


def _fma32(a: Doubles, b: float, c: float) -> Doubles:
    """Return a·b+c rounded once to float32, of float32 values of any size."""
    if c == 0:
        return _round(a * b + c)
    total = a * b + c
    if total.size and np.abs(total).min() < _TINY:
        return _round(_to_odd(a * b, np.full_like(a, c)))
    return _fused(a, b, c)


def scale(values: Array, factor: float, offset: float) -> Array:
    """Return values·factor + offset rounded once, in the dtype of `values` (flat, float32 or float64)."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if values.dtype == np.float64:
            return _chunked(lambda part: _fma64(part, factor, offset), values)
        b, c = single(factor), single(offset)
        return _chunked(lambda part: _fma32(part.astype(np.float64), b, c), values)


def _chunked(function: Callable[[Array], Array], values: Array) -> Array:
    """Return the function of a flat array, taken piece by piece to stay in the cache."""
    out = np.empty_like(values)
    for start in range(0, values.size, _CHUNK):
        out[start : start + _CHUNK] = function(values[start : start + _CHUNK])
    return out


def _constants(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(single(value) for value in values)


def _log32(x: Doubles) -> Doubles:
    """Return log(x) as the float32 kernel has it, 0 < x <= 1."""
    mantissa, power = np.frexp(x)
    small = mantissa < single(0.70710678)
    e = (power - small).astype(np.float64)
    y = np.where(small, mantissa + mantissa, mantissa) - 1.0
    z = _round(y * y)
    first, *rest = _constants(_LOG)
    p = np.full_like(y, first)
    for coefficient in rest:
        p = _fused(p, y, coefficient)
    p = _fused(_round(p * y), z, _round(e * single(-2.12194440e-4)))
    p = _round(p - z * 0.5)
    return _fused(e, 0.693359375, _round(y + p))


def _sin_cos32(t: Doubles) -> tuple[Doubles, Doubles]:
    """Return sin(t) and cos(t) as the float32 kernel has them, 0 <= t < 2π."""
    octant = (_round(t * single(1.27323954473516)).astype(np.int64) + 1) & ~1
    j = octant.astype(np.float64)
    for part in _constants(_QUARTERS):
        t = _fused(j, part, t)
    z = _round(t * t)
    c0, c1, c2 = _constants(_COS)
    c = _round(_fused(_fused(np.full_like(z, c0), z, c1), z, c2) * z)
    c = _round(_fused(c, z, z * -0.5) + 1.0)
    s0, s1, s2 = _constants(_SIN)
    s = _round(_fused(_fused(np.full_like(z, s0), z, s1), z, s2) * z)
    s = _fused(s, t, t)
    swapped = (octant & 2) != 0
    sine, cosine = np.where(swapped, c, s), np.where(swapped, s, c)
    np.negative(sine, out=sine, where=(octant & 4) != 0)
    np.negative(cosine, out=cosine, where=((octant - 2) & 4) == 0)
    return sine, cosine


def _pairs32(u1: Array, u2: Array, std: float, mean: float) -> tuple[Doubles, Doubles]:
    radius = np.sqrt((-2.0 * _log32(u1.astype(np.float64))).astype(np.float32)).astype(np.float64)
    sine, cosine = _sin_cos32(_round(u2.astype(np.float64) * single(2 * math.pi)))
    b, c = single(std), single(mean)
    return _fma32(_round(radius * cosine), b, c), _fma32(_round(radius * sine), b, c)


def _pairs64(u1: Array, u2: Array, std: float, mean: float) -> tuple[Doubles, Doubles]:
    radius, angle = np.sqrt(-2.0 * log(u1)), 2.0 * math.pi * u2
    return _fma64((radius * np.cos(angle)).ravel(), std, mean).reshape(u1.shape), _fma64(
        (radius * np.sin(angle)).ravel(), std, mean
    ).reshape(u1.shape)


def transform(uniforms: Array, mean: float, std: float) -> None:
    """Turn uniforms into normals in place, in blocks of 16; `uniforms` is flat, float32 or float64, whole blocks."""
    blocks = uniforms.reshape(-1, 16)
    pairs = _pairs32 if uniforms.dtype == np.float32 else _pairs64
    rows = _CHUNK // 8
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, len(blocks), rows):
            part = blocks[start : start + rows]
            part[:, :8], part[:, 8:] = pairs(1 - part[:, :8], part[:, 8:], std, mean)


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
