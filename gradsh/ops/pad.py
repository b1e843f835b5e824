"""Padding: with a constant, by reflection, by the border's values, around in a circle."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.arguments import applied, with_gradient
from gradsh.ops.copy_cast import fresh
from gradsh.text.fault import fail

# --- constant ---------------------------------------------------------------------------------------------------


def _pairs(pad: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return (before, after) for the padded dims, first dim first; `pad` starts with the last dim."""
    return [(pad[place], pad[place + 1]) for place in range(len(pad) - 2, -1, -2)]


def _constant(self: Array, pad: tuple[int, ...], value: float) -> Array:
    if len(pad) % 2:
        raise fail("value", f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * self.ndim:
        message = (
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {self.ndim} dimensions."
        )
        raise fail("value", message)
    pairs = _pairs(pad)
    lead = self.ndim - len(pairs)
    shape = list(self.shape)
    source: list[Any] = [slice(None)] * self.ndim
    target: list[Any] = [slice(None)] * self.ndim
    for dim, (before, after) in enumerate(pairs, lead):
        extent = self.shape[dim]
        shape[dim] = extent + before + after
        if extent + min(before, 0) + min(after, 0) < 0:
            raise fail("shape", "narrow(): length must be non-negative.")
        source[dim] = slice(max(-before, 0), extent - max(-after, 0))
        target[dim] = slice(max(before, 0), shape[dim] - max(after, 0))
    if all(n <= 0 for n in pad):
        return fresh(self[tuple(source)])
    result = np.full(shape, value, self.dtype)
    if self.dtype.kind == "b":
        result = np.full(shape, bool(value), self.dtype)
    result[tuple(target)] = self[tuple(source)]
    return result


constant_pad_nd: Operation = op(
    "constant_pad_nd(self, pad: tuple, value: number = 0)", "ConstantPadNdBackward0",
    "A border of one value; `pad` has two numbers a dim, the last dim first; negative ones cut off.",
    layout="channels", forward=_constant, spaces=("torch",), grads={
        "self": lambda grad, pad: constant_pad_nd(grad, tuple(-n for n in pad), 0),
    },
    samples=(sample((2, 3), (1, 2)), sample((2, 3), (-1, 1, 0, 2)), sample((2, 3), (1,), rejects="value")),
)

# --- reflection and replication ---------------------------------------------------------------------------------


def _sources(kind: str, extent: int, before: int, after: int) -> Array:
    """Return for each place of a padded dim the place it is read from."""
    places = np.arange(-before, extent + after)
    if kind == "replication":
        return np.clip(places, 0, extent - 1)
    last = extent - 1
    found: Array = last - np.abs(last - np.abs(places))
    return found


def _check(kind: str, self: Array, padding: tuple[int, ...], dims: int) -> None:
    lead = self.ndim - dims
    if len(padding) != 2 * dims:
        raise fail("value", f"padding size is expected to be {2 * dims}")
    if lead not in (1, 2) or any(n == 0 for n in self.shape[1:]):
        message = (
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(self.shape)}"
        )
        raise fail("shape", message)
    for place in range(dims):
        dim = self.ndim - 1 - place
        before, after = padding[2 * place : 2 * place + 2]
        if kind == "reflection" and (before >= self.shape[dim] or after >= self.shape[dim]):
            message = (
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {dim} of input {list(self.shape)}"
            )
            raise fail("shape", message)
        if self.shape[dim] + before + after < 1:
            message = (
                f"input (W: {self.shape[dim]}) is too small. Calculated output W: {self.shape[dim] + before + after}"
            )
            raise fail("shape", message)


def _read(kind: str, self: Array, padding: tuple[int, ...], dims: int) -> Array:
    _check(kind, self, padding, dims)
    pairs = _pairs(padding)
    if min(padding) < 0:
        result = self
        for dim, pair in enumerate(pairs, self.ndim - dims):
            result = np.take(result, _sources(kind, self.shape[dim], *pair), axis=dim)
        return result
    lead = self.ndim - dims
    result = np.empty((*self.shape[:lead], *(n + sum(pair) for n, pair in zip(self.shape[lead:], pairs, strict=True))), self.dtype)
    filled = [slice(None)] * lead + [slice(first, first + n) for n, (first, _) in zip(self.shape[lead:], pairs, strict=True)]
    result[tuple(filled)] = self
    for dim, pair in enumerate(pairs, lead):
        place = tuple(filled[:dim])  # those behind it have no border yet
        for target, source in _borders(kind, self.shape[dim], *pair):
            result[(*place, target, *filled[dim + 1:])] = result[(*place, pair[0] + source, *filled[dim + 1:])]
        filled[dim] = slice(None)
    return result


def _borders(kind: str, extent: int, before: int, after: int) -> Iterator[tuple[int, int]]:
    """Yield the places of a padded dim that are not the input's own, and where they are read from."""
    for place, source in enumerate(_sources(kind, extent, before, after).tolist()):
        if not 0 <= place - before < extent:
            yield place, source


def _write_back(kind: str, grad: Array, shape: tuple[int, ...], padding: tuple[int, ...], dims: int) -> Array:
    """Add the border's gradients to where their values were read, dim by dim."""
    result = grad
    for dim, (before, after) in enumerate(_pairs(padding), len(shape) - dims):
        extent = shape[dim]
        lead: Any = (slice(None),) * dim
        first, last = max(-before, 0), extent - max(-after, 0)
        total = np.zeros((*result.shape[:dim], extent, *result.shape[dim + 1:]), grad.dtype)
        for place, source in _borders(kind, extent, before, after):
            if place < before:
                total[(*lead, source)] += result[(*lead, place)]
        total[(*lead, slice(first, last))] += result[(*lead, slice(first + before, last + before))]
        for place, source in _borders(kind, extent, before, after):
            if place >= before:
                total[(*lead, source)] += result[(*lead, place)]
        result = total
    return result


def _records(kind: str, dims: int) -> Operation:
    """Declare one kind of padding for one number of dims, and its gradient."""
    name = f"{kind}_pad{dims}d"
    return with_gradient(
        f"{name}(self, padding: ints)", f"{name}_backward(grad_output, self, padding: ints)", f"{kind.title()}Pad{dims}D",
        f"Padding by {kind} of the last {dims} dims.", forward=lambda self, padding: _read(kind, self, padding, dims),
        backward=lambda grad_output, self, padding: _write_back(kind, grad_output, self.shape, padding, dims),
        reads="self padding", second=applied(name, "grad padding"),
    )


_RECORDS = {(kind, dims): _records(kind, dims) for kind in ("reflection", "replication") for dims in (1, 2, 3)}

# --- circular ---------------------------------------------------------------------------------------------------


def _circular(input: Tensor, padding: tuple[int, ...]) -> Tensor:
    """Pad by the values of the other end: copies into slices of a fresh tensor, as in PyTorch's graph."""
    dims = len(padding) // 2
    shape = list(input.shape)
    if dims + 2 != len(shape):
        raise fail("value", f"Invalid padding size, expected {2 * (len(shape) - 2)} but got {len(padding)}")
    for place in range(dims):
        dim = dims - place + 1
        before, after = padding[2 * place : 2 * place + 2]
        if before > shape[dim] or after > shape[dim]:
            raise fail("value", "Padding value causes wrapping around more than once.")
        if shape[dim] + before + after < 0:
            raise fail("value", "Negative padding value is resulting in an empty dimension")
        shape[dim] += before + after
    cut, copy = find("slice"), find("copy_")
    result = find("new_empty")(input, tuple(shape))
    target, source = result, input
    for place in range(dims):
        dim = dims - place + 1
        before, after = padding[2 * place : 2 * place + 2]
        target = cut(target, dim, max(before, 0), shape[dim] - max(after, 0))
        source = cut(source, dim, max(-before, 0), input.shape[dim] - max(-after, 0))
    copy(target, source)
    for place in range(dims):
        dim = dims - place + 1
        before, after = padding[2 * place : 2 * place + 2]
        end = shape[dim] - max(after, 0)
        if before > 0:
            copy(cut(result, dim, 0, before), cut(result, dim, end - before, end))
        if after > 0:
            start = max(before, 0)
            copy(cut(result, dim, shape[dim] - after, shape[dim]), cut(result, dim, start, start + after))
    return result


# --- the function -----------------------------------------------------------------------------------------------

_KINDS = {"reflect": "reflection", "replicate": "replication"}


_SUPPORTED = """Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def _pad(input: Tensor, pad: tuple[int, ...], mode: str, value: float | None) -> Tensor:
    padding = tuple(pad)
    if len(padding) % 2:
        raise fail("value", "Padding length must be divisible by 2")
    ndim = len(input.shape)
    if len(padding) > 2 * ndim:
        message = (
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(padding)} and input of dimension {ndim}"
        )
        raise fail("value", message)
    if mode == "constant":
        return constant_pad_nd(input, padding, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise fail("value", f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(padding) // 2
    if mode == "circular" and len(padding) % 2 == 0 and dims in (1, 2, 3) and ndim in (dims + 1, dims + 2):
        return _circular(input, padding)
    if len(padding) % 2 == 0 and dims in (1, 2, 3) and ndim in (dims + 1, dims + 2):
        kind = _KINDS.get(mode)
        if kind is not None:
            return _RECORDS[kind, dims](input, padding)
        if mode != "circular":
            raise fail("value", f"Unrecognised padding mode {mode}", NotImplementedError)
    message = f"Padding size {len(padding)} is not supported for {ndim}D input tensor.\n{_SUPPORTED}"
    raise fail("value", message, NotImplementedError)


pad = composite(
    "pad(input, pad: tuple, mode: str = 'constant', value: number? = None)",
    "A border around the input: constant, reflect, replicate or circular.", _pad, ("F",),
    note="`pad` has two numbers a dim, the last dim first. Reflection and replication save the input.",
)
