"""Functions that numpy takes from the C library number by number, most of them only without AVX-512: of float32 by formulas.

Coefficients are fitted with 50 digits to the functions themselves. Results are off by 2.7 units in the last place at most (logaddexp: by
4), mostly by less than one.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.common import in_blocks, with_sign

SLOW = not getattr(import_module("numpy._core._multiarray_umath"), "__cpu_features__", {}).get("AVX512_SKX", False)
"""Whether numpy has no vectors for most of these functions; it never has for logaddexp and hypot."""
_MANY = 1 << 9
"""Numbers from which formulas are faster."""


def singles(*numbers: float) -> list[Array]:
    """Return numbers as 0-d arrays, with which ufuncs begin half a microsecond sooner than with Python's."""
    return [np.array(one, np.float32) for one in numbers]


_ONE, _TWO, _THREE, _HALF, _MINUS_ONE = singles(1, 2, 3, 0.5, -1)
_PER_LN2, _LN2_HIGH, _LN2_LOW = singles(1.4426950408889634, 0.693145751953125, 1.4286068203094172e-06)
_PER_LN10, _LOG10_2_HIGH, _LOG10_2_LOW = singles(0.4342944819032518, 0.301025390625, 4.605038981195214e-06)
_PI, _HALF_PI, _PER_HALF_PI, *_HALF_PI_PARTS = singles(
    3.141592653589793, 1.5707963267948966, 0.6366197723675814,
    1.5703125, 4.837512969970703e-04, 7.549533620476723e-08, 2.563344151594519e-12,
)
_WHOLE = np.array(1.5 * 2**23, np.float32)
"""Added to a number it leaves no fraction, and the whole number in the last bits."""
_EXPONENT, _BITS_OF_ONE, _BITS_OF_ROOT, _FRACTION, _LAST = (
    np.array(one, np.int32) for one in (23, 0x3F800000, 0x3F3504F3, 0x7FFFFF, 31)
)
"""Where a float32 has its exponent; the bits of 1 and of the root of 1/2; those of a fraction; the place of the sign."""
EXP = singles(
    0.5000000047412713, 0.16666666756947493, 0.04166635160082066, 0.008333288336821803, 0.0013941215601016856, 0.00019905329905539708,
)
"""(exp(r) - 1 - r)/r² in powers of r, up to half of log 2."""
_EXP2 = singles(
    1.0000000005572274, 0.6931472057294706, 0.24022646857777202, 0.05550328794405533, 0.009618493331031366, 0.0013399924786252485,
    0.0001534449648174745,
)
"""2**r in powers of r, up to 1/2."""
_LOG = singles(0.6666677702708473, 0.3997747519163827, 0.29873138359881835)
"""(2 atanh(s)/s - 2)/s² in powers of s², up to where (1 + s)/(1 - s) is the root of 2."""
_ATAN = singles(
    -0.3333330184564829, 0.19998637495088747, -0.14265231449239452, 0.10957497079404581, -0.08419215322891105,
    0.058230217387446034, -0.03145126378204692, 0.011062008053333188, -0.0018266601342661756,
)
"""(atan(t)/t - 1)/t² in powers of t², up to 1."""
_ASIN = singles(0.16666752919192573, 0.07495297941968533, 0.045469188216643155, 0.024188649577513013, 0.04214736494150739)
"""The same of asin, up to 1/2."""
_TAN = singles(
    0.3333313793609279, 0.13339234710259104, 0.05337850801162703, 0.024538192097518195, 0.002957907388973019, 0.009475852230834057,
)
"""The same of tan, up to pi/4."""


def formula(
    ufunc: np.ufunc, block: Callable[..., Array], low: float, high: float, measure: Callable[..., Array] = lambda x: x,
    slow: bool = SLOW,
) -> Callable[..., Any]:
    """Return the kernel of a ufunc whose formula holds where what `measure` gives of the operands lies between two numbers.

    `slow`: whether the formula is the faster way.
    """

    def mended(*given: Array) -> Array:
        alike = given[0].shape == given[-1].shape
        x = given if alike else tuple(map(np.ascontiguousarray, np.broadcast_arrays(*given)))
        size, found = measure(*x), block(*x)
        if not (np.minimum.reduce(size, None) >= low and np.maximum.reduce(size, None) <= high):
            other = ~((size >= low) & (size <= high))
            found[other] = ufunc(*[one[other] for one in x])
        return found

    def one(self: Any) -> Any:
        if self.size <= _MANY or self.dtype != np.float32:
            return ufunc(self)
        return in_blocks(mended, self)

    def two(self: Any, other: Any) -> Any:
        if self.size <= _MANY or not self.dtype == other.dtype == np.float32 or not other.size:
            return ufunc(self, other)
        return in_blocks(mended, self, other)

    return (one if ufunc.nin == 1 else two) if slow else ufunc


def polynomial(coefficients: Sequence[Any], x: Array) -> Array:
    """Return sum c_k x**k by Horner's rule."""
    total = x * coefficients[-1]
    for each in coefficients[-2:0:-1]:
        total += each
        total *= x
    total += coefficients[0]
    return np.asarray(total)


def _odd(coefficients: Sequence[Any], x: Array, square: Array) -> Array:
    """Return x + x³ P(x²)."""
    found = polynomial(coefficients, square)
    found *= square
    found *= x
    found += x
    return found


def _parts_of_exp(x: Array) -> tuple[Array, Array]:
    """Return exp(r) - 1 and 2**n of x = n log 2 + r."""
    whole = x * _PER_LN2
    whole += _WHOLE
    bits = whole.view(np.int32) << _EXPONENT
    bits += _BITS_OF_ONE
    whole -= _WHOLE
    rest = whole * _LN2_HIGH
    np.subtract(x, rest, out=rest)
    whole *= _LN2_LOW
    rest -= whole
    found = polynomial(EXP, rest)
    found *= rest
    found *= rest
    found += rest
    return found, bits.view(np.float32)


def _exp_less_one(x: Array) -> tuple[Array, Array]:
    """Return exp(x) - 1, and work space."""
    found, factor = _parts_of_exp(x)
    found *= factor
    factor -= _ONE
    found += factor
    return found, factor


def _expm1(x: Array) -> Array:
    return with_sign(_exp_less_one(x)[0], x)


def _exp2(x: Array) -> Array:
    whole = x + _WHOLE
    bits = whole.view(np.int32) << _EXPONENT
    whole -= _WHOLE
    rest = np.subtract(x, whole, out=whole)
    found = polynomial(_EXP2, rest)
    bits += found.view(np.int32)
    return bits.view(np.float32)


def _sinh(x: Array) -> Array:
    found, work = _exp_less_one(np.abs(x))
    np.add(found, _ONE, out=work)
    np.divide(found, work, out=work)
    found += work
    found *= _HALF
    return with_sign(found, x)


def _cosh(x: Array) -> Array:
    found, factor = _parts_of_exp(x)
    found *= factor
    found += factor
    found += np.reciprocal(found, out=factor)
    found *= _HALF
    return found


def _parts_of_log(x: Array) -> tuple[Array, Array]:
    """Return log m and n of x = m 2**n, with m near 1; x is overwritten."""
    bits = x.view(np.int32)
    bits -= _BITS_OF_ROOT
    whole = (bits >> _EXPONENT).astype(np.float32)
    bits &= _FRACTION
    bits += _BITS_OF_ROOT
    x -= _ONE
    slope = x + _TWO
    np.divide(x, slope, out=slope)
    square = slope * slope
    found = polynomial(_LOG, square)
    found *= square
    np.subtract(x, found, out=found)
    found *= slope
    np.subtract(x, found, out=found)
    return found, whole


def _log1p(x: Array) -> Array:
    moved = x + _ONE
    lost = moved - _ONE
    np.subtract(x, lost, out=lost)
    lost /= moved
    found, whole = _parts_of_log(moved)
    found += lost
    found += np.multiply(whole, _LN2_LOW, out=lost)
    whole *= _LN2_HIGH
    found += whole
    return with_sign(found, x)


def _log10(x: Array) -> Array:
    found, whole = _parts_of_log(x.copy())
    found *= _PER_LN10
    found += whole * _LOG10_2_LOW
    whole *= _LOG10_2_HIGH
    found += whole
    return found


def _atanh(x: Array) -> Array:
    size = np.abs(x)
    below = _ONE - size
    size += size
    size /= below
    found = _log1p(size)
    found *= _HALF
    return with_sign(found, x)


def _fold_asin(x: Array) -> tuple[Array, Array]:
    """Return asin(s) of s = |x| up to 1/2, or of sqrt((1 - |x|)/2), with the sign of x; and where it is the other, as 1."""
    size = np.abs(x)
    square = size * size
    other = _ONE - size
    other *= _HALF
    folded = (size > _HALF).astype(np.float32)
    np.minimum(square, other, out=square)
    np.minimum(size, np.sqrt(other, out=other), out=size)
    return with_sign(_odd(_ASIN, size, square), x), folded


def _asin(x: Array) -> Array:
    found, folded = _fold_asin(x)
    factor = folded * -_THREE
    factor += _ONE
    found *= factor
    folded *= _HALF_PI
    found += with_sign(folded, x)
    return found


def _acos(x: Array) -> Array:
    found, folded = _fold_asin(x)
    factor = folded * _THREE
    factor -= _ONE
    found *= factor
    folded *= _HALF_PI
    shift = with_sign(folded, x)
    found += np.subtract(_HALF_PI, shift, out=shift)
    return found


def _turned(found: Array, swapped: Array) -> Array:
    """Measure angles from the other side where that is so."""
    turned = swapped.astype(np.float32)
    found -= turned * np.add(found, found)
    turned *= _HALF_PI
    found += turned
    return found


def _atan(x: Array) -> Array:
    size = np.abs(x)
    swapped = size > _ONE
    np.minimum(size, np.reciprocal(size), out=size)
    return with_sign(_turned(_odd(_ATAN, size, size * size), swapped), x)


def _farther(y: Array, x: Array) -> Array:
    return np.maximum(np.abs(y), np.abs(x))


def _atan2(y: Array, x: Array) -> Array:
    size, other = np.abs(y), np.abs(x)
    swapped = size > other
    longer = np.maximum(size, other)
    np.minimum(size, other, out=size)
    size /= longer
    found = _turned(_odd(_ATAN, size, np.multiply(size, size, out=longer)), swapped)
    behind = np.signbit(x).astype(np.float32)
    found -= np.multiply(found, behind, out=longer) * _TWO
    behind *= _PI
    found += behind
    return with_sign(found, y)


_log1p_of, _exp2_of = (_log1p, _exp2) if SLOW else (np.log1p, np.exp2)


def _apart(a: Array, b: Array) -> Array:
    found = a - b
    return np.abs(found, out=found)


def _logaddexp(a: Array, b: Array) -> Array:
    rest = _apart(a, b)
    found = _log1p_of(np.exp(np.negative(rest, out=rest), out=rest))
    found += np.maximum(a, b, out=rest)
    return found


def _logaddexp2(a: Array, b: Array) -> Array:
    rest = _apart(a, b)
    found = _log1p_of(_exp2_of(np.negative(rest, out=rest)))
    found *= _PER_LN2
    found += np.maximum(a, b, out=rest)
    return found


def _hypot(a: Array, b: Array, out: Array | None = None) -> Array:
    """Return the root in float64, whose squares of float32 neither overflow nor underflow."""
    wide, other = a.astype(np.float64), b.astype(np.float64)
    wide *= wide
    other *= other
    wide = wide + other
    np.sqrt(wide, out=wide)
    found = np.empty(wide.shape, np.float32) if out is None else out
    np.copyto(found, wide, casting="same_kind")
    if np.isnan(np.minimum.reduce(found, None)):  # of infinity and nan it is infinity
        np.hypot(a, b, out=found)
    return found


def hypot(self: Any, other: Any) -> Any:
    """Return sqrt(a² + b²)."""
    if self.size <= _MANY or not self.dtype == other.dtype == np.float32 or not other.size:
        return np.hypot(self, other)
    return in_blocks(_hypot, self, other, into=True)


def _tan(x: Array) -> Array:
    whole = x * _PER_HALF_PI
    whole += _WHOLE
    swapped = whole.view(np.int32) << _LAST
    swapped >>= _LAST
    whole -= _WHOLE
    rest, work = x.copy(), np.empty_like(x)
    for each in _HALF_PI_PARTS:
        rest -= np.multiply(whole, each, out=work)
    found = _odd(_TAN, rest, np.multiply(rest, rest, out=whole))
    other = np.divide(_MINUS_ONE, found, out=work)
    bits = np.bitwise_xor(found.view(np.int32), other.view(np.int32))
    bits &= swapped
    bits ^= found.view(np.int32)
    return bits.view(np.float32)


expm1 = formula(np.expm1, _expm1, -80, 88)
exp2 = formula(np.exp2, _exp2, -125, 127)
log1p = formula(np.log1p, _log1p, -0.9999, 1e7)
log10 = formula(np.log10, _log10, 1.1754944e-38, 3e38)
sinh = formula(np.sinh, _sinh, -88, 88)
cosh = formula(np.cosh, _cosh, -87, 87)
atanh = formula(np.arctanh, _atanh, -0.9999, 0.9999)
asin = formula(np.arcsin, _asin, -1, 1)
acos = formula(np.arccos, _acos, -1, 1)
atan = formula(np.arctan, _atan, -np.inf, np.inf)
tan = formula(np.tan, _tan, -5000, 5000)
atan2 = formula(np.arctan2, _atan2, 1e-30, 1e30, _farther)
logaddexp = formula(np.logaddexp, _logaddexp, -np.inf, 3e38, _apart, slow=True)
logaddexp2 = formula(np.logaddexp2, _logaddexp2, -np.inf, 120, _apart, slow=True)
