"""Matrices as LAPACK takes them, and batches of them one by one."""

import numpy as np

from gradsh.engine.values.dtype import Array


def columns_of(matrices: Array) -> Array:
    """Return copies of matrices in float64, transposed in memory, for LAPACK to write into."""
    return np.array(np.swapaxes(matrices, -1, -2), np.float64, order="C")


def each(matrices: Array) -> Array:
    """Return the matrices of a batch in one row."""
    return matrices.reshape(-1, *matrices.shape[-2:]) if matrices.size else matrices.reshape(0, 0, 0)
