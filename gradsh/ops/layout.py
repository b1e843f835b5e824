"""Memory formats, and the old tensor types (`torch.FloatTensor`) that make tensors of one dtype."""

from typing import Any

import numpy as np

from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.values.dtype import Array, DType, bool_, float32, float64, int8, int16, int32, int64, uint8
from gradsh.engine.values.size import Size
from gradsh.ops.kernels.common import row_major
from gradsh.text.fault import fail


class MemoryFormat:
    """How the dimensions of a tensor lie in memory: `torch.contiguous_format` and its like."""

    __slots__ = ("name",)
    __script_attributes__: frozenset[str] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
_CHANNELS = {channels_last: 4, channels_last_3d: 5}


def is_laid_out(array: Array, layout: Any) -> bool:
    """Whether an array lies in memory as a format asks (None and preserve_format: in row-major order)."""
    if layout in _CHANNELS:
        return array.ndim == _CHANNELS[layout] and bool(np.moveaxis(array, 1, -1).flags.c_contiguous)
    return bool(array.flags.c_contiguous)


def laid_out(array: Array, layout: Any, dtype: Any = None) -> Array:
    """Return a copy of an array that lies in memory as a format asks."""
    wanted = array.dtype if dtype is None else dtype
    if layout in _CHANNELS:
        if array.ndim != _CHANNELS[layout]:
            message = f"required rank {_CHANNELS[layout]} tensor to use {layout.name} format"
            raise fail("shape", message, RuntimeError)
        return np.moveaxis(np.array(np.moveaxis(array, 1, -1), wanted, order="C"), -1, 1)
    return row_major(array, wanted)


class TensorType:
    """One of PyTorch's old tensor types: `torch.LongTensor([1, 2])`, `torch.FloatTensor(2, 3)`."""

    __slots__ = ("tensor_dtype",)
    __script_attributes__ = frozenset({"dtype", "__name__"})

    def __init__(self, dtype: DType) -> None:
        self.tensor_dtype = dtype

    @property
    def dtype(self) -> DType:
        """The dtype of the tensors it makes."""
        return self.tensor_dtype

    @property
    def __name__(self) -> str:
        return f"{self.tensor_dtype.title}Tensor"

    def __call__(self, *args: Any) -> Tensor:
        """Make a tensor from data, or an uninitialised one (zeros here) of the given extents."""
        from gradsh.ops.create import allocate
        from gradsh.ops.from_data import to_array

        dtype = self.tensor_dtype.numpy
        if len(args) == 1 and not isinstance(args[0], (int, Size)):
            return make(to_array(args[0], dtype))
        size = args[0] if len(args) == 1 and isinstance(args[0], Size) else args
        return make(allocate(tuple(size), dtype))

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is self.tensor_dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


FloatTensor, DoubleTensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor, BoolTensor = (
    TensorType(each) for each in (float32, float64, int64, int32, int16, int8, uint8, bool_)
)
