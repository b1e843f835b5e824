"""Indexing: `x[...]`, `x[...] = v`, and the functions behind them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.call import run_record
from gradsh.engine.dispatch.declare import implements, op
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.dispatch.views import check_inplace, is_tracked
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make, written
from gradsh.engine.registry import find
from gradsh.engine.schema.signature import class_name
from gradsh.engine.values.dtype import Array, NumpyDType, of_numpy
from gradsh.engine.values.layout import in_order, order_of
from gradsh.engine.values.overlap import check_distinct, check_outside, reads_what_it_writes, write_in_order
from gradsh.engine.values.reduced import cast
from gradsh.engine.values.shape import expandable
from gradsh.engine.values.storage import strided
from gradsh.ops.arguments import zeros_of_shape
from gradsh.ops.copy_cast import copy_
from gradsh.ops.from_data import to_array
from gradsh.ops.kernels.index_range import check_range, shape_of
from gradsh.ops.kernels.row_scatter import add_rows
from gradsh.ops.slicing import MAX, select, slice_
from gradsh.ops.view import alias_view, unsqueeze, view
from gradsh.text.fault import fail

# --- index tensors ----------------------------------------------------------------------------------------------


def _numpy_index(self: Array, indices: Sequence[object]) -> tuple[Any, ...]:
    """Return numpy's index for PyTorch's list of index tensors, after PyTorch's checks."""
    place = 0
    found: list[Any] = []
    if len(indices) > self.ndim:
        raise _too_many(self, indices)
    for number, one in enumerate(indices):
        if one is None:
            found.append(slice(None))
            place += 1
            continue
        array = np.asarray(one)
        if array.dtype == np.uint8:
            array = array.astype(np.bool_)
        if array.dtype.kind not in "iub":
            raise fail("index", "tensors used as indices must be long, int, byte or bool tensors", IndexError)
        width = array.ndim if array.dtype.kind == "b" else 1
        if place + width > self.ndim:
            raise fail("index", f"too many indices for tensor of dimension {self.ndim}", IndexError)
        if array.dtype.kind == "b":
            _check_mask(self, array, place, number)
        elif array.size and not self.shape[place]:
            raise fail("index", "index is out of bounds for dimension with size 0", IndexError)
        found.append(array)
        place += width
    return tuple(found)


def _too_many(self: Array, indices: Sequence[object]) -> Exception:
    return fail("index", f"too many indices for tensor of dimension {self.ndim} (got {len(indices)})", IndexError)


def _check_mask(self: Array, mask: Array, place: int, number: int) -> None:
    current().note_read()
    for dim in range(mask.ndim):
        if mask.shape[dim] != self.shape[place + dim]:
            message = (
                f"The shape of the mask {list(mask.shape)} at index {dim} does not match the shape of the indexed tensor "
                f"{list(self.shape)} at index {place + dim}"
            )
            raise fail("index", message, IndexError, number=number)


def _index(self: Array, indices: Sequence[object]) -> Array:
    where = _numpy_index(self, indices)
    try:
        found = np.array(self[where], order="C")
    except IndexError:
        shape = shape_of(self, where)
        check_range(self, where)
        if 0 not in shape:
            raise
        found = np.empty(shape, self.dtype)
    return found if self.flags.c_contiguous or found.ndim < 2 else in_order(found, _index_order(self, where, found))


def _index_order(self: Array, where: tuple[Any, ...], found: Array) -> tuple[int, ...]:
    """Return the dims of an indexing's result, the slowest first: as those of `self` that are left, then as the indices."""
    places = [place for place, one in enumerate(where) if not isinstance(one, slice)]
    masked = any(where[place].dtype.kind == "b" for place in places)
    if masked or not places:
        return tuple(range(found.ndim))
    rank = max(where[place].ndim for place in places)
    before = places[0] if places[-1] - places[0] == len(places) - 1 else 0
    left = [place for place in range(self.ndim) if place not in places]
    strides = [self.strides[place] for place in left]
    shown = strided(self, found.shape, (*strides[:before], *(0,) * rank, *strides[before:]), 0)
    after = found.ndim - before - rank
    indices = [where[place].reshape(*where[place].shape, *(1,) * after) for place in places]
    return order_of(found.shape, [shown, *indices])


index = op(
    "index(self, indices: Indices)", "IndexBackward0", "The elements at index tensors or masks (`x[i, j]`).",
    forward=_index, spaces=(), attributes=("self_sizes",), saves=("indices",),
    grads={
        "self": writes(1)(
            lambda grad, self_sizes, indices: put_impl(zeros_of_shape(grad, self_sizes), indices, grad, True)
        ),
    },
    note="Keeps only the sizes of `self`, and the indices. `x[1, 2]` is two Select nodes, `x[...]` an Alias, "
         "`x[None]` an Unsqueeze.",
)


def _index_put(self: Array, indices: Sequence[object], values: Array, accumulate: bool, in_place: bool = False) -> Array:
    array = np.asarray(values)
    if len(indices) > self.ndim:
        raise _too_many(self, indices)
    if in_place:
        check_outside(self, array)
    if array.dtype != self.dtype:
        where = _numpy_index(self, indices)
        if not expandable(array.shape, shape_of(self, where)):
            raise _put_failure(self, where, array)
        message = (
            f"Index put requires the source and destination dtypes match, got {of_numpy(self.dtype).title} for the "
            f"destination and {of_numpy(array.dtype).title} for the source."
        )
        raise fail("dtype", message)
    where = _numpy_index(self, indices)
    if array.size == 1 and not accumulate and any(type(one) is np.ndarray and one.dtype.kind == "b" for one in where):
        array = array.reshape(())  # PyTorch fills what a mask chooses with a single number, of whatever shape
    if array.ndim > 1 and array.ndim > len(shape_of(self, where)):
        raise _put_failure(self, where, array)
    written = np.array(self, order="K") if not in_place else self
    try:
        if accumulate and len(where) == 1 and type(where[0]) is np.ndarray and where[0].dtype.kind == "i":
            add_rows(written, where[0], array)
        elif accumulate:
            np.add.at(written, where, array)
        elif in_place and reads_what_it_writes(written, array):
            write_in_order(written, np.arange(self.size).reshape(self.shape)[where], array)
        else:
            written[where] = array
    except (ValueError, IndexError):
        if expandable(array.shape, shape_of(self, where)):
            check_range(written, where, (array, accumulate))
            if 0 in shape_of(self, where):
                return written
        raise _put_failure(self, where, array) from None
    return written


def _put_failure(self: Array, where: tuple[object, ...], values: Array) -> Exception:
    shape = shape_of(self, where)
    message = (
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
        f"{list(shape)}"
    )
    return fail("shape", message, RuntimeError, shapes=(values.shape, shape))


def _index_put_self(
    grad: ArrayOrTensor, indices: list[ArrayOrTensor], accumulate: bool, values_sizes: tuple[int, ...]
) -> ArrayOrTensor:
    return grad if accumulate else index_put(grad, indices, zeros_of_shape(grad, values_sizes))


index_put: Operation = op(
    "index_put(self, indices: Indices, values, accumulate: bool = False)", "IndexPutBackward0",
    "A copy with values written (or added) at index tensors or masks.", forward=_index_put,
    inplace={"forward": lambda self, indices, values, accumulate: _index_put(self, indices, values, accumulate, True), "writes": True},
    attributes=("accumulate",), saves=("indices",), forward_mode="linear",
    grads={"self": _index_put_self, "values": lambda grad, indices: index(grad, indices)},
)
put_impl: Operation = op(
    "_index_put_impl(self, indices: Indices, values, accumulate: bool = False)", "IndexPutImplBackward0",
    "What index_put and the gradient of indexing rest on.", forward=_index_put, spaces=(), attributes=("accumulate",), saves=("indices",),
    forward_mode="linear",
    grads={"self": _index_put_self, "values": lambda grad, indices: index(grad, indices)},
)


# --- x[...] -----------------------------------------------------------------------------------------------------


def _select_at(tensor: Tensor, dim: int, place: int, real: int) -> Tensor:
    shape = tensor.array.shape
    if not shape and place == 0 and dim == 0:
        message = (
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
            "tensor to a number"
        )
        raise fail("index", message, IndexError, tensor=tensor)
    extent = shape[dim] if shape else 0
    if not -extent <= place < extent:
        message = f"index {place} is out of bounds for dimension {real} with size {extent}"
        raise fail("index", message, IndexError, tensor=tensor)
    return run_record(select.records[0], [tensor, dim, place])


def _bound(value: int | None, default: int) -> int:
    if value is None:
        return default
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        raise fail("type", "slice indices must be integers or None or have an __index__ method", TypeError) from None


def _slice_at(tensor: Tensor, dim: int, cut: slice, skip: bool) -> Tensor:
    step = _bound(cut.step, 1)
    if step == 0:
        raise fail("value", "slice step cannot be zero", ValueError)
    if step < 0:
        raise fail("value", "step must be greater than zero", ValueError)
    start, end = _bound(cut.start, 0), _bound(cut.stop, MAX)
    if not tensor.array.shape:
        raise fail("index", "slice() cannot be applied to a 0-dim tensor.", IndexError, tensor=tensor)
    if skip and start == 0 and step == 1 and end >= tensor.array.shape[dim]:
        return tensor
    return run_record(slice_.records[0], [tensor, dim, start, end, step])


def _as_tuple(key: object) -> tuple[object, ...]:
    if isinstance(key, tuple):
        return key
    if isinstance(key, list) and len(key) < 32 and any(
        one is None or one is Ellipsis or isinstance(one, (Tensor, list, tuple, slice)) for one in key
    ):
        return tuple(key)
    return (key,)


def _index_tensor(one: object) -> Tensor | None:
    """Return an index as a tensor where it is one, a sequence or an array; None for ints, slices and the like."""
    if isinstance(one, Tensor):
        return one
    if isinstance(one, np.ndarray) or hasattr(one, "__array__"):
        return make(np.asarray(one))
    if isinstance(one, str):
        raise fail("type", "new(): invalid data type 'str'", TypeError)
    if isinstance(one, (list, tuple, range)):
        array = to_array(list(one), None)
        return make(array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array)
    return None


def _specified(key: Sequence[object]) -> int:
    count = 0
    for one in key:
        if isinstance(one, Tensor):
            count += one.array.ndim if one.array.dtype.kind == "b" or one.array.dtype == np.uint8 else 1
        elif one is not None and one is not Ellipsis and not isinstance(one, bool):
            count += 1
    return count


def _number_index(one: int) -> int:
    try:
        return int(one.__index__())
    except (AttributeError, TypeError):
        message = (
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type(one).__name__})"
        )
        raise fail("index", message, IndexError) from None


def _walk(tensor: Tensor, key: Sequence[Any]) -> tuple[Tensor, list[Any]]:
    """Apply what makes views (numbers, slices, None, …) and collect the index tensors by dimension."""
    given = [one if (found := _index_tensor(one)) is None else found for one in key]
    specified = _specified(given)
    ndim = tensor.array.ndim
    if specified > ndim:
        raise fail("index", f"too many indices for tensor of dimension {ndim}", IndexError, tensor=tensor)
    result, dim = tensor, 0
    indices: list[Any] = []
    for real, one in enumerate(given):
        if one is Ellipsis:
            dim += ndim - specified
        elif isinstance(one, slice):
            result = _slice_at(result, dim, one, True)
            dim += 1
        elif one is None:
            result = unsqueeze(result, dim)
            dim += 1
        elif isinstance(one, bool):
            result, dim = _flag(result, dim, one, indices), dim + 1
        elif isinstance(one, Tensor):
            if one.array.ndim == 0 and one.array.dtype.kind in "iub":
                if one.array.dtype.kind == "b" or one.array.dtype == np.uint8:
                    result, dim = _flag(result, dim, bool(one.array), indices), dim + 1
                else:
                    result = _select_at(result, dim, int(one.array), real)
                continue
            indices.extend([None] * (dim - len(indices)))
            indices.append(one)
            dim += one.array.ndim if one.array.dtype.kind == "b" or one.array.dtype == np.uint8 else 1
        else:
            result = _select_at(result, dim, _number_index(one), real)
    return result, indices


def _flag(result: Tensor, dim: int, flag: bool, indices: list[object]) -> Tensor:
    indices.extend([None] * (dim - len(indices)))
    at = make(np.zeros(1 if flag else 0, np.int64))
    at.counter.version = int(flag)  # PyTorch fills it
    indices.append(at)
    return unsqueeze(result, dim)


@implements("getitem")
def getitem(self: Tensor, key: Any) -> Tensor:
    """Return `self[key]`: views for numbers, slices, None and `...`; a copy for index tensors, lists and masks."""
    kind = type(key)
    if kind is int:
        return _select_at(self, 0, key, 0)
    if kind is slice:
        return _slice_at(self, 0, key, False)
    if key is None:
        return unsqueeze(self, 0)
    if key is Ellipsis:
        return alias_view(self)
    result, indices = _walk(self, _as_tuple(key))
    if not indices:
        return alias_view(self) if result is self else result
    return index(result, indices)


# --- x[...] = v -------------------------------------------------------------------------------------------------


_LEAST, _MOST = -(2**63), 2**63 - 1
_RANGES: dict[NumpyDType, tuple[float, float]] = {
    np.dtype(np.float32): (-float(np.finfo(np.float32).max), float(np.finfo(np.float32).max)),
    **{np.dtype(name): (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in ("uint8", "int8", "int16", "int32", "int64")},
}
_WRITTEN_NAMES = {
    "float32": "float", "int32": "int", "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int64": "int64_t",
}


def _fits(value: float, dtype: NumpyDType) -> bool:
    """Tell whether an element takes a number: PyTorch lets negative integers wrap into bytes, and floats become infinite only as such."""
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise fail("value", "Overflow when unpacking long long", ValueError)
    least, most = _RANGES.get(dtype, (-math.inf, math.inf))
    if least <= value <= most or most == math.inf:
        return True
    if isinstance(most, float):
        return not math.isfinite(value)
    return least == 0 and isinstance(value, int) and -most <= value < 0


def _value(self: Tensor, value: Tensor | float) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (int, float, np.integer)):
        raise fail("type", f"can't assign a {class_name(value)} to a torch.{self.dtype.title}Tensor", TypeError, tensor=self)
    if not _fits(value, self.array.dtype):
        name = _WRITTEN_NAMES[self.array.dtype.name]
        raise fail("value", f"value cannot be converted to type {name} without overflow", tensor=self)
    return make(cast(np.asarray(value), self.array.dtype))


def _inner_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without its leading dimensions of extent 1."""
    lead = 0
    while lead < len(shape) and shape[lead] == 1:
        lead += 1
    return shape[lead:]


def _copy_to(part: Tensor, value: Tensor) -> None:
    if part.array.shape == value.array.shape:
        copy_(part, value)
    elif value.array.ndim == 0:
        if current().grad_enabled and is_tracked(part):
            check_inplace(part)
        check_distinct(part.array)
        find("fill_")(part, value)
    else:
        source = view(value, _inner_shape(value.array.shape))
        copy_(part, find("expand")(source, part.array.shape) if source.array.shape != part.array.shape else source)


_PLACES = frozenset({int})
_NUMBERS = frozenset({int, float, bool})


def _set_element(tensor: Tensor, key: Any, value: Tensor) -> bool:
    """Write one number at one place of a tensor without history, which the views and the copy below would do; tell whether it was done."""
    array = tensor.array
    places = key if type(key) is tuple else (key,)
    if (
        tensor.needs_grad or tensor.grad_fn_ref is not None or value.array.ndim or len(places) != array.ndim
        or not _PLACES.issuperset(map(type, places)) or current().saved_hooks or not array.flags.writeable
        or (tensor.meta is not None and tensor.meta.view is not None)
        or not all(-extent <= place < extent for place, extent in zip(places, array.shape, strict=True))
    ):
        return False
    array[places] = value.array
    written(tensor)
    return True


@implements("setitem")
def setitem(self: Tensor, key: Any, value: Tensor | float) -> None:
    """Write `value` into `self[key]`, in place."""
    if key is False:
        return
    source = _value(self, value)
    kind = type(key)
    if type(value) in _NUMBERS and _set_element(self, key, source):
        return
    if key is Ellipsis:
        _copy_to(self, source)
    elif key is None or key is True:
        _copy_to(unsqueeze(self, 0), source)
    elif kind is int:
        _copy_to(_select_at(self, 0, key, 0), source)
    elif kind is slice:
        _copy_to(_slice_at(self, 0, key, True), source)
    else:
        part, indices = _walk(self, _as_tuple(key))
        if indices:
            inner = _inner_shape(source.array.shape)
            find("index_put_")(part, indices, source if inner == source.array.shape else view(source, inner))
        else:
            _copy_to(part, source)
