"""Logarithm, sine and cosine of float32 as PyTorch's random kernels have them: with fused products, to the last bit.

numpy has no fused product. In float64 a product of two float32 values is exact, so that a sum with it, rounded to float32
afterwards, is the fused one but for ties, which are looked for. The polynomials are those of the Cephes library.
"""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array

Doubles = np.ndarray[Any, np.dtype[np.float64]]

_REST = np.int64(35)
_TIE = np.int64(-(1 << 63))
"""A float64 lies half-way between two float32 if of its 29 bits that these lack the first alone is set: shifted up, this."""

_FLOAT = np.float32
_LOG = tuple(map(float, np.array((
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
), _FLOAT)))
_LOW_LOG_2, _HIGH_LOG_2 = _FLOAT(-2.12194440e-4), 0.693359375
_HALF_ROOT = _FLOAT(0.70710678)
_COS = tuple(map(float, np.array((2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2), _FLOAT)))
_SIN = tuple(map(float, np.array((-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1), _FLOAT)))
_QUARTERS = tuple(map(float, np.array((-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8), _FLOAT)))
_OCTANTS = _FLOAT(1.27323954473516)
_ONE, _TWO, _FOUR, _TO_SIGN = np.uint32(1), np.uint32(2), np.uint32(4), np.uint32(29)


def sum_error(a: Doubles, b: Doubles, total: Doubles) -> Doubles:
    """Return what a + b has beyond its rounded `total`, exactly (Knuth's two-sum)."""
    shadow = total - a
    return (a - (total - shadow)) + (b - shadow)


def nudged(a: Doubles, b: Doubles, total: Doubles) -> Doubles:
    """Return the sums a + b moved by one step of float64 towards the exact sum, where they are not exact."""
    error = sum_error(a, b, total)
    towards = np.nextafter(total, np.copysign(np.inf, error))
    return np.where((error != 0) & np.isfinite(error), towards, total)


class Room:
    """Memory for the steps of `fused`, which takes as long to get as to fill."""

    __slots__ = ("added", "bits", "wide")

    def __init__(self, size: int) -> None:
        self.wide = np.empty(size, np.float64)
        self.added = np.empty(size, np.float64)
        self.bits = np.empty(size, np.int64)


def fused(a: Array, b: Doubles | float, c: Array | float, room: Room) -> Array:
    """Return a·b+c rounded once, in float32, where no result is subnormal. `a` is float32; all hold float32 values.

    The float64 sum is rounded a second time to float32. That goes wrong only where it lies half-way between two
    float32 numbers and was itself inexact: there it is moved one step towards the exact sum first.
    """
    size = a.size
    total = room.wide[:size]
    np.copyto(total, a)
    np.multiply(total, b, out=total)
    added = c
    if isinstance(c, np.ndarray):
        added = room.added[:size]
        np.copyto(added, c)
    np.add(total, added, out=total)
    bits = np.left_shift(total.view(np.int64), _REST, out=room.bits[:size])
    if np.minimum.reduce(bits) == _TIE:
        at = np.nonzero(bits == _TIE)
        product = a[at].astype(np.float64) * np.broadcast_to(b, a.shape)[at]
        total[at] = nudged(product, np.broadcast_to(added, a.shape)[at], total[at])
    return total.astype(_FLOAT)


def log(x: Array, room: Room) -> Array:
    """Return log(x), 0 < x <= 1."""
    mantissa, power = np.frexp(x)
    small = mantissa < _HALF_ROOT
    e = (power - small).astype(_FLOAT)
    mantissa += mantissa * small
    y = np.subtract(mantissa, _FLOAT(1), out=mantissa)
    z = y * y
    wide = y.astype(np.float64)
    p = fused(y, _LOG[0], _LOG[1], room)
    for coefficient in _LOG[2:]:
        p = fused(p, wide, coefficient, room)
    p *= y
    p = fused(p, z.astype(np.float64), e * _LOW_LOG_2, room)
    z *= _FLOAT(0.5)
    p -= z
    p += y
    return fused(e, _HIGH_LOG_2, p, room)


def sin_cos(t: Array, room: Room) -> tuple[Array, Array]:
    """Return sin(t) and cos(t), 0 <= t < 2π."""
    octant = (t * _OCTANTS).astype(np.int32)
    octant += 1
    octant &= ~1
    j = octant.astype(_FLOAT)
    for part in _QUARTERS:
        t = fused(j, part, t, room)
    z = t * t
    wide = z.astype(np.float64)
    c = fused(fused(z, _COS[0], _COS[1], room), wide, _COS[2], room)
    c *= z
    c = fused(c, wide, z * _FLOAT(-0.5), room)
    c += _FLOAT(1)
    s = fused(fused(z, _SIN[0], _SIN[1], room), wide, _SIN[2], room)
    s *= z
    s = fused(s, t.astype(np.float64), t, room)
    _turn(s.view(np.uint32), c.view(np.uint32), octant.view(np.uint32))
    return s, c


def _turn(sine: Array, cosine: Array, octant: Array) -> None:
    """Bring the bits of sine and cosine to their octant: every second time they change places, then half of them signs."""
    differing = sine ^ cosine
    differing &= np.negative((octant >> _ONE) & _ONE)
    sine ^= differing
    cosine ^= differing
    sine ^= (octant & _FOUR) << _TO_SIGN
    cosine ^= (~(octant - _TWO) & _FOUR) << _TO_SIGN
