"""Reading and writing whole parts at indices of one dimension: index_select, index_add and their family."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import op
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import ArrayOrTensor
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.layout import stepped_as
from gradsh.engine.values.shape import wrap_dim
from gradsh.ops.arguments import zeros_of_shape
from gradsh.ops.kernels.geometry import array_of, beside, contiguous_layout
from gradsh.ops.kernels.row_scatter import add_rows
from gradsh.ops.scalars import times
from gradsh.ops.scatter import Along, reduce_at, reduce_gradients, write_at
from gradsh.text.fault import fail


def _check_vector(name: str, self: Array, dim: int, index: Array) -> tuple[int, Array]:
    if index.ndim > 1:
        raise fail("shape", f"{name}(): Index is supposed to be a vector", IndexError)
    _check_indices(name, index)
    place = wrap_dim(dim, self.ndim)
    return place, _within(name, self, place, index)


def _check_indices(name: str, index: Array) -> None:
    if index.dtype not in (np.int64, np.int32):
        either = "int32 or int64" if name == "index_select" else "int32/int64"
        raise fail("dtype", f"{name}(): Expected dtype {either} for index")


def _within(name: str, self: Array, place: int, index: Array) -> Array:
    """Return the indices as a vector; refuses those beyond the dimension."""
    extent = self.shape[place] if self.ndim else 1
    flat = index.reshape(-1)
    if flat.size and (flat.min() < 0 or flat.max() >= extent):
        if name == "index_select" and self.ndim > 1 and not self.size:
            message = "index_select(): self indexing axis dim should be positive"
            if extent:
                bad = next(int(one) for one in flat if not 0 <= one < extent)
                message = f"INDICES element is out of DATA bounds, id={bad} axis_dim={extent}"
            raise fail("index", message)
        raise _out_of_range(name, place, extent, flat)
    return flat


def _out_of_range(name: str, place: int, extent: int, index: Array) -> Exception:
    if name == "index_select":
        return fail("index", "index out of range in self", IndexError)
    bad = next(int(one) for one in index if not 0 <= one < extent)
    message = f"index {bad} is out of bounds for dimension {place} with size {extent}"
    if name == "index_copy":
        return fail("index", f"index_copy_(): {message}", IndexError)
    return fail("index", message)


def _index_select(self: Array, dim: int, index: Array) -> Array:
    place, flat = _check_vector("index_select", self, dim, index)
    if self.ndim == 0:
        if flat.size > 1:
            raise fail("shape", f"index_select(): Index to scalar can have only 1 value, got {flat.size} value(s)")
        return np.array(self)
    return np.take(self, flat, axis=place)


@writes(1)
def _index_select_backward(
    grad: ArrayOrTensor, self_sizes: tuple[int, ...], dim: int, index: ArrayOrTensor
) -> ArrayOrTensor:
    whole = zeros_of_shape(grad, self_sizes)
    if isinstance(whole, np.ndarray) and isinstance(grad, np.ndarray) and whole.ndim:
        _add_parts(whole, _at(wrap_dim(dim, whole.ndim), index.reshape(-1)), grad)  # no copy of what is fresh
        return whole
    return index_add(whole, dim, index, grad)


index_select = op(
    "index_select(self, dim: int, index)", "IndexSelectBackward0", "The parts at the given indices of a dimension.",
    forward=_index_select, grads={"self": _index_select_backward},
    note="Keeps only the sizes of `self`, and the index; gather saves `self` as well.",
)


def _at(place: int, index: Array) -> tuple[Any, ...]:
    return (slice(None),) * place + (index,)


def _index_written(name: str, write: Callable[[Array, Any, Any], None]) -> Callable[..., Array]:
    """Make the kernel of index_add or index_copy: `write(out, where, values)`."""

    def kernel(self: Array, dim: int, index: Array, source: Array, alpha: int = 1) -> Array:
        place, flat = _check_copy(self, dim, index, source) if name == "index_copy" else _check_add(name, self, dim, index, source)
        out = np.array(self, order="K")
        values = source if isinstance(alpha, int) and alpha == 1 else (source * alpha).astype(self.dtype)
        if self.ndim == 0:
            one = out.reshape(1)
            write(one, (flat,), values.reshape(-1))
            return out
        if source.ndim == 0:
            values = values.reshape((1,) * self.ndim)
        write(out, _at(place, flat), values)
        return out

    return kernel


def _add_parts(out: Array, where: Any, values: Array) -> None:
    place = len(where) - 1
    if values.ndim == out.ndim:
        add_rows(np.moveaxis(out, place, 0), where[-1], np.moveaxis(values, place, 0))
    else:
        np.add.at(out, where, values)


def _check_add(name: str, self: Array, dim: int, index: Array, source: Array) -> tuple[int, Array]:
    """Check the arguments of index_add or index_reduce in PyTorch's order; return the dimension and the indices."""
    if index.ndim > 1:
        message = (
            f"{name}_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {of_numpy(index.dtype).title} "
            f"and size: {list(index.shape)}"
        )
        raise fail("shape", message, IndexError)
    place = wrap_dim(dim, self.ndim)
    _check_indices(name, index)
    words = of_numpy(self.dtype).title, of_numpy(source.dtype).title
    if words[0] != words[1]:
        raise fail("dtype", f"{name}_(): self ({words[0]}) and source ({words[1]}) must have the same scalar type")
    if place and place >= source.ndim:
        message = f"{name}_(): Indexing dim {place} is out of bounds of the source tensor with dim {source.ndim}"
        raise fail("index", message)
    count = source.shape[place] if source.ndim else 1
    if count != index.size:
        message = (
            f"{name}_(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {place}"
        )
        raise fail("shape", message)
    if self.ndim and _others(self, place) != _others(source, place):
        message = (
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
        raise fail("shape", message, shapes=(self.shape, source.shape))
    return place, _within(name, self, place, index)


def _check_copy(self: Array, dim: int, index: Array, source: Array) -> tuple[int, Array]:
    """Check the arguments of index_copy in PyTorch's order; return the dimension and the indices."""
    place = wrap_dim(dim, self.ndim)
    message = ""
    if index.ndim > 1:
        message = f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})"
    elif source.ndim == 0 and index.size != 1:
        message = f"index_copy_(): When source is scalar, index should have one element (got {index.size})"
    elif source.ndim != self.ndim and source.ndim and self.ndim:
        message = (
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    if message:
        raise fail("shape", message, IndexError, shapes=(self.shape, source.shape))
    if index.dtype != np.int64:
        message = f"index_copy_(): Expected a long tensor for index, but got {of_numpy(index.dtype).title}"
        raise fail("dtype", message, IndexError)
    words = of_numpy(self.dtype).title, of_numpy(source.dtype).title
    if words[0] != words[1]:
        message = (
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {words[0]} and (source) {words[1]}"
        )
        raise fail("dtype", message)
    mine, given = _others(self, place), _others(source, place)
    if mine != given:
        message = (
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, mine))} at dimension {place} and source slice shape: {' '.join(map(str, given))} at dimension 0."
        )
        raise fail("shape", message, shapes=(self.shape, source.shape))
    count = source.shape[place] if source.ndim else 1
    if count != index.size:
        message = f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({count})"
        raise fail("shape", message, IndexError)
    return place, _within("index_copy", self, place, index)


def _others(array: Array, place: int) -> list[int]:
    return [extent for dim, extent in enumerate(array.shape) if dim != place]


def _part(grad: ArrayOrTensor, dim: int, index: ArrayOrTensor, source: ArrayOrTensor, source_dim: int) -> ArrayOrTensor:
    """Return the gradient of the source of index_add or index_copy, in its shape."""
    if source_dim == 0:
        return index_select(grad, dim, find("squeeze")(index, 0) if index.ndim else index)
    return find("expand")(index_select(grad, dim, index), tuple(source.shape))


def _added(
    grad: ArrayOrTensor, dim: int, index: ArrayOrTensor, source: ArrayOrTensor, source_dim: int, alpha: int
) -> ArrayOrTensor:
    part = _part(grad, dim, index, source, source_dim)
    return part if isinstance(alpha, int) and alpha == 1 else times(part, alpha)


index_add: Operation = op(
    "index_add(self, dim: int, index, source, *, alpha: number = 1)", "IndexAddBackward0",
    "A copy with alpha times the parts of `source` added at the given indices of a dimension.",
    layout="contiguous", forward=_index_written("index_add", _add_parts), inplace=True,
    grads={"self": lambda grad: grad, "source": _added},
    note="Saves `source` when it needs a gradient, though its values are not used.",
)
index_copy = op(
    "index_copy(self, dim: int, index, source)", "IndexCopyBackward0",
    "A copy with the parts of `source` written at the given indices of a dimension.",
    layout="contiguous", forward=_index_written("index_copy", write_at), inplace=True, saves=("index",), forward_mode="linear",
    grads={"self": lambda grad, dim, index: index_fill(grad, dim, index, 0), "source": _part},
    note="Saves `source` when it needs a gradient, though its values are not used.",
)


def _refuse_restrided(self: Array, place: int, count: int) -> None:
    """Refuse indices of a dim without extent: PyTorch lays a view of that many steps of 0 over the memory that is not there."""
    shape, strides, _ = contiguous_layout(self.shape)
    size = [count if dim == place else extent for dim, extent in enumerate(shape)]
    step = [0 if dim == place else one for dim, one in enumerate(strides)]
    if all(size):
        needed = (1 + sum((extent - 1) * one for extent, one in zip(size, step, strict=True))) * self.itemsize
        message = (
            f"setStorage: sizes {size}, strides {step}, storage offset 0, and itemsize {self.itemsize} requiring a storage size of "
            f"{needed} are out of bounds for storage of size 0"
        )
        raise fail("index", message)


def _index_fill(self: Array, dim: int, index: Array, value: Array | float) -> Array:
    array = np.asarray(value)
    if array.ndim:
        message = f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {array.ndim} dimension(s)."
        raise fail("shape", message)
    if index.ndim > 1:
        raise fail("shape", "Index has to be a vector/scalar")
    if index.dtype != np.int64:
        raise fail("dtype", "index_fill_(): Expected dtype int64 for index.", IndexError)
    place = wrap_dim(dim, self.ndim)
    out = np.array(self, order="K")
    extent = self.shape[place] if self.ndim else 1
    if index.size and not extent:
        _refuse_restrided(self, place, index.size)
    if index.size and (index.min() < -extent or index.max() >= extent):
        bad = next(int(one) for one in index.reshape(-1) if not -extent <= one < extent)
        raise fail("index", f"index {bad} is out of bounds for dimension {place} with size {extent}", IndexError)
    (out.reshape(1) if self.ndim == 0 else out)[_at(place, index.reshape(-1))] = array.astype(self.dtype)
    return stepped_as(out, self)


def _index_fill_value(grad: ArrayOrTensor, dim: int, index: object) -> ArrayOrTensor:
    unique = np.unique(array_of(index))
    part = index_select(grad, dim, beside(grad, unique))
    return np.asarray(part.sum()) if isinstance(part, np.ndarray) else find("sum")(part)


index_fill: Operation = op(
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
        raise fail("value", f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    place, flat = _check_add("index_reduce", self, dim, index, source)
    out = np.array(self)
    if self.ndim == 0:
        return reduce_at(out.reshape(1), (flat,), source.reshape(-1), reduce, include_self).reshape(())
    return reduce_at(out, _at(place, flat), source, reduce, include_self)


def _index_reduce_backward(
    grad: object, self: object, dim: int, index: object, source: object, reduce: str, include_self: bool, result: object
) -> tuple[object, object]:
    way = Along(index_select, index_add, index_reduce, index_fill)
    return reduce_gradients(way, grad, self, dim, index, source, reduce, include_self, result)


index_reduce: Operation = op(
    "index_reduce(self, dim: int, index, source, reduce: str, *, include_self: bool = True)", "IndexReduceBackward0",
    "Reduce the parts of `source` into `self` at the given indices: prod, mean, amax or amin.", forward=_index_reduce,
    inplace=True, grads={("self", "source"): _index_reduce_backward},
)
