"""Memory formats: how the dimensions of a tensor lie in memory."""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.engine.values.formats import MemoryFormat
from gradsh.ops.kernels.common import row_major
from gradsh.text.fault import fail

contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
_CHANNELS = {channels_last: 4, channels_last_3d: 5}


def is_laid_out(array: Array, layout: MemoryFormat) -> bool:
    """Whether an array lies in memory as a format asks (None and preserve_format: in row-major order)."""
    if layout in _CHANNELS:
        return array.ndim == _CHANNELS[layout] and bool(np.moveaxis(array, 1, -1).flags.c_contiguous)
    return bool(array.flags.c_contiguous)


def laid_out(array: Array, layout: MemoryFormat, dtype: Any = None) -> Array:
    """Return a copy of an array that lies in memory as a format asks."""
    wanted = array.dtype if dtype is None else dtype
    if layout in _CHANNELS:
        if array.ndim != _CHANNELS[layout]:
            raise fail("shape", f"required rank {_CHANNELS[layout]} tensor to use {layout.name} format")
        return np.moveaxis(np.array(np.moveaxis(array, 1, -1), wanted, order="C"), -1, 1)
    return row_major(array, wanted)
