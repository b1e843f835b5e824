"""Reading and writing along one dimension at index tensors: gather, scatter, index_add and their family."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradsh.engine.dtype import Array, of_numpy
from gradsh.engine.op import composite, find, op, sample
from gradsh.engine.shape import wrap_dim
from gradsh.ops.geometry import array_of
from gradsh.ops.index import zeros_of_shape
from gradsh.ops.scalars import times
from gradsh.text.fault import fail

# --- checks and coordinates -------------------------------------------------------------------------------------


def _check_index(name: str, self: Array, dim: int, index: Array) -> int:
    """Check dtype, dimensions and bounds of an index of gather or scatter; return the wrapped dim."""
    if index.dtype.kind not in "iu" or index.dtype.itemsize < 4:
        if index.size:
            raise fail("dtype", f"{name}(): Expected dtype int32/int64 for index", RuntimeError)
    place = wrap_dim(dim, self.ndim)
    if index.size == 0:
        return place
    if max(index.ndim, 1) != max(self.ndim, 1):
        what = "Index tensor must have the same number of dimensions as " + ("input" if name == "gather" else "self")
        raise fail("shape", f"{what} tensor", RuntimeError, shapes=(self.shape, index.shape))
    return place


def _check_bounds(self: Array, place: int, index: Array) -> None:
    extent = self.shape[place] if self.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= extent):
        bad = next(int(one) for one in index.reshape(-1) if not 0 <= one < extent)
        message = f"index {bad} is out of bounds for dimension {place} with size {extent}"
        raise fail("index", message, RuntimeError)


def _within(index: Array, other: Array, place: int, skip: bool) -> bool:
    return all(a <= b for dim, (a, b) in enumerate(zip(index.shape, other.shape, strict=False)) if not (skip and dim == place))


def _coordinates(index: Array, place: int) -> tuple[Array, ...]:
    """Return the full coordinates in `self` of every element of an index along one dimension."""
    if index.ndim == 0:
        return ()
    grid = list(np.ogrid[tuple(slice(0, extent) for extent in index.shape)])
    grid[place] = index
    return tuple(grid)


def _gather(self: Array, dim: int, index: Array, sparse_grad: bool) -> Array:
    del sparse_grad
    place = _check_index("gather", self, dim, index)
    if index.size == 0:
        return np.zeros(index.shape, self.dtype)
    if not _within(index, self, place, True):
        message = (
            f"Size does not match at dimension {_first_larger(index, self, place)} expected index {list(index.shape)} to be no "
            f"larger than self {list(self.shape)} apart from dimension {place}"
        )
        raise fail("shape", message, RuntimeError, shapes=(self.shape, index.shape))
    _check_bounds(self, place, index)
    if self.ndim == 0 or index.ndim == 0:
        return np.broadcast_to(self.reshape(-1)[index.reshape(-1)].reshape(index.shape), index.shape).copy()
    return np.array(self[_coordinates(index, place)], order="C")


def _first_larger(index: Array, other: Array, place: int) -> int:
    return next(dim for dim in range(index.ndim) if dim != place and index.shape[dim] > other.shape[dim])


gather = op(
    "gather(self, dim: int, index, *, sparse_grad: bool = False)", "GatherBackward0",
    "The elements at an index along one dimension: out[i][j] = self[index[i][j]][j] for dim 0.", forward=_gather,
    grads={
        "self": lambda grad, self, dim, index, sparse_grad: scatter_add(zeros_of_shape(grad, self.shape), dim, index, grad),
    },
    note="Saves `self`, though only its shape is used.",
)


# --- scatter ----------------------------------------------------------------------------------------------------


def _check_source(name: str, self: Array, place: int, index: Array, src: Array | None) -> None:
    if index.size == 0:
        return
    fits = _within(index, self, place, True) and (src is None or _within(index, src, place, False))
    if src is not None and max(src.ndim, 1) != max(index.ndim, 1):
        message = "Index tensor must have the same number of dimensions as src tensor"
        raise fail("shape", message, RuntimeError, shapes=(index.shape, src.shape))
    if not fits:
        message = f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {place}"
        if src is not None:
            message += f" and to be no larger size than src {list(src.shape)}"
        raise fail("shape", message, RuntimeError, shapes=(self.shape, index.shape))
    _check_bounds(self, place, index)


def _scattered(name: str, write: Callable[[Array, Any, Any], None]) -> Callable[..., Array]:
    """Make the kernel of a scatter: `write(out, coordinates, values)` puts the values there."""

    def kernel(self: Array, dim: int, index: Array, src: Any) -> Array:
        place = _check_index(name, self, dim, index)
        values = np.asarray(src)
        number = not isinstance(src, np.ndarray)
        if not number and values.dtype != self.dtype:
            message = f"{name}(): Expected self.dtype to be equal to src.dtype"
            raise fail("dtype", message, RuntimeError)
        _check_source(name, self, place, index, None if number else values)
        out = np.array(self, order="K")
        if index.size == 0:
            return out
        if not number:
            values = values[tuple(slice(0, extent) for extent in index.shape)] if index.ndim else values.reshape(())
        if out.ndim == 0 or index.ndim == 0:
            flat = out.reshape(-1)
            write(flat, (index.reshape(-1),), values.reshape(-1).astype(out.dtype))
            return flat.reshape(self.shape)
        write(out, _coordinates(index, place), values.astype(out.dtype))
        return out

    return kernel


def _write(out: Array, where: Any, values: Array) -> None:
    out[where] = values


_scatter = _scattered("scatter", _write)
scatter = op(
    "scatter(self, dim: int, index, src)", "ScatterBackward0", "A copy with the elements of `src` written at an index along a dimension.",
    forward=_scatter, inplace=True,
    grads={
        "self": lambda grad, dim, index: scatter(grad, dim, index, 0),
        "src": lambda grad, dim, index: gather(grad, dim, index),
    }, saves=("index",),
)
op(
    "scatter(self, dim: int, index, value: number)", "ScatterBackward1", "A copy with a number written at an index along a dimension.",
    forward=_scatter, inplace=True, grads={"self": lambda grad, dim, index: scatter(grad, dim, index, 0)},
)


def _reduced(self: Array, dim: int, index: Array, src: Any, reduce: str) -> Array:
    if reduce not in {"add", "multiply"}:
        raise fail("value", "reduce argument must be either add or multiply.", RuntimeError)
    return (_scatter_add if reduce == "add" else _scatter_multiply)(self, dim, index, src)


_scatter_add = _scattered("scatter_add", np.add.at)
_scatter_multiply = _scattered("scatter", np.multiply.at)
for _kind in ("src", "value: number"):
    op(
        f"scatter(self, dim: int, index, {_kind}, *, reduce: str)", "", "Scatter by adding or multiplying.", forward=_reduced,
        inplace=True, grads={"self": None, **({"src": None} if _kind == "src" else {})},
    )
scatter_add = op(
    "scatter_add(self, dim: int, index, src)", "ScatterAddBackward0", "A copy with the elements of `src` added at an index along a dimension.",
    forward=_scatter_add, inplace=True,
    grads={"self": lambda grad: grad, "src": lambda grad, dim, index: gather(grad, dim, index)},
)


# --- scatter_reduce ---------------------------------------------------------------------------------------------

_REDUCERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "sum": (np.add, lambda dtype: 0), "mean": (np.add, lambda dtype: 0), "prod": (np.multiply, lambda dtype: 1),
    "amax": (np.maximum, lambda dtype: -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min),
    "amin": (np.minimum, lambda dtype: np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max),
}


def _scatter_reduce(self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool) -> Array:
    if reduce not in _REDUCERS:
        message = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        raise fail("value", message, RuntimeError)
    place = _check_index("scatter_reduce", self, dim, index)
    if src.dtype != self.dtype:
        raise fail("dtype", "scatter_reduce(): Expected self.dtype to be equal to src.dtype", RuntimeError)
    _check_source("scatter_reduce", self, place, index, src)
    if index.size == 0:
        return np.array(self, order="K")
    shape = self.shape
    out, index, src = (np.array(one).reshape(-1) if self.ndim == 0 else np.array(one) for one in (self, index, src))
    where = _coordinates(index, place)
    values = src[tuple(slice(0, extent) for extent in index.shape)]
    return _reduce_at(out, where, values, reduce, include_self).reshape(shape)


def _reduce_at(out: Array, where: Any, values: Array, reduce: str, include_self: bool) -> Array:
    ufunc, neutral = _REDUCERS[reduce]
    if not include_self:
        out[where] = neutral(out.dtype)
    ufunc.at(out, where, values)
    if reduce == "mean":
        count = np.full(out.shape, int(include_self), np.int64)
        np.add.at(count, where, 1)
        count = np.maximum(count, 1)
        out = out // count if out.dtype.kind in "iu" else (out / count).astype(out.dtype)
    return out


def _ones_like(value: Any) -> Any:
    return find("ones_like")(value)


def _mask(condition: Any, like: Any) -> Any:
    """Return a comparison's result as numbers of the dtype of `like`, of its kind."""
    return condition.astype(like.dtype) if isinstance(condition, np.ndarray) else find("to")(condition, like.dtype)


def _equals(a: Any, b: Any) -> Any:
    return np.asarray(a == b) if isinstance(a, np.ndarray) else find("eq")(a, b)


class _Along:
    """How a reduction along a dimension reads, adds, reduces and wipes: by gather and scatter, or by whole parts."""

    def __init__(self, read: Any, add: Any, reduce: Any, wipe: Any) -> None:
        self.read = read
        self.add = add
        self.reduce = reduce
        self.wipe = wipe


def _product_gradients(
    way: _Along, grad: Any, self: Any, dim: int, index: Any, src: Any, include_self: bool, result: Any
) -> tuple[Any, Any]:
    where, fill = find("where"), find("masked_fill")
    self_zero, src_zero = _equals(self, 0), _equals(src, 0)
    masked_self = fill(self, self_zero, 1)
    self_result = way.reduce(masked_self, dim, index, src, "prod", include_self=include_self)
    grad_self = grad * self_result / masked_self
    zeros = way.read(way.add(zeros_of_shape(grad, self.shape), dim, index, _mask(src_zero, src)), dim, index)
    single = find("logical_and")(src_zero, _equals(zeros, 1))
    src_result = way.reduce(self, dim, index, fill(src, single, 1), "prod", include_self=include_self)
    grad_src = where(
        single, way.read(grad * src_result, dim, index), way.read(grad * result, dim, index) / fill(src, src_zero, 1)
    )
    return grad_self, grad_src


def _reduce_gradients(
    way: _Along, grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any
) -> tuple[Any, Any]:
    """Return the gradients of scatter_reduce or index_reduce; ties of amax and amin share evenly."""
    if reduce == "sum":
        grad_self, grad_src = grad, way.read(grad, dim, index)
    elif reduce == "prod":
        grad_self, grad_src = _product_gradients(way, grad, self, dim, index, src, include_self, result)
    elif reduce == "mean":
        start = _ones_like(grad) if include_self else zeros_of_shape(grad, grad.shape)
        count = way.add(start, dim, index, _ones_like(src))
        count = find("masked_fill")(count, _equals(count, 0), 1)
        grad_self, grad_src = grad / count, way.read(grad, dim, index) / way.read(count, dim, index)
    else:
        self_is = _mask(_equals(self, result), grad)
        src_is = _mask(_equals(src, way.read(result, dim, index)), grad)
        shared = grad / way.add(self_is, dim, index, src_is)
        grad_self, grad_src = self_is * shared, src_is * way.read(shared, dim, index)
    if not include_self:
        grad_self = way.wipe(grad_self, dim, index, 0)
    return grad_self, grad_src


def _scatter_reduce_backward(
    grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any
) -> tuple[Any, Any]:
    way = _Along(gather, scatter_add, scatter_reduce, scatter)
    return _reduce_gradients(way, grad, self, dim, index, src, reduce, include_self, result)


scatter_reduce = op(
    "scatter_reduce(self, dim: int, index, src, reduce: str, *, include_self: bool = True)", "ScatterReduceBackward0",
    "Reduce the elements of `src` into `self` at an index along a dimension: sum, prod, mean, amax or amin.",
    forward=_scatter_reduce, inplace=True, grads={("self", "src"): _scatter_reduce_backward},
)


# --- index_select and its family --------------------------------------------------------------------------------


def _check_vector(name: str, self: Array, dim: int, index: Array) -> tuple[int, Array]:
    if index.ndim > 1:
        raise fail("shape", f"{name}(): Index is supposed to be a vector", IndexError)
    if index.dtype not in (np.int64, np.int32):
        raise fail("dtype", f"{name}(): Expected dtype int32/int64 for index", RuntimeError)
    place = wrap_dim(dim, self.ndim)
    extent = self.shape[place] if self.ndim else 1
    flat = index.reshape(-1)
    if flat.size and (flat.min() < 0 or flat.max() >= extent):
        raise fail("index", "index out of range in self", IndexError)
    return place, flat


def _index_select(self: Array, dim: int, index: Array) -> Array:
    place, flat = _check_vector("index_select", self, dim, index)
    if self.ndim == 0:
        return np.array(self)
    return np.take(self, flat, axis=place)


def _index_select_backward(grad: Any, self_sizes: Any, dim: int, index: Any) -> Any:
    return index_add(zeros_of_shape(grad, self_sizes), dim, index, grad)


index_select = op(
    "index_select(self, dim: int, index)", "IndexSelectBackward0", "The parts at the given indices of a dimension.",
    forward=_index_select, grads={"self": _index_select_backward},
)


def _at(place: int, index: Array) -> tuple[Any, ...]:
    return (slice(None),) * place + (index,)


def _index_written(name: str, write: Callable[[Array, Any, Any], None]) -> Callable[..., Array]:
    """Make the kernel of index_add or index_copy: `write(out, where, values)`."""

    def kernel(self: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> Array:
        place, flat = _check_vector(name, self, dim, index)
        if source.dtype != self.dtype:
            message = (
                f"{name}(): self ({of_numpy(self.dtype).title}) and source ({of_numpy(source.dtype).title}) must have the same "
                "scalar type" if name != "index_copy" else
                f"index_copy_(): self and source expected to have the same dtype, but got (self) {of_numpy(self.dtype).title} and "
                f"(source) {of_numpy(source.dtype).title}"
            )
            raise fail("dtype", message, RuntimeError)
        _check_parts(name, self, place, flat, source)
        out = np.array(self, order="K")
        values = source if isinstance(alpha, int) and alpha == 1 else (source * alpha).astype(self.dtype)
        if self.ndim == 0:
            one = out.reshape(1)
            write(one, (flat,), values.reshape(-1))
            return one.reshape(())
        if source.ndim == 0:
            values = values.reshape((1,) * self.ndim)
        write(out, _at(place, flat), values)
        return out

    return kernel


def _check_parts(name: str, self: Array, place: int, index: Array, source: Array) -> None:
    count = source.shape[place] if source.ndim else 1
    if count != index.size:
        message = (
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {place}"
            if name != "index_copy" else
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({count})"
        )
        raise fail("shape", message, IndexError if name == "index_copy" else RuntimeError)
    others = [n for dim, n in enumerate(self.shape) if dim != place]
    given = [n for dim, n in enumerate(source.shape) if dim != place]
    if self.ndim and source.ndim and others != given:
        message = f"source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
        raise fail("shape", message, RuntimeError, shapes=(self.shape, source.shape))


def _part(grad: Any, dim: int, index: Any, source: Any, source_dim: int) -> Any:
    """Return the gradient of the source of index_add or index_copy, in its shape."""
    if source_dim == 0:
        return index_select(grad, dim, find("squeeze")(index, 0) if index.ndim else index)
    return find("expand")(index_select(grad, dim, index), tuple(source.shape))


def _added(grad: Any, dim: int, index: Any, source: Any, source_dim: int, alpha: Any) -> Any:
    part = _part(grad, dim, index, source, source_dim)
    return part if isinstance(alpha, int) and alpha == 1 else times(part, alpha)


index_add = op(
    "index_add(self, dim: int, index, source, *, alpha: number = 1)", "IndexAddBackward0",
    "A copy with alpha times the parts of `source` added at the given indices of a dimension.",
    forward=_index_written("index_add", np.add.at), inplace=True,
    grads={"self": lambda grad: grad, "source": _added},
    note="Saves `source` when it needs a gradient, though its values are not used.",
)
index_copy = op(
    "index_copy(self, dim: int, index, source)", "IndexCopyBackward0",
    "A copy with the parts of `source` written at the given indices of a dimension.",
    forward=_index_written("index_copy", _write), inplace=True, saves=("index",),
    grads={"self": lambda grad, dim, index: index_fill(grad, dim, index, 0), "source": _part},
)


def _index_fill(self: Array, dim: int, index: Array, value: Any) -> Array:
    array = np.asarray(value)
    if array.ndim:
        message = f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {array.ndim} dimension(s)."
        raise fail("shape", message, RuntimeError)
    if index.dtype != np.int64:
        raise fail("dtype", "index_fill_(): Expected dtype int64 for index.", IndexError)
    place = wrap_dim(dim, self.ndim)
    out = np.array(self, order="K")
    extent = self.shape[place] if self.ndim else 1
    if index.size and (index.min() < -extent or index.max() >= extent):
        raise fail("index", "index out of range in self", IndexError)
    (out.reshape(1) if self.ndim == 0 else out)[_at(place, index.reshape(-1))] = array.astype(self.dtype)
    return out


def _index_fill_value(grad: Any, dim: int, index: Any) -> Any:
    unique = np.unique(array_of(index))
    part = index_select(grad, dim, unique)
    return np.asarray(part.sum()) if isinstance(part, np.ndarray) else find("sum")(part)


index_fill = op(
    "index_fill(self, dim: int, index, value)", "IndexFillBackward1", "A copy with one value written at the given indices of a dimension.",
    forward=_index_fill, inplace=True, saves=("index",),
    grads={"self": lambda grad, dim, index: index_fill(grad, dim, index, 0), "value": _index_fill_value},
)
op(
    "index_fill(self, dim: int, index, value: number)", "IndexFillBackward0", "A copy with a number written at the given indices.",
    forward=_index_fill, inplace=True, grads={"self": lambda grad, dim, index: index_fill(grad, dim, index, 0)},
)


def _index_reduce(self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool) -> Array:
    if reduce not in {"prod", "mean", "amax", "amin"}:
        message = f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        raise fail("value", message, RuntimeError)
    place, flat = _check_vector("index_reduce", self, dim, index)
    _check_parts("index_reduce", self, place, flat, source)
    out = np.array(self)
    if self.ndim == 0:
        return _reduce_at(out.reshape(1), (flat,), source.reshape(-1), reduce, include_self).reshape(())
    return _reduce_at(out, _at(place, flat), source, reduce, include_self)


def _index_reduce_backward(
    grad: Any, self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool, result: Any
) -> tuple[Any, Any]:
    way = _Along(index_select, index_add, index_reduce, index_fill)
    return _reduce_gradients(way, grad, self, dim, index, source, reduce, include_self, result)


index_reduce = op(
    "index_reduce(self, dim: int, index, source, reduce: str, *, include_self: bool = True)", "IndexReduceBackward0",
    "Reduce the parts of `source` into `self` at the given indices: prod, mean, amax or amin.", forward=_index_reduce,
    inplace=True, grads={("self", "source"): _index_reduce_backward},
)


# --- take, put, masks -------------------------------------------------------------------------------------------


def _flat_index(name: str, self: Array, index: Array) -> Array:
    if index.dtype != np.int64:
        message = f"{name}(): Expected a long tensor for index, but got {of_numpy(index.dtype).title}"
        raise fail("dtype", message, RuntimeError)
    if index.size and not self.size:
        raise fail("index", f"{name}(): tried to take from an empty tensor", IndexError)
    if index.size and (index.min() < -self.size or index.max() >= self.size):
        bad = next(int(one) for one in index.reshape(-1) if not -self.size <= one < self.size)
        message = f"out of range: tried to access index {bad} on a tensor of {self.size} elements."
        raise fail("index", message, IndexError)
    return index


def _put(self: Array, index: Array, source: Array, accumulate: bool) -> Array:
    where = _flat_index("put_", self, index).reshape(-1)
    if source.dtype != self.dtype:
        message = (
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {of_numpy(self.dtype).title} and "
            f"source.dtype = {of_numpy(source.dtype).title}"
        )
        raise fail("dtype", message, RuntimeError)
    if source.size != index.size:
        message = (
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
        raise fail("shape", message, RuntimeError)
    flat = np.array(self).reshape(-1)
    (np.add.at if accumulate else _write)(flat, where, source.reshape(-1))
    return flat.reshape(self.shape)


take = op(
    "take(self, index)", "TakeBackward0", "The elements at indices into the flattened tensor.",
    forward=lambda self, index: np.array(self.reshape(-1)[_flat_index("take", self, index)], order="C"),
    grads={"self": lambda grad, self, index: put(zeros_of_shape(grad, self.shape), index, grad, True)},
)
put = op(
    "put(self, index, source, accumulate: bool = False)", "PutBackward0", "A copy with values at indices into the flattened tensor.",
    forward=_put, inplace=True, saves=("index",), spaces=("torch", "Tensor"),
    grads={
        "self": lambda grad, index, source_sizes, accumulate: grad if accumulate else put(
            grad, index, zeros_of_shape(grad, source_sizes)
        ),
        "source": lambda grad, index, source: find("reshape")(take(grad, index), tuple(source.shape)),
    }, attributes=("accumulate",),
)


def _take_along_dim(self: Any, indices: Any, dim: int | None) -> Any:
    if array_of(indices).dtype not in (np.int64, np.int32):
        message = f"torch.take_along_dim(): dtype of indices should be Long but got {of_numpy(array_of(indices).dtype).title}"
        raise fail("dtype", message, RuntimeError)
    if dim is None:
        return gather(find("reshape")(self, (-1,)), 0, find("reshape")(indices, (-1,)))
    if self.ndim != indices.ndim:
        message = (
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
        raise fail("shape", message, RuntimeError)
    from gradsh.engine.shape import broadcast_shapes

    place = wrap_dim(dim, self.ndim)
    mine, theirs = list(self.shape), list(indices.shape)
    mine[place] = theirs[place]
    common = broadcast_shapes(tuple(mine), tuple(theirs))
    spread = find("expand")(indices, common)
    wide = find("expand")(self, (*common[:place], self.shape[place], *common[place + 1 :]))
    return gather(wide, place, find("remainder")(spread, self.shape[place]))


composite("take_along_dim(self, indices, dim: int? = None)", "The elements at indices along a dimension, with broadcasting.", _take_along_dim)


def _check_mask(name: str, mask: Array) -> None:
    if mask.dtype != np.bool_:
        if mask.dtype == np.uint8 and name == "masked_select":
            return
        message = {
            "masked_select": "masked_select: expected BoolTensor for mask",
            "masked_scatter": f"masked_scatter_ only supports boolean masks, but got mask with dtype {of_numpy(mask.dtype).title}",
        }[name]
        raise fail("dtype", message, RuntimeError)


def _together(a: Array, b: Array) -> tuple[int, ...]:
    from gradsh.engine.shape import broadcast_shapes

    return broadcast_shapes(a.shape, b.shape)


def _masked_select(self: Array, mask: Array) -> Array:
    _check_mask("masked_select", mask)
    shape = _together(self, mask)
    return np.broadcast_to(self, shape)[np.broadcast_to(mask.astype(np.bool_), shape)]


def _masked_select_backward(grad: Any, self: Any, mask: Any) -> Any:
    shape = _together(array_of(self), array_of(mask))
    return masked_scatter(zeros_of_shape(grad, shape), mask, grad)


masked_select = op(
    "masked_select(self, mask)", "MaskedSelectBackward0", "The elements where a mask holds, as a 1-d tensor.",
    forward=_masked_select, grads={"self": _masked_select_backward},
)


def _masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    _check_mask("masked_scatter", mask)
    if source.dtype != self.dtype:
        message = (
            f"masked_scatter: expected self and source to have same dtypes but got {of_numpy(self.dtype).title} and "
            f"{of_numpy(source.dtype).title}"
        )
        raise fail("dtype", message, RuntimeError)
    shape = _together(self, mask)
    out = np.array(np.broadcast_to(self, shape), order="C")
    chosen = np.broadcast_to(mask, shape)
    count = int(np.count_nonzero(chosen))
    if source.size < count:
        raise fail("shape", "Number of elements of source < number of ones in mask", RuntimeError)
    out[chosen] = source.reshape(-1)[:count]
    return out


def _masked_scatter_backward(grad_output: Array, mask: Array, sizes: Sequence[int]) -> Array:
    chosen = grad_output[np.broadcast_to(mask, grad_output.shape)]
    flat = np.zeros(int(np.prod(sizes)), grad_output.dtype)
    flat[: chosen.size] = chosen
    return flat.reshape(tuple(sizes))


masked_scatter = op(
    "masked_scatter(self, mask, source)", "MaskedScatterBackward0", "A copy with the elements of `source`, in order, where a mask holds.",
    forward=_masked_scatter, inplace=True, saves=("mask",),
    grads={
        "self": lambda grad, mask: find("masked_fill")(grad, mask, 0),
        "source": lambda grad, mask, source_sizes: masked_scatter_backward(grad, mask, source_sizes),
    },
)
masked_scatter_backward = op(
    "masked_scatter_backward(grad_output, mask, sizes: ints)", "MaskedScatterBackwardBackward0",
    "The gradient of the source of masked_scatter.", forward=_masked_scatter_backward, spaces=(),
    grads={"grad_output": lambda grad, grad_output_sizes, mask: masked_scatter(zeros_of_shape(grad, grad_output_sizes), mask, grad)},
)


# --- where elements are not zero --------------------------------------------------------------------------------


def _nonzero(self: Array) -> Array:
    if self.ndim == 0:
        return np.zeros((int(bool(self)), 0), np.int64)
    return np.array(np.nonzero(self), np.int64).T  # row by row in memory, as PyTorch lays it out


nonzero_rows = op("argwhere(self)", "", "The indices of the elements that are not zero, one row each.", forward=_nonzero, samples=(sample((3, 4)),))


def _nonzero_forms(self: Any, as_tuple: bool) -> Any:
    if not as_tuple:
        return nonzero_rows(self)
    rows = nonzero_rows(find("unsqueeze")(self, 0) if self.ndim == 0 else self)
    return find("unbind")(rows, 1)


composite(
    "nonzero(self, *, as_tuple: bool = False)", "The indices of the elements that are not zero, one row each or one tensor a dimension.",
    _nonzero_forms,
)
