"""The shrinking functions on floats: what lies outside [-lambd, lambd], what is brought nearer to 0, and their gradient."""

from functools import partial

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.common import as_integers, chained, gated, with_sign

_LARGE = 1 << 12
"""Elements from which blocks are faster."""


def outside(self: Array, lambd: float) -> Array:
    """Return x where -lambd <= x <= lambd does not hold, 0 elsewhere."""
    if self.size <= _LARGE:
        return gated(self, ~((self >= -lambd) & (self <= lambd)))
    return chained(partial(_outside, lambd), self)


def _outside(lambd: float, out: Array, work: Array, self: Array) -> None:
    """Numbers of one sign are ordered as their bits are, and nan is above all."""
    (bits, found, mask), rest, last = as_integers(self, out, work)
    edge = np.asarray(lambd, self.dtype).view(bits.dtype) & rest if lambd >= 0 else bits.dtype.type(-1)
    np.bitwise_and(bits, rest, out=mask)
    np.subtract(edge, mask, out=mask)
    np.right_shift(mask, last, out=mask)
    np.bitwise_and(bits, mask, out=found)


def gradient(grad: Array, self: Array, lambd: float) -> Array:
    """Return the gradient where |x| > lambd holds, 0 elsewhere."""
    return chained(partial(_gradient, lambd), grad, self)


def _gradient(lambd: float, out: Array, work: Array, grad: Array, self: Array) -> None:
    (bits, found, mask), _, _ = as_integers(grad, out, work)
    np.copyto(mask, np.greater(np.abs(self, out=work), lambd))
    np.multiply(bits, mask, out=found)


def nearer(self: Array, lambd: float) -> Array:
    """Return x less what of it lies within [-lambd, lambd]; a zero has the sign of x."""
    return chained(partial(_nearer, lambd), self)


def _nearer(lambd: float, out: Array, work: Array, self: Array) -> None:
    np.clip(self, -lambd, lambd, out=out)
    np.subtract(self, out, out=out)
    with_sign(out, self)
