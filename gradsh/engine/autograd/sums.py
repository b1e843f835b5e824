"""Sums of the gradients that arrive at one place."""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.engine.values.layout import as_operands
from gradsh.engine.values.reduced import REDUCED, cast


def summed(a: Any, b: Any) -> Array:
    """Return the sum of two gradients, laid out in memory as the first one is."""
    found = np.asarray(a + b)
    if a.dtype in REDUCED and b.dtype == a.dtype:
        found = cast(found, a.dtype)
    return found if a.flags.c_contiguous else as_operands(found, [a, b])


def add_into(held: Array, gradient: Any) -> None:
    """Add a gradient to one that is held, in place."""
    if held.dtype in REDUCED:
        held[...] = cast(np.add(held, gradient), held.dtype)
    else:
        np.add(held, gradient, out=held)
