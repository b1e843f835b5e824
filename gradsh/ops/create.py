"""Making tensors filled with one value, in sequence, or shaped like another."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite
from gradsh.engine.dispatch.widened_kernels import with_single_default
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.values.device import check_device, check_factory_device
from gradsh.engine.values.dtype import Array, NumpyDType, number_dtype, of_numpy
from gradsh.engine.values.reduced import REDUCED, SINGLE, cast
from gradsh.engine.values.storage import strided
from gradsh.ops.kernels.geometry import array_of, dense_like
from gradsh.ops.layout import laid_out, preserve_format
from gradsh.process.blas_threads import LARGE, let_go
from gradsh.text.fault import fail

OPTIONS = "dtype: dtype? = None, layout: any? = None, device: any? = None, pin_memory: bool = False, requires_grad: bool = False"
LIKE = OPTIONS.replace("pin_memory: bool = False", "memory_format: any? = None")
TORCH = ("torch",)


def finished(array: Array, requires_grad: bool = False) -> Tensor:
    """Return a new leaf over `array`; refuses gradients for integers."""
    if requires_grad and array.dtype.kind != "f":
        raise fail("dtype", "Only Tensors of floating point and complex dtype can require gradients")
    return make(array, requires_grad)


def allocate(shape: tuple[int, ...], dtype: NumpyDType, fill: int = 0) -> Array:
    """Return a new array filled with one value, after asking whether there is memory for it."""
    if any(extent < 0 for extent in shape):
        raise fail("value", f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    check_bytes(math.prod(shape) * np.dtype(dtype).itemsize)
    try:
        is_zero = fill == 0 and math.copysign(1, fill) > 0  # -0.0 is filled in
        return np.zeros(shape, dtype) if is_zero else np.full(shape, cast(np.asarray(fill), dtype) if dtype in REDUCED else fill, dtype)
    except (MemoryError, ValueError):
        size = math.prod(shape) * np.dtype(dtype).itemsize
        message = f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes."
        raise fail("limit", message, asked=size) from None
    except OverflowError:
        raise fail("value", f"value cannot be converted to type {of_numpy(dtype).name} without overflow") from None


def check_bytes(count: int) -> None:
    """Ask the session's limit about an allocation of so many bytes; large ones are for several threads to work on."""
    if count > LARGE:
        let_go()
    ambient = current()
    if ambient.check is not None:
        ambient.check(count)


def default_or(dtype: NumpyDType | None) -> NumpyDType:
    """Return a dtype, or the default one for None."""
    return current().default_dtype if dtype is None else dtype


def in_format(array: Array, memory_format: Any) -> Array:
    """Return a new array, laid out as a memory format asks."""
    return array if memory_format in (None, preserve_format) else laid_out(array, memory_format)


def alike(array: Array, dtype: Any, memory_format: object) -> Array:
    """Return uninitialised memory of the shape of an array, and of its dtype and layout unless others are asked for."""
    return in_format(dense_like(array, array.dtype if dtype is None else dtype), memory_format)


def factory(
    text: str, doc: str, values: Callable[..., Array], spaces: tuple[str, ...] = TORCH, lead: str = "", own: bool = False,
) -> None:
    """Declare what makes a leaf: `values` gets the arguments before the options and the dtype, None for the default one.

    It makes numbers of float32 for float16 and bfloat16, unless it has its `own` way to make these.
    """

    def body(*given: Any) -> Tensor:
        *arguments, dtype, _layout, device, _pin_memory, requires_grad = given
        check_factory_device(device)
        return finished(values(*arguments, dtype) if own else _rounded(values, arguments, dtype), requires_grad)

    composite(f"{text}, *, {lead}{OPTIONS})", doc, body, spaces)


def _rounded(values: Callable[..., Array], arguments: list[Any], dtype: NumpyDType | None) -> Array:
    """Return what a factory makes, rounded where it is to be of float16 or bfloat16."""
    default = current().default_dtype
    if dtype in REDUCED:
        return cast(values(*arguments, SINGLE), dtype)
    if dtype is not None or default not in REDUCED:
        return values(*arguments, dtype)
    found = with_single_default(lambda: values(*arguments, None))
    return cast(found, default) if found.dtype == SINGLE else found


# --- filled with one value --------------------------------------------------------------------------------------


def _filler(name: str, value: int, doc: str) -> None:
    """Declare NAME(size), NAME_like(input) and the method new_NAME(size)."""

    def make_it(
        size: tuple[int, ...], dtype: NumpyDType | None, layout: object, device: object, pin_memory: bool,
        requires_grad: bool, memory_format: object = None,
    ) -> Tensor:
        del layout, pin_memory
        check_factory_device(device)
        if name == "zeros" and any(extent < 0 for extent in size):
            raise fail("value", "zeros: Dimension size must be non-negative.")
        if memory_format is preserve_format:
            raise fail("value", "unsupported memory format Preserve")
        return finished(in_format(allocate(size, default_or(dtype), value), memory_format), requires_grad)

    def make_like(
        self: ArrayOrTensor, dtype: object, layout: object, device: object, memory_format: object, requires_grad: bool
    ) -> ArrayOrTensor:
        del layout
        check_device(device)
        found = alike(array_of(self), dtype, memory_format)
        found[...] = value
        return found if isinstance(self, np.ndarray) else finished(found, requires_grad)

    def make_new(
        self: Tensor, size: tuple[int, ...], dtype: Any, layout: object, device: object, pin_memory: bool, requires_grad: bool
    ) -> Tensor:
        del layout, pin_memory
        check_device(device)
        found = allocate(size, array_of(self).dtype if dtype is None else dtype, value)
        return found if isinstance(self, np.ndarray) else finished(found, requires_grad)

    own = f"{OPTIONS}, memory_format: any? = None" if name == "empty" else OPTIONS
    composite(f"{name}(*size: ints, *, {own})", f"A tensor of the given extents {doc}.", make_it, TORCH)
    composite(f"{name}_like(input, *, {LIKE})", f"A tensor like another {doc}.", make_like, TORCH)
    composite(f"new_{name}(self, *size: ints, *, {OPTIONS})", f"A tensor of this dtype {doc}.", make_new, ("Tensor",))


_filler("zeros", 0, "filled with zeros")
_filler("ones", 1, "filled with ones")
_filler("empty", 0, "(PyTorch leaves its content open; here it is zeros)")


def _empty_strided(size: tuple[int, ...], stride: tuple[int, ...], dtype: NumpyDType) -> Array:
    extent = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if all(size) else 0
    flat = allocate((extent,), default_or(dtype))
    return strided(flat, size, tuple(step * flat.itemsize for step in stride))


factory("empty_strided(size: tuple, stride: tuple", "A tensor of these extents and strides, of zeros.", _empty_strided)
factory(
    "new_empty_strided(self, size: tuple, stride: tuple", "A tensor of this dtype, these extents and strides, of zeros.",
    lambda self, size, stride, dtype: _empty_strided(size, stride, self.array.dtype if dtype is None else dtype), ("Tensor",),
)


def _fill_value(value: int) -> int:
    return value.item() if isinstance(value, Tensor) else value


def _full(size: tuple[int, ...], fill_value: Any, dtype: Any) -> Array:
    value = _fill_value(fill_value)
    return allocate(size, number_dtype(value, current().default_dtype) if dtype is None else dtype, value)


def _full_like(
    input: Tensor, fill_value: Any, dtype: object, layout: object, device: object, memory_format: object, requires_grad: bool
) -> Tensor:
    del layout
    check_device(device)
    found = alike(array_of(input), dtype, memory_format)
    found[...] = cast(np.asarray(_fill_value(fill_value)), found.dtype)
    return found if isinstance(input, np.ndarray) else finished(found, requires_grad)


factory("full(size: tuple, fill_value: Operand", "A tensor filled with one number.", _full)
composite(f"full_like(input, fill_value: Operand, *, {LIKE})", "A tensor like another, filled with one number.", _full_like, TORCH)
factory(
    "new_full(self, size: tuple, fill_value: Operand", "A tensor of this dtype filled with one number.",
    lambda self, size, fill_value, dtype: allocate(size, self.array.dtype if dtype is None else dtype, _fill_value(fill_value)),
    ("Tensor",),
)


# --- in sequence ------------------------------------------------------------------------------------------------


_WIDER = {np.float32: np.float64, np.float64: np.longdouble}
"""In which the product and the sum of a point are worked out: PyTorch rounds them once, together."""


def _arange(start: float, end: float, step: float, dtype: Any) -> Array:
    if dtype is None:
        whole = all(isinstance(one, int) for one in (start, end, step))
        dtype = np.dtype(np.int64) if whole else current().default_dtype
    if np.dtype(dtype).kind == "b":
        raise fail("dtype", "\"arange_cpu\" not implemented for 'Bool'", NotImplementedError)
    if step == 0:
        raise fail("value", "step must be nonzero")
    if (step > 0) != (end >= start) and start != end:
        raise fail("value", "upper bound and lower bound inconsistent with step sign")
    if not all(math.isfinite(one) for one in (start, end)):
        raise fail("value", f"unsupported range: {start} -> {end}")
    if np.dtype(dtype).kind in "iu":
        start, end, step = int(start), int(end), int(step)
        count = max(-((start - end) // step), 0) if step else 0
    else:
        count = max(math.ceil((end - start) / step), 0)
    check_bytes(count * np.dtype(dtype).itemsize)
    if np.dtype(dtype).kind == "f":
        return _by_vectors(float(start), float(step), count, dtype)
    values: Array = np.int64(start) + np.arange(count) * np.int64(step)
    return values.astype(dtype)


def _by_vectors(start: float, step: float, count: int, dtype: Any) -> Array:
    """Return `start + n * step` as PyTorch rounds it: vectors of 32 bytes begin at a rounded number, whose followers add to it.

    The rest, behind the last pair of vectors, is worked out number by number.
    """
    dtype = np.dtype(dtype)
    exact = start.is_integer() and step.is_integer()
    wide: Any = np.float64 if exact else _WIDER.get(dtype.type, np.float64)
    widest: Any = np.float64 if exact else np.longdouble
    lanes = 32 // dtype.itemsize
    places = np.arange(count)
    whole = count - count % (2 * lanes)
    bases = (wide(start) + places[:whole:lanes].astype(wide) * wide(step)).astype(dtype)
    within = places[:lanes].astype(wide) * wide(step)
    vectors = (bases.astype(wide)[:, None] + within).astype(dtype).reshape(-1)
    return np.concatenate([vectors, (widest(start) + places[whole:].astype(widest) * widest(step)).astype(dtype)])


factory("arange(end: number", "The numbers 0, 1, … below `end`.", lambda end, dtype: _arange(0, end, 1, dtype))
factory(
    "arange(start: number, end: number, step: number = 1",
    "The numbers from `start` to below `end` by `step`; integers unless one of them is a float.", _arange,
)


def _range(start: float, end: float, step: float, dtype: Any) -> Array:
    current().warning(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
        "builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    dtype = current().default_dtype if dtype is None else dtype
    if step == 0:
        raise fail("value", "step must be nonzero")
    if (step > 0) != (end >= start) and start != end:
        raise fail("value", "upper bound and lower bound inconsistent with step sign")
    count = int((end - start) / step) + 1
    check_bytes(count * np.dtype(dtype).itemsize)
    return (start + np.arange(count, dtype=np.float64) * step).astype(dtype)


factory("range(start: number = 0, end: number = 0, step: number = 1", "The numbers from `start` to `end`, both included.", _range)


def evenly_spaced(start: float, end: float, steps: int, dtype: Any) -> Array:
    """Return the points of linspace, worked out from both ends towards the middle, as PyTorch does."""
    if steps < 0:
        raise fail("value", "number of steps must be non-negative")
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
    first, last, step = map(_WIDER[np.dtype(dtype).type] if np.dtype(dtype).kind == "f" else kind, (first, last, step))
    low = first + step * place[:half].astype(type(step))
    high = last - step * (steps - 1 - place[half:]).astype(type(step))
    return np.concatenate([low, high]).astype(dtype)


factory(
    "linspace(start: Operand, end: Operand, steps: int", "`steps` evenly spaced numbers from `start` to `end`, both included.",
    lambda start, end, steps, dtype: evenly_spaced(_fill_value(start), _fill_value(end), steps, default_or(dtype)),
)


def _logspace(start: Any, end: Any, steps: int, base: float, dtype: Any) -> Array:
    kind = default_or(dtype)
    if np.dtype(kind).kind != "f" or steps < 2:
        return np.power(float(base), evenly_spaced(_fill_value(start), _fill_value(end), steps, np.float64)).astype(kind)
    check_bytes(steps * 8)
    first, last = (np.dtype(kind).type(_fill_value(one)) for one in (start, end))
    step = float(last - first) / (steps - 1)
    before, after = np.split(np.arange(steps), [steps // 2])
    exponents = np.concatenate([float(first) + step * before, float(last) - step * (steps - 1 - after)])
    return np.power(float(base), exponents).astype(kind)


factory(
    "logspace(start: Operand, end: Operand, steps: int, base: float = 10.0",
    "`steps` numbers evenly spaced on a logarithmic scale.", _logspace,
)


def _eye(n: int, m: int | None, dtype: NumpyDType | None) -> Array:
    columns = n if m is None else m
    for name, extent in (("n", n), ("m", columns)):
        if extent < 0:
            raise fail("value", f"{name} must be greater or equal to 0, got {extent}")
    check_bytes(n * columns * 8)
    return np.eye(n, columns, dtype=default_or(dtype))


factory("eye(n: int, m: int? = None", "Ones on the diagonal, zeros elsewhere.", _eye)


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
