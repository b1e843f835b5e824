"""Norms of vectors and matrices, distances between points, and renorm."""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.parallel import BLOCK
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, NumpyDType, of_numpy
from gradsh.engine.values.shape import wrap_dim, wrap_dims
from gradsh.ops.reduce import PLAIN, Dims, add_reduce, sum_over, unsqueezed
from gradsh.text.fault import fail

# --- vector norm ------------------------------------------------------------------------------------------------


def _check_empty(self: Array, order: float, axes: tuple[int, ...], dim: Dims) -> None:
    if self.size or not (order < 0 or order == math.inf):
        return
    shown = order if math.isinf(order) or order != int(order) else int(order)
    if dim is None or not dim:
        message = (
            f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation does not have "
            "an identity"
        )
        raise fail("shape", message)
    for axis in axes:
        if self.shape[axis] == 0:
            message = (
                f"linalg.vector_norm cannot compute the {shown} norm on the dimension {axis} because this dimension is "
                "empty and the operation does not have an identity"
            )
            raise fail("shape", message)


_LARGE = 1 << 12


def _rows(self: Array, axes: tuple[int, ...]) -> Array | None:
    """Return a large float32 array as rows whose numbers are reduced, where they lie so."""
    first = self.ndim - len(axes)
    fits = self.size > _LARGE and self.dtype == np.float32 and self.flags.c_contiguous and all(axis >= first for axis in axes)
    return self.reshape(math.prod(self.shape[:first]), -1) if fits else None


def _squares(rows: Array) -> Array:
    """Return the sum of the squares of each row, in float64."""
    count, size = rows.shape
    found = np.zeros(count)
    step = max(1, BLOCK // size)
    for start in range(0, count, step):
        for first in range(0, size, BLOCK):
            wide = rows[start : start + step, first : first + BLOCK].astype(np.float64)
            found[start : start + step] += np.vecdot(wide, wide)
    return found


def norm_array(self: Array, order: float, axes: tuple[int, ...], keepdim: bool) -> Array:
    """Return the norm of an array over axes. 2 squares in float64 for float32, so that nothing overflows early."""
    if order == 2:
        if self.ndim == len(axes) and not keepdim and self.dtype == np.float64 and self.flags.c_contiguous:
            flat = self.reshape(-1)
            return np.sqrt(flat.dot(flat))
        rows = _rows(self, axes)
        if rows is not None:
            shape = [1 if axis in axes else extent for axis, extent in enumerate(self.shape) if keepdim or axis not in axes]
            return np.sqrt(_squares(rows)).astype(self.dtype).reshape(shape)
        wide = self.astype(np.float64, copy=False)
        return np.sqrt(sum_over(wide * wide, axes, keepdim)).astype(self.dtype)
    size = np.abs(self)
    if order == math.inf:
        return np.maximum.reduce(size, axis=axes, keepdims=keepdim)  # type: ignore[call-overload]
    if order == -math.inf:
        return np.minimum.reduce(size, axis=axes, keepdims=keepdim)  # type: ignore[call-overload]
    if order == 0:
        return add_reduce(size != 0, axis=axes, keepdims=keepdim, dtype=self.dtype)
    if order == 1:
        return sum_over(size, axes, keepdim)
    return np.power(sum_over(np.power(size, self.dtype.type(order)), axes, keepdim), self.dtype.type(1 / order))


def _vector_norm(self: Array, ord: float, dim: Dims, keepdim: bool, dtype: NumpyDType | None) -> Array:
    if self.dtype.kind != "f":
        message = f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {of_numpy(self.dtype).title}"
        raise fail("dtype", message)
    if dtype is not None:
        if dtype.kind != "f":
            message = (
                "linalg.vector_norm: dtype should be floating point or complex, but got "
                f"{of_numpy(dtype).title}"
            )
            raise fail("dtype", message)
        self = self.astype(dtype)
    axes = wrap_dims(dim, self.ndim)
    _check_empty(self, float(ord), axes, dim)
    return norm_array(self, float(ord), axes, keepdim)


def _sign(value: ArrayOrTensor) -> ArrayOrTensor:
    if isinstance(value, PLAIN):  # 0 for nan, unlike numpy's sign
        return np.subtract(np.greater(value, 0), np.less(value, 0), dtype=value.dtype)
    return find("sgn")(value)


def _abs(value: ArrayOrTensor) -> ArrayOrTensor:
    return np.abs(value) if isinstance(value, PLAIN) else find("abs")(value)


def _power(value: ArrayOrTensor, exponent: float) -> ArrayOrTensor:
    if isinstance(value, PLAIN):
        return np.power(value, value.dtype.type(exponent))
    return find("pow")(value, exponent)


def _raised(value: ArrayOrTensor, exponent: float) -> ArrayOrTensor:
    """Return a power of a fresh value, in its place."""
    return _power(value, exponent) if isinstance(value, PLAIN) else find("pow_")(value, exponent)


def masked(value: ArrayOrTensor, mask: ArrayOrTensor | bool) -> ArrayOrTensor:
    """Return the value with 0 where the mask is true."""
    if isinstance(value, PLAIN):
        return np.where(mask, value.dtype.type(0), value)
    return find("masked_fill_")(value, mask, 0)


def norm_backward(
    grad: ArrayOrTensor, self: ArrayOrTensor, order: float, norm: ArrayOrTensor, dim: Dims, keepdim: bool
) -> Any:
    """Return the gradient of a norm; 0 where the norm is 0, shared among ties for the order inf."""
    ndim = len(self.shape)
    if not keepdim and ndim:
        grad, norm = unsqueezed(grad, dim or (), ndim), unsqueezed(norm, dim or (), ndim)
    if order == 0:
        return None
    if order == 1:
        return _sign(self) * grad
    if order == 2:
        if not (isinstance(self, np.ndarray) and isinstance(grad, np.ndarray) and norm.all()):
            return grad * masked(self / norm, norm == 0)
        direction = np.divide(self, norm)
        return np.multiply(grad, direction, direction) if direction.dtype is grad.dtype and direction.ndim else grad * direction
    if math.isinf(order):
        size = _abs(self)
        mask = _attains(size, norm)
        return _sign(self) * (grad / _count(mask, dim or (), grad) * mask)
    if order < 1:
        part = _sign(self) * masked(_raised(_abs(self), order - 1), self == 0)
        return part * grad * _power(norm, 1 - order)
    part = _sign(self) * _raised(_abs(self), order - 1) if order < 2 else self * _raised(_abs(self), order - 2)
    return part * masked(grad / _power(norm, order - 1), norm == 0)


def _attains(size: ArrayOrTensor, norm: ArrayOrTensor) -> ArrayOrTensor:
    if isinstance(size, PLAIN):
        return (size == norm) | np.isnan(size)
    return find("logical_or")(find("eq")(size, norm), find("isnan")(size))


def _count(mask: ArrayOrTensor, dim: tuple[int, ...], grad: ArrayOrTensor) -> ArrayOrTensor:
    if isinstance(mask, PLAIN):
        return add_reduce(mask, axis=wrap_dims(dim, mask.ndim), keepdims=True, dtype=grad.dtype)
    return find("sum")(mask, dim, True)


vector_norm = op(
    "linalg_vector_norm(self, ord: number = 2, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None)",
    "LinalgVectorNormBackward0", "Norm over dimensions: (sum of |x| ** ord) ** (1 / ord).",
    layout="contiguous", forward=_vector_norm, spaces=("linalg",),
    grads={"self": lambda grad, self, ord, result, dim, keepdim: norm_backward(grad, self, float(ord), result, dim, keepdim)},
    samples=(sample((2, 3)), sample((2, 3), 1, 1), sample((2, 3), 3, (0, 1), True), sample((2, 3), math.inf, 0)),
)

# --- norm -------------------------------------------------------------------------------------------------------


def _norm(self: Tensor, p: float | str, dim: Dims, keepdim: bool, dtype: Any) -> Tensor:
    kind = None if dtype is None else of_numpy(dtype)
    if isinstance(p, str):
        if p == "fro" and (dim is None or len(dim) <= 2):
            return vector_norm(self, 2, dim, keepdim, dtype=kind)
        every = tuple(range(self.ndim)) if dim is None else dim
        return find("linalg_matrix_norm")(self, p, every, keepdim, dtype=kind)
    return vector_norm(self, 2.0 if p is None else p, dim, keepdim, dtype=kind)


composite(
    "norm(self, p: any? = 'fro', dim: ints? = None, keepdim: bool = False, dtype: dtype? = None)",
    "Norm of all elements or over dimensions; p is 'fro', 'nuc' or a number.", _norm,
    samples=(sample((2, 3)), sample((2, 3), 1), sample((2, 3), 3, 1)),
    note="The gradient at 0 is 0.",
)

# --- norms of matrices ------------------------------------------------------------------------------------------


def _to_the_end(self: Any, dims: tuple[int, int]) -> tuple[object, tuple[int, ...]]:
    """Move two dimensions to the end; return the view and the permutation that undoes it."""
    order = (*(dim for dim in range(self.ndim) if dim not in dims), *dims)
    back = tuple(order.index(dim) for dim in range(self.ndim))
    return find("permute")(self, order), back


def _by_singular_values(self: object, dims: tuple[int, int], keepdim: bool, reduce: Any) -> Any:
    moved, back = _to_the_end(self, dims)
    result = reduce(find("linalg_svdvals")(moved))
    return find("permute")(find("unsqueeze")(result, -1), back) if keepdim else result


def _check_matrix_norm(self: Tensor, dim: tuple[int, ...]) -> tuple[int, int]:
    if len(dim) != 2:
        raise fail("shape", f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    if self.ndim < 2:
        raise fail("shape", "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    first, second = wrap_dim(dim[0], self.ndim), wrap_dim(dim[1], self.ndim)
    if first == second:
        raise fail("shape", f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def _matrix_norm(self: Tensor, ord: str, dim: tuple[int, ...], keepdim: bool, dtype: Any) -> Tensor:
    dims = _check_matrix_norm(self, dim)
    kind = None if dtype is None else of_numpy(dtype)
    if ord == "fro":
        return vector_norm(self, 2, dims, keepdim, dtype=kind)
    wide = self if dtype is None else find("to")(self, kind)
    if ord == "nuc":
        return _by_singular_values(wide, dims, keepdim, lambda values: find("sum")(values, (-1,), keepdim))
    if isinstance(ord, str) or abs(ord) not in {1, 2, math.inf}:
        raise fail("value", f"linalg.matrix_norm: Order {ord} not supported.")
    choose = find("amax" if ord > 0 else "amin")
    if abs(ord) == 2:
        return _by_singular_values(wide, dims, keepdim, lambda values: choose(values, (-1,), keepdim))
    summed, left = dims if abs(ord) == 1 else dims[::-1]
    if not keepdim and summed < left:
        left -= 1
    return choose(vector_norm(self, 1.0, (summed,), keepdim, dtype=kind), (left,), keepdim)


composite(
    "linalg_matrix_norm(self, ord: any = 'fro', dim: tuple = (-2, -1), keepdim: bool = False, *, dtype: dtype? = None)",
    "Norm of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.", _matrix_norm, ("linalg",), samples=(sample((2, 3)),),
)


def _linalg_norm(self: Tensor, ord: object, dim: Dims, keepdim: bool, dtype: Any) -> Tensor:
    kind = None if dtype is None else of_numpy(dtype)
    if dim is not None and len(dim) not in {1, 2}:
        raise fail("shape", f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and self.ndim not in {1, 2}:
        message = f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.ndim}D."
        raise fail("shape", message)
    if isinstance(ord, str) or (ord is not None and (len(dim) == 2 if dim is not None else self.ndim == 2)):
        return find("linalg_matrix_norm")(self, ord, (0, 1) if dim is None else dim, keepdim, dtype=kind)
    return vector_norm(self, 2.0 if ord is None else ord, dim, keepdim, dtype=kind)


composite(
    "linalg_norm(self, ord: any? = None, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None)",
    "Norm of vectors or matrices, by the number of dimensions.", _linalg_norm, ("linalg",), samples=(sample((2, 3)),),
)
