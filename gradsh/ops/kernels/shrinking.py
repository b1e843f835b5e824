"""The shrinking functions on floats: what lies outside [-lambd, lambd], what is brought nearer to 0, their gradient; the threshold."""

from functools import partial

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.common import LAST, as_integers, chained, gated, keep, with_sign

_LARGE = 1 << 9
"""Elements from which blocks are faster."""


def outside(self: Array, lambd: float) -> Array:
    """Return x where -lambd <= x <= lambd does not hold, 0 elsewhere."""
    if self.size <= _LARGE:
        return gated(self, ~((self >= -lambd) & (self <= lambd)))
    bits, edge = as_integers(self, np.asarray(abs(lambd), self.dtype))
    if not lambd >= 0:
        edge = -np.ones_like(edge)
    return chained(partial(_outside, edge, np.asarray(~(-1 << LAST[bits.dtype]))), bits).view(self.dtype)


def _outside(edge: Array, rest: Array, out: Array, work: Array, bits: Array) -> None:
    """Numbers of one sign are ordered as their bits are, and nan is above all."""
    np.bitwise_and(bits, rest, out=out)
    np.subtract(edge, out, out=out)
    np.right_shift(out, LAST[bits.dtype], out=out)
    np.bitwise_and(out, bits, out=out)


def gradient(grad: Array, self: Array, lambd: float) -> Array:
    """Return the gradient where |x| > lambd holds, 0 elsewhere."""
    return chained(partial(_gradient, lambd), grad, self)


def _gradient(lambd: float, out: Array, work: Array, grad: Array, self: Array) -> None:
    keep(out, np.greater(np.abs(self, out=out), lambd), grad)


def nearer(self: Array, lambd: float) -> Array:
    """Return x less what of it lies within [-lambd, lambd]; a zero has the sign of x."""
    return chained(partial(_nearer, lambd), self)


def _nearer(lambd: float, out: Array, work: Array, self: Array) -> None:
    np.clip(self, -lambd, lambd, out=out)
    np.subtract(self, out, out=out)
    with_sign(out, self, None if work is out else work)


def raised(self: Array, threshold: float, value: float) -> Array:
    """Return x above a threshold of at least 0, elsewhere a number above that."""
    after, found = np.nextafter(self.dtype.type(threshold), np.inf, dtype=self.dtype), np.asarray(value, self.dtype)
    return chained(partial(_raised, after, *as_integers(found)), self)


def _raised(after: Array, value: Array, out: Array, work: Array, self: Array) -> None:
    bits, = as_integers(np.subtract(self, after, out=out))
    np.right_shift(bits, LAST[bits.dtype], out=bits)
    np.bitwise_and(bits, value, out=bits)
    np.maximum(out, self, out=out)
