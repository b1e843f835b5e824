"""Memory that a write and what it reads share in ways that would make the result depend on the order of elements."""

from collections.abc import Iterable

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import in_dtype
from gradsh.engine.values.storage import stands_for_zeros
from gradsh.text.fault import fail


def check_distinct(target: Array) -> None:
    """Refuse to write into an expanded tensor, whose elements share memory, or into one that stands for zeros.

    Raises RuntimeError with PyTorch's sentence.
    """
    check_not_zeros(target)
    if 0 in target.strides and target.size:
        steps = zip(target.shape, target.strides, strict=True)
        if any(extent > 1 and step == 0 for extent, step in steps):
            message = (
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )
            raise fail("other", message)


def check_not_zeros(target: Array) -> None:
    """Refuse to write into an array that stands for zeros, as the gradient of `sgn` does.

    Raises RuntimeError with PyTorch's sentence.
    """
    if stands_for_zeros(target):
        message = "ZeroTensors are immutable. Please use the materialized zero tensor obtained using .clone() if you want a mutable tensor."
        raise fail("other", message)


def check_apart(target: Array, inputs: Iterable[object]) -> None:
    """Refuse inputs that overlap the written tensor in part (`x[1:] += x[:-1]`); the very same elements are fine.

    As in PyTorch, only tensors whose elements lie densely in memory are looked at.
    Raises RuntimeError with PyTorch's sentence.
    """
    for one in inputs:
        if type(one) is list:
            check_apart(target, one)
        elif isinstance(one, np.ndarray) and one is not target and np.may_share_memory(target, one):
            if _same(target, one) or not (dense(target) and dense(one)):
                continue
            raise _shared()


def check_outside(target: Array, source: Array) -> None:
    """Refuse a source that is the written tensor, or stands in its memory at all where both lie densely."""
    if source is target or (np.may_share_memory(target, source) and dense(target) and dense(source)):
        raise _shared()


_MOST = 1 << 14
"""Elements that are written one by one; more of them at once, as numpy does."""


def reads_what_it_writes(target: Array, source: Array) -> bool:
    """Whether a write may read elements that it has written before. Of many elements PyTorch defines no order either."""
    return target.size <= _MOST and np.may_share_memory(target, source) and not _same(target, source)


def write_in_order(target: Array, places: Array, source: Array) -> None:
    """Write into the elements at places (as `target.flat` counts) one after the other, as PyTorch does."""
    given = np.broadcast_to(in_dtype(source, target.dtype), places.shape)
    for index in np.ndindex(places.shape):
        target.flat[places[index]] = given[index]


def overlaps(array: Array) -> bool:
    """Whether two places may be one element: steps too small to keep them apart."""
    if array.flags.forc:
        return False
    reach = 0
    for step, extent in sorted(zip(array.strides, array.shape, strict=True)):
        if extent > 1:
            if step <= reach:
                return True
            reach += step * (extent - 1)
    return False


def is_same_view(target: Array, source: Array) -> bool:
    """Whether two arrays are the very same elements in the same places: there is nothing to copy."""
    return bool(
        target.dtype == source.dtype and target.shape == source.shape and target.strides == source.strides
        and target.__array_interface__["data"][0] == source.__array_interface__["data"][0] and np.may_share_memory(target, source)
    )


def _shared() -> Exception:
    message = (
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
        "memory location. Please clone() the tensor before performing the operation."
    )
    return fail("other", message)


def _same(a: Array, b: Array) -> bool:
    """Whether two tensors cover the same stretch of memory in the same order."""
    start = a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    return bool(start and a.shape == b.shape and a.nbytes == b.nbytes and _steps(a) == _steps(b))


def _steps(array: Array) -> list[int]:
    return [step for step, extent in zip(array.strides, array.shape, strict=True) if extent > 1]


def dense(array: Array) -> bool:
    """Whether the elements fill a stretch of memory without gaps, in whatever order of dimensions."""
    if array.flags.forc:
        return True
    step = array.itemsize
    for stride, extent in sorted(zip(array.strides, array.shape, strict=True)):
        if extent != 1:
            if stride != step:
                return False
            step *= extent
    return True
