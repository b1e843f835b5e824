"""The old tensor types (`torch.FloatTensor`), which make tensors of one dtype."""

from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.values.device import CUDA_WAY
from gradsh.engine.values.dtype import DType, bool_, float32, float64, int8, int16, int32, int64, uint8
from gradsh.text.fault import fail


class TensorType:
    """One of PyTorch's old tensor types: `torch.LongTensor([1, 2])`, `torch.FloatTensor(2, 3)`."""

    __slots__ = ("tensor_dtype",)
    __script_attributes__ = frozenset({"dtype", "__name__"})
    of_gpu = False

    def __init__(self, dtype: DType) -> None:
        self.tensor_dtype = dtype

    @property
    def dtype(self) -> DType:
        """The dtype of the tensors it makes."""
        return self.tensor_dtype

    @property
    def __name__(self) -> str:
        return f"{self.tensor_dtype.title}Tensor"

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """Make a tensor from data, or an uninitialised one (zeros here) of the given extents."""
        return make(np.empty(0, self.tensor_dtype.numpy)).new(*args, **kwargs)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype is self.tensor_dtype

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


class CudaTensorType(TensorType):
    """A tensor type of a GPU (`torch.cuda.FloatTensor`): PyTorch's refuses to make tensors where there is none."""

    __slots__ = ()
    __script_attributes__ = TensorType.__script_attributes__
    of_gpu = True

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """Refuse, unless the session takes the CPU for every device."""
        if current().flags.get("cuda") != "ignore":
            text = f"type torch.cuda.{self.__name__} not available. Torch not compiled with CUDA enabled."
            raise fail("value", text, TypeError, device="cuda", way=CUDA_WAY)
        return super().__call__(*args, **kwargs)

    def __instancecheck__(self, value: object) -> bool:
        return current().flags.get("cuda") == "ignore" and super().__instancecheck__(value)

    def __repr__(self) -> str:
        return f"<class 'torch.cuda.{self.__name__}'>"


_DTYPES = (float32, float64, int64, int32, int16, int8, uint8, bool_)
FloatTensor, DoubleTensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor, BoolTensor = map(TensorType, _DTYPES)
CudaFloat, CudaDouble, CudaLong, CudaInt, CudaShort, CudaChar, CudaByte, CudaBool = map(CudaTensorType, _DTYPES)
