"""Kernels of linear algebra on batches of matrices: LU, triangular solves, checks, memory order; and their error texts.

LAPACK returns matrices column by column in memory, and so do PyTorch's results (strides (1, n)).
"""

import math
from typing import Any

import numpy as np

from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.ops.kernels.lapack import columns_of, each
from gradsh.process.lapack import routine
from gradsh.text.fault import fail

PLAIN = (np.ndarray, np.generic)


def turned(value: object) -> Any:
    """Return matrices transposed (`mT`) of an array or a Tensor."""
    return np.swapaxes(value, -1, -2) if isinstance(value, PLAIN) else find("transpose")(value, -2, -1)


def column_major(value: Array) -> Array:
    """Return the matrices laid out column by column."""
    return np.swapaxes(np.ascontiguousarray(np.swapaxes(value, -1, -2)), -1, -2)


def with_diagonal(value: Any, content: Any) -> Array:
    """Return freshly computed matrices with their diagonal replaced (by a number or by vectors)."""
    if isinstance(value, PLAIN):
        matrices = np.array(value)
        places = np.arange(matrices.shape[-1])
        matrices[..., places, places] = content
        return matrices
    diagonal = find("diagonal")(value, 0, -2, -1)
    find("fill_" if isinstance(content, (int, float)) else "copy_")(diagonal, content)
    return value


def with_half_diagonal(value: object) -> Any:
    """Return freshly computed matrices with their diagonal halved."""
    if isinstance(value, PLAIN):
        return with_diagonal(value, 0.5 * np.diagonal(value, axis1=-2, axis2=-1))
    find("_mul_scalar_")(find("diagonal")(value, 0, -2, -1), 0.5)
    return value


def check_matrix(self: Array, name: str, word: str = "A") -> None:
    """Refuse what is no matrix or batch of matrices."""
    if self.ndim < 2:
        message = f"{name}: The input tensor {word} must have at least 2 dimensions."
        raise fail("shape", message, RuntimeError, shape=self.shape)


def check_square(self: Array, name: str, word: str = "A") -> None:
    """Refuse what is no square matrix or batch of them."""
    check_matrix(self, name, word)
    if self.shape[-1] != self.shape[-2]:
        message = (
            f"{name}: {word} must be batches of square matrices, but they are {self.shape[-2]} by {self.shape[-1]} matrices"
        )
        raise fail("shape", message, RuntimeError, shape=self.shape)


def check_float(self: Array, name: str) -> None:
    """Refuse integers."""
    if self.dtype.kind != "f":
        title = of_numpy(self.dtype).title
        message = f"{name}: Expected a floating point or complex tensor as input. Got {title}"
        raise fail("dtype", message, RuntimeError)


_PANEL = 48
"""Columns that are eliminated one by one before what is right of them is: by a product of matrices, which is much faster."""
_STRIP, _FEW = 32, 512
"""Rows of a triangular system that are solved for together; numbers wanted from which LAPACK does that."""


def _eliminate(flat: Array, pivots: Array, steps: range, reach: int) -> None:
    """Eliminate below the diagonal in some columns; rows are swapped whole, but only columns before `reach` are changed."""
    every = np.arange(len(flat))
    for step in steps:
        best = np.argmax(np.abs(flat[:, step:, step]), axis=1) + step
        pivots[:, step] = best + 1
        swapped = flat[every, best].copy()
        flat[every, best] = flat[:, step]
        flat[:, step] = swapped
        pivot = flat[:, step, step]
        divisor = np.where(pivot == 0, 1.0, pivot)
        flat[:, step + 1 :, step] /= divisor[:, None]
        flat[:, step + 1 :, step + 1 : reach] -= flat[:, step + 1 :, step, None] * flat[:, step, None, step + 1 : reach]


def lu_factor(matrices: Array) -> tuple[Array, Array]:
    """Return LU (packed, of the row-permuted matrices) and the pivots, counted from 1; partial pivoting, in float64."""
    *batch, rows, columns = matrices.shape
    steps = min(rows, columns)
    factor = routine("dgetrf")
    if factor is not None and math.prod(batch) < steps:
        transposed = columns_of(matrices)
        places = np.zeros((*batch, steps), np.int64)
        for one, order in zip(each(transposed), places.reshape(-1, steps), strict=True):
            factor(rows, columns, one, rows, order)
        return np.swapaxes(transposed, -1, -2), places.astype(np.int32)
    packed = np.array(matrices, np.float64)
    flat = packed.reshape(math.prod(batch), rows, columns)
    pivots = np.zeros((len(flat), steps), np.int32)
    for start in range(0, steps, _PANEL):
        stop = min(start + _PANEL, steps)
        reach = columns if steps <= _PANEL else stop
        _eliminate(flat, pivots, range(start, stop), reach)
        if reach == columns:
            continue
        beside = flat[:, start:stop, stop:]
        beside[...] = solve_triangular_array(flat[:, start:stop, start:stop], beside, False, True, True)
        flat[:, stop:, stop:] -= flat[:, stop:, start:stop] @ flat[:, start:stop, stop:]
    return flat.reshape(packed.shape), pivots.reshape(*batch, steps)


def permutation_sign(pivots: Array) -> Array:
    """Return the sign of the row permutation that pivots stand for."""
    moved = pivots != np.arange(1, pivots.shape[-1] + 1)
    return np.where(np.add.reduce(moved, axis=-1, dtype=np.int64) % 2, -1.0, 1.0)


def first_zero(diagonal: Array) -> int:
    """Return the place, counted from 1, of the first 0 on the diagonals; 0 where there is none."""
    places = np.argwhere(diagonal == 0)
    return int(places[0][-1]) + 1 if len(places) else 0


class _LinAlgError(RuntimeError):
    """A matrix that has no such factors: `torch.linalg.LinAlgError`."""

    __module__ = "torch._C"


def singular(name: str, place: int, what: str, batch: bool) -> Exception:
    """Return the error for a singular matrix."""
    where = "(Batch element 0): " if batch else ""
    message = f"{name}: {where}{what.format(place)}"
    return fail("value", message, _LinAlgError, place=place)


def solve_array(a: Array, b: Array) -> Array:
    """Return the solution of a @ x = b for matrices; singular ones give inf and nan instead of an error."""
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        return np.full(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], np.nan, b.dtype)


def solve_triangular_array(a: Array, b: Array, upper: bool, left: bool, unit: bool) -> Array:
    """Return the solution of a @ x = b (or x @ a = b), reading only one triangle of a."""
    if not left:
        return np.swapaxes(
            solve_triangular_array(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not upper, True, unit), -1, -2
        )
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    size = a.shape[-1]
    result = np.array(np.broadcast_to(b, batch + b.shape[-2:]), np.float64)
    starts = range(0, size, _STRIP)
    for start in reversed(starts) if upper else starts:
        strip = slice(start, min(start + _STRIP, size))
        known = slice(strip.stop, size) if upper else slice(0, start)
        result[..., strip, :] -= a[..., strip, known] @ result[..., known, :]
        _solve_strip(a[..., strip, strip], result[..., strip, :], upper, unit)
    return result.astype(b.dtype)


def _solve_strip(a: Array, result: Array, upper: bool, unit: bool) -> None:
    """Solve a small triangular system in place: many right-hand sides at once where no number on the diagonal is 0."""
    size = a.shape[-1]
    if size * result.shape[-1] > _FEW and (unit or np.diagonal(a, axis1=-2, axis2=-1).all()):
        triangle = (np.triu if upper else np.tril)(a).astype(np.float64)
        result[...] = np.linalg.solve(with_diagonal(triangle, 1) if unit else triangle, result)
        return
    for row in range(size - 1, -1, -1) if upper else range(size):
        known = slice(row + 1, size) if upper else slice(0, row)
        result[..., row, :] -= (a[..., row, None, known] @ result[..., known, :])[..., 0, :]
        if not unit:
            result[..., row, :] /= a[..., row, row, None]


def is_vector(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> bool:
    """Whether the right-hand side of a system is a batch of vectors."""
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and tuple(a_shape[:-1]) == tuple(b_shape))


def tolerance(self: Array, atol: object, rtol: object, top: Array) -> Array:
    """Return the limit below which singular values count as 0: max(atol, rtol * the largest), matrix by matrix."""
    absolute = np.zeros(()) if atol is None else np.asarray(atol, np.float64)
    if rtol is None:
        default = float(np.finfo(self.dtype).eps) * max(self.shape[-2:])
        relative = np.where(absolute > 0, 0.0, default)
    else:
        relative = np.asarray(rtol, np.float64)
    return np.maximum(absolute[..., None], relative[..., None] * top)


def error_codes(self: Array) -> Array:
    """Return for each square matrix the place, from 1, of the first 0 on U's diagonal; 0 for a regular one."""
    diagonal = np.diagonal(lu_factor(self)[0], axis1=-2, axis2=-1)
    zeros = diagonal == 0
    return np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0).astype(np.int32) if self.size else np.zeros(self.shape[:-2], np.int32)


def factored(A: Array, name: str) -> tuple[Array, Array, Array]:
    """Return LU and pivots as PyTorch keeps them (of the transpose where A is contiguous), and LU's diagonal."""
    check_float(A, name)
    check_square(A, name)
    exact, pivots = lu_factor(np.swapaxes(A, -1, -2) if A.flags.c_contiguous else A)
    return column_major(exact.astype(A.dtype)), pivots, np.diagonal(exact, axis1=-2, axis2=-1)
