"""Which gradient's memory may be taken over: that of an array to which nobody refers but who asks.

A large gradient that is read for the last time gives its memory to the gradient made of it: less to allocate, a lower peak.
A leaf takes over the array that it is given a view of where the view is all that is left of it.
"""

from sys import getrefcount

import numpy as np

from gradsh.engine.autograd.gradient_versions import noted
from gradsh.engine.values.dtype import Array

LARGE = 1 << 18
"""Bytes from which it is worth asking."""


def _references(array: Array) -> int:
    return getrefcount(array)


def _when_alone() -> int:
    array = np.empty(1)
    return _references(array)


_ALONE = _when_alone()
"""The references that a function sees to an array which one name of its caller holds: not the same in every Python."""


def _references_of_base(view: Array) -> int:
    base = view.base
    return getrefcount(base)


def _when_viewed() -> int:
    return _references_of_base(np.empty((1, 1)).T)


_VIEWED = _when_viewed()


def base_if_unshared(view: Array) -> Array | None:
    """Return the array that `view` is all of, laid as it is, if nobody else can see it: a transpose turned back. Else None."""
    base = view.base
    if type(base) is not np.ndarray or getrefcount(base) != _VIEWED or base.base is not None or not base.flags.writeable:
        return None
    return base if base.shape == view.shape and base.strides == view.strides and base.dtype == view.dtype else None


def donatable(gradient: Array) -> Array | None:
    """Return a gradient that one name of the caller alone holds, and that may be written; else None."""
    if getrefcount(gradient) == _ALONE and gradient.base is None and gradient.flags.writeable and not noted(gradient):
        return gradient
    return None
