"""Adding whole rows at indices, some of which may be the same: the gradient of embedding, index_select and `x[i]`."""

from typing import Any

import numpy as np

from gradsh.engine.values.dtype import Array

_WIDE = 128
"""Elements of a row from which rows are added one by one."""
_OFTEN = 64
"""How often an index may come, for narrow rows to be added in rounds in which each index comes once."""


def add_rows(out: Array, index: Array, rows: Array) -> None:
    """Do what `np.add.at(out, index, rows)` does, in the same order but several times faster: an index names a row of `out`."""
    fits = rows.shape == (*index.shape, *out.shape[1:]) and rows.dtype == out.dtype
    height = out.shape[0]
    if not fits or index.size < 2 or not rows.size or index.min() < -height or index.max() >= height or np.may_share_memory(out, rows):
        np.add.at(out, index, rows)
        return
    flat, values = index.reshape(-1) % height, rows.reshape(-1, *out.shape[1:])
    if values[0].size >= _WIDE:
        for place, value in zip(flat.tolist(), values, strict=True):
            target = out[place]
            np.add(target, value, target)
    elif np.bincount(flat).max() <= _OFTEN < flat.size:
        _in_rounds(out, flat, values)
    else:
        np.add.at(out, flat, values)


def _in_rounds(out: Array, index: Array, rows: Array) -> None:
    """Add first what comes first at each index, then what comes second, …"""
    order: Any = np.argsort(index, kind="stable")
    ranked = index[order]
    starts = _starts(ranked)
    counts = np.diff(np.append(starts, index.size))
    for turn in range(int(counts.max())):
        places = starts[counts > turn] + turn
        out[ranked[places]] += rows[order[places]]


def sum_rows(rows: Array, indices: Array, height: int) -> Array:
    """Return `height` rows, each the sum of the given rows that carry its index."""
    total = np.zeros((height, rows.shape[1]), rows.dtype)
    if not indices.size or rows.shape[1] >= _WIDE or np.bincount(indices).max() <= _OFTEN:
        add_rows(total, indices, rows)
        return total
    order: Any = np.argsort(indices, kind="stable")
    ranked = indices[order]
    starts = _starts(ranked)
    total[ranked[starts]] = np.add.reduceat(rows[order], starts, axis=0)
    return total


def _starts(ranked: Array) -> Array:
    """Return where each index begins among sorted ones."""
    found: Array = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    return found
