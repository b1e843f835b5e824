"""Functions that numpy takes from the C library number by number where the processor has no AVX-512: those of float32 by way of float64.

The library's exp and log of float64 take half as long as its functions of float32, and what they give is rounded once.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.common import in_blocks, pick

SLOW = not getattr(import_module("numpy._core._multiarray_umath"), "__cpu_features__", {}).get("AVX512_SKX", False)
"""Whether numpy has no vectors for these functions."""
_MANY = 1 << 9
"""Numbers from which the other way is faster."""
_TINY = np.float32(2e-9)
"""Up to which x is what float32 has for a function that begins with x, and 1 + x loses it in float64."""


def by_double(ufunc: np.ufunc, wide: Callable[[Array], object], begins_with_x: bool) -> Callable[[Any], Any]:
    """Return the kernel of a ufunc; `wide` does the same to an array of float64, in place."""

    def block(x: Array) -> Array:
        work = x.astype(np.float64)
        wide(work)
        found = work.astype(np.float32)
        if begins_with_x:
            tiny = np.abs(x) < _TINY
            return pick(tiny, x, found) if tiny.any() else found
        return found

    def kernel(self: Any) -> Any:
        return in_blocks(block, self) if self.dtype == np.float32 and self.size > _MANY else ufunc(self)

    return kernel if SLOW else ufunc


def _expm1(x: Array) -> None:
    np.exp(x, out=x)
    x -= 1


def _log1p(x: Array) -> None:
    x += 1
    np.log(x, out=x)


def _sinh(x: Array) -> None:
    np.exp(x, out=x)
    x -= 1 / x
    x *= 0.5


def _cosh(x: Array) -> None:
    np.exp(x, out=x)
    x += 1 / x
    x *= 0.5


def _atanh(x: Array) -> None:
    below = 1 - x
    x += 1
    x /= below
    np.log(x, out=x)
    x *= 0.5


expm1 = by_double(np.expm1, _expm1, True)
log1p = by_double(np.log1p, _log1p, True)
sinh = by_double(np.sinh, _sinh, True)
cosh = by_double(np.cosh, _cosh, False)
atanh = by_double(np.arctanh, _atanh, True)
