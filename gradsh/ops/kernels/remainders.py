"""Kernels of remainders and the quotients beside them, with PyTorch's zeros; of large float32 arrays by a division in float64.

The C library finds a remainder bit by bit, one number after another, which takes ten times as long.
"""


import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.common import chained, pick, with_sign

_FAR = 2.0**27
"""Quotients below it: rounded to float64 they are whole only where they are whole, and times the divisor they are exact."""
_FEW = 512


def fmod(self: Array, other: Array) -> Array:
    """Return the remainder of a division that rounds towards zero."""
    if self.dtype != np.float32 or other.dtype != np.float32 or max(self.size, other.size) <= _FEW:
        return np.fmod(self, other)
    return chained(_write_fmod, *_alike(self, other))


def remainder(self: Array, other: Array) -> Array:
    """Return the remainder of a division that rounds down; where it is zero it has the sign of `self`."""
    if self.dtype.kind != "f":
        return np.remainder(self, other)
    if self.dtype != np.float32 or other.dtype != np.float32 or max(self.size, other.size) <= _FEW:
        found = np.remainder(self, other)
        return found if found.all() else _turned(np.fmod(self, other), other)  # numpy gives zeros the divisor's sign
    return chained(_write_remainder, *_alike(self, other))


def floor_quotient(self: Array, other: Array) -> Array:
    """Return the quotient rounded down."""
    if self.dtype != np.float32 or other.dtype != np.float32 or max(self.size, other.size) <= _FEW:
        return np.floor_divide(self, other)
    return chained(_write_quotient, *_alike(self, other))


def _alike(self: Array, other: Array) -> list[Array]:
    return [self, other] if self.shape == other.shape else list(np.broadcast_arrays(self, other))


def _turned(rest: Array, other: Array) -> Array:
    """Bring remainders to the side of the divisor on which it lies."""
    return pick(np.asarray((rest != 0) & ((rest < 0) != (other < 0))), rest + other, rest)


def _write_fmod(out: Array, work: Array, self: Array, other: Array) -> None:
    del work
    rest = _fmod_block(self, other)
    out[...] = np.fmod(self, other) if rest is None else rest


def _write_remainder(out: Array, work: Array, self: Array, other: Array) -> None:
    del work
    rest = _fmod_block(self, other)
    out[...] = _turned(np.fmod(self, other) if rest is None else rest, other)


def _write_quotient(out: Array, work: Array, self: Array, other: Array) -> None:
    rest = _fmod_block(self, other)
    if rest is None:
        out[...] = np.floor_divide(self, other)
        return
    turned = (rest != 0) & ((rest < 0) != (other < 0))
    np.subtract(self, rest, out=rest)
    rest /= other
    rest -= turned
    np.floor(rest, out=work)
    rest -= work
    work += rest > 0.5  # the division above was rounded
    np.copysign(work, np.divide(self, other, out=rest), out=out)


def _fmod_block(self: Array, other: Array) -> Array | None:
    """Return the remainders of a block; None where numbers are not finite, divisors zero or quotients too far."""
    wide, divisor = self.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        whole = wide / divisor
        np.trunc(whole, out=whole)
        low, high = whole.min(), whole.max()
        whole *= divisor
        rest = np.subtract(wide, whole, out=whole)
    if not (low > -_FAR and high < _FAR) or np.isnan(rest.min()):
        return None
    return with_sign(rest, wide).astype(np.float32)  # those that are zero have lost theirs
