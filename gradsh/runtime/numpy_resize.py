"""`array.resize(shape)`: numpy's own moves memory that others may look at, so an array keeps its number of elements here."""

from collections.abc import Callable
from math import prod
from typing import Any

from gradsh.text.fault import fail


def resize_of(array: Any) -> Callable[..., None]:
    """Return the method of an array."""
    def resize(*new_shape: Any, refcheck: bool = True) -> None:
        """Give the array another shape of as many elements, in place."""
        del refcheck
        sizes = new_shape[0] if len(new_shape) == 1 and isinstance(new_shape[0], tuple | list) else new_shape
        if prod(sizes) != array.size or min(sizes, default=0) < 0:
            way = "write `x = numpy.resize(x, shape)`, or run the program on PyTorch: `gradsh trace FILE`"
            raise fail("shape", f"cannot resize an array of {array.size} elements to {tuple(sizes)} in place", ValueError, way=way)
        array.shape = tuple(sizes)

    return resize
