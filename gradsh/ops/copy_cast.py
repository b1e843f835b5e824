"""Copies, filling, and conversion between data types."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.array_attributes import check_numpy, check_scalar_type
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.device import Device, check_device, check_gpu, no_accelerator
from gradsh.engine.values.dtype import DTYPES, Array, DType, NumpyDType, as_dtype, foreign
from gradsh.engine.values.layout import stepped_as
from gradsh.engine.values.overlap import check_apart, check_distinct, is_same_view, reads_what_it_writes, write_in_order
from gradsh.engine.values.reduced import cast, write
from gradsh.engine.values.shape import broadcast_shapes, check_written_shape
from gradsh.ops.arguments import zeros
from gradsh.ops.kernels.geometry import array_of, dense_like
from gradsh.ops.layout import contiguous_format, is_laid_out, laid_out, preserve_format
from gradsh.text.fault import fail


def fresh(array: Array) -> Array:
    """Return a copy with the same order of memory; elements that share memory get their own."""
    return converted(array, array.dtype)


def converted(array: Array, dtype: NumpyDType) -> Array:
    """Return a copy of another dtype with the same order of memory."""
    if array.size < 2:  # dense whatever its steps
        return stepped_as(cast(array, dtype), array)
    if array.flags.c_contiguous or 0 not in array.strides:
        return cast(array, dtype)
    copy = dense_like(array, dtype)
    write(copy, array)
    return copy


clone = op(
    "clone(self, *, memory_format: any? = None)", "CloneBackward0", "A copy that gradients flow through.",
    forward=lambda self, memory_format: (
        fresh(self) if memory_format in (None, preserve_format) else laid_out(self, memory_format)
    ),
    grads={"self": lambda grad: grad}, samples=(sample((2, 3)),), attributes=(),
)


def _contiguous(self: Tensor, memory_format: Any) -> Tensor:
    layout = memory_format or contiguous_format
    return self if is_laid_out(array_of(self), layout) else clone(self, memory_format=layout)


composite(
    "contiguous(self, *, memory_format: any? = None)", "The tensor itself if its memory is in order, else a copy.",
    _contiguous, ("Tensor",), samples=(sample((2, 3)),),
    note="A tensor that is contiguous already returns itself, the same object.",
)


def _copy(self: Array, other: Array, non_blocking: bool) -> Array:
    del non_blocking
    array = np.asarray(other)
    if is_same_view(self, array):
        return self
    check_distinct(self)
    check_apart(self, (array,))
    check_written_shape(self.shape, broadcast_shapes(self.shape, array.shape))
    if reads_what_it_writes(self, array):
        write_in_order(self, np.arange(self.size).reshape(self.shape), array)
    else:
        write(self, array)
    return self


copy_ = op(
    "copy_(self, other: Operand, non_blocking: bool = False)", "torch::autograd::CopyBackwards",
    "Write the elements of `other` into `self`.",
    forward=_copy, kind="inplace", writes=True, spaces=("Tensor",),
    grads={"self": zeros, "other": lambda grad: grad},
    note="`x[:] = v` is CopyBackwards; `x[0] = v` puts a CopySlices into the history of x; `x[idx] = v` is "
         "IndexPutBackward0.",
)


# --- filling ----------------------------------------------------------------------------------------------------


def _fill(self: Array, value: Array | float) -> Array:
    array = np.asarray(value)
    if array.ndim:
        message = f"fill_ only supports 0-dimension value tensor but got tensor with {array.ndim} dimensions."
        raise fail("shape", message)
    return np.full(self.shape, cast(array, self.dtype), self.dtype)


def _fill_in(self: Array, value: Array | float) -> Array:
    self[...] = _fill(self, value)
    return self


def _zero_in(self: Array) -> Array:
    self[...] = 0
    return self


def _total(grad: ArrayOrTensor) -> ArrayOrTensor:
    return np.asarray(grad.sum()) if isinstance(grad, np.ndarray) else find("sum")(grad)


op(
    "fill(self, value)", "FillBackward1", "A tensor of this shape filled with one value.", forward=_fill, spaces=("torch",),
    grads={"self": zeros, "value": _total},
    inplace={"node": "FillBackward3", "forward": _fill_in, "writes": True}, samples=(sample((2, 3), ()),),
)
op(
    "fill(self, value: number)", "FillBackward0", "A tensor of this shape filled with one number.", forward=_fill,
    spaces=("torch",), grads={"self": zeros},
    inplace={"node": "FillBackward2", "forward": _fill_in, "writes": True}, samples=(sample((2, 3), 2.5),),
)
find("fill_").spaces = ("torch", "Tensor")
zero_ = op(
    "zero_(self)", "ZeroBackward0", "Write zeros.", forward=_zero_in, kind="inplace", writes=True,
    grads={"self": zeros},
)


def _fill_diagonal(self: Tensor, fill_value: float, wrap: bool) -> Tensor:
    """Write into a strided view of the diagonal; with `wrap` a tall matrix gets further diagonals below."""
    shape = self.array.shape
    if len(shape) < 2:
        raise fail("shape", "dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise fail("shape", "all dimensions of input must be of equal length")
    strided = find("as_strided")
    step, start = sum(self.stride()), self.storage_offset()
    find("fill_")(strided(self, (min(shape),), (step,), start), fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        offset = start + self.stride(0) * (shape[1] + 1)
        count = -(-self.array.size // (shape[1] + 1)) - shape[1]
        find("fill_")(strided(self, (count,), (step,), offset), fill_value)
    return self


composite(
    "fill_diagonal_(self, fill_value: number, wrap: bool = False)", "Write a number on the main diagonal.", _fill_diagonal,
    ("Tensor",),
)


# --- data types -------------------------------------------------------------------------------------------------


to_copy = op(
    "_to_copy(self, dtype: dtype, layout: any? = None)", "ToCopyBackward0", "A copy in another data type.",
    forward=lambda self, dtype, layout: (
        converted(self, dtype) if layout in (None, preserve_format) else laid_out(self, layout, dtype)
    ), spaces=(), attributes=(),
    grads={"self": lambda grad, self_dtype: to_dtype(grad, self_dtype)},
)


def to_dtype(self: ArrayOrTensor, dtype: NumpyDType, copy: bool = False, layout: Any = None) -> ArrayOrTensor:
    """Return the tensor (or array) itself if it has this numpy dtype (and memory format), else a copy that has it."""
    array = array_of(self)
    if array.dtype == dtype and not copy and (layout in (None, preserve_format) or is_laid_out(array, layout)):
        return self
    return to_copy(self, dtype, layout)


def _names_dtype(value: object) -> bool:
    return value is None or isinstance(value, np.dtype) or as_dtype(value) is not None


def _numpy_dtype(value: object) -> Any:
    found = as_dtype(value)
    return value if found is None else found.numpy


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    dtype, copy, device = None, kwargs.pop("copy", False), kwargs.pop("device", None)
    layout = kwargs.pop("memory_format", None)
    dtype = kwargs.pop("dtype", None)
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        dtype = rest.pop(0).dtype
    elif rest and isinstance(rest[0], (str, Device, int)) and not isinstance(rest[0], bool):
        device = rest.pop(0)
        if rest and _names_dtype(rest[0]):
            dtype = rest.pop(0)
    elif rest and _names_dtype(rest[0]):
        dtype = rest.pop(0)
    if len(rest) > 1:
        copy = bool(rest[1])
    if kwargs or any(not isinstance(one, bool) for one in rest):
        shown = ", ".join(type(one).__name__ for one in (*args, *kwargs.values()))
        raise fail("type", f"to() received an invalid combination of arguments - got ({shown})", TypeError)
    check_device(device)
    return to_dtype(self, array_of(self).dtype if dtype is None else _numpy_dtype(dtype), copy, layout)


def _to_record(
    self: Tensor, args: tuple[object, ...], dtype: object, device: object, other: object, copy: bool, layout: object
) -> Tensor:
    named = ("dtype", dtype), ("device", device), ("memory_format", layout)
    keywords = {name: value for name, value in named if value is not None}
    given = args if isinstance(args, tuple) else (args,)
    return _to(self, *(given if other is None else (other, *given)), copy=copy, **keywords)


to = composite(
    "to(self, *args: any, *, dtype: dtype? = None, device: any? = None, other: any? = None, copy: bool = False, "
    "non_blocking: bool = False, memory_format: any? = None)",
    "The tensor in another data type (itself where nothing changes). Takes a dtype, the device 'cpu', or a tensor to be like.",
    lambda self, args, dtype, device, other, copy, non_blocking, memory_format: _to_record(
        self, args, dtype, device, other, copy, memory_format
    ),
    ("Tensor",),
    note="`to` of the dtype it has returns the same tensor object.",
)


def _converter(name: str, dtype: DType) -> None:
    composite(
        f"{name}(self, *, memory_format: any? = None)", f"The tensor as {dtype.name} (itself if it is that already).",
        lambda self, memory_format: to_dtype(self, dtype.numpy, False, memory_format), ("Tensor",),
    )


for _dtype in DTYPES:
    _converter(_dtype.title.lower(), _dtype)


def _refuses(name: str, title: str) -> None:
    def refuse(self: Tensor) -> Any:
        raise foreign(title)

    composite(f"{name}(self)", f"Refused: gradsh has no {title}.", refuse, ("Tensor",))


for _name, _title in (("cfloat", "complex64"), ("cdouble", "complex128")):
    _refuses(_name, _title)

_TYPES = {f"torch.{one.title}Tensor": one.numpy for one in DTYPES}


def _type(self: Tensor, dtype: object, non_blocking: bool) -> object:
    del non_blocking
    if dtype is None:
        return f"torch.{self.dtype.title}Tensor"
    if getattr(dtype, "of_gpu", False) or (isinstance(dtype, str) and dtype.startswith("torch.cuda.")):
        check_device("cuda")
    if isinstance(dtype, type):
        dtype = "torch.Tensor" if dtype is Tensor else dtype.__name__  # PyTorch takes Python's types for names here
    if isinstance(dtype, str):
        dtype = dtype.replace("torch.cuda.", "torch.")
        if dtype == "torch.Tensor":
            return to_dtype(self, current().default_dtype)
        if dtype not in _TYPES:
            raise fail("value", f"invalid type: {dtype!r}", ValueError)
        return to_dtype(self, _TYPES[dtype])
    if isinstance(dtype, (DType, np.dtype)):
        return to_dtype(self, _numpy_dtype(dtype))
    named = getattr(dtype, "tensor_dtype", None)
    if named is not None:
        return to_dtype(self, named.numpy)
    raise fail("type", "dtype must be a type, str, or dtype object")


composite(
    "type(self, dtype: any? = None, non_blocking: bool = False)",
    "The name of the tensor's type, or with an argument the tensor in that type.", _type, ("Tensor",),
)
composite(
    "type_as(self, other)", "The tensor in the dtype of another.",
    lambda self, other: to_dtype(self, array_of(other).dtype), ("Tensor",),
)
composite("cpu(self, memory_format: any? = None)", "The tensor itself: it is on the CPU.", lambda self, memory_format: self, ("Tensor",))


def _numpy(self: Tensor, force: bool) -> Array:
    if not force:
        check_numpy(self)
    check_scalar_type(self.array)
    return self.array.view()  # its shape can be set without touching the tensor's


composite("numpy(self, *, force: bool = False)", "A numpy array over the same memory.", _numpy, ("Tensor",),
          note="Writes to the array are not noticed: they bump no version.")


def _cuda(self: Tensor, device: object, non_blocking: bool) -> Tensor:
    check_gpu(device)
    return self


composite("cuda(self, device: any? = None, non_blocking: bool = False)", "Refused: gradsh computes on the CPU.", _cuda, ("Tensor",))


def _pin_memory(self: Tensor, device: object) -> Tensor:
    del device
    if current().flags.get("cuda") != "ignore":
        raise no_accelerator()
    return self


composite("pin_memory(self, device: any? = None)", "Refused: memory is pinned for a GPU.", _pin_memory, ("Tensor",))
composite("is_pinned(self, device: any? = None)", "False: memory is pinned for a GPU.", lambda self, device: False, ("Tensor",))
composite("share_memory_(self)", "The tensor itself: one process computes.", lambda self: self, ("Tensor",))
