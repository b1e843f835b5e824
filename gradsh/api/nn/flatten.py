"""Flatten and Unflatten."""

from typing import Any

from gradsh.api.nn.declared import REQUIRED, Declared, functional, takes
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class Flatten(Declared, function="flatten", settings=takes(start_dim=1, end_dim=-1)):
    """Make one dimension of those from start_dim to end_dim."""


class Unflatten(Declared, settings=takes(dim=REQUIRED, unflattened_size=REQUIRED)):
    """Split a dimension into several."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        size = self.unflattened_size
        if not isinstance(size, (tuple, list)):
            message = f"unflattened_size must be a tuple of ints, but found type {type(size).__name__}"
            raise fail("type", message, TypeError)
        for place, extent in enumerate(size):
            if not isinstance(extent, int):
                message = (
                    f"unflattened_size must be tuple of ints, but found element of type {type(extent).__name__} "
                    f"at pos {place}"
                )
                raise fail("type", message, TypeError)

    def forward(self, input: Any) -> Tensor:
        """Return the input with the dimension split."""
        return functional("unflatten")(input, self.dim, tuple(self.unflattened_size))
