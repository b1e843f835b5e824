"""Different values and runs, counts in bins, and searches in ordered values."""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.values.dtype import Array, cpp_name, of_numpy
from gradsh.engine.values.named_result import NamedResult, named_result
from gradsh.engine.values.reduced import REDUCED
from gradsh.engine.values.shape import wrap_dim
from gradsh.ops.arguments import underivable
from gradsh.ops.kernels.common import refusing
from gradsh.text.fault import fail

# --- unique values, bins, searches ------------------------------------------------------------------------------


_FEW = 4
"""Integers of a range of so many times their number are counted rather than sorted."""


def _counted(flat: Array) -> tuple[Array, Array, Array] | None:
    """Return the different values, where each element's is among them, and how often each occurs; None but of integers near each other."""
    if flat.dtype.kind != "i" or not flat.size:
        return None
    low, high = int(flat.min()), int(flat.max())
    if high - low >= _FEW * flat.size:
        return None
    above = flat.astype(np.int64) - low
    counts = np.bincount(above)
    found = np.flatnonzero(counts)
    ranks = np.empty(counts.size, np.int64)
    ranks[found] = np.arange(found.size)
    return (found + low).astype(flat.dtype), ranks[above], counts[found]


def _sorted(flat: Array, return_inverse: bool) -> Any:
    """Return the same of any numbers, nan equal to none; the second array means something only if it is wanted."""
    if return_inverse:
        return np.unique(flat, return_inverse=True, return_counts=True, equal_nan=False)
    values, counts = np.unique(flat, return_counts=True, equal_nan=False)
    return values, counts, counts


def _whole(self: Array, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Array, Array, Array]:
    flat = self.reshape(-1)
    values, inverse, counts = _counted(flat) or _sorted(flat, return_inverse)
    nothing = counts[:0]
    return values, inverse.reshape(self.shape) if return_inverse else nothing, counts if return_counts else nothing


def _slices(self: Array, axis: int) -> tuple[Array, Array, Array]:
    if self.ndim == 0:
        return _whole(self, True, True, True)
    values, inverse, counts = np.unique(self, return_inverse=True, return_counts=True, axis=axis)
    return values, inverse.reshape(-1), counts


_unique2 = op(
    "_unique2(self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False)", "Unique2Backward0",
    "The different values, where each element's value is among them, how often each occurs.", forward=_whole,
    grads={"self": underivable("_unique2")}, attributes=(), spaces=("torch",),
)
op(
    "_unique(self, sorted: bool = True, return_inverse: bool = False)", "UniqueBackward0",
    "The different values, and where each element's value is among them.", grads={"self": underivable("_unique")}, attributes=(),
    forward=lambda self, sorted, return_inverse: _whole(self, sorted, return_inverse, False)[:2], spaces=("torch",),
)
unique_dim = op(
    "unique_dim(self, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False)",
    "UniqueDimBackward0", "The different slices along a dimension.",
    forward=lambda self, dim, *flags: _slices(self, wrap_dim(dim, self.ndim)),
    grads={"self": underivable("unique_dim")}, attributes=(), spaces=(),
)


def _picked(found: tuple[Tensor, ...], return_inverse: bool, return_counts: bool) -> object:
    values, inverse, counts = found
    picked = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return picked[0] if len(picked) == 1 else picked


def _unique(self: object, sorted: bool, return_inverse: bool, return_counts: bool, dim: int | None) -> object:
    found = _unique2(self, sorted, return_inverse, return_counts) if dim is None else unique_dim(self, dim)
    return _picked(found, return_inverse, return_counts)


composite(
    "unique(self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int? = None)",
    "The different values in order; on request where each element's value is and how often it occurs.", _unique,
)


def _runs(self: Array, axis: int | None) -> tuple[Array, Array, Array]:
    """Return the first of each run of equal neighbours, the run of each element, and the lengths of the runs."""
    if axis is None:
        flat = self.reshape(-1)
        starts = np.ones(flat.size, np.bool_)
        starts[1:] = flat[1:] != flat[:-1]
        shape: tuple[int, ...] = self.shape
        values = flat[starts]
    else:
        moved = np.moveaxis(self, axis, 0)
        flat2 = moved.reshape(moved.shape[0], math.prod(moved.shape[1:]))
        starts = np.ones(moved.shape[0], np.bool_)
        starts[1:] = (flat2[1:] != flat2[:-1]).any(1)
        shape = (moved.shape[0],)
        values = np.moveaxis(moved[starts], 0, axis)
    inverse = np.add.accumulate(starts, dtype=np.int64) - 1
    return values, inverse.reshape(shape), np.bincount(inverse, minlength=int(starts.sum())).astype(np.int64)


_unique_runs = op(
    "_unique_consecutive(self, dim: int? = None)", "UniqueConsecutiveBackward0", "Runs of equal neighbours.",
    forward=lambda self, dim: _runs(self, None if dim is None else wrap_dim(dim, self.ndim)),
    grads={"self": underivable("unique_consecutive")}, attributes=(), spaces=(),
)
composite(
    "unique_consecutive(self, return_inverse: bool = False, return_counts: bool = False, dim: int? = None)",
    "One of each run of equal neighbours.",
    lambda self, return_inverse, return_counts, dim: _picked(_unique_runs(self, dim), return_inverse, return_counts),
)


def _searchsorted(
    sorted_sequence: Array, self: object, out_int32: bool, right: bool, side: str | None, sorter: Any
) -> ArrayOrTensor:
    if side is not None:
        if side not in {"left", "right"}:
            message = f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
            raise fail("value", message, RuntimeError)
        right = side == "right"
    values = np.asarray(self)
    edges = sorted_sequence if sorter is None else np.take_along_axis(sorted_sequence, sorter, -1)
    where: Any = "right" if right else "left"
    if edges.ndim == 1:
        found = np.searchsorted(edges, values, where)
    else:
        if edges.shape[:-1] != values.shape[:-1]:
            message = (
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                f"tensor and input value tensor must match, but we got boundaries tensor {list(edges.shape)} and input value "
                f"tensor {list(values.shape)}"
            )
            raise fail("shape", message, RuntimeError)
        count = math.prod(edges.shape[:-1])
        rows, wanted = edges.reshape(count, edges.shape[-1]), values.reshape(count, values.shape[-1])
        found = np.asarray([np.searchsorted(a, b, where) for a, b in zip(rows, wanted, strict=True)]).reshape(values.shape)
    return np.asarray(found).astype(np.int32 if out_int32 else np.int64)


op(
    "searchsorted(sorted_sequence, self: Operand, *, out_int32: bool = False, right: bool = False, side: str? = None, "
    "sorter: Tensor? = None)",
    "", "Where each value would be inserted to keep the order.", forward=_searchsorted, spaces=("torch",),
)
op(
    "bucketize(self: Operand, boundaries, *, out_int32: bool = False, right: bool = False)", "",
    "In which bucket between the boundaries each value falls.", spaces=("torch",),
    forward=lambda self, boundaries, out_int32, right: _searchsorted(boundaries, self, out_int32, right, None, None),
)


@refusing("bf", "bincount_cpu")
def _bincount(self: Array, weights: Any, minlength: int) -> Array:
    if self.ndim != 1 or (self.size and self.min() < 0):
        raise fail("value", "bincount only supports 1-d non-negative integral inputs.", RuntimeError)
    if minlength < 0:
        raise fail("value", "minlength should be >= 0", RuntimeError)
    if weights is None:
        return np.bincount(self, minlength=minlength).astype(np.int64)
    if weights.shape != self.shape:
        raise fail("shape", "weights should be 1-d and have the same length as input", RuntimeError)
    kept = weights.dtype if weights.dtype == np.float32 else np.dtype(np.float64)
    return np.bincount(self, weights, minlength).astype(kept)


op("bincount(self, weights: Tensor? = None, minlength: int = 0)", "", "How often each integer occurs.", forward=_bincount,
   grads={"weights": None}, attributes=())


def _histc(self: Array, bins: int, min: Any, max: Any) -> ArrayOrTensor:
    if bins <= 0:
        raise fail("value", "bins must be > 0", RuntimeError)
    if self.dtype.kind != "f":
        title = of_numpy(self.dtype).title
        kernel = "linspace_cpu" if self.dtype == np.bool_ else "histogram_cpu"
        raise fail("dtype", f"\"{kernel}\" not implemented for '{title}'", NotImplementedError)
    low, high = float(min), float(max)
    if low == high and self.size:
        low, high = float(self.min()), float(self.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise fail("value", f"torch.histc: range of [{low:g}, {high:g}] is not finite", RuntimeError)
    if low > high:
        raise fail("value", "max must be larger than min", RuntimeError)
    kind = self.dtype.type
    low, high = kind(low), kind(high)
    values = self[(self >= low) & (self <= high)]
    places = ((values - low) * kind(bins) / (high - low)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(self.dtype)


def _check_histogram(self: Array, bins: Array | int, weight: Array | None) -> None:
    count = bins if isinstance(bins, int) else bins.size - 1
    message = ""
    if not isinstance(bins, int) and bins.ndim != 1:
        message = f"bins tensor should have one dimension, but got {bins.ndim} dimensions in the bins tensor for dimension 0"
    elif not isinstance(bins, int) and bins.dtype != self.dtype:
        given = f"input with dtype {cpp_name(self.dtype)} and bins for dimension 0 with dtype {cpp_name(bins.dtype)}"
        message = f"input tensor and bins tensors should have the same dtype, but got {given}"
    elif not isinstance(bins, int) and not bins.size:
        message = "bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension 0"
    elif weight is not None and weight.shape != self.shape:
        given = f"input with shape {[self.size, 1]} and weight with shape {[weight.size]}"
        same = "the same shape as the input tensor excluding its innermost dimension"
        message = f"if weight tensor is provided it should have {same}, but got {given}"
    elif weight is not None and weight.dtype != self.dtype:
        given = f"input({cpp_name(self.dtype)}), and weight({cpp_name(weight.dtype)})"
        message = f"if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got {given}"
    if message:
        raise fail("value", f"torch.histogramdd: {message}", RuntimeError)
    if count <= 0:
        raise fail("value", f"torch.histogram(): bins must be > 0, but got {count} for dimension 0", RuntimeError)
    if self.dtype.kind != "f" or self.dtype in REDUCED:
        raise fail("dtype", f"\"histogramdd\" not implemented for '{of_numpy(self.dtype).title}'", NotImplementedError)


def _histogram(
    self: Array, bins: Array | int, range: tuple[float, ...] | None, weight: Array | None, density: bool
) -> tuple[Array, Array]:
    """Return the counts (or weights, or densities) and the edges of the bins, which `range` bounds where their number is given."""
    _check_histogram(self, bins, weight)
    values, weights = self.reshape(-1), None if weight is None else weight.reshape(-1)
    if isinstance(bins, int):
        low, high = range if range is not None else (values.min(), values.max()) if values.size else (0.0, 1.0)
        message = f"min should not exceed max, but got min {low:g} max {high:g} for dimension 0" if low > high else ""
        if not (np.isfinite(low) and np.isfinite(high)):
            message = f"dimension 0's range [{low:g}, {high:g}] is not finite"
        if message:
            raise fail("value", f"torch.histogramdd: {message}", RuntimeError)
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, bins + 1).astype(self.dtype)
    else:
        edges = bins
    counts, _ = np.histogram(values, edges, weights=weights, density=density)
    return counts.astype(self.dtype), np.array(edges)


for _bins in ("bins: int, *, range: any? = None", "bins, *"):
    op(
        f"histogram(self, {_bins}, weight: Tensor? = None, density: bool = False)", "", "How many elements fall into each bin; the edges.",
        forward=_histogram if "range" in _bins else lambda self, bins, weight, density: _histogram(self, bins, None, weight, density),
        fields=("hist", "bin_edges"), reduced="own",
    )


def _histogramdd(self: Tensor, bins: Any, range: Any, weight: Tensor, density: bool) -> NamedResult:
    points = self.array.reshape(-1, self.shape[-1])
    sides = [one.array if isinstance(one, Tensor) else one for one in bins] if isinstance(bins, (list, tuple)) else bins
    bounds: Any = None if range is None else np.reshape(range, (-1, 2))
    weights = None if weight is None else weight.array.reshape(-1)
    counts, edges = np.histogramdd(points, sides, bounds, density=density, weights=weights)
    found = (make(counts.astype(self.array.dtype)), tuple(make(one.astype(self.array.dtype)) for one in edges))
    return named_result("histogramdd", ("hist", "bin_edges"), list(found))


composite(
    "histogramdd(self, bins: any, range: any? = None, weight: Tensor? = None, density: bool = False)",
    "How many points fall into each cell of a grid; the edges along each axis.", _histogramdd, ("torch",),
)
op("histc(self, bins: int = 100, min: number = 0, max: number = 0)", "", "How many elements fall into each bin.", forward=_histc)
