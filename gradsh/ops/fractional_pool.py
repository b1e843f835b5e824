"""Fractional max pooling: windows of one size, whose random steps lead to a wanted extent."""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.arguments import no_gradient, with_gradient, words
from gradsh.ops.kernels.common import unsupported
from gradsh.ops.kernels.pool import scatter_indices
from gradsh.ops.pool import _gathered
from gradsh.text.fault import fail

_GIVEN = "kernel_size: ints, output_size: ints"
_SIZES = {2: "tuple of Ints", 3: "tuple of three Ints"}
_AXES = ("time", "height", "width")


def _call(dims: int) -> str:
    """Return how PyTorch's messages call the kernel."""
    return f"fractional_max_pool{dims}d" + ("_out()" if dims == 3 else "()")


def _check_input(self: Array, dims: int, kernel: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if self.ndim not in (dims + 1, dims + 2):
        raise fail("shape", f"{_call(dims)}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(self.shape)}")
    empty = next((dim for dim in range(self.ndim - dims - 1, self.ndim) if self.shape[dim] == 0), None)
    if empty is not None:
        message = (
            f"{_call(dims)}: Expected input to have non-zero size for non-batch dimensions, but got{list(self.shape)} with dimension "
            f"{empty} being empty."
        )
        raise fail("shape", message)
    for axis, size, out, extent in zip(_AXES[-dims:], kernel, wanted, self.shape[-dims:], strict=True):
        if out + size - 1 > extent - (dims == 3):  # in three dims PyTorch wants a place to be left over
            raise fail("shape", f"{_call(dims)}: pool {axis} {size} too large relative to input {axis} {extent}")


def _check_samples(self: Array, samples: Array, dims: int) -> None:
    message = ""
    if samples.dtype != self.dtype:
        message = "Expect _random_samples to have the same dtype as input"
    elif samples.ndim != 3:
        message = f"Expect _random_samples to have 3 dimensions, got {samples.ndim}"
    elif samples.shape[0] < (self.shape[0] if self.ndim == dims + 2 else 1):
        message = "Expect _random_samples.size(0) no less then input batch size."
    elif samples.shape[1] != self.shape[-dims - 1]:
        message = "Expect _random_samples.size(1) equals to input channel size."
    elif samples.shape[2] != dims:
        message = f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}."
    if message:
        raise fail("shape", message)
    if self.dtype.kind != "f":
        raise unsupported(f"fractional_max_pool{dims}d_out_frame", self)


def _starts(samples: Array, extent: int, out: int, kernel: int) -> Array:
    """Return where the windows of one dim begin, a row for each sample; the last one ends where the input does."""
    last = extent - kernel
    if out <= 1:
        return np.full((len(samples), out), last)
    step = samples.dtype.type(last) / samples.dtype.type(out - 1)
    places = (np.arange(out, dtype=samples.dtype) + samples[:, None]) * step
    starts = places.astype(np.int64) - (samples * step).astype(np.int64)[:, None]
    starts[:, -1] = last
    return starts


def _places(self: Array, samples: Array, kernel: tuple[int, ...], wanted: tuple[int, ...], dims: int) -> Array:
    """Return, for each plane and window, where its elements are in the flattened plane."""
    extents = self.shape[-dims:]
    rows = samples[: self.shape[0] if self.ndim == dims + 2 else 1].reshape(-1, dims)
    if dims == 2:
        rows = rows[:, ::-1]  # PyTorch's first sample is the width's
    found: Any = np.zeros((len(rows), *(1,) * (2 * dims)), np.int64)
    for dim, (extent, out, size) in enumerate(zip(extents, wanted, kernel, strict=True)):
        inside = _starts(rows[:, dim], extent, out, size)[:, :, None] + np.arange(size)
        shape = [len(rows), *(1,) * (2 * dims)]
        shape[1 + dim], shape[1 + dims + dim] = out, size
        found = found * extent + inside.reshape(shape)
    return found.reshape(len(rows), *wanted, math.prod(kernel))


def _greatest(values: Array) -> Array:
    """Return where the greatest value of each window is: the first one, or the last that is no number."""
    place = values.argmax(-1)
    strange = np.isnan(values)
    last = values.shape[-1] - 1 - strange[..., ::-1].argmax(-1)
    return np.where(strange.any(-1), last, place)


def _records(dims: int) -> Operation:
    """Declare the pooling in `dims` dims, with indices, and its gradient."""
    name = f"fractional_max_pool{dims}d"

    def forward(self: Array, kernel: tuple[int, ...], wanted: tuple[int, ...], samples: Array) -> tuple[Array, Array]:
        _check_input(self, dims, kernel, wanted)
        _check_samples(self, samples, dims)
        places = _places(self, samples, kernel, wanted, dims)
        planes = self.reshape(len(places), math.prod(self.shape[-dims:]))
        values = np.take_along_axis(planes, places.reshape(len(places), math.prod(places.shape[1:])), 1).reshape(places.shape)
        chosen = _greatest(values)[..., None]
        shape = (*self.shape[:-dims], *wanted)
        return tuple(np.take_along_axis(one, chosen, -1).reshape(shape) for one in (values, places))  # type: ignore[return-value]

    return with_gradient(
        f"_{name}(self, {_GIVEN}, random_samples)", f"{name}_backward(grad_output, self, {_GIVEN}, indices)", f"FractionalMaxPool{dims}D",
        "Greatest value of each window, and its index.", forward=forward, layout="contiguous", reads=f"self {words(_GIVEN)} result1",
        backward=lambda grad_output, self, kernel_size, output_size, indices: scatter_indices(
            grad_output, indices, self.shape, dims, False
        ),
        second=lambda grad, indices: _gathered(grad, indices, dims),
    )


_RECORDS = {dims: _records(dims) for dims in (2, 3)}


def _full(value: Any, dims: int, name: str, what: str) -> tuple[int, ...]:
    found = (value,) * dims if isinstance(value, int) else tuple(value)
    if len(found) == 1:
        found *= dims
    if len(found) != dims or (not isinstance(value, int) and len(value) != dims):
        raise fail("value", f"{name}: {what} must either be a single Int or {_SIZES[dims]}")
    return found


def _extents(input: Tensor, output_size: int | tuple[int, ...] | None, ratio: Any, dims: int, name: str) -> Any:
    """Return the wanted extents: those given, or the input's times a ratio."""
    if output_size is not None:
        return output_size
    if ratio is None:
        raise fail("value", f"{name} requires specifying either an output_size or an output_ratio", ValueError)
    if dims == 2 and isinstance(ratio, (int, float)):
        way = f"give a number for each dim: {(ratio, ratio)}"
        raise fail("type", f"object of type '{type(ratio).__name__}' has no len()", TypeError, way=way)
    if dims == 2 and len(ratio) > 2:
        raise fail("value", f"{name} requires output_ratio to either be a single Int or tuple of Ints.", ValueError)
    ratios = (ratio,) * dims if isinstance(ratio, (int, float)) else ratio
    return [int(input.size(dim - dims) * ratios[dim]) for dim in range(dims)]


def _pooled(
    dims: int, input: Tensor, kernel_size: int | tuple[int, ...], output_size: int | tuple[int, ...] | None,
    ratio: tuple[float, ...] | None, samples: Any,
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{dims}d"
    wanted = _extents(input, output_size, ratio, dims, name)
    if samples is None:
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        samples = find("rand")(batch, input.size(-dims - 1), dims, dtype=input.dtype)
    no_gradient(samples, "random_samples", name)
    kernel = _full(kernel_size, dims, name, "kernel_size")
    return _RECORDS[dims](input, kernel, _full(wanted, dims, name, "output_size"), samples)


def _declare(dims: int, shape: tuple[int, ...]) -> None:
    text = "input, kernel_size: any, output_size: any? = None, output_ratio: any? = None, return_indices: bool = False"

    def pool(
        input: Tensor, kernel_size: int | tuple[int, ...], output_size: int | tuple[int, ...] | None,
        ratio: tuple[float, ...] | None, return_indices: bool, samples: object,
    ) -> Tensor | tuple[Tensor, Tensor]:
        found = _pooled(dims, input, kernel_size, output_size, ratio, samples)
        return found if return_indices else found[0]

    def both(input: Tensor, kernel_size: Any, output_size: Any, ratio: Any, return_indices: bool, samples: Any) -> object:
        del return_indices
        return _pooled(dims, input, kernel_size, output_size, ratio, samples)

    note = "Where each window begins is random, from `_random_samples` in [0, 1) or drawn; windows may overlap."
    composite(
        f"fractional_max_pool{dims}d({text}, _random_samples: Tensor? = None)", "Greatest value of each window; random steps lead to "
        "`output_size`, or to the input's extents times `output_ratio`.", pool, ("F",), samples=(sample(shape, 2, 2),), note=note,
    )
    composite(
        f"fractional_max_pool{dims}d_with_indices({text}, _random_samples: Tensor? = None)",
        "Greatest value of each window and its index; random steps lead to the wanted extents.", both, ("F",), note=note,
    )


_declare(2, (1, 2, 5, 4))
_declare(3, (1, 1, 4, 5, 4))
