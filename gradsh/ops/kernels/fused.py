"""Products to which a number is added before they are rounded: what PyTorch's vectorized CPU kernels compute by `fmadd`.

float32 goes by float64, where a product of two is exact, and is rounded twice in one of 2^29 cases; a large array times a number
goes by BLAS's axpy, where the processor has the instruction. float64 goes by what its product and sum lose.
"""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.engine.values.exact import product_error, sum_error
from gradsh.ops.kernels.common import apart, as_integers, chained, mix
from gradsh.process.lapack import AXPY, axpy

_MANY, _TOO_MANY = 1 << 12, 1 << 16
"""Elements from which calling BLAS pays; from which a product of two arrays is rounded all the same: not to takes three times as long."""


def fused(a: Array, b: Any, c: Array) -> Array:
    """Return a * b + c, floats rounded once. The arrays have one dtype and broadcast; `b` may be a number."""
    if not isinstance(b, np.ndarray):
        if c.dtype == np.float32 and c.size < _MANY:
            return np.asarray((a * np.float64(np.float32(b)) + c).astype(np.float32))
        if _by_blas(a, b, c):
            return accumulate(c.copy(), a, b)
    if c.dtype.kind != "f" or max(a.size, c.size) >= _TOO_MANY:
        return np.add(a * b, c)
    return _rounded(a, np.asarray(b, c.dtype), c)


def accumulate(target: Array, a: Array, b: Any) -> Array:
    """Add a * b to an array of that shape, floats rounded once; return the array. `b` may be a number."""
    if isinstance(b, np.ndarray) or not _by_blas(a, b, target):
        if target.size < _TOO_MANY:
            target[...] = fused(a, b, target)
        else:
            target += a * b
        return target
    row, factors, whole = target.reshape(-1), a.reshape(-1), a.size - a.size % AXPY
    axpy(target.dtype.char)(b, factors[:whole], row[:whole])  # type: ignore[misc]  # it is there
    if whole < a.size:
        row[whole:] = _rounded(factors[whole:], row.dtype.type(b), row[whole:])
    return target


def _by_blas(a: Array, b: Any, c: Array) -> bool:
    """Whether BLAS adds a multiple of `a` to `c`."""
    return (
        c.size >= _MANY and b != 0 and a.dtype == c.dtype and c.dtype.char in "fd" and a.flags.c_contiguous and c.flags.c_contiguous
        and a.shape == c.shape and axpy(c.dtype.char) is not None
    )


def _rounded(a: Array, b: Any, c: Array) -> Array:
    if c.dtype != np.float64:
        return np.add(np.multiply(a, b, dtype=np.float64), c).astype(c.dtype)
    product = a * b
    total = product + c
    left = product_error(a, b, product) + sum_error(product, c, total)
    return np.where(np.isfinite(left), total + left, total)


def lerp(self: Array, end: Array, weight: Any) -> Array:
    """Return self + weight * (end - self), computed from the nearer end, so that weight 1 gives `end`. Shapes broadcast."""
    if isinstance(weight, np.ndarray):
        weight = weight.astype(self.dtype, copy=False)
        return _lerp(self, end, weight) if self.size < _TOO_MANY else chained(_lerp_large, self, end, weight)
    number = self.dtype.type(weight)
    near = abs(number) < 0.5
    return fused(end - self, number if near else number - 1, self if near else end)


def _lerp(self: Array, end: Array, weight: Array) -> Array:
    far = np.abs(weight) >= 0.5
    return _rounded(end - self, np.where(far, weight - 1, weight), np.where(far, end, self))


def _lerp_large(out: Array, work: Array, self: Array, end: Array, weight: Array) -> None:
    """The same without memory of its own, each product rounded."""
    far, work = np.greater_equal(np.abs(weight, out=out), 0.5), apart(out, work)
    np.copyto(work, far)
    np.subtract(weight, work, out=work)
    work *= np.subtract(end, self, out=out)
    bits, ends, begins = as_integers(out, end, self)
    mix(bits, far.view(np.int8), ends, begins)
    out += work


def addcmul(self: Array, tensor1: Array, tensor2: Array, value: float) -> Array:
    """Return self + value * tensor1 * tensor2, whose last product is not rounded. Shapes broadcast."""
    return fused(tensor1 if value == 1 else tensor1 * self.dtype.type(value), tensor2, self)


def addcdiv(self: Array, tensor1: Array, tensor2: Array, value: float) -> Array:
    """Return self + value * tensor1 / tensor2, from left to right. Shapes broadcast."""
    return np.add(self, (tensor1 if value == 1 else tensor1 * self.dtype.type(value)) / tensor2)
