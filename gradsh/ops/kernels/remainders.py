"""Kernels of remainders and the quotients beside them, with PyTorch's zeros; of large float32 arrays by a division in float64.

The C library finds a remainder bit by bit, one number after another, which takes ten times as long.
"""


import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.common import in_blocks, pick, with_sign

_FAR = 2.0**27
"""Quotients below it: rounded to float64 they are whole only where they are whole, and times the divisor they are exact."""
_EXACT = 2.0**22
"""Quotients below it are whole in float32, too, in what the library computes on its way."""
_FEW = 512


def _short(self: Array, other: Array) -> bool:
    return self.dtype != np.float32 or other.dtype != np.float32 or max(self.size, other.size) <= _FEW


def fmod(self: Array, other: Array) -> Array:
    """Return the remainder of a division that rounds towards zero."""
    return np.fmod(self, other) if _short(self, other) else in_blocks(_fmod_block, self, other)


def remainder(self: Array, other: Array) -> Array:
    """Return the remainder of a division that rounds down; where it is zero it has the sign of `self`."""
    if self.dtype.kind != "f":
        return np.remainder(self, other)
    if _short(self, other):
        found = np.remainder(self, other)
        return found if found.all() else _turned(np.fmod(self, other), other)  # numpy gives zeros the divisor's sign
    return in_blocks(_remainder_block, self, other)


def floor_quotient(self: Array, other: Array) -> Array:
    """Return the quotient rounded down."""
    return np.floor_divide(self, other) if _short(self, other) else in_blocks(_quotient_block, self, other)


def _turned(rest: Array, other: Array) -> Array:
    """Bring remainders to the side of the divisor on which it lies."""
    return pick(np.asarray((rest != 0) & ((rest < 0) != (other < 0))), rest + other, rest)


def _divided(self: Array, other: Array, rounding: np.ufunc, far: float) -> tuple[Array, Array | None]:
    """Return the divisor and rounded quotients in float64; None where numbers are not finite, divisors zero or quotients too far."""
    divisor = other.astype(np.float64)
    with np.errstate(all="ignore"):
        whole = self / divisor
        rounding(whole, out=whole)
        sound = np.minimum.reduce(whole, None) > -far and np.maximum.reduce(whole, None) < far
    return divisor, whole if sound else None


def _rest(self: Array, divisor: Array, whole: Array) -> Array | None:
    """Return what a whole quotient leaves; None where it is no number, the divisor being infinite."""
    whole *= divisor
    rest = np.subtract(self, whole, out=whole).astype(np.float32)
    return None if np.isnan(np.minimum.reduce(rest, None)) else rest


def _fmod_block(self: Array, other: Array) -> Array:
    divisor, whole = _divided(self, other, np.trunc, _FAR)
    rest = None if whole is None else _rest(self, divisor, whole)
    return np.fmod(self, other) if rest is None else with_sign(rest, np.broadcast_to(self, rest.shape))  # zeros have lost theirs


def _remainder_block(self: Array, other: Array) -> Array:
    divisor, whole = _divided(self, other, np.floor, _FAR)
    rest = None if whole is None else _rest(self, divisor, whole)
    if rest is None:
        return _turned(np.fmod(self, other), other)
    zero = rest == 0
    if zero.any():
        rest[zero] = np.copysign(0, np.broadcast_to(self, rest.shape)[zero])
    return rest


def _quotient_block(self: Array, other: Array) -> Array:
    whole = _divided(self, other, np.floor, _EXACT)[1]
    return np.floor_divide(self, other) if whole is None else whole.astype(np.float32)
