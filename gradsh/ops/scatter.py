"""Reading and writing along one dimension element by element: gather, scatter and their family."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import op
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.delayed_error import delayed_error
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.shape import wrap_dim
from gradsh.ops.arguments import zeros_of_shape
from gradsh.ops.kernels.along import placed
from gradsh.text.fault import fail

# --- checks and coordinates -------------------------------------------------------------------------------------


def _check_index(name: str, self: Array, dim: int, index: Array) -> int:
    """Check dtype, dimensions and bounds of an index of gather or scatter; return the wrapped dim."""
    if index.size and (index.dtype.kind not in "iu" or index.dtype.itemsize < 4):
        raise fail("dtype", f"{name}(): Expected dtype int32/int64 for index")
    place = wrap_dim(dim, self.ndim)
    if index.size == 0:
        return place
    if max(index.ndim, 1) != max(self.ndim, 1):
        what = "Index tensor must have the same number of dimensions as " + ("input" if name == "gather" else "self")
        raise fail("shape", f"{what} tensor", shapes=(self.shape, index.shape))
    return place


def _check_bounds(self: Array, place: int, index: Array) -> None:
    extent = self.shape[place] if self.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= extent):
        bad = next(int(one) for one in index.reshape(-1) if not 0 <= one < extent)
        raise fail("index", f"index {bad} is out of bounds for dimension {place} with size {extent}")


def _within(index: Array, other: Array, place: int, skip: bool) -> bool:
    return all(a <= b for dim, (a, b) in enumerate(zip(index.shape, other.shape, strict=False)) if not (skip and dim == place))


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
        raise fail("shape", message, shapes=(self.shape, index.shape))
    _check_bounds(self, place, index)
    if self.ndim == 0 or index.ndim == 0:
        return np.broadcast_to(self.reshape(-1)[index.reshape(-1)].reshape(index.shape), index.shape).copy()
    source, where = placed(self, index, place)
    if isinstance(where, tuple):
        return np.array(source[where], order="C")
    found: Array = source.take(where, mode="wrap")  # the bounds are checked
    return found.reshape(index.shape)


def _first_larger(index: Array, other: Array, place: int) -> int:
    return next(dim for dim in range(index.ndim) if dim != place and index.shape[dim] > other.shape[dim])


gather = op(
    "gather(self, dim: int, index, *, sparse_grad: bool = False)", "GatherBackward0",
    "The elements at an index along one dimension: out[i][j] = self[index[i][j]][j] for dim 0.", forward=_gather,
    grads={
        "self": writes(1)(
            lambda grad, self, dim, index, sparse_grad: scatter_add(zeros_of_shape(grad, self.shape), dim, index, grad)
        ),
    },
    note="Saves `self`, though only its shape is used.",
)


# --- scatter ----------------------------------------------------------------------------------------------------


def _check_source(self: Array, place: int, index: Array, src: Array | None) -> None:
    if index.size == 0:
        return
    fits = _within(index, self, place, True) and (src is None or _within(index, src, place, False))
    if src is not None and max(src.ndim, 1) != max(index.ndim, 1):
        message = "Index tensor must have the same number of dimensions as src tensor"
        raise fail("shape", message, shapes=(index.shape, src.shape))
    if not fits:
        message = f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {place}"
        if src is not None:
            message += f" and to be no larger size than src {list(src.shape)}"
        raise fail("shape", message, shapes=(self.shape, index.shape))
    _check_bounds(self, place, index)


def _scattered(name: str, write: Callable[[Array, Any, Any], None]) -> Callable[..., Array]:
    """Make the kernel of a scatter: `write(out, coordinates, values)` puts the values there."""

    def kernel(self: Array, dim: int, index: Array, src: Array | float) -> Array:
        place = _check_index(name, self, dim, index)
        values = np.asarray(src)
        number = not isinstance(src, np.ndarray)
        if not number and values.dtype != self.dtype:
            raise fail("dtype", "scatter(): Expected self.dtype to be equal to src.dtype")
        _check_source(self, place, index, None if number else values)
        out = np.array(self, order="K")
        if index.size == 0:
            return out
        if not number:
            values = values[tuple(slice(0, extent) for extent in index.shape)] if index.ndim else values.reshape(-1)[:1]
        if out.ndim == 0 or index.ndim == 0:
            write(out.reshape(-1), (index.reshape(-1),), values.reshape(-1).astype(out.dtype))
            return out
        target, where = placed(out, index, place)
        values = values.astype(out.dtype, copy=False)
        write(target, where, values.reshape(-1) if values.ndim and target.ndim == 1 else values)
        return out

    return kernel


def write_at(out: Array, where: Array | tuple[Array, ...], values: Array) -> None:
    """Write values at the given coordinates."""
    out[where] = values


_scatter = _scattered("scatter", write_at)
scatter: Operation = op(
    "scatter(self, dim: int, index, src)", "ScatterBackward0", "A copy with the elements of `src` written at an index along a dimension.",
    layout="contiguous", forward=_scatter, inplace=True,
    grads={
        "self": lambda grad, dim, index: scatter(grad, dim, index, 0),
        "src": lambda grad, dim, index: gather(grad, dim, index),
    }, saves=("index",), forward_mode="linear",
)
op(
    "scatter(self, dim: int, index, value: number)", "ScatterBackward1", "A copy with a number written at an index along a dimension.",
    layout="contiguous", forward=_scatter, inplace=True, grads={"self": lambda grad, dim, index: scatter(grad, dim, index, 0)},
)


def _reduced(self: Array, dim: int, index: Array, src: object, reduce: str) -> Array:
    if reduce not in {"add", "multiply"}:
        raise fail("value", "reduce argument must be either add or multiply.")
    return (_scatter_add if reduce == "add" else _scatter_multiply)(self, dim, index, src)


_scatter_add = _scattered("scatter_add", np.add.at)
_scatter_multiply = _scattered("scatter", np.multiply.at)
for _kind in ("src", "value: number"):
    op(
        f"scatter(self, dim: int, index, {_kind}, *, reduce: str)", "", "Scatter by adding or multiplying.",
        layout="contiguous", forward=_reduced,
        inplace=True, grads={"self": None, **({"src": None} if _kind == "src" else {})},
    )
scatter_add: Operation = op(
    "scatter_add(self, dim: int, index, src)", "ScatterAddBackward0",
    "A copy with the elements of `src` added at an index along a dimension.",
    layout="contiguous", forward=_scatter_add, inplace=True,
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
        raise fail("value", f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    place = _check_index("scatter_reduce", self, dim, index)
    if src.dtype != self.dtype:
        raise fail("dtype", "scatter_reduce(): Expected self.dtype to be equal to src.dtype")
    _check_source(self, place, index, src)
    if index.size == 0:
        return np.array(self, order="K")
    shape = self.shape
    out, index, src = (np.array(one).reshape(-1) if self.ndim == 0 else np.array(one) for one in (self, index, src))
    target, where = placed(out, index, place)
    values = src[tuple(slice(0, extent) for extent in index.shape)]
    values = values.reshape(-1) if target.ndim == 1 else values
    return reduce_at(target, where, values, reduce, include_self).reshape(shape)


def reduce_at(out: Array, where: Array | tuple[Array, ...], values: Array, reduce: str, include_self: bool) -> Array:
    """Reduce `values` into an array at the given coordinates, in place as far as the mean allows; return it."""
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


def _ones_like(value: object) -> ArrayOrTensor:
    return find("ones_like")(value)


def _mask(condition: Array, like: Array) -> Array:
    """Return a comparison's result as numbers of the dtype of `like`, of its kind."""
    return condition.astype(like.dtype) if isinstance(condition, np.ndarray) else find("to")(condition, like.dtype)


def _equals(a: object, b: object) -> Any:
    return np.asarray(a == b) if isinstance(a, np.ndarray) else find("eq")(a, b)


class Along:
    """How a reduction along a dimension reads, adds, reduces and wipes: by gather and scatter, or by whole parts."""

    def __init__(self, read: Any, add: Any, reduce: Any, wipe: Any) -> None:
        self.read = read
        self.add = add
        self.reduce = reduce
        self.wipe = wipe
        self.source = "src" if reduce.name == "scatter_reduce" else "source"


def _product_gradients(
    way: Along, grad: Any, self: Any, dim: int, index: Any, src: Any, include_self: bool, result: object
) -> tuple[object, object]:
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
    if isinstance(grad_src, Tensor) and grad_src.requires_grad and (zeros.detach().array > 1).any():
        message = (
            f"{way.reduce.name}(): Double backward is unsupported for {way.source} when >1 zeros in {way.source} are scattered to "
            "the same position in self"
        )
        (grad_src,) = delayed_error(message, [grad_src])
    return grad_self, grad_src


def reduce_gradients(
    way: Along, grad: Any, self: object, dim: int, index: object, src: object, reduce: str, include_self: bool, result: object
) -> tuple[object, object]:
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
    grad: object, self: object, dim: int, index: object, src: object, reduce: str, include_self: bool, result: object
) -> tuple[object, object]:
    way = Along(gather, scatter_add, scatter_reduce, scatter)
    return reduce_gradients(way, grad, self, dim, index, src, reduce, include_self, result)


scatter_reduce: Operation = op(
    "scatter_reduce(self, dim: int, index, src, reduce: str, *, include_self: bool = True)", "ScatterReduceBackward0",
    "Reduce the elements of `src` into `self` at an index along a dimension: sum, prod, mean, amax or amin.",
    forward=_scatter_reduce, inplace=True, grads={("self", "src"): _scatter_reduce_backward},
)
