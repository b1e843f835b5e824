"""What a tensor says of its extents and its place: `Size`, PyTorch's torch.Size, and the one `Device` there is."""

import math
from typing import Any


class Size(tuple[int, ...]):
    """The extents of a tensor, PyTorch's torch.Size."""

    __slots__ = ()
    __script_attributes__ = frozenset({"numel", "count", "index"})

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def numel(self) -> int:
        """Return the product of the extents."""
        return math.prod(self)

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, other))


class Device:
    """A device as a value. Tensors are on `cpu`, the one there is; an operation that is given another refuses it."""

    __slots__ = ("index", "type")
    __script_attributes__ = frozenset({"type", "index"})

    def __init__(self, type: str = "cpu", index: int | None = None) -> None:
        self.type = type
        self.index = index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = Device()
