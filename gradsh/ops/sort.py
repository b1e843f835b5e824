"""Order along a dimension: sort, topk, kthvalue, median, mode, quantile."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, int64
from gradsh.engine.values.layout import in_order, order_of
from gradsh.engine.values.reduced import REDUCED
from gradsh.engine.values.shape import wrap_dim
from gradsh.ops.extrema import at_indices, chosen, nonzero_extent, selected_grad, shared_evenly
from gradsh.ops.kernels.common import unsupported
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.topk_ties import top_places
from gradsh.ops.reduction import broadcast_pair
from gradsh.ops.scalars import minus, times
from gradsh.text.fault import fail

# --- sort -------------------------------------------------------------------------------------------------------


def order(self: Array, axis: int, descending: bool) -> Array:
    """Return the stable order of the elements along an axis; nan counts as the largest."""
    if not descending:
        return np.argsort(self, axis=axis, kind="stable")
    turned = np.argsort(np.flip(self, axis), axis=axis, kind="stable")
    return np.flip(self.shape[axis] - 1 - turned, axis)


def _sort(self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    axis = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    places = order(self, axis, descending)
    return _as_laid_out(self, np.take_along_axis(self, places, axis)), _as_laid_out(self, places)


def _as_laid_out(self: Array, result: Array) -> Array:
    """Return the result in the memory order of `self`, as PyTorch's sort does."""
    return in_order(result, order_of(self.shape, [self]))


@writes(2)
def _sort_grad(grad: ArrayOrTensor, dim: int, indices: ArrayOrTensor, self_sizes: tuple[int, ...]) -> ArrayOrTensor:
    return at_indices(grad, dim, indices, self_sizes)


op(
    "sort(self, dim: int = -1, descending: bool = False)", "SortBackward0", "The elements in order along a dimension, and where.",
    forward=_sort, fields=("values", "indices"), grads={"self": _sort_grad}, samples=(sample((2, 4), 1), sample((2, 4), 0, True)),
    note="Of equal elements the first comes first; in PyTorch their order depends on the processor unless "
         "`stable=True`.",
)
op(
    "sort(self, *, stable: bool?, dim: int = -1, descending: bool = False)", "SortBackward1",
    "The elements in order along a dimension, and where.",
    forward=lambda self, stable, dim, descending: _sort(self, dim, descending), fields=("values", "indices"),
    grads={"self": _sort_grad}, samples=(sample((2, 4), stable=True, dim=1),),
)
composite(
    "argsort(self, dim: int = -1, descending: bool = False)", "The order of the elements along a dimension.",
    lambda self, dim, descending: find("sort")(self, dim, descending)[1],
)
composite(
    "argsort(self, *, stable: bool, dim: int = -1, descending: bool = False)", "The order of the elements along a dimension.",
    lambda self, stable, dim, descending: find("sort")(self, stable=stable, dim=dim, descending=descending)[1],
)
composite("msort(self)", "The elements in order along the first dimension.", lambda self: find("sort")(self, 0)[0],
          samples=(sample((3, 2)),))

# --- a few of them ----------------------------------------------------------------------------------------------


_GROUPED = 64
"""From rows of so many times as many elements as are wanted on, groups of them are faster than sorting."""


def _topk(self: Array, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    axis = wrap_dim(dim, self.ndim)
    extent = self.shape[axis] if self.ndim else 1
    if self.dtype == np.bool_:
        raise fail("dtype", "topk does not support bool dtypes on CPU", RuntimeError)
    if not 0 <= k <= extent:
        raise fail("index", "selected index k out of range", RuntimeError, k=k, extent=extent)
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    rows = np.ascontiguousarray(np.moveaxis(self, axis, -1))
    ordered = _first_places(rows, min(k + 1, extent), largest)
    places = ordered[..., :k].copy()
    if k:
        _break_ties(rows, np.take_along_axis(rows, ordered, -1), places, largest)
    places = np.ascontiguousarray(np.moveaxis(places, -1, axis))
    return np.take_along_axis(self, places, axis), places


def _first_places(rows: Array, count: int, descending: bool) -> Array:
    """Return the first places of the order of each row, equal elements in any order.

    Long rows fall into groups. The first elements lie in the groups whose own first ones come first.
    """
    extent = rows.shape[-1]
    if count * _GROUPED > extent:
        return _sorted_places(rows, count, descending)
    size = math.isqrt(extent // count)
    groups = extent // size
    leading = rows[..., : size * groups].reshape(*rows.shape[:-1], size, groups)
    best = (np.maximum if descending else np.fmin).reduce(leading, axis=-2)  # nan is the largest
    first = _first_places(best, count, descending)
    places = (first[..., None, :] + groups * np.arange(size)[:, None]).reshape(*rows.shape[:-1], -1)
    rest = np.broadcast_to(np.arange(size * groups, extent), (*rows.shape[:-1], extent - size * groups))
    places = np.concatenate([places, rest], axis=-1)
    found = _sorted_places(np.take_along_axis(rows, places, -1), count, descending)
    return np.take_along_axis(places, found, -1)


def _sorted_places(rows: Array, count: int, descending: bool) -> Array:
    places = np.argsort(rows, axis=-1)
    return places[..., : -count - 1 : -1] if descending else places[..., :count]


def _break_ties(rows: Array, first: Array, places: Array, largest: bool) -> None:
    """Where rows have equal elements among the first (one more than asked for), take those that PyTorch takes."""
    lower, upper = first[..., :-1], first[..., 1:]
    ties = np.logical_or.reduce((lower == upper) | (np.isnan(lower) & np.isnan(upper)), axis=-1)
    for where in np.argwhere(ties):
        at = tuple(where)
        places[at] = top_places(rows[at], places.shape[-1], largest)


op(
    "topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True)", "TopkBackward0",
    "The k largest (or smallest) elements along a dimension, and where.", forward=_topk, fields=("values", "indices"),
    grads={"self": _sort_grad}, samples=(sample((2, 4), 2), sample((2, 4), 1, 0, False), sample((2, 4), 9, rejects="index")),
)


def _kth(self: Array, axis: int, place: Array | int, keepdim: bool) -> tuple[Array, Array]:
    """Return the element at a place of the order along an axis (one place, or one for each slice)."""
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    if isinstance(place, np.ndarray) and place.size and (place == place.flat[0]).all():
        place = int(place.flat[0])
    if isinstance(place, np.ndarray):
        return chosen(self, np.take_along_axis(order(self, axis, False), place, axis), axis, keepdim)
    return chosen(self, _ranked(self, axis, place)[0], axis, keepdim)


_MANY = 1 << 9
"""Elements from which it pays not to put all in order."""


def _ranked(self: Array, axis: int, place: int) -> tuple[Array, Array]:
    """Return which elements are at a place of the stable order along an axis, and where others equal them."""
    if self.size < _MANY:
        places = np.take(order(self, axis, False), [place], axis)
        return places, np.add.reduce(self == np.take_along_axis(self, places, axis), axis=axis, keepdims=True) > 1
    rows = np.moveaxis(self, axis, -1).reshape(-1, self.shape[axis])
    equal = rows == np.partition(rows, place, axis=1)[:, place, None]
    counts, found = np.count_nonzero(equal, axis=1), equal.argmax(1)
    other = counts != 1  # some that tie, or none: nan
    if other.any():
        found[other] = order(rows[other], 1, False)[:, place]
    shape = (*self.shape[:axis], 1, *self.shape[axis + 1 :])
    return found.reshape(shape), (counts > 1).reshape(shape)


def _kthvalue(self: Array, k: int, dim: int, keepdim: bool) -> tuple[Array, Array]:
    axis = wrap_dim(dim, self.ndim)
    extent = self.shape[axis] if self.ndim else 1
    nonzero_extent("kthvalue", self, axis)
    if not 1 <= k <= extent:
        message = f"kthvalue(): selected number k out of range for dimension {axis}"
        raise fail("index", message, RuntimeError, k=k, extent=extent)
    _no_bool("kthvalue_cpu", self)
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    return chosen(self, _kth_places(self, axis, k - 1), axis, keepdim)


def _no_bool(kernel: str, self: Array) -> None:
    if self.dtype == np.bool_:
        raise unsupported(kernel, self)


def _kth_places(self: Array, axis: int, k: int) -> Array:
    """Return where the k-th smallest elements are; of those that tie the one that PyTorch's quick selection meets."""
    places, ties = _ranked(self, axis, k)
    for where in np.argwhere(ties):
        row = tuple(slice(None) if place == axis else index for place, index in enumerate(where))
        places[tuple(where)] = _quick_select(self[row], k)
    return places


def _quick_select(row: Array, k: int) -> int:
    """Follow PyTorch's quick selection (pivot: the median of three), swap by swap."""
    values, places = row.tolist(), list(range(len(row)))

    def above(a: Any, b: Any) -> bool:
        return bool((a != a and b == b) or a > b)  # noqa: PLR0124  (nan is the largest)

    def swap(a: int, b: int) -> None:
        values[a], values[b] = values[b], values[a]
        places[a], places[b] = places[b], places[a]

    low, high = 0, len(values) - 1
    while high > low:
        if high == low + 1:
            if above(values[low], values[high]):
                swap(low, high)
            break
        swap(low + (high - low) // 2, low + 1)
        for a, b in ((low + 1, high), (low, high), (low + 1, low)):
            if above(values[a], values[b]):
                swap(a, b)
        left, right = _partition(values, low, high, above, swap)
        if right <= k:
            low = left
        if right >= k:
            high = right - 1
    return places[k]


def _partition(values: Sequence[object], low: int, high: int, above: Any, swap: Any) -> tuple[int, int]:
    left, right, pivot = low + 1, high, values[low]
    while True:
        left += 1
        while above(pivot, values[left]):
            left += 1
        right -= 1
        while above(values[right], pivot):
            right -= 1
        if right < left:
            break
        swap(left, right)
    swap(low, right)
    return left, right


op(
    "kthvalue(self, k: int, dim: int = -1, keepdim: bool = False)", "KthvalueBackward0",
    "The k-th smallest element along a dimension, and where.", forward=_kthvalue, fields=("values", "indices"),
    grads={"self": selected_grad}, samples=(sample((2, 4), 2), sample((2, 4), 1, 0, True)),
)


def _middle(self: Array, axis: int, skip_nan: bool) -> Array | int:
    """Return the place of the lower median in each slice; the last place (nan) where a nan counts."""
    count = self.shape[axis]
    if self.dtype.kind != "f":
        return (count - 1) // 2
    nans = np.add.reduce(np.isnan(self), axis=axis, keepdims=True, dtype=np.int64)
    if skip_nan:
        return np.maximum((count - nans - 1) // 2, 0)
    return np.where(nans > 0, count - nans, (count - 1) // 2)


def _declare_median(name: str, skip_nan: bool, doc: str) -> None:
    node = name.capitalize()

    def whole(self: Array) -> Array:
        _no_bool("median_cpu", self)
        if self.size == 0:
            return np.asarray(np.nan, self.dtype) if self.dtype.kind == "f" else np.zeros((), self.dtype)
        flat = self.reshape(-1)
        place = int(np.asarray(_middle(flat, 0, skip_nan)).reshape(()))
        return np.asarray(np.partition(flat, place)[place])

    def along(self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        axis = wrap_dim(dim, self.ndim)
        nonzero_extent("median", self, axis)
        _no_bool("median_out", self)
        return _kth(self, axis, _middle(self, axis, skip_nan) if self.ndim else 0, keepdim)

    op(f"{name}(self)", f"{node}Backward0", doc, forward=whole, grads={"self": writes(1)(shared_evenly)}, samples=(sample((2, 3)),),
       note="Saves self and result: elements that tie share the gradient evenly.")
    op(
        f"{name}(self, dim: int, keepdim: bool = False)", f"{node}Backward1", doc, forward=along, fields=("values", "indices"),
        grads={"self": selected_grad}, samples=(sample((2, 3), 1), sample((2, 3), 0, True)),
        note="Saves only the indices: the one returned gets the whole gradient.",
    )


_declare_median("median", False, "The middle element (of an even number the lower of the two).")
_declare_median("nanmedian", True, "The middle element, nan left aside.")


def _mode(self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    axis = wrap_dim(dim, self.ndim)
    nonzero_extent("mode", self, axis)
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    moved = np.moveaxis(self, axis, -1)
    rows = moved.reshape(-1, self.shape[axis])
    indices = np.asarray([_mode_of_row(row) for row in rows], np.int64).reshape(moved.shape[:-1])
    return chosen(self, np.expand_dims(indices, axis), axis, keepdim)


def _mode_of_row(row: Array) -> int:
    """Return the last place of the most frequent value, the smallest of those that tie."""
    values, counts = np.unique(row, return_counts=True, equal_nan=False)
    most = values[np.argmax(counts)]  # equal_nan=False: each nan counts for itself, as in PyTorch
    places = np.nonzero(row == most)[0]
    return int(places[-1]) if places.size else int(np.nonzero(np.isnan(row))[0][0])


op(
    "mode(self, dim: int = -1, keepdim: bool = False)", "ModeBackward0", "The most frequent value along a dimension, and where.",
    forward=_mode, fields=("values", "indices"), grads={"self": selected_grad}, samples=(sample((2, 4)),),
)

# --- quantiles --------------------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile_checks(self: Tensor, q: object, interpolation: str) -> None:
    array, levels = array_of(self), array_of(q)
    if array.size == 0:
        raise fail("shape", "quantile() input tensor must be non-empty", RuntimeError)
    if levels.ndim > 1:
        raise fail("shape", "quantile() q must be a scalar or 1D tensor", RuntimeError)
    if array.dtype.kind != "f" or array.dtype in REDUCED:
        raise fail("dtype", "quantile() input tensor must be either float or double dtype", RuntimeError)
    if array.dtype != levels.dtype:
        raise fail("dtype", "quantile() q tensor must be same dtype as the input tensor", RuntimeError)
    if interpolation not in _INTERPOLATIONS:
        message = f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        raise fail("value", message, RuntimeError)
    if not ((levels >= 0) & (levels <= 1)).all():
        raise fail("value", "quantile() q values must be in the range [0, 1]", RuntimeError)


def _ranks(ordered: Tensor, q: object, skip_nan: bool, interpolation: str) -> Tensor:
    """Return the places, with fractions, of the quantiles in the ordered values; that of a nan where one counts."""
    nans = find("isnan")(ordered)
    if skip_nan:
        count = find("sum")(find("logical_not")(nans), (-1,), True)
        ranks = q * minus(count, 1)
        ranks = find("masked_fill_")(ranks, ranks < 0, 0)
    else:
        last = ordered.shape[-1] - 1
        ranks, found = broadcast_pair(times(q, last), find("any")(nans, -1, True))
        ranks = find("masked_fill")(ranks, found, last)
    rounding = {"lower": "floor_", "higher": "ceil_", "nearest": "round_"}.get(interpolation)
    return ranks if rounding is None else find(rounding)(ranks)


def _sorted_last(self: Tensor, dim: int | None) -> Tensor:
    sort = find("sort")
    if dim is None:
        return sort(find("flatten")(self))[0]
    if wrap_dim(dim, self.ndim) == self.ndim - 1:
        return sort(self)[0]
    return sort(find("transpose")(find("unsqueeze")(self, -1), wrap_dim(dim, self.ndim), -1))[0]


def _quantile_shape(self: Tensor, dim: int | None, keepdim: bool) -> tuple[int, ...]:
    if dim is not None and self.ndim:
        axis = wrap_dim(dim, self.ndim)
        return tuple(1 if place == axis else n for place, n in enumerate(self.shape) if keepdim or place != axis)
    return (1,) * self.ndim if keepdim else ()


def _quantile(self: Tensor, q: Tensor | float, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool) -> Tensor:
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise fail("value", f"quantile() q must be in the range [0, 1] but got {q:g}", RuntimeError)
        q = make(np.asarray(q, array_of(self).dtype))
    if dim is not None:
        wrap_dim(dim, self.ndim)
    _quantile_checks(self, q, interpolation)
    ordered = _sorted_last(self, dim)
    ordered = find("view")(ordered, (*_quantile_shape(self, dim, keepdim), ordered.shape[-1]))
    values = _interpolated(ordered, _ranks(ordered, q, skip_nan, interpolation), interpolation)
    if array_of(q).ndim == 0:
        return find("squeeze_")(values, -1)
    values = find("transpose_")(find("unsqueeze_")(values, 0), 0, -1)
    return find("squeeze_")(values, -1)


def _interpolated(ordered: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    gather, to = find("gather"), find("to")
    below = to(ranks, int64)
    values = gather(ordered, -1, below)
    if interpolation not in {"linear", "midpoint"}:
        return values
    weights = find("full_like")(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    above = gather(ordered, -1, to(find("ceil_")(ranks), int64))
    return find("lerp_")(values, above, weights)


for _name, _skip in (("quantile", False), ("nanquantile", True)):
    composite(
        f"{_name}(self, q: Operand, dim: int? = None, keepdim: bool = False, *, interpolation: str = 'linear')",
        "The value below which a share q of the elements lies, interpolated between neighbours.",
        lambda self, q, dim, keepdim, interpolation, skip=_skip: _quantile(self, q, dim, keepdim, interpolation, skip),
        samples=(sample((3, 4), 0.4), sample((3, 4), 0.4, 1)),
    )
