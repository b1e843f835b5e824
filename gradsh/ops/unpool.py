"""Max unpooling: greatest values back at their places, zeros elsewhere."""

from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.pool import _gathered, numbers
from gradsh.text.fault import fail


def _records(dims: int) -> Operation:
    def forward(self: Array, indices: Array, output_size: tuple[int, ...]) -> Array:
        if indices.dtype != np.int64:
            raise fail("dtype", "elements in indices should be type int64")
        if self.shape != indices.shape:
            message = (
                f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices "
                f"tensor with shape: {list(indices.shape)}"
            )
            raise fail("shape", message)
        lead = self.shape[: self.ndim - dims]
        area = int(np.prod(output_size))
        flat = indices.reshape(*lead, -1)
        wrong = (flat < 0) | (flat >= area)
        if wrong.any():
            shown = "x".join(str(n) for n in output_size)
            message = f"Found an invalid max index: {int(flat[wrong][0])} (output volumes are of size {shown}"
            raise fail("index", message + (")" if dims == 2 else ""))
        result = np.zeros((*lead, area), self.dtype)
        np.put_along_axis(result, flat, self.reshape(*lead, -1), -1)
        return result.reshape(*lead, *output_size)

    return op(
        f"_max_unpool{dims}d(self, indices, output_size: ints)", f"MaxUnpool{dims}DBackward0",
        "Values put back at their places.", forward=forward, spaces=(), attributes=(),
        grads={"self": lambda grad, indices: _gathered(grad, indices, dims)},
    )


_RECORDS = {dims: _records(dims) for dims in (2, 3)}


def _extents(
    input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], output_size: Any
) -> tuple[int, ...]:
    """Return the extents to restore: the least that the pooling can have come from, or the wanted ones."""
    dims = len(kernel)
    shape = tuple(input.shape)
    least = tuple(
        (shape[dim - dims] - 1) * stride[dim] + kernel[dim] - 2 * padding[dim] for dim in range(dims)
    )
    if output_size is None:
        return least
    wanted = tuple(output_size)
    if len(wanted) == dims + 2:
        wanted = wanted[2:]
    if len(wanted) != dims:
        message = (
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
        raise fail("value", message, ValueError)
    for dim in range(dims):
        low, high = least[dim] - stride[dim], least[dim] + stride[dim]
        if not low < wanted[dim] < high:
            message = f'invalid output_size "{list(wanted)}" (dim {dim} must be between {low} and {high})'
            raise fail("value", message, ValueError)
    return wanted


def _unpool(
    dims: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: object
) -> Tensor:
    name = f"max_unpool{dims}d"
    kernel = numbers(kernel_size, dims, name, "kernel_size")
    steps = kernel if stride is None else numbers(stride, dims, name, "stride")
    extents = _extents(input, kernel, steps, numbers(padding, dims, name, "padding"), output_size)
    if dims > 1:
        return _RECORDS[dims](input, indices, extents)
    unsqueeze = find("unsqueeze")
    wide = _RECORDS[2](unsqueeze(input, -1), unsqueeze(indices, -1), (*extents, 1))
    return find("squeeze")(wide, -1)


def _declare(dims: int) -> None:
    composite(
        f"max_unpool{dims}d(input, indices, kernel_size: sizes, stride: sizes? = None, padding: sizes = 0, "
        "output_size: ints? = None)",
        "The inverse of max pooling as far as there is one: zeros where the values were not greatest.",
        lambda *values: _unpool(dims, *values), ("F",),
    )


for _dims in (1, 2, 3):
    _declare(_dims)
