"""Tensors from data: numbers, nested lists, numpy arrays, other tensors."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.schema.signature import class_name
from gradsh.engine.values.device import check_device, check_factory_device
from gradsh.engine.values.dtype import Array, NumpyDType, cpp_name, number_dtype, of_numpy, promote_pair
from gradsh.engine.values.reduced import REDUCED, cast
from gradsh.engine.values.size import Size
from gradsh.ops.copy_cast import to_dtype
from gradsh.ops.create import TORCH, allocate, check_bytes, default_or, finished
from gradsh.text.fault import fail


def _infer_shape(data: object) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
        if isinstance(data, np.ndarray) and data.ndim:
            shape.extend(data.shape)
            break
        if len(shape) > 128:
            raise fail("value", "too many dimensions 'list'", ValueError)
    if isinstance(data, str) and shape:
        raise fail("value", "too many dimensions 'str'", ValueError)
    return tuple(shape)


def _flatten(data: object, shape: tuple[int, ...], dim: int, out: list[object], dtype: NumpyDType | None) -> None:
    """Append the numbers of a nested sequence to `out`; refuses one that is not rectangular."""
    if dim == len(shape):
        if isinstance(data, (Tensor, np.ndarray, np.generic)):
            if (data.array if isinstance(data, Tensor) else data).size != 1:
                raise fail("value", "only one element tensors can be converted to Python scalars", ValueError)
            data = data.item()
        if not isinstance(data, (int, float)):
            raise _not_number(data, out, dtype)
        out.append(data)
        return
    if isinstance(data, np.ndarray):
        data = data.tolist()
    if not isinstance(data, (list, tuple)):
        message = f"expected sequence of length {shape[dim]} at dim {dim} (got {type(data).__name__})"
        if isinstance(data, (int, float)):
            raise fail("type", "not a sequence", TypeError)
        raise fail("value", message, ValueError)
    if len(data) != shape[dim]:
        raise fail("value", f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})", ValueError)
    if dim + 1 == len(shape) and all(type(one) in {int, float, bool} for one in data):
        out.extend(data)
        return
    check = current().check
    if check is not None:
        check(0)
    for one in data:
        _flatten(one, shape, dim + 1, out, dtype)


def _not_number(data: object, out: list[object], dtype: NumpyDType | None) -> Exception:
    """Return the error for what stands among numbers; `out` are those before it."""
    name = type(data).__name__
    if isinstance(data, str) and (dtype is None or not out):
        return fail("type", f"new(): invalid data type {name!r}", TypeError)
    if isinstance(data, (list, tuple)) or (dtype is not None and name != "complex"):
        whole = dtype.kind in "iu" if dtype is not None else bool(out) and isinstance(out[0], int)
        said = f"{name!r} object cannot be interpreted as an integer" if whole else f"must be real number, not {name}"
        return fail("type", said, TypeError)
    if name == "complex":
        way = "keep the real and the imaginary part apart, or run the program on PyTorch: `gradsh trace FILE`"
        return fail("dtype", "gradsh computes in real numbers only, not in complex64", TypeError, way=way)
    return fail("type", f"Could not infer dtype of {name}")


def _scalar_dtype(numbers: Sequence[object], default: NumpyDType) -> NumpyDType:
    kinds = {type(one) for one in numbers}
    if not kinds or any(issubclass(kind, float) for kind in kinds):
        return default
    return np.dtype(np.bool_) if all(kind is bool for kind in kinds) else np.dtype(np.int64)


def check_strides(array: Array) -> None:
    """Refuse an array that runs backwards: PyTorch takes none, not even to copy it."""
    if min(array.strides, default=0) < 0:
        message = (
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
        raise fail("value", message, ValueError)


def to_array(data: object, dtype: NumpyDType | None, copy: bool = True) -> Array:
    """Return the array of a number, nested sequence, numpy array or tensor, inferring the dtype where None."""
    if isinstance(data, Tensor) or hasattr(data, "__array__"):
        array = data.array if isinstance(data, Tensor) else np.asarray(data)
        of_numpy(array.dtype)
        check_strides(array)
        wanted = array.dtype if dtype is None else dtype
        if wanted in REDUCED and wanted != array.dtype:
            return cast(array, wanted)
        return np.array(array, wanted, order="K") if copy or wanted != array.dtype else array
    if isinstance(data, range):
        data = list(data)
    shape = _infer_shape(data)
    numbers: list[Any] = []
    _flatten(data, shape, 0, numbers, dtype)
    if dtype is None:
        dtype = _nested_dtype(data)
        dtype = _scalar_dtype(numbers, current().default_dtype) if dtype is None else dtype
    check_bytes(len(numbers) * np.dtype(dtype).itemsize)
    try:
        if np.dtype(dtype).kind in "iu":
            numbers = [int(one) for one in numbers]
            if np.dtype(dtype) == np.uint8 and all(-256 < one < 256 for one in numbers):
                numbers = [one % 256 for one in numbers]
        return (cast(np.array(numbers), dtype) if dtype in REDUCED else np.array(numbers, dtype)).reshape(shape)
    except (OverflowError, ValueError):
        if np.dtype(dtype) == np.int64:
            raise fail("value", "Overflow when unpacking long long", ValueError) from None
        raise fail("value", f"value cannot be converted to type {of_numpy(dtype).name} without overflow") from None


def _nested_dtype(data: object) -> NumpyDType | None:
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
            each = one.array.dtype if isinstance(one, Tensor) else one.dtype
        elif isinstance(one, (int, float)):
            each = number_dtype(one, current().default_dtype)
        else:
            return None
        found = each if found is None else promote_pair(found, each)
    return found if tensors else None


def _tensor(data: object, dtype: NumpyDType | None, device: object, requires_grad: bool, pin_memory: bool) -> Tensor:
    if isinstance(data, deque):
        data = list(data)
    del pin_memory
    check_factory_device(device)
    if isinstance(data, Tensor):
        current().warning(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
        )
    return finished(to_array(data, dtype), requires_grad)


tensor = composite(
    "tensor(data: any?, *, dtype: dtype? = None, device: any? = None, requires_grad: bool = False, pin_memory: bool = False)",
    "A leaf tensor from numbers, nested lists or an array (copied).", _tensor, TORCH,
)


def _as_tensor(data: Array, dtype: Any, device: object) -> Tensor:
    check_factory_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else to_dtype(data, dtype)
    return make(to_array(data, dtype, copy=False))


composite(
    "as_tensor(data: any?, dtype: dtype? = None, device: any? = None)",
    "The tensor itself, or a tensor over an array's memory, or one from numbers.", _as_tensor, TORCH,
)
def _asarray(obj: Any, dtype: object, device: object, copy: object, requires_grad: bool | None) -> Tensor:
    found = _as_tensor(obj, dtype, device)
    if copy and (found is obj or not isinstance(obj, Tensor)):
        found = find("clone")(found)
    if requires_grad is None or found.requires_grad is requires_grad:
        return found
    return found.requires_grad_() if requires_grad else found.detach()


composite(
    "asarray(obj: any?, *, dtype: dtype? = None, device: any? = None, copy: bool? = None, requires_grad: bool? = None)",
    "A tensor from anything, sharing memory where possible.",
    _asarray, TORCH,
)


def _from_numpy(ndarray: Array) -> Tensor:
    if isinstance(ndarray, Tensor) or not hasattr(ndarray, "__array__"):
        raise fail("type", f"expected np.ndarray (got {type(ndarray).__name__})", TypeError)
    array = np.asarray(ndarray)
    of_numpy(array.dtype)
    check_strides(array)
    return make(array)


composite("from_numpy(ndarray: any?)", "A tensor over the memory of a numpy array.", _from_numpy, TORCH)


def _options(dtype: NumpyDType) -> str:
    """Return the options of a tensor of that dtype, as PyTorch's C++ prints them."""
    return (
        f"TensorOptions(dtype={cpp_name(dtype)}, device=cpu, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )


def _legacy(name: str, own: str, spaces: tuple[str, ...], dtype_of: Any) -> None:
    """Declare what makes tensors as `torch.Tensor(...)` does, of the dtype that the arguments before `device` say.

    A tensor is taken as it is, graph and all, and an array of the dtype with its memory.
    """

    def from_data(*given: object) -> Tensor:
        *before, data, device = given
        check_device(device)
        dtype = dtype_of(*before)
        if isinstance(data, Tensor):
            if own and data.array.dtype != dtype:
                raise fail("type", f"expected {_options(dtype)} (got {_options(data.array.dtype)})", TypeError)
            return find("alias")(data)
        if isinstance(data, Size):
            return make(allocate(tuple(data), dtype))
        if not hasattr(data, "__getitem__") or isinstance(data, (dict, np.generic)):
            raise fail("type", f"new(): data must be a sequence (got {class_name(data)})", TypeError)
        return make(to_array(data, dtype, copy=False))

    def of_size(*given: Any) -> Tensor:
        *before, size, _device = given
        return make(allocate(size, dtype_of(*before)))

    kind = "this" if own else "the default"
    composite(f"{name}({own}data: data, *, device: any? = None)", f"A tensor of {kind} dtype from data.", from_data, spaces)
    def empty(*given: object) -> Tensor:
        return of_size(*given[:-1], (0,), None)

    composite(f"{name}({own}*, device: any? = None)", f"An empty tensor of {kind} dtype.", empty, spaces)
    composite(f"{name}({own}*size: ints, *, device: any? = None)", f"A tensor of {kind} dtype of these extents.", of_size, spaces)


_legacy("_legacy_tensor", "", (), lambda: current().default_dtype)
_legacy("new", "self, ", ("Tensor",), lambda self: self.array.dtype)
composite(
    "scalar_tensor(s: number, *, dtype: dtype? = None, device: any? = None, requires_grad: bool = False)",
    "A 0-d tensor of the default dtype.",
    lambda s, dtype, device, requires_grad: finished(np.full((), s, default_or(dtype)), requires_grad), TORCH,
)
composite(
    "new_tensor(self, data: any?, *, dtype: dtype? = None, device: any? = None, requires_grad: bool = False)",
    "A tensor of this dtype from data.",
    lambda self, data, dtype, device, requires_grad: finished(
        to_array(data, self.array.dtype if dtype is None else dtype), requires_grad
    ), ("Tensor",),
)


def _frombuffer(buffer: Any, dtype: NumpyDType, count: int, offset: int, requires_grad: bool) -> Tensor:
    memory = np.asarray(memoryview(buffer).cast("B"))
    if memory.size == 0:
        raise fail("value", f"both buffer length ({memory.size}) and count ({count}) must not be 0", ValueError)
    if not 0 <= offset < memory.size:
        bound = f"buffer length ({memory.size} bytes) - 1"
        raise fail("value", f"offset ({offset} bytes) must be non-negative and no greater than {bound}", ValueError)
    size = np.dtype(dtype).itemsize
    if count < 0 and (memory.size - offset) % size:
        message = f"buffer length ({memory.size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
        raise fail("value", message, ValueError)
    if count > 0 and offset + count * size > memory.size:
        message = (
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual buffer length "
            f"({memory.size} bytes)"
        )
        raise fail("value", message, ValueError)
    return finished(np.frombuffer(memory, dtype, count, offset), requires_grad)


composite(
    "frombuffer(buffer: any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False)",
    "The numbers in the memory of an object, shared with it.", _frombuffer, TORCH,
)
