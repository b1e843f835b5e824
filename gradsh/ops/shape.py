"""Composites that give tensors another shape: reshape, flatten, movedim, repeat and their like."""

from typing import Any

from gradsh.engine.op import composite, sample
from gradsh.ops.copy import clone
from gradsh.ops.geometry import array_of, resolve_size, view_strides
from gradsh.ops.view import unsafe_view, view


def _reshape(self: Any, shape: tuple[int, ...]) -> Any:
    array = array_of(self)
    if array.flags.c_contiguous:
        return view(self, shape)
    wanted = resolve_size(shape, array.size)
    if view_strides(array.shape, array.strides, wanted, array.itemsize) is not None:
        return view(self, wanted)
    return unsafe_view(clone(self, memory_format="contiguous"), wanted)


reshape = composite(
    "reshape(self, *shape: ints)", "The same elements in another shape: a view where the memory allows it, else a copy.",
    _reshape, samples=(sample((2, 6), (3, 4)), sample((2, 6), (-1,)), sample((2, 3), (4, -1), rejects="shape")),
    note="A view is ViewBackward0, a copy UnsafeViewBackward0 over CloneBackward0.",
)
