"""How the result of an operation lies in memory, as its strides show.

An elementwise operation of PyTorch gives its result the order of dimensions of its first operand (of the next one where
that is broadcast), numpy the one on which its operands agree. A reduction's result is always row-major. Pooling and
convolution keep channels last. It matters, because `view` works or fails by it, and `reshape` records other nodes.
"""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array

OPERANDS = "operands"
REVERSED = "reversed"
CHANNELS = "channels"
CONTIGUOUS = "contiguous"
COMPUTED_BY_ELEMENTS = {OPERANDS, REVERSED, CONTIGUOUS}
"""The orders of results of elementwise operations and of reductions, whose derivatives are elementwise."""


def laid(policy: str, outputs: object, arrays: list[Any]) -> Any:
    """Return a kernel's output (or tuple of outputs) in the memory order that a record's `layout` asks for."""
    if type(outputs) is tuple:
        return tuple(laid(policy, one, arrays) for one in outputs)
    if type(outputs) is not np.ndarray or outputs.ndim < 2 or not outputs.size:
        return outputs
    if policy in {OPERANDS, REVERSED}:
        operands = [one for one in arrays if type(one) is np.ndarray and one.ndim]
        return as_operands(outputs, operands if policy == OPERANDS else operands[::-1])
    inputs = arrays[0] if type(arrays[0]) is list else arrays[:1]
    if policy == CHANNELS and outputs.ndim == inputs[0].ndim and all(is_channels_last(one) for one in inputs):
        return in_order(outputs, (0, *range(2, outputs.ndim), 1))
    return outputs if outputs.flags.c_contiguous else np.ascontiguousarray(outputs)


def as_operands(out: Array, operands: list[Array]) -> Array:
    """Return an elementwise result in the order of its operands, the first one first."""
    shape = out.shape
    for one in operands:
        if one.shape != shape:
            break
        if one.flags.c_contiguous:
            return out if out.flags.c_contiguous else np.ascontiguousarray(out)
        break
    return in_order(out, order_of(shape, operands))


def order_of(shape: tuple[int, ...], operands: list[Array]) -> tuple[int, ...]:
    """Return the dims of an elementwise result, the slowest one first: by the operands' strides, the first to tell two
    dims apart deciding (broadcast dims tell nothing).
    """
    steps = [_steps(one, shape) for one in operands]
    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        place = start
        for before in range(start - 1, -1, -1):
            verdict = _slower(order[before], order[place], steps, shape)
            if verdict < 0:
                break
            if verdict > 0:
                order[before], order[place] = order[place], order[before]
                place = before
    return tuple(reversed(order))


def _steps(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return an operand's strides over the result's dims, 0 where it is broadcast."""
    missing = len(shape) - array.ndim
    return (0,) * missing + tuple(
        0 if extent == 1 and whole != 1 else step
        for extent, whole, step in zip(array.shape, shape[missing:], array.strides, strict=True)
    )


def _slower(a: int, b: int, steps: list[tuple[int, ...]], shape: tuple[int, ...]) -> int:
    """Return 1 where dim `a` must lie outside `b`, -1 where inside, 0 where nothing tells."""
    for each in steps:
        x, y = each[a], each[b]
        if not x or not y:
            continue
        if x != y:
            return 1 if x > y else -1
        if shape[a] > shape[b]:
            return 1
    return 0


def is_turned(array: object) -> bool:
    """Whether a value is an array of which some dim lies within one that follows it: its elements are not in row-major order."""
    if type(array) is not np.ndarray or array.ndim < 2 or array.flags.c_contiguous:
        return False
    outer = 0
    for extent, step in zip(array.shape, array.strides, strict=True):
        if extent > 1 and step:
            if step > outer and outer:
                return True
            outer = step
    return False


def disagree(*operands: object) -> bool:
    """Whether operands ask for several orders of memory, one of them not row-major: numpy and PyTorch then choose differently.

    What has one dim, or repeats one number, asks for none.
    """
    telling = [one for one in operands if type(one) is np.ndarray and one.ndim > 1 and any(one.strides)]
    if not any(map(is_turned, telling)):
        return False
    shape, strides = telling[0].shape, telling[0].strides
    return any(one.shape != shape or one.strides != strides for one in telling)


def in_order(out: Array, order: tuple[int, ...]) -> Array:
    """Return an array whose dims lie in memory in an order, the slowest one first; a copy where they do not."""
    turned = out.transpose(order)
    if turned.flags.c_contiguous:
        return out
    back = sorted(range(len(order)), key=order.__getitem__)
    found = np.empty_like(np.empty(turned.shape, out.dtype).transpose(back))  # of its own memory, not a view
    found[...] = out
    return found


def stepped_as(fresh: Array, like: Array) -> Array:
    """Return a new array with the steps of the one it is made like, where that is one element or none, expanded.

    PyTorch's `empty_like` keeps such steps as those of any other tensor without gaps. The memory is no other array's.
    """
    if like.size > 1 or 0 not in like.strides:
        return fresh
    return np.ndarray(like.shape, fresh.dtype, bytearray(fresh.tobytes() or bytes(fresh.itemsize)), 0, like.strides)


def is_channels_last(array: Array) -> bool:
    """Whether images or volumes (N, C, H, W) lie in memory channel by channel within a place, and not row by row too."""
    if type(array) is not np.ndarray or array.ndim not in {4, 5} or array.flags.c_contiguous:
        return False
    return bool(np.moveaxis(array, 1, -1).flags.c_contiguous)


_FAR, _NARROW, _LARGE = 1024, 16, 1 << 16
"""Bytes such that numbers a multiple of them apart drive each other from the cache; how many such are read in a row; elements in all."""


def copy_into(target: Array, source: Array) -> None:
    """Copy an array of the same shape, also a large transpose, of which numpy takes several times as long a time."""
    if source.ndim < 2 or source.size < _LARGE or source.strides[-1] % _FAR or not source.strides[-1]:
        target[...] = source
        return
    for start in range(0, source.shape[-1], _NARROW):
        part = (..., slice(start, start + _NARROW))
        target[part] = source[part]
