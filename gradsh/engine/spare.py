"""Which gradient's memory may be written again: that of an array to which nobody refers but the step that has taken it.

A large gradient that is read for the last time gives its memory to the gradient made of it: less to allocate, a lower peak.
"""

from sys import getrefcount
from typing import Any

import numpy as np

from gradsh.engine.dtype import Array
from gradsh.engine.writes import noted

LARGE = 1 << 18
"""Bytes from which it is worth asking."""


def _references(array: Array) -> int:
    return getrefcount(array)


def _when_alone() -> int:
    array = np.empty(1)
    return _references(array)


_ALONE = _when_alone()
"""The references that a function sees to an array which one name of its caller holds: not the same in every Python."""


def spare(gradient: Any) -> Any:
    """Return a gradient that one name of the caller alone holds, and that may be written; else None."""
    if getrefcount(gradient) == _ALONE and gradient.base is None and gradient.flags.writeable and not noted(gradient):
        return gradient
    return None
