"""Where an index along one dimension leads, element by element."""

from math import prod
from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array


def _coordinates(index: Array, place: int) -> tuple[Array, ...]:
    """Return the full coordinates in `self` of every element of an index along one dimension."""
    if index.ndim == 0:
        return ()
    grid = list(np.ogrid[tuple(slice(0, extent) for extent in index.shape)])
    grid[place] = index
    return tuple(grid)


def placed(out: Array, index: Array, place: int) -> tuple[Array, Any]:
    """Return an array and where in it an index along one dimension leads: flat and row by row if that is possible."""
    if index.ndim < 2 or not index.size or not out.flags.c_contiguous:
        return out, _coordinates(index, place)
    where = np.multiply(index, prod(out.shape[place + 1 :]), dtype=np.int64)
    for dim, extent in enumerate(index.shape):
        if dim != place and extent > 1:
            step = prod(out.shape[dim + 1 :])
            where += np.arange(0, extent * step, step).reshape(-1, *(1,) * (index.ndim - 1 - dim))
    return out.reshape(-1), where.reshape(-1)
