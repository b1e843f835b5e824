"""Kernels of the special functions that numpy lacks: erf and its relatives, gamma functions, Bessel functions.

Arrays of floats in, arrays of the same dtype out. Accurate to a few units in the last place of float64 (float32 input is
computed in float64, but for erf, where speed counts), zeta and polygamma to about 1e-14.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels import special_tables as tables
from gradsh.ops.kernels.common import blocked, pick, with_sign

_MIDDLE = 3.75
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
)


def in_double(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a kernel that computes in float64 and gives the dtype of its first input back."""

    def kernel(self: Array, *others: Any) -> Array:
        wide = [np.asarray(one, np.float64) if isinstance(one, (np.ndarray, np.generic)) else one for one in others]
        return np.asarray(function(np.asarray(self, np.float64), *wide)).astype(self.dtype)

    return kernel


def polynomial(coefficients: Sequence[float], x: Array) -> Array:
    """Return sum c_k x**k by Horner's rule."""
    total = x * coefficients[-1]
    for each in coefficients[-2:0:-1]:
        total += each
        total *= x
    total += coefficients[0]
    return np.asarray(total)


def chebyshev(coefficients: Sequence[float], t: Array) -> Array:
    """Return sum c_k T_k(t) by Clenshaw's rule."""
    doubled = 2 * t
    before = np.zeros_like(t)
    last = np.zeros_like(t)
    for each in coefficients[:0:-1]:
        before, last = last, doubled * last - before + each
    return np.asarray(t * last - before + coefficients[0])


# --- error functions ----------------------------------------------------------------------------------------------


def _tail(size: Array, coefficients: Sequence[float]) -> Array:
    """Return exp(x²) erfc(x) of x >= 0."""
    return np.asarray(polynomial(coefficients, (size - _MIDDLE) / (size + _MIDDLE)) / (1 + 2 * size))


def _bell(x: Array) -> Array:
    """Return exp(-x²), to full relative accuracy for large x: the square is split into two exact parts."""
    high = np.round(x * 256) / 256
    return np.exp(-high * high) * np.exp(-(x - high) * (x + high))


def _erf(x: Array) -> Array:
    x = np.atleast_1d(x)
    short = x.dtype == np.float32
    size = np.abs(x)
    np.clip(size, 0, 4.0 if short else 6.5, out=size)
    small = np.clip(size, 0, 1)
    small *= small
    near = polynomial(tables.ERF_SHORT if short else tables.ERF, small)
    near *= x
    far = np.multiply(size, size, out=small)
    np.negative(far, out=far)
    np.exp(far, out=far)
    far *= _tail(size, tables.TAIL_SHORT if short else tables.TAIL)
    np.subtract(1, far, out=far)
    return np.asarray(pick(size <= 1, near, with_sign(far, x)))


def erf_kernel(self: Array) -> Array:
    """Return the error function."""
    return blocked(_erf)(self).reshape(np.shape(self))


def _erfc(x: Array) -> Array:
    x = np.atleast_1d(x)
    size = np.abs(x)
    far = _bell(size) * _tail(np.minimum(size, 1e18), tables.TAIL)
    far = np.where(size > 27.3, 0.0, far)
    far = np.where(x < 0, 2 - far, far)
    return np.where(size < 0.5, 1 - x * polynomial(tables.ERF, np.minimum(size, 1) ** 2), np.where(np.isnan(x), x, far))


def _shaped(function: Callable[[Array], Array]) -> Callable[[Any], Any]:
    """Return a kernel in float64 blocks that keeps the shape, 0-d too."""
    wide = in_double(function)
    return lambda self: blocked(wide)(self).reshape(np.shape(self))


erfc_kernel = _shaped(_erfc)


def _erfcx(x: Array) -> Array:
    x = np.atleast_1d(x)
    size = np.abs(x)
    far = np.where(np.isinf(size), 0.0, _tail(np.minimum(size, 1e300), tables.TAIL))
    return np.where(x < 0, 2 / _bell(np.minimum(size, 27)) - far, np.where(np.isnan(x), x, far))


def _erfcx_all(x: Array) -> Array:
    found = _erfcx(x)
    return np.where(np.atleast_1d(x) < -26.7, np.inf, found)


erfcx_kernel = _shaped(_erfcx_all)


def _erfinv(y: Array) -> Array:
    """Start from a logarithmic estimate, then take Halley steps on erf, or on log erfc near the ends."""
    y = np.atleast_1d(y)
    size = np.minimum(np.abs(y), 1)
    rest = np.log1p(-size * size)
    a = 0.147
    middle = 2 / (math.pi * a) + rest / 2
    x = np.sqrt(np.maximum(np.sqrt(middle * middle - rest / a) - middle, 0))
    for _ in range(3):
        error = np.where(size < 0.5, _erf(x) - size, (1 - size) - _erfc(x))
        step = error / (2 / math.sqrt(math.pi) * np.exp(-x * x))
        x = x - step / (1 + x * step)
    x = np.where(size == 1, np.inf, x)
    return np.where(np.abs(y) > 1, np.nan, np.copysign(x, y))


erfinv_kernel = _shaped(_erfinv)


def _log_ndtr(x: Array) -> Array:
    x = np.atleast_1d(x)
    scaled = x * math.sqrt(0.5)
    left = np.log(_erfcx(np.maximum(-scaled, 0)) / 2) - scaled * scaled
    return np.where(x < -1, left, np.log1p(-_erfc(scaled) / 2))


log_ndtr_kernel = _shaped(_log_ndtr)


def _ndtri(p: Array) -> Array:
    """The quantile, by erfinv in the middle and by Newton steps on log_ndtr in the tail."""
    p = np.atleast_1d(p)
    middle = math.sqrt(2) * _erfinv(2 * p - 1)
    low = np.minimum(p, 1 - p)
    logarithm = np.log(np.maximum(low, 1e-308))
    x = -np.sqrt(np.maximum(-2 * logarithm - np.log(np.maximum(-2 * logarithm, 1e-9) * 2 * math.pi), 0.1))
    for _ in range(6):
        value = _log_ndtr(x)
        slope = np.exp(-x * x / 2 - value) / math.sqrt(2 * math.pi)
        x = x - (value - logarithm) / slope
    tail = np.where(p < 0.5, x, -x)
    found = np.where(low < 0.05, tail, middle)
    return np.where(low == 0, np.where(p == 0, -np.inf, np.inf), np.where((p < 0) | (p > 1), np.nan, found))


ndtri_kernel = _shaped(_ndtri)

# --- gamma functions ----------------------------------------------------------------------------------------------


def _lgamma_one(x: float) -> float:
    if math.isnan(x):
        return x
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


lgamma_kernel = in_double(lambda x: np.asarray(np.frompyfunc(_lgamma_one, 1, 1)(x), np.float64))


def _digamma(x: Array) -> Array:
    """Reflect what is negative, shift up to 10, then the asymptotic series."""
    x = np.atleast_1d(x)
    negative = x < 0
    place = np.where(negative, 1 - x, x)
    total = np.zeros_like(place)
    for _ in range(10):
        low = place < 10
        total = total - np.where(low, 1 / place, 0)
        place = np.where(low, place + 1, place)
    inverse = 1 / (place * place)
    series = np.zeros_like(place)
    for order in range(len(_BERNOULLI), 0, -1):
        series = (series + _BERNOULLI[order - 1] / (2 * order)) * inverse
    total = total + np.log(place) - 0.5 / place - series
    with_pole = np.where(x == np.floor(x), np.nan, total - math.pi / np.tan(math.pi * (x - np.round(x))))
    found = np.where(negative, with_pole, total)
    return np.where(x == 0, np.copysign(np.inf, -x), np.where(np.isposinf(x), np.inf, found))


digamma_kernel = _shaped(_digamma)


def _zeta(s: Array, q: Array) -> Array:
    """Return Hurwitz's zeta: a direct sum while q is small, then Euler's and Maclaurin's series."""
    s, q = np.broadcast_arrays(np.atleast_1d(s), np.atleast_1d(q))
    pole = (q <= 0) & (q == np.floor(q))
    bad = (s < 1) | ((q <= 0) & (s != np.floor(s)))
    place = np.where(pole | np.isnan(q) | np.isinf(q), 1.0, q)
    total = np.zeros_like(place)
    count = 0
    while count < 10 or bool((place < 10).any()):
        active = (place < 10) | (count < 10)
        total = total + np.where(active, np.power(place, -s), 0)
        place = np.where(active, place + 1, place)
        count += 1
        if count > 1000:
            break
    power = np.power(place, -s)
    total = total + power * place / (s - 1) + 0.5 * power
    factor, divisor, power = s.copy(), 2.0, power / place
    for order, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli * factor * power / divisor
        factor = factor * (s + 2 * order - 1) * (s + 2 * order)
        divisor *= (2 * order + 1) * (2 * order + 2)
        power = power / (place * place)
    found = np.where(bad, np.nan, np.where(s == 1, np.inf, np.where(np.isfinite(q), total, np.nan)))
    return np.where(pole, np.inf, found)


def zeta_kernel(s: Array, q: Array) -> Array:
    """Return Hurwitz's zeta function sum 1 / (k + q)**s."""
    shape = np.broadcast_shapes(np.shape(s), np.shape(q))
    return _zeta(np.asarray(s, np.float64), np.asarray(q, np.float64)).reshape(shape).astype(q.dtype)


def _trigamma(x: Array) -> Array:
    """Reflect what is below one half, shift by six, then four terms of the asymptotic series: good to 5e-10, as PyTorch's."""
    x = np.atleast_1d(x)
    low = x < 0.5
    place = np.where(low, 1 - x, x)
    total = np.zeros_like(place)
    for _ in range(6):
        total = total + 1 / (place * place)
        place = place + 1
    inverse = 1 / (place * place)
    series = 1 + 0.5 / place + inverse * (1 / 6 - inverse * (1 / 30 - inverse / 42))
    total = total + series / place
    return np.where(low, (math.pi / np.sin(math.pi * x)) ** 2 - total, total)


def polygamma_kernel(n: int, self: Array) -> Array:
    """Return the n-th derivative of digamma."""
    if n == 0:
        return digamma_kernel(self)
    if n == 1:
        return _shaped(_trigamma)(self)
    wide = np.asarray(self, np.float64)
    value = _zeta(np.full(wide.shape or (1,), float(n + 1)), wide).reshape(wide.shape)
    return (value * math.factorial(n) * (-1) ** (n + 1)).astype(self.dtype)


# --- Bessel functions ---------------------------------------------------------------------------------------------


def _scaled_bessel(size: Array, small: Sequence[float], large: Sequence[float], odd: bool) -> Array:
    near = chebyshev(small, np.minimum(size, 8) / 4 - 1) * (size if odd else 1)
    wide = np.maximum(size, 8)
    far = chebyshev(large, 16 / wide - 1) / np.sqrt(wide)
    return np.where(size <= 8, near, far)


def _i0e(x: Array) -> Array:
    return _scaled_bessel(np.abs(np.atleast_1d(x)), tables.I0_SMALL, tables.I0_LARGE, odd=False)


def _i1e(x: Array) -> Array:
    x = np.atleast_1d(x)
    return np.copysign(_scaled_bessel(np.abs(x), tables.I1_SMALL, tables.I1_LARGE, odd=True), x)


i0e_kernel = _shaped(_i0e)
i1e_kernel = _shaped(_i1e)
i0_kernel = _shaped(lambda x: np.exp(np.abs(np.atleast_1d(x))) * _i0e(x))
i1_kernel = _shaped(lambda x: np.exp(np.abs(np.atleast_1d(x))) * _i1e(x))
