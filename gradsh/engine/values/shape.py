"""Arithmetic on shapes: wrapping dimensions, broadcasting, and summing a gradient back to a shape."""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


def wrap_dim(dim: int, ndim: int) -> int:
    """Return `dim` counted from the front; a negative one counts from the back.

    Raises IndexError with PyTorch's sentence when out of range. A 0-d tensor accepts -1 and 0.
    """
    extent = max(ndim, 1)
    if -extent <= dim < extent:
        return dim % extent
    message = f"Dimension out of range (expected to be in range of [{-extent}, {extent - 1}], but got {dim})"
    raise fail("index", message, IndexError, dim=dim, ndim=ndim)


def wrap_dims(dims: tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return several dims counted from the front (all of them for None or ()); refuses one named twice."""
    if not dims:
        return tuple(range(ndim))
    wrapped = tuple(wrap_dim(dim, ndim) for dim in dims)
    for place, dim in enumerate(wrapped):
        if dim in wrapped[:place]:
            raise fail("value", f"dim {dim} appears multiple times in the list of dims")
    return wrapped if ndim else ()


def broadcast_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common shape of two operands; raises RuntimeError with PyTorch's sentence where there is none."""
    if a == b:
        return a
    ndim = max(len(a), len(b))
    left = (1,) * (ndim - len(a)) + a
    right = (1,) * (ndim - len(b)) + b
    result = []
    for dim in range(ndim - 1, -1, -1):
        x, y = left[dim], right[dim]
        if x not in (y, 1) and y != 1:
            message = (
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {dim}"
            )
            raise fail("shape", message, shapes=(a, b), dim=dim)
        result.append(y if x == 1 else x)
    return tuple(reversed(result))


def expandable(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a tensor of `shape` can be broadcast to `target`."""
    if len(shape) > len(target):
        return False
    return all(x in (y, 1) for x, y in zip(reversed(shape), reversed(target), strict=False))


def check_written_shape(target: tuple[int, ...], shape: tuple[int, ...], **details: object) -> None:
    """Refuse to write what broadcasts to `shape` into a tensor of the shape `target`, unless it fits."""
    if not expandable(shape, target):
        message = f"output with shape {list(target)} doesn't match the broadcast shape {list(shape)}"
        raise fail("shape", message, RuntimeError, shapes=(target, shape), **details)


def sum_axes(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims of `shape` over which a gradient is summed to become one of shape `target`."""
    lead = len(shape) - len(target)
    return tuple(range(lead)) + tuple(
        lead + dim for dim, extent in enumerate(target) if extent == 1 and shape[lead + dim] != 1
    )


def sum_to(grad: Array, target: tuple[int, ...]) -> Array:
    """Sum an array down to the shape it was broadcast from; a sum lies in row-major order."""
    if not target:
        return np.asarray(np.add.reduce(grad, axis=None))  # of its own, where others are views of a sum that kept its dims
    axes = sum_axes(grad.shape, target)
    summed: Any = np.add.reduce(grad, axis=axes, keepdims=True) if axes else grad
    if axes and not summed.flags.c_contiguous:
        summed = np.ascontiguousarray(summed)
    return summed if summed.shape == target else summed.reshape(target)  # type: ignore[no-any-return]


def at_dim(values: tuple[int, ...], dim: int, name: str = "size") -> int:
    """Return the size or stride of a dimension; a tensor without dimensions has none, also by -1."""
    if not isinstance(dim, int):
        raise TypeError(f"{name}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")
    if not values:
        raise fail("index", f"Dimension specified as {dim} but tensor has no dimensions", IndexError, dim=dim, ndim=0)
    return values[wrap_dim(dim, len(values))]
