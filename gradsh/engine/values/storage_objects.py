"""The memory of tensors as programs see it: `x.untyped_storage()` in bytes, `x.storage()` in elements; to look at, not to write."""

from typing import Any

import numpy as np

from gradsh.engine.values.device import CPU, Device
from gradsh.engine.values.dtype import Array, DType, of_numpy
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import owner_of
from gradsh.text.fault import fail


class UntypedStorage:
    """The whole memory that a tensor lies in, byte by byte."""

    __module__ = "torch.storage"
    __slots__ = ("_array",)
    __script_attributes__ = frozenset({"nbytes", "size", "data_ptr", "element_size", "tolist", "device"})
    device: Device = CPU

    def __init__(self, array: Array) -> None:
        self._array = array

    def elements(self) -> Array:
        """Return a view of the memory in one dim."""
        owner = owner_of(self._array)
        return owner.ravel(order="K").view(self.numpy_dtype())

    def numpy_dtype(self) -> Any:
        """Return the dtype of one element."""
        return np.dtype(np.uint8)

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return bytes_of(owner_of(self._array))

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return of_numpy(self.numpy_dtype()).itemsize

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.element_size()

    __len__ = size

    def data_ptr(self) -> int:
        """Return the address of the first byte, 0 where there is none."""
        owner = owner_of(self._array)
        return int(owner.__array_interface__["data"][0]) if owner.size else 0

    def tolist(self) -> list[Any]:
        """Return the elements."""
        return self.elements().tolist()  # type: ignore[no-any-return]

    def __getitem__(self, place: int) -> Any:
        if not isinstance(place, int):
            raise fail("type", f"can't index a {type(self).__name__} with {type(place).__name__}", TypeError)
        if not -len(self) <= place < len(self):
            raise fail("index", f"index {place} out of range for storage of size {len(self)}", IndexError)
        return self.elements()[place].item()

    def __repr__(self) -> str:
        shown = "".join(f" {one}\n" for one in self.tolist())
        return f"{shown}[torch.storage.{type(self).__name__}({self._kind()}device=cpu) of size {len(self)}]"

    def _kind(self) -> str:
        return ""


class TypedStorage(UntypedStorage):
    """The whole memory that a tensor lies in, in elements of its dtype."""

    __module__ = "torch.storage"
    __slots__ = ()
    __script_attributes__ = UntypedStorage.__script_attributes__ | {"dtype"}

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return of_numpy(self._array.dtype)

    def numpy_dtype(self) -> Any:
        """Return the dtype of one element."""
        return self._array.dtype

    def _kind(self) -> str:
        return f"dtype={self.dtype}, "
