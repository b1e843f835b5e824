"""Elements in another order, and the triangles and diagonals of matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.layout import in_order, order_of
from gradsh.engine.values.shape import wrap_dim, wrap_dims
from gradsh.ops.copy_cast import fresh
from gradsh.ops.function_forms import takes_tuple
from gradsh.ops.shape import reshape
from gradsh.ops.slicing import diagonal, diagonal_array, diagonal_axes, diagonal_backward
from gradsh.text.fault import fail

# --- order ------------------------------------------------------------------------------------------------------


def _flip(self: Array, dims: tuple[int, ...]) -> Array:
    turned = wrap_dims(dims, self.ndim) if dims else ()
    found = fresh(self)
    found[...] = np.flip(self, turned)
    return found


flip: Operation = op(
    "flip(self, *dims: ints)", "FlipBackward0", "A copy with dimensions in reverse.", layout="operands", forward=_flip,
    grads={"self": lambda grad, dims: flip(grad, dims)}, samples=(sample((3, 4), (0,)), sample((3, 4), (-1, 0))),
)
takes_tuple(flip)


def _flipper(name: str, least: int, dim: int) -> None:
    def body(self: Any) -> Any:
        if self.ndim < least:
            raise fail("shape", f"Input must be >= {least}-d.")
        return flip(self, (dim,))

    composite(f"{name}(self)", f"A copy reversed along dimension {dim}.", body)


_flipper("fliplr", 2, 1)
_flipper("flipud", 1, 0)


def _roll(self: Array, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    if not shifts:
        raise fail("value", "`shifts` required")
    if self.size < 2 and (not dims or self.ndim):
        return fresh(self)
    if not dims and len(shifts) == 1:
        return np.array(np.roll(self, shifts[0]), order="C")
    if len(dims) != len(shifts):
        raise fail("value", f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if self.ndim == 0:
        raise fail("index", f"Dimension specified as {dims[0]} but tensor has no dimensions", IndexError)
    return np.array(np.roll(self, shifts, tuple(wrap_dim(dim, self.ndim) for dim in dims)), order="C")


roll: Operation = op(
    "roll(self, shifts: ints, dims: ints = ())", "RollBackward0", "A copy with elements moved along dimensions, around the end.",
    layout="channels", forward=_roll,
    grads={"self": lambda grad, shifts, dims: roll(grad, tuple(-one for one in reversed(shifts)), tuple(reversed(dims)))},
    samples=(sample((3, 4), 1, 0), sample((3, 4), 1), sample((3, 4), (1, 2), (0, 1))),
)


def _rot90(self: Array, k: int, dims: tuple[int, ...]) -> Array:
    if len(dims) != 2:
        raise fail("value", f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.ndim < 2:
        raise fail("shape", f"expected total dims >= 2, but got total dims = {self.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == self.ndim:
        raise fail("value", f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    first, second = (wrap_dim(dim, self.ndim) for dim in dims)
    quarter = k % 4
    if quarter == 0:
        return np.array(self, order="C")
    axes = (first, second) if quarter == 2 else (second,) if quarter == 1 else (first,)
    turned = in_order(_flip(self, axes), order_of(self.shape, [self]))
    return turned if quarter == 2 else turned.swapaxes(first, second)


rot90: Operation = op(
    "rot90(self, k: int = 1, dims: tuple = (0, 1))", "Rot90Backward0", "A copy turned by k quarters in the plane of two dimensions.",
    forward=_rot90, grads={"self": lambda grad, k, dims: rot90(grad, -k, dims)}, samples=(sample((3, 4)), sample((2, 3, 4), 2, (1, 2))),
)


# --- triangles and diagonals ------------------------------------------------------------------------------------


_MANY, _STRIP = 1 << 12, 64
"""Elements from which triangles are copied in strips; rows of a strip, of which all but a square lies on one side of the diagonal."""


def _by_strips(function: Callable[..., Any], self: Array, diagonal: int) -> Array:
    """Return what `np.tril` or `np.triu` gives."""
    found = np.empty(self.shape, self.dtype)
    rows, columns = self.shape[-2:]
    for start in range(0, rows, _STRIP):
        low, high = (min(max(place + diagonal, 0), columns) for place in (start, start + _STRIP))
        strip, given = found[..., start : start + _STRIP, :], self[..., start : start + _STRIP, :]
        strip[..., :low] = given[..., :low] if function is np.tril else 0
        strip[..., low:high] = function(given[..., low:high], start + diagonal - low)
        strip[..., high:] = 0 if function is np.tril else given[..., high:]
    return found


def _triangle(name: str, function: Callable[..., object]) -> Callable[..., Array]:
    def kernel(self: Array, diagonal: int) -> Array:
        if self.ndim < 2:
            raise fail("shape", f"{name}: input tensor must have at least 2 dimensions")
        return _by_strips(function, self, diagonal) if self.size > _MANY else np.asarray(function(self, diagonal), self.dtype)

    half = "lower" if name == "tril" else "upper"
    made: Any = op(
        f"{name}(self, diagonal: int = 0)", f"{name.capitalize()}Backward0", f"A copy with zeros outside the {half} triangle.",
        layout="contiguous", forward=kernel, inplace=True, grads={"self": lambda grad, diagonal: made(grad, diagonal)},
        samples=(sample((3, 4)), sample((2, 3, 3), 1)),
    )
    return made


tril = _triangle("tril", np.tril)
triu = _triangle("triu", np.triu)


def _diag_embed(self: Array, offset: int, dim1: int, dim2: int) -> Array:
    if self.ndim == 0:
        raise fail("index", "Dimension out of range (expected to be in range of [-1, 0], but got -2)", IndexError)
    a, b = diagonal_axes(self.ndim + 1, dim1, dim2)
    extent = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for place in sorted((a, b)):
        shape.insert(place, extent)
    whole = np.zeros(shape, self.dtype)
    diagonal_array(whole, offset, a, b)[...] = self
    return whole


diag_embed = op(
    "diag_embed(self, offset: int = 0, dim1: int = -2, dim2: int = -1)", "DiagEmbedBackward0",
    "Matrices with the last dimension on a diagonal, zeros elsewhere.", forward=_diag_embed,
    grads={"self": lambda grad, offset, dim1, dim2: diagonal(grad, offset, dim1, dim2)}, samples=(sample((4,)), sample((2, 3), 1)),
)
diagonal_copy = op(
    "diagonal_copy(self, offset: int = 0, dim1: int = 0, dim2: int = 1)", "DiagonalBackward0_copy", "The diagonals, as a copy.",
    forward=lambda self, offset, dim1, dim2: np.array(diagonal_array(self, offset, *diagonal_axes(self.ndim, dim1, dim2)), order="C"),
    spaces=("torch",), grads={"self": lambda grad, self_sizes, offset, dim1, dim2: diagonal_backward(grad, self_sizes, offset, dim1, dim2)},
)


def _diag(self: Tensor, diagonal: int) -> Tensor:
    if self.ndim == 1:
        return diag_embed(self, diagonal)
    if self.ndim == 2:
        return diagonal_copy(self, diagonal)
    raise fail("shape", f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")


composite("diag(self, diagonal: int = 0)", "The matrix with a vector on its diagonal, or the diagonal of a matrix as a copy.", _diag)
composite("diagflat(self, offset: int = 0)", "The matrix with all elements on its diagonal.", lambda self,
    offset: diag_embed(reshape(self, (-1,)), offset))
