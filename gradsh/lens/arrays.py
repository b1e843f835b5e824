"""What stands in the place of the engine's arrays: the shape, bytes and memory of a PyTorch tensor, and its numbers on demand."""

from typing import Any

import numpy as np
import torch

KIND = {torch.bool: "b", torch.uint8: "u"}


class TorchDType:
    """A dtype of PyTorch's: its name, the bytes of an element, numpy's letter for its kind, and the numpy dtype nearest to it."""

    __slots__ = ("dtype", "itemsize", "kind", "name", "num")

    def __init__(self, dtype: torch.dtype) -> None:
        self.name = str(dtype).removeprefix("torch.")
        self.itemsize = dtype.itemsize
        self.kind = KIND.get(dtype, "f" if dtype.is_floating_point else "c" if dtype.is_complex else "i")
        self.dtype = np.dtype(np.float64 if self.kind == "f" else np.complex128 if self.kind == "c" else np.int64)
        self.num = -1

    def __str__(self) -> str:
        return self.name


_DTYPES: dict[torch.dtype, TorchDType] = {}


def dtype_of(dtype: torch.dtype) -> TorchDType:
    """Return the one object for a dtype."""
    found = _DTYPES.get(dtype)
    if found is None:
        found = _DTYPES[dtype] = TorchDType(dtype)
    return found


class Storage:
    """The memory that tensors stand in: one object for each storage as long as a question lasts."""

    __slots__ = ("__weakref__", "base", "key", "nbytes", "strides")  # the engine keeps what it knows of a memory beside it

    def __init__(self, key: int, nbytes: int) -> None:
        self.key = key
        self.nbytes = nbytes
        self.base = None
        self.strides = ()


class TorchArray:
    """The array of a tensor: what is asked of numpy's arrays by the probes."""

    __slots__ = ("base", "dtype", "nbytes", "shape", "tensor")

    def __init__(self, tensor: torch.Tensor, shape: tuple[int, ...], dtype: TorchDType, nbytes: int, base: Storage) -> None:
        self.tensor: torch.Tensor | None = tensor
        self.shape = shape
        self.dtype = dtype
        self.nbytes = nbytes
        self.base = base

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.nbytes // int(self.dtype.itemsize)

    def __array__(self, dtype: Any = None, copy: object = None) -> object:
        """Return the numbers; zeros where there are none (on the meta device)."""
        del copy
        tensor = self.tensor
        if tensor is None or tensor.device.type == "meta":
            found = np.zeros(self.shape)
        else:
            plain = tensor.detach()
            plain = plain.to_dense() if plain.layout is not torch.strided else plain
            plain = plain.cpu().resolve_conj().resolve_neg()
            found = (plain.double() if self.dtype.kind == "f" else plain).numpy()
        return found if dtype is None else found.astype(dtype)

    def tolist(self) -> object:
        """Return the numbers as nested lists; None where there are none."""
        if self.tensor is None or self.tensor.device.type == "meta":
            return None
        return np.asarray(self).tolist()

    def astype(self, _: object) -> "TorchArray":
        """Return itself: the numbers are not what is asked for."""
        return self

    def any(self) -> bool:
        """Whether any element is not zero."""
        return bool(np.asarray(self).any())

    def all(self) -> bool:
        """Whether no element is zero."""
        return bool(np.asarray(self).all())

    def __gt__(self, other: object) -> object:
        return np.asarray(self) > other

    def __mul__(self, other: object) -> object:
        return np.asarray(self) * other

    def __rsub__(self, other: object) -> object:
        return other - np.asarray(self)
