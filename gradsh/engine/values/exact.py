"""What float64 sums and products lose when they are rounded, exactly."""

from typing import Any

import numpy as np

Doubles = np.ndarray[Any, np.dtype[np.float64]]
_SPLIT = 134217729.0
"""2 ** 27 + 1: a number times this tells its upper half of digits."""


def sum_error(a: Doubles, b: Doubles, total: Doubles) -> Doubles:
    """Return what a+b has beyond its rounded `total`, exactly (Knuth)."""
    gained = total - a
    return (a - (total - gained)) + (b - gained)


def product_error(a: Doubles, b: Doubles, product: Doubles) -> Doubles:
    """Return what a·b has beyond its rounded `product`, exactly where nothing overflows or underflows (Dekker)."""
    ah, al = _split(a)
    bh, bl = _split(b)
    return ((ah * bh - product) + ah * bl + al * bh) + al * bl


def _split(a: Doubles) -> tuple[Doubles, Doubles]:
    scaled = a * _SPLIT
    high = scaled - (scaled - a)
    return high, a - high
