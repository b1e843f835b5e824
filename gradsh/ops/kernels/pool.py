"""Pooling of arrays over any number of trailing dims: greatest values with their places, and averages."""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array, NumpyDType
from gradsh.text.fault import fail


class PoolWindow:
    """How a pooling window walks over the trailing dims: a number for each in every field, and the extents that result."""

    __slots__ = ("dilation", "extents", "kernel", "out", "padding", "stride")

    def __init__(
        self, extents: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
        dilation: tuple[int, ...], ceil_mode: bool,
    ) -> None:
        self.extents = extents
        self.kernel = kernel
        self.stride = stride or kernel
        self.padding = padding
        self.dilation = dilation
        rows = zip(extents, kernel, self.stride, padding, dilation, strict=True)
        self.out = tuple(_extent(*row, ceil_mode) for row in rows)

    def disjoint(self) -> bool:
        """Whether no element belongs to two windows."""
        return all(
            s >= d * (k - 1) + 1 for s, k, d in zip(self.stride, self.kernel, self.dilation, strict=True)
        )

    def bordered(self, x: Array, value: float) -> Array:
        """Return the array with a border of `value` as wide as the windows reach."""
        after = [
            max((out - 1) * s + d * (k - 1) + 1 - n - p, 0)
            for n, k, s, p, d, out in zip(
                self.extents, self.kernel, self.stride, self.padding, self.dilation, self.out, strict=True)
        ]
        if not any(self.padding) and not any(after):
            return x
        lead = x.shape[: x.ndim - len(after)]
        shape = tuple(n + p + a for n, p, a in zip(self.extents, self.padding, after, strict=True))
        whole = np.full(lead + shape, value, x.dtype)
        whole[self.inner()] = x
        return whole

    def inner(self) -> Any:
        """Return the index of the input within its bordered array."""
        return (..., *(slice(p, p + n) for p, n in zip(self.padding, self.extents, strict=True)))

    def places(self) -> Any:
        """Return for each place of the window the index of what all windows meet there, in the bordered array."""
        for place in np.ndindex(*self.kernel):
            rows = zip(place, self.dilation, self.stride, self.out, strict=True)
            yield (..., *(slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in rows))

    def starts(self) -> list[Array]:
        """Return for each dim where the windows begin, counted in the input."""
        return [np.arange(n) * s - p for n, s, p in zip(self.out, self.stride, self.padding, strict=True)]


def _extent(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    out = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
    return out - 1 if ceil_mode and (out - 1) * s >= n + p else out


def lowest(dtype: NumpyDType) -> float:
    """Return the least value of a dtype."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


# --- max --------------------------------------------------------------------------------------------------------


def max_pool(x: Array, window: PoolWindow) -> tuple[Array, Array]:
    """Return the greatest value of each window and its index in the flattened dims; the first of several."""
    whole = window.bordered(x, lowest(x.dtype))
    best: Any = None
    for place in window.places():
        best = whole[place].copy() if best is None else np.maximum(best, whole[place], out=best)
    if not best.size:
        return best, np.zeros(best.shape, np.int64)
    if not np.isfinite(best).all() or (x.dtype.kind != "f" and whole is not x):
        return best, _flat_index(_careful(whole, window), window)
    places = list(window.places())
    which = np.full(best.shape, len(places) - 1, np.int16)
    for number in range(len(places) - 2, -1, -1):
        which -= (whole[places[number]] == best) * (which - np.int16(number))
    return best, _flat_index(which, window)


def _careful(whole: Array, window: PoolWindow) -> Array:
    """Choose the place in each window as PyTorch does: the first greatest within the input, the last nan."""
    valid = window.bordered(np.ones(window.extents, np.bool_), False)
    best = None
    which: Any = None
    for number, place in enumerate(window.places()):
        candidate, inside = whole[place], np.broadcast_to(valid[place], whole[place].shape)
        if best is None:
            best = np.full(candidate.shape, lowest(whole.dtype), whole.dtype)
            which = np.full(candidate.shape, -1, np.int16)
        better = inside & ((candidate > best) | np.isnan(candidate) | (which < 0))
        best = np.where(better, candidate, best)
        which = np.where(better, np.int16(number), which)
    return np.maximum(which, 0)


def _flat_index(which: Array, window: PoolWindow) -> Array:
    """Turn places within windows into indices of the flattened input."""
    steps = [int(np.prod(window.extents[dim + 1 :])) for dim in range(len(window.extents))]
    offsets = np.array([
        sum(k * d * step for k, d, step in zip(place, window.dilation, steps, strict=True))
        for place in np.ndindex(*window.kernel)
    ], np.int64)
    base: Any = np.zeros((), np.int64)
    for start, step in zip(window.starts(), steps, strict=True):
        base = np.add.outer(base, start * step)
    found: Array = np.take(offsets, which) + base
    return found


def scatter_indices(grad: Array, indices: Array, shape: tuple[int, ...], dims: int, disjoint: bool) -> Array:
    """Add each gradient at its index in the flattened last `dims` dims of an array of zeros."""
    lead = int(np.prod(shape[: len(shape) - dims]))
    area = int(np.prod(shape[len(shape) - dims :]))
    where = indices.reshape(lead, -1) + np.arange(lead)[:, None] * area
    if disjoint:
        flat = np.zeros(lead * area, grad.dtype)
        flat[where.reshape(-1)] = grad.reshape(-1)
    else:
        flat = np.bincount(where.reshape(-1), grad.reshape(-1), lead * area).astype(grad.dtype)
    return flat.reshape(shape)


# --- averages ---------------------------------------------------------------------------------------------------


def divisors(window: PoolWindow, include_pad: bool, override: int | None) -> int:
    """Return what the sums are divided by: a number, or an array over the places where windows differ."""
    if override is not None:
        return override
    total: Any = np.ones((), np.int64)
    for start, k, n, p in zip(window.starts(), window.kernel, window.extents, window.padding, strict=True):
        end = np.minimum(start + k, n + p)
        size = end - start if include_pad else np.minimum(end, n) - np.maximum(start, 0)
        total = np.multiply.outer(total, size)
    first = total.reshape(-1)[0] if total.size else 1
    return int(first) if (total == first).all() else total


def avg_pool(x: Array, window: PoolWindow, divisor: int) -> Array:
    """Return the average of each window."""
    whole = window.bordered(x, 0)
    total: Any = None
    for place in window.places():
        total = whole[place].copy() if total is None else np.add(total, whole[place], out=total)
    return (total / divisor).astype(x.dtype, copy=False)


def spread_average(grad: Array, window: PoolWindow, divisor: int) -> Array:
    """Return the gradient of the averages: each spread evenly over its window."""
    share = (grad / divisor).astype(grad.dtype, copy=False)
    lead = grad.shape[: grad.ndim - len(window.extents)]
    whole = window.bordered(np.zeros(lead + window.extents, grad.dtype), 0)
    for place in window.places():
        whole[place] += share
    return np.ascontiguousarray(whole[window.inner()])


# --- adaptive ---------------------------------------------------------------------------------------------------


def stretches(extent: int, out: int) -> list[tuple[int, int]]:
    """Return where the windows begin and end that divide an extent into `out` parts, as even as may be."""
    return [(i * extent // out, -((-(i + 1) * extent) // out)) for i in range(out)]


def adaptive_avg(x: Array, out: tuple[int, ...]) -> Array:
    """Return the averages of the parts, dim by dim."""
    result = x
    for place, extent in enumerate(out):
        axis = x.ndim - len(out) + place
        parts = [
            np.add.reduce(_cut(result, axis, a, b), axis=axis, keepdims=True) / result.dtype.type(b - a)
            for a, b in stretches(x.shape[axis], extent)
        ]
        result = np.concatenate(parts, axis) if parts else _cut(result, axis, 0, 0)
    return np.array(result, x.dtype)


def adaptive_avg_backward(grad: Array, shape: tuple[int, ...], dims: int) -> Array:
    """Return the gradient of the averages of the parts."""
    result = grad
    for axis in range(len(shape) - dims, len(shape)):
        wide = np.zeros((*result.shape[:axis], shape[axis], *result.shape[axis + 1 :]), grad.dtype)
        for place, (a, b) in enumerate(stretches(shape[axis], result.shape[axis])):
            _cut(wide, axis, a, b)[...] += _cut(result, axis, place, place + 1) / grad.dtype.type(b - a)
        result = wide
    return result


def _cut(x: Array, axis: int, start: int, end: int) -> Array:
    index: Any = (slice(None),) * axis + (slice(start, end),)
    part: Array = x[index]
    return part


def adaptive_max(x: Array, out: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the greatest value of each part and its index in the flattened dims; the first, or the last nan."""
    dims = len(out)
    lead = x.shape[: x.ndim - dims]
    extents = x.shape[x.ndim - dims :]
    values = np.empty(lead + out, x.dtype)
    indices = np.empty(lead + out, np.int64)
    numbers = np.arange(int(np.prod(extents))).reshape(extents)
    parts = [stretches(n, o) for n, o in zip(extents, out, strict=True)]
    for place in np.ndindex(*out):
        cut: Any = tuple(slice(*parts[dim][i]) for dim, i in enumerate(place))
        flat = x[(..., *cut)].reshape(*lead, -1)
        which = np.argmax(flat, -1)
        if x.dtype.kind == "f" and np.isnan(flat).any():
            nans = np.isnan(flat)
            last = flat.shape[-1] - 1 - np.argmax(nans[..., ::-1], -1)
            which = np.where(nans.any(-1), last, which)
        values[(..., *place)] = np.take_along_axis(flat, which[..., None], -1)[..., 0]
        indices[(..., *place)] = numbers[cut].reshape(-1)[which]
    return values, indices


def check_pool(x: Array, window: PoolWindow, dims: int) -> None:
    """Refuse windows that PyTorch refuses."""
    for k, p, d in zip(window.kernel, window.padding, window.dilation, strict=True):
        if p < 0:
            raise fail("value", f"pad must be non-negative, but got pad: {p}", RuntimeError)
        if p > ((k - 1) * d + 1) // 2:
            message = (
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
            raise fail("value", message, RuntimeError)
    if any(n < 1 for n in window.out):
        planes = x.shape[-dims - 1]
        shown = ["x".join(str(n) for n in (planes, *some)) for some in (window.extents, window.out)]
        message = f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
        raise fail("shape", message, RuntimeError)


def check_input(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> None:
    """Refuse inputs without a plane to pool, and windows that do not walk."""
    dims = len(kernel)
    message = ""
    if x.ndim not in (dims + 1, dims + 2):
        message = f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input"
    elif any(n == 0 for n in x.shape[-dims - 1 :]):
        message = (
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(x.shape)}"
        )
    if message:
        raise fail("shape", message, RuntimeError)
    if any(k <= 0 for k in kernel):
        letters = ("T", "H", "W")[3 - dims :]
        shown = " ".join(f"k{letter}: {k}" for letter, k in zip(letters, kernel, strict=True))
        raise fail("value", f"kernel size should be greater than zero, but got {shown}", RuntimeError)
    if any(s <= 0 for s in stride):
        raise fail("value", "stride should not be zero", RuntimeError)
    if any(d <= 0 for d in dilation):
        raise fail("value", "dilation should be greater than zero, but got dilation", RuntimeError)
