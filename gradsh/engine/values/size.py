"""What a tensor says of its extents: `Size`, PyTorch's torch.Size."""

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
