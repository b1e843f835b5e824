"""Logarithm, sine and cosine of float32 as PyTorch's random kernels have them: with fused products, to the last bit.

numpy has no fused product. In float64 a product of two float32 values is exact, so that a sum with it, rounded to float32
afterwards, is the fused one but for ties, which `fused` looks for. The polynomials, of the Cephes library, come to none for any
of the 2^24 uniforms.
"""

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.engine.values.exact import Doubles, sum_error

_REST = np.int64(35)
_TIE = np.int64(-(1 << 63))
"""A float64 lies half-way between two float32 if of its 29 bits that these lack the first alone is set: shifted up, this."""

_FLOAT, _INT = np.float32, np.int32
_LOG = np.array((
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
), _FLOAT).astype(np.float64)
_LOW_LOG_2, _HIGH_LOG_2 = _FLOAT(-2.12194440e-4), _FLOAT(0.693359375)
_HALF_ROOT = int(_FLOAT(0.70710678).view(_INT))
_MANTISSA, _TO_EXPONENT = (1 << 23) - 1, 23
_ATANH = tuple(map(_FLOAT, (0.29524267, 0.39990234, 0.66666682)))
_NEAR = np.array([[1 - 7 * 2.0**-24], [1 + 7 * 2.0**-24]], _FLOAT)
_COS_SIN = np.array((
    ((2.443315711809948e-5,), (-1.9515295891e-4,)), ((-1.388731625493765e-3,), (8.3321608736e-3,)),
    ((4.166664568298827e-2,), (-1.6666654611e-1,)),
), _FLOAT).astype(np.float64)
_ROUNDING = np.array([[1.5 * 2.0**19], [1.5 * 2.0**22]])
"""Added to the sums of the first step, each from one power of two to the next, this leaves as many bits of them as float32 has."""
_COS_SIN[1] += _ROUNDING
_ADDED = np.array([[-0.5], [1.0]])
_TURN = _FLOAT(2 * np.pi) * _FLOAT(2.0**-24)
_QUARTER = float(np.array((-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8), _FLOAT).sum(dtype=np.float64)) * 2
_AHEAD, _SIGN = np.array([[1 << 30], [0]], _INT), _INT(-(1 << 31))


def nudged(a: Doubles, b: Doubles, total: Doubles) -> Doubles:
    """Return the sums a + b moved by one step of float64 towards the exact sum, where they are not exact."""
    error = sum_error(a, b, total)
    towards = np.nextafter(total, np.copysign(np.inf, error))
    return np.where((error != 0) & np.isfinite(error), towards, total)


def fused(a: Array, b: Doubles | float, c: Array | float) -> Array:
    """Return a·b+c rounded once, in float32, where no result is subnormal. `a` is float32; all hold float32 values.

    The float64 sum is rounded a second time to float32. That goes wrong only where it lies half-way between two
    float32 numbers and was itself inexact: there it is moved one step towards the exact sum first.
    """
    total = a.astype(np.float64)
    total *= b
    total += c
    bits = total.view(np.int64) << _REST
    if np.minimum.reduce(bits) == _TIE:
        at = np.nonzero(bits == _TIE)
        product = a[at].astype(np.float64) * np.broadcast_to(b, a.shape)[at]
        total[at] = nudged(product, np.broadcast_to(c, a.shape)[at].astype(np.float64), total[at])
    return total.astype(_FLOAT)


class Room:
    """Memory for the steps below, on blocks of up to `size` numbers."""

    def __init__(self, size: int) -> None:
        self.singles = np.empty((7, size), _FLOAT)
        self.doubles = np.empty((4, size), np.float64)


def _split(words: Array, e: Array, y: Array, bits: Array) -> None:
    """Write 1-u of the uniforms u that are the words, as 2^e·(1+y), sqrt(1/2) <= 1+y < sqrt(2)."""
    np.copyto(y, words.view(_INT))
    np.subtract(_FLOAT(1 << 24), y, out=y)
    low = y.view(_INT)
    low -= _HALF_ROOT + (24 << _TO_EXPONENT)
    np.right_shift(low, _TO_EXPONENT, out=bits)
    np.copyto(e, bits)
    low &= _MANTISSA
    low += _HALF_ROOT
    y -= _FLOAT(1)


def radii(words: Array, out: Array, room: Room) -> Array:
    """Write sqrt(-2·log(1-u)) for the uniforms that are the words, of 24 bits, and return where it may be off: at 7 places of 100.

    The sums that end the logarithm come to the same from a little less and from a little more than another formula,
    without fused products, gives for the polynomial, but for these places.
    """
    e, y, z, s, a, *_ = room.singles[:, : words.size]
    both = room.singles[5:, : words.size]
    _split(words, e, y, a.view(_INT))
    np.add(y, _FLOAT(2), out=s)
    np.divide(y, s, out=s)
    np.square(s, out=z)
    np.multiply(z, _ATANH[0], out=a)
    a += _ATANH[1]
    a *= z
    a += _ATANH[2]
    a *= z
    half = np.square(y, out=z)
    half *= _FLOAT(0.5)
    a += half
    a *= s
    np.multiply(a, _NEAR, out=both)
    both += np.multiply(e, _LOW_LOG_2, out=a)
    both -= half
    both += y
    both += np.multiply(e, _HIGH_LOG_2, out=a)
    np.multiply(both[0], _FLOAT(-2), out=out)
    np.sqrt(out, out=out)
    return np.flatnonzero(both[0] != both[1])


def exact_radii(words: Array) -> Array:
    """Return sqrt(-2·log(1-u)) for the uniforms that are the words, of 24 bits."""
    e, y, a, z = np.empty((4, words.size), _FLOAT)
    _split(words, e, y, a.view(_INT))
    wide = y.astype(np.float64)
    total = np.empty_like(wide)
    np.multiply(wide, _LOG[0], out=total)
    for coefficient in _LOG[1:]:
        total += coefficient
        np.copyto(a, total, casting="same_kind")
        np.multiply(a, wide, out=total)
    a *= y
    np.square(y, out=z)
    np.multiply(a, z, out=total, dtype=np.float64)
    total += e * _LOW_LOG_2
    a = total.astype(_FLOAT)
    a -= z * _FLOAT(0.5)
    a += y
    a += e * _HIGH_LOG_2
    a *= _FLOAT(-2)
    return np.sqrt(a, out=a)


def cos_sin(words: Array, room: Room) -> Array:
    """Return cos(2π·u) and sin(2π·u) as two rows, for the uniforms u that are the words, of 24 bits."""
    out = np.empty((2, words.size), _FLOAT)
    t, z, quarters, *_ = room.singles[:, : words.size]
    total, wide = room.doubles[:2, : words.size], room.doubles[2:, : words.size]
    turns = np.add(words.view(_INT), 1 << 21, out=quarters.view(_INT))
    turns >>= 22
    np.copyto(total[0], turns)
    total[0] *= _QUARTER
    np.copyto(t, words.view(_INT))
    t *= _TURN
    np.copyto(total[1], t)
    total[1] += total[0]
    np.copyto(t, total[1], casting="same_kind")
    np.square(t, out=z)
    np.copyto(wide[0], z)
    np.copyto(wide[1], t)
    np.multiply(wide[0], _COS_SIN[0], out=total)
    total += _COS_SIN[1]
    total -= _ROUNDING
    total *= wide[0]
    total += _COS_SIN[2]
    np.copyto(out, total, casting="same_kind")
    out *= z
    np.copyto(total, out)
    total += _ADDED
    total *= wide
    np.copyto(out, total, casting="same_kind")
    out[0] += _FLOAT(1)
    _turn(out.view(_INT), turns, room.singles[3:5, : words.size].view(_INT))
    return out


def _turn(pairs: Array, quarters: Array, signs: Array) -> None:
    """Bring the bits of cosine and sine to their quarter: every second time they change places, then half of them signs."""
    differing = np.bitwise_xor(pairs[0], pairs[1], out=signs[0])
    differing *= np.bitwise_and(quarters, 1, out=signs[1])
    pairs ^= differing
    quarters <<= 30
    np.add(quarters, _AHEAD, out=signs)
    signs &= _SIGN
    pairs ^= signs
