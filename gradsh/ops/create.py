"""Making tensors: from data, filled with one value, in sequence, shaped like another."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dtype import Array, number_dtype, of_numpy, promote_pair
from gradsh.engine.op import composite
from gradsh.engine.tensor import Size, Tensor, make
from gradsh.ops.copy import check_device
from gradsh.ops.geometry import array_of, dense_like
from gradsh.text.fault import fail

OPTIONS = "dtype: dtype? = None, layout: any? = None, device: any? = None, requires_grad: bool = False, pin_memory: bool = False"
LIKE = OPTIONS.replace("pin_memory: bool = False", "memory_format: any? = None")
TORCH = ("torch",)


def finished(array: Array, requires_grad: bool = False) -> Tensor:
    """Return a new leaf over `array`; refuses gradients for integers."""
    if requires_grad and array.dtype.kind != "f":
        message = "Only Tensors of floating point and complex dtype can require gradients"
        raise fail("dtype", message, RuntimeError)
    return make(array, requires_grad)


def allocate(shape: tuple[int, ...], dtype: Any, fill: Any = 0) -> Array:
    """Return a new array filled with one value, after asking whether there is memory for it."""
    if any(extent < 0 for extent in shape):
        message = f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        raise fail("value", message, RuntimeError)
    check_bytes(math.prod(shape) * np.dtype(dtype).itemsize)
    try:
        return np.zeros(shape, dtype) if fill == 0 else np.full(shape, fill, dtype)
    except (MemoryError, ValueError):
        size = math.prod(shape) * np.dtype(dtype).itemsize
        message = f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes."
        raise fail("limit", message, RuntimeError) from None
    except OverflowError:
        message = f"value cannot be converted to type {of_numpy(dtype).name}_t without overflow"
        raise fail("value", message, RuntimeError) from None


def check_bytes(count: int) -> None:
    """Ask the session's limit about an allocation of so many bytes."""
    ambient = current()
    if ambient.check is not None:
        ambient.check(count)


def _dtype(dtype: Any) -> Any:
    return current().default_dtype if dtype is None else dtype


# --- from data --------------------------------------------------------------------------------------------------


def _infer_shape(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
        if isinstance(data, (Tensor, np.ndarray)) and data.ndim:
            shape.extend(data.shape)
            break
        if len(shape) > 128:
            raise fail("value", "too many dimensions 'list'", ValueError)
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], dim: int, out: list[Any]) -> None:
    """Append the numbers of a nested sequence to `out`; refuses one that is not rectangular."""
    if dim == len(shape):
        if isinstance(data, (Tensor, np.ndarray, np.generic)):
            data = data.item()
        if not isinstance(data, (int, float)):
            raise _not_number(data, dim)
        out.append(data)
        return
    if isinstance(data, (Tensor, np.ndarray)):
        data = data.tolist()
    if not isinstance(data, (list, tuple)):
        message = f"expected sequence of length {shape[dim]} at dim {dim} (got {type(data).__name__})"
        if isinstance(data, (int, float)):
            raise fail("type", f"not a sequence: {type(data).__name__!r} object", TypeError)
        raise fail("value", message, ValueError)
    if len(data) != shape[dim]:
        message = f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})"
        raise fail("value", message, ValueError)
    if dim + 1 == len(shape) and all(type(one) in {int, float, bool} for one in data):
        out.extend(data)
        return
    for one in data:
        _flatten(one, shape, dim + 1, out)


def _not_number(data: Any, dim: int) -> Exception:
    name = type(data).__name__
    if isinstance(data, (list, tuple)):
        return fail("type", f"only number can be converted, not {name!r}", TypeError)
    if dim == 0 or isinstance(data, str):
        what = f"new(): invalid data type {name!r}" if dim == 0 else f"too many dimensions {name!r}"
        return fail("type", what, TypeError if dim == 0 else ValueError)
    if name == "complex":
        return fail("dtype", "gradsh computes in real numbers only, not in complex64", TypeError)
    return fail("type", f"must be real number, not {name}", TypeError)


def _scalar_dtype(numbers: list[Any], default: Any) -> Any:
    kinds = {type(one) for one in numbers}
    if not kinds or any(issubclass(kind, float) for kind in kinds):
        return default
    return np.dtype(np.bool_) if all(kind is bool for kind in kinds) else np.dtype(np.int64)


def to_array(data: Any, dtype: Any, copy: bool = True) -> Array:
    """Return the array of a number, nested sequence, numpy array or tensor, inferring the dtype where None."""
    if isinstance(data, Tensor) or hasattr(data, "__array__"):
        array = data.array if isinstance(data, Tensor) else np.asarray(data)
        of_numpy(array.dtype)
        wanted = array.dtype if dtype is None else dtype
        return np.array(array, wanted, order="K") if copy or wanted != array.dtype else array
    if isinstance(data, range):
        data = list(data)
    shape = _infer_shape(data)
    numbers: list[Any] = []
    _flatten(data, shape, 0, numbers)
    if dtype is None:
        dtype = _nested_dtype(data)
        dtype = _scalar_dtype(numbers, current().default_dtype) if dtype is None else dtype
    check_bytes(len(numbers) * np.dtype(dtype).itemsize)
    try:
        if np.dtype(dtype).kind in "iu":
            numbers = [int(one) for one in numbers]
        return np.array(numbers, dtype).reshape(shape)
    except (OverflowError, ValueError):
        if np.dtype(dtype) == np.int64:
            raise fail("value", "Overflow when unpacking long long", RuntimeError) from None
        message = f"value cannot be converted to type {of_numpy(dtype).name}_t without overflow"
        raise fail("value", message, RuntimeError) from None


def _nested_dtype(data: Any) -> Any:
    """Return the dtype of a sequence that holds tensors or arrays (their common one), else None."""
    found = None
    stack = [data]
    tensors = False
    while stack:
        one = stack.pop()
        if isinstance(one, (list, tuple)):
            stack.extend(one)
            continue
        if isinstance(one, (Tensor, np.ndarray, np.generic)):
            tensors = True
            each: Any = one.array.dtype if isinstance(one, Tensor) else one.dtype
        elif isinstance(one, (int, float)):
            each = number_dtype(one, current().default_dtype)
        else:
            return None
        found = each if found is None else promote_pair(found, each)
    return found if tensors else None


def _tensor(data: Any, dtype: Any, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    del pin_memory
    check_device(device)
    if isinstance(data, Tensor):
        current().warning(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
        )
    return finished(to_array(data, dtype), requires_grad)


tensor = composite(
    "tensor(data: any, *, dtype: dtype? = None, device: any? = None, requires_grad: bool = False, pin_memory: bool = False)",
    "A leaf tensor from numbers, nested lists or an array (copied).", _tensor, TORCH,
)


def _as_tensor(data: Any, dtype: Any, device: Any) -> Tensor:
    check_device(device)
    if isinstance(data, Tensor):
        from gradsh.ops.copy import to_dtype

        return data if dtype is None else to_dtype(data, dtype)  # type: ignore[no-any-return]
    return make(to_array(data, dtype, copy=False))


composite(
    "as_tensor(data: any, dtype: dtype? = None, device: any? = None)",
    "The tensor itself, or a tensor over an array's memory, or one from numbers.", _as_tensor, TORCH,
)
composite(
    "asarray(obj: any, *, dtype: dtype? = None, device: any? = None, copy: bool? = None, requires_grad: bool = False)",
    "A tensor from anything, sharing memory where possible.",
    lambda obj, dtype, device, copy, requires_grad: (
        finished(to_array(obj, dtype), requires_grad) if copy else _as_tensor(obj, dtype, device)
    ), TORCH,
)


def _from_numpy(ndarray: Any) -> Tensor:
    if isinstance(ndarray, Tensor) or not hasattr(ndarray, "__array__"):
        raise fail("type", f"expected np.ndarray (got {type(ndarray).__name__})", TypeError)
    array = np.asarray(ndarray)
    of_numpy(array.dtype)
    if any(step < 0 for step in array.strides):
        message = (
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array with array.copy().) "
        )
        raise fail("value", message, ValueError)
    return make(array)


composite("from_numpy(ndarray: any)", "A tensor over the memory of a numpy array.", _from_numpy, TORCH)


def _legacy_data(data: Any, device: Any) -> Tensor:
    check_device(device)
    if isinstance(data, Size):
        return make(allocate(tuple(data), current().default_dtype))
    if isinstance(data, Tensor):
        return data.detach()
    return make(to_array(data, current().default_dtype))


composite("_legacy_tensor(data: data, *, device: any? = None)", "A tensor of the default dtype from data.", _legacy_data, ())
composite(
    "_legacy_tensor(*size: ints, *, device: any? = None)", "A tensor of the default dtype of these extents.",
    lambda size, device: make(allocate(size, current().default_dtype)), (),
)
composite(
    "scalar_tensor(s: number, *, dtype: dtype? = None, device: any? = None, requires_grad: bool = False)",
    "A 0-d tensor of the default dtype.",
    lambda s, dtype, device, requires_grad: finished(np.full((), s, _dtype(dtype)), requires_grad), TORCH,
)


# --- filled with one value --------------------------------------------------------------------------------------


def _filler(name: str, value: Any, doc: str) -> None:
    """Declare NAME(size), NAME_like(input) and the method new_NAME(size)."""

    def make_it(size: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool, pin_memory: Any) -> Tensor:
        del layout, pin_memory
        check_device(device)
        return finished(allocate(size, _dtype(dtype), value), requires_grad)

    def make_like(self: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool, memory_format: Any) -> Any:
        del layout, memory_format
        check_device(device)
        array = array_of(self)
        found = dense_like(array, array.dtype if dtype is None else dtype)
        found[...] = value
        return found if isinstance(self, np.ndarray) else finished(found, requires_grad)

    def make_new(
        self: Any, size: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool, pin_memory: Any
    ) -> Any:
        del layout, pin_memory
        check_device(device)
        found = allocate(size, array_of(self).dtype if dtype is None else dtype, value)
        return found if isinstance(self, np.ndarray) else finished(found, requires_grad)

    composite(f"{name}(*size: ints, *, {OPTIONS})", f"A tensor of the given extents {doc}.", make_it, TORCH)
    composite(f"{name}_like(input, *, {LIKE})", f"A tensor like another {doc}.", make_like, TORCH)
    composite(f"new_{name}(self, *size: ints, *, {OPTIONS})", f"A tensor of this dtype {doc}.", make_new, ("Tensor",))


_filler("zeros", 0, "filled with zeros")
_filler("ones", 1, "filled with ones")
_filler("empty", 0, "(PyTorch leaves its content open; here it is zeros)")
composite(
    f"empty_strided(size: ints, stride: ints, *, {OPTIONS})", "A tensor of these extents and strides, of zeros.",
    lambda size, stride, dtype, layout, device, requires_grad, pin_memory: _empty_strided(size, stride, dtype, requires_grad),
    TORCH,
)


def _empty_strided(size: Any, stride: Any, dtype: Any, requires_grad: bool) -> Tensor:
    from gradsh.engine.storage import strided

    extent = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if all(size) else 0
    flat = allocate((extent,), _dtype(dtype))
    return finished(strided(flat, size, tuple(step * flat.itemsize for step in stride)), requires_grad)


composite(
    f"new_empty_strided(self, size: ints, stride: ints, *, {OPTIONS})", "A tensor of this dtype, these extents and strides, of zeros.",
    lambda self, size, stride, dtype, layout, device, requires_grad, pin_memory: _empty_strided(
        size, stride, self.array.dtype if dtype is None else dtype, requires_grad
    ), ("Tensor",),
)


def _fill_value(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.item()
    return value


def _full(
    size: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool, pin_memory: Any
) -> Tensor:
    del layout, pin_memory
    check_device(device)
    value = _fill_value(fill_value)
    chosen = number_dtype(value, current().default_dtype) if dtype is None else dtype
    return finished(allocate(size, chosen, value), requires_grad)


def _full_like(
    input: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool, memory_format: Any
) -> Any:
    del layout, memory_format
    check_device(device)
    array = array_of(input)
    found = dense_like(array, array.dtype if dtype is None else dtype)
    found[...] = np.asarray(_fill_value(fill_value)).astype(found.dtype)
    return found if isinstance(input, np.ndarray) else finished(found, requires_grad)


composite(f"full(size: ints, fill_value: Operand, *, {OPTIONS})", "A tensor filled with one number.", _full, TORCH)
composite(f"full_like(input, fill_value: Operand, *, {LIKE})", "A tensor like another, filled with one number.", _full_like, TORCH)
composite(
    f"new_full(self, size: ints, fill_value: Operand, *, {OPTIONS})", "A tensor of this dtype filled with one number.",
    lambda self, size, fill_value, dtype, layout, device, requires_grad, pin_memory: finished(
        allocate(size, array_of(self).dtype if dtype is None else dtype, _fill_value(fill_value)), requires_grad
    ), ("Tensor",),
)
composite(
    "new_tensor(self, data: any, *, dtype: dtype? = None, device: any? = None, requires_grad: bool = False)",
    "A tensor of this dtype from data.",
    lambda self, data, dtype, device, requires_grad: finished(
        to_array(data, self.array.dtype if dtype is None else dtype), requires_grad
    ), ("Tensor",),
)


# --- in sequence ------------------------------------------------------------------------------------------------


def _arange(
    start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool, pin_memory: Any
) -> Tensor:
    del layout, pin_memory
    check_device(device)
    if dtype is None:
        whole = all(isinstance(one, int) for one in (start, end, step))
        dtype = np.dtype(np.int64) if whole else current().default_dtype
    if step == 0:
        raise fail("value", "step must be nonzero", RuntimeError)
    if (step > 0) != (end >= start) and start != end:
        raise fail("value", "upper bound and lower bound inconsistent with step sign", RuntimeError)
    if not all(math.isfinite(one) for one in (start, end)):
        raise fail("value", f"unsupported range: {start} -> {end}", RuntimeError)
    if np.dtype(dtype).kind in "iu":
        start, end, step = int(start), int(end), int(step)
        count = max(-((start - end) // step), 0) if step else 0
    else:
        count = max(math.ceil((end - start) / step), 0)
    check_bytes(count * np.dtype(dtype).itemsize)
    wide = np.int64 if np.dtype(dtype).kind in "iu" else np.float64
    values = wide(start) + np.arange(count, dtype=wide) * wide(step)
    return finished(values.astype(dtype), requires_grad)


composite(
    f"arange(end: number, *, {OPTIONS})", "The numbers 0, 1, … below `end`.",
    lambda end, *rest: _arange(0, end, 1, *rest), TORCH,
)
composite(
    f"arange(start: number, end: number, step: number = 1, *, {OPTIONS})",
    "The numbers from `start` to below `end` by `step`; integers unless one of them is a float.", _arange, TORCH,
)


def _line(start: float, end: float, steps: int, dtype: Any) -> Array:
    """Return the points of linspace, worked out from both ends towards the middle, as PyTorch does."""
    if steps < 0:
        raise fail("value", "number of steps must be non-negative", RuntimeError)
    check_bytes(steps * 8)
    if steps == 1:
        return np.full(1, start, dtype)
    kind = np.dtype(dtype).type if np.dtype(dtype).kind == "f" else np.float32
    first, last = kind(start), kind(end)
    if np.dtype(dtype).kind in "iu":
        first, last = np.float32(int(start)), np.float32(int(end))
    step = (last - first) / kind(max(steps - 1, 1))
    place = np.arange(steps)
    half = steps // 2
    low = first + step * place[:half].astype(kind)
    high = last - step * (steps - 1 - place[half:]).astype(kind)
    return np.concatenate([low, high]).astype(dtype)


def _linspace(
    start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, requires_grad: bool, pin_memory: Any
) -> Tensor:
    del layout, pin_memory
    check_device(device)
    return finished(_line(_fill_value(start), _fill_value(end), steps, _dtype(dtype)), requires_grad)


composite(
    f"linspace(start: Operand, end: Operand, steps: int, *, {OPTIONS})",
    "`steps` evenly spaced numbers from `start` to `end`, both included.", _linspace, TORCH,
)


def _logspace(
    start: Any, end: Any, steps: int, base: float, dtype: Any, layout: Any, device: Any, requires_grad: bool,
    pin_memory: Any,
) -> Tensor:
    del layout, pin_memory
    check_device(device)
    chosen = np.dtype(_dtype(dtype))
    exponents = _line(_fill_value(start), _fill_value(end), steps, np.float64)
    return finished(np.power(float(base), exponents).astype(chosen), requires_grad)


composite(
    f"logspace(start: Operand, end: Operand, steps: int, base: float = 10.0, *, {OPTIONS})",
    "`steps` numbers evenly spaced on a logarithmic scale.", _logspace, TORCH,
)
composite(
    f"eye(n: int, m: int? = None, *, {OPTIONS})", "Ones on the diagonal, zeros elsewhere.",
    lambda n, m, dtype, layout, device, requires_grad, pin_memory: _eye(n, n if m is None else m, dtype, device, requires_grad),
    TORCH,
)


def _eye(n: int, m: int, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    check_device(device)
    for name, extent in (("n", n), ("m", m)):
        if extent < 0:
            raise fail("value", f"{name} must be greater or equal to 0, got {extent}", RuntimeError)
    check_bytes(n * m * 8)
    return finished(np.eye(n, m, dtype=_dtype(dtype)), requires_grad)


def _triangle(name: str, function: Callable[..., Any]) -> None:
    composite(
        f"{name}(row: int, col: int, offset: int = 0, *, dtype: dtype? = None, device: any? = None, layout: any? = None)",
        "The indices of a triangle of a matrix, as a tensor of two rows.",
        lambda row, col, offset, dtype, device, layout: make(
            np.stack(function(row, offset, col)).astype(np.int64 if dtype is None else dtype)
        ), TORCH,
    )


_triangle("tril_indices", np.tril_indices)
_triangle("triu_indices", np.triu_indices)
