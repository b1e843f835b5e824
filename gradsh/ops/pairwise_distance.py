"""Distances between points: dist, cdist, pdist; and renorm, which shortens slices to a norm."""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, Tensor
from gradsh.engine.parallel import BLOCK
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, float64, of_numpy
from gradsh.engine.values.shape import broadcast_shapes, wrap_dim
from gradsh.ops.arguments import underivable
from gradsh.ops.kernels import point_pairs
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.lu import turned
from gradsh.ops.matmul import matmul
from gradsh.ops.reduce import row_major
from gradsh.ops.scalars import plus, times
from gradsh.ops.vector_norms import masked, norm_array, norm_backward
from gradsh.text.fault import fail

# --- dist -------------------------------------------------------------------------------------------------------


def _dist(self: Array, other: Array, p: int) -> Array:
    difference = self - other
    return norm_array(difference, float(p), tuple(range(difference.ndim)), False)


def _dist_grad(
    grad: ArrayOrTensor, self: ArrayOrTensor, other: ArrayOrTensor, p: int, result: ArrayOrTensor
) -> ArrayOrTensor:
    return norm_backward(grad, self - other, float(p), result, (), True)


op(
    "dist(self, other, p: number = 2)", "DistBackward0", "Norm of the difference.", forward=_dist, dtypes="promote",
    grads={
        "self": _dist_grad,
        "other": lambda grad, self, other, p, result: _negative(_dist_grad(grad, self, other, p, result)),
    },
    samples=(sample((2, 3), (2, 3)), sample((2, 3), (3,), 1)),
)


def _negative(value: ArrayOrTensor) -> ArrayOrTensor:
    if value is None:  # p = 0 has no gradient, and PyTorch negates it all the same
        message = "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'"
        raise fail("other", message)
    return -value


# --- cdist ------------------------------------------------------------------------------------------------------


def _differences(x1: Array, x2: Array) -> Array:
    return x1[..., :, None, :] - x2[..., None, :, :]


def _cdist_array(x1: Array, x2: Array, p: float) -> Array:
    return np.ascontiguousarray(norm_array(_differences(x1, x2), p, (max(x1.ndim, x2.ndim),), False))


def _slope(difference: Array, distance: Array, p: float) -> Array:
    """Return the derivative of a distance with respect to the difference; 0 at distance 0."""
    if p == 0:
        return np.zeros_like(difference)
    if p == 1:
        return np.sign(difference)
    if math.isinf(p):
        return np.sign(difference) * (np.abs(difference) == distance)
    safe = np.where(distance == 0, distance.dtype.type(1), distance)
    if p == 2:
        slope = difference / safe
    elif p < 2:
        size = np.abs(difference)
        raised = np.where(size == 0, 0, np.power(np.where(size == 0, 1, size), p - 1))
        slope = np.sign(difference) * raised / np.power(safe, p - 1)
    else:
        slope = difference * np.power(np.abs(difference), p - 2) / np.power(safe, p - 1)
    return np.where(distance == 0, 0, slope)


def _cdist_backward_array(grad: Array, x1: Array, x2: Array, p: float, cdist: Array) -> ArrayOrTensor:
    if cdist.size == 0:
        return np.zeros(x1.shape, x1.dtype)
    slope = _slope(_differences(x1, x2), cdist[..., None], p)
    return np.ascontiguousarray(np.add.reduce(grad[..., None] * slope, axis=-2), x1.dtype)


_cdist_backward = op(
    "_cdist_backward(grad, x1, x2, p: float, cdist)", "CdistBackwardBackward0", "The derivative of cdist.",
    forward=_cdist_backward_array, spaces=(), attributes=(),
    grads=dict.fromkeys(("grad", "x1", "x2", "cdist")),
)


def _cdist_grad_2(grad: object, x1: Any, x2: Any, p: float, result: object) -> ArrayOrTensor:
    contiguous = find("contiguous")
    if isinstance(grad, np.ndarray):
        return _cdist_backward_array(turned(grad), x2, x1, p, turned(result))
    return _cdist_backward(contiguous(turned(grad)), x2, x1, p, contiguous(turned(result)))


_cdist_forward = op(
    "_cdist_forward(x1, x2, p: float)", "CdistBackward0", "Distances between all points of two sets.",
    forward=_cdist_array, spaces=(), unguarded=True, forward_mode="refused",
    grads={
        "x1": lambda grad, x1, x2, p, result: _cdist_backward(grad, x1, x2, p, result),
        "x2": lambda grad, x1, x2, p, result: _cdist_grad_2(grad, x1, x2, p, result),
    },
    reduced="cdist",
)


def _euclidean_array(x1: Array, x2: Array) -> Array:
    """Return distances by one matrix product, as PyTorch does for more than 25 points: fast, less exact near 0."""
    squares = np.add.reduce(x1 * x1, axis=-1, keepdims=True) + np.swapaxes(
        np.add.reduce(x2 * x2, axis=-1, keepdims=True), -1, -2
    )
    return np.ascontiguousarray(np.sqrt(np.maximum(squares - 2 * np.matmul(x1, np.swapaxes(x2, -1, -2)), 0)))


def _euclidean_grad(grad: ArrayOrTensor, x1: object, x2: object, result: object) -> Gradients:
    ratio = masked(grad / result, result == 0)
    total = find("sum")
    return (
        x1 * total(ratio, (-1,), True) - matmul(ratio, x2),
        x2 * find("unsqueeze")(total(ratio, (-2,), False), -1) - matmul(turned(ratio), x1),
    )


_euclidean_dist = op(
    "_euclidean_dist(x1, x2)", "EuclideanDistBackward0", "Distances by one matrix product.", forward=_euclidean_array,
    spaces=(), unguarded=True, grads={("x1", "x2"): _euclidean_grad},
)
_MODES = {
    None: 0, "use_mm_for_euclid_dist_if_necessary": 0, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2,
}


def _check_cdist(x1: Tensor, x2: Tensor, p: float) -> None:
    for name, each in (("X1", x1), ("X2", x2)):
        if each.ndim < 2:
            raise fail("shape", f"cdist only supports at least 2D tensors, {name} got: {each.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise fail("shape", f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, each in (("X1", x1), ("X2", x2)):
        if array_of(each).dtype.kind != "f":
            title = of_numpy(array_of(each).dtype).title
            raise fail("dtype", f"cdist only supports floating-point dtypes, {name} got: {title}")
    if p < 0:
        raise fail("value", "cdist only supports non-negative p values")


def _cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: str | None) -> Tensor:
    if compute_mode not in _MODES:
        raise fail("value", f"{compute_mode} is not a valid value for compute_mode", ValueError)
    _check_cdist(x1, x2, p)
    mode = _MODES[compute_mode]
    rows, columns = x1.shape[-2], x2.shape[-2]
    empty = 0 in x1.shape or 0 in x2.shape
    if p != 2 or mode == 2 or empty or (mode == 0 and rows <= 25 and columns <= 25):
        return _cdist_forward(x1, x2, p)
    batch = broadcast_shapes(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    count = math.prod(batch)
    if count != 1:
        expand, contiguous, view = find("expand"), find("contiguous"), find("view")
        x1 = view(contiguous(expand(x1, (*batch, rows, x1.shape[-1]))), (count, rows, x1.shape[-1]))
        x2 = view(contiguous(expand(x2, (*batch, columns, x2.shape[-1]))), (count, columns, x2.shape[-1]))
    return find("view")(_euclidean_dist(x1, x2), (*batch, rows, columns))


composite(
    "cdist(x1, x2, p: float = 2.0, compute_mode: str? = 'use_mm_for_euclid_dist_if_necessary')",
    "Distances between all points of two sets (rows).", _cdist, ("torch",), samples=(sample((3, 2), (4, 2)),),
)

# --- pdist ------------------------------------------------------------------------------------------------------


def _pdist_array(self: Array, p: float) -> Array:
    if self.ndim != 2:
        raise fail("shape", f"pdist only supports 2D tensors, got: {self.ndim}D")
    if point_pairs.fits(p, self):
        found, near = point_pairs.distances(self)
    else:
        found = np.zeros(self.shape[0] * (self.shape[0] - 1) // 2, self.dtype)
        near = np.arange(found.size if self.shape[1] else 0)
    first, second = np.triu_indices(self.shape[0], 1) if near.size else (near, near)
    step = BLOCK // (self.shape[1] or BLOCK) or 1
    for start in range(0, len(near), step):
        pairs = near[start : start + step]
        found[pairs] = norm_array(self[first[pairs]] - self[second[pairs]], p, (1,), False)
    return found


def _pdist_backward_array(grad: Array, self: Array, p: float, pdist: Array) -> ArrayOrTensor:
    """Return the gradient, pair by pair, as PyTorch adds it up: a row takes from those before it what these got of it."""
    if point_pairs.fits(p, self, grad):
        return point_pairs.gradient(grad, self, pdist)
    whole = np.zeros_like(self)
    begin = 0
    for row in range(len(self) - 1):
        pairs = slice(begin, begin := begin + len(self) - row - 1)
        share = grad[pairs, None] * _slope(self[row] - self[row + 1:], pdist[pairs, None], p)
        whole[row] = np.add.reduce(np.concatenate((whole[row:row + 1], share)), axis=0)
        whole[row + 1:] -= share
    return whole


_pdist_backward = op(
    "_pdist_backward(grad, self, p: float, pdist)", "PdistBackwardBackward0", "The derivative of pdist.",
    forward=_pdist_backward_array, spaces=(), attributes=(),
    grads={"grad": underivable("_pdist_backward"), "self": underivable("_pdist_backward"), "pdist": underivable("_pdist_backward")},
)
_pdist_forward = op(
    "_pdist_forward(self, p: float)", "PdistBackward0", "Distances between all pairs of rows.", forward=_pdist_array, spaces=(),
    forward_mode="refused",
    grads={"self": lambda grad, self, p, result: _pdist_backward(grad, self, p, result)},
)
composite("pdist(self, p: float = 2)", "Distances between all pairs of rows.", lambda self, p: _pdist_forward(self, p),
          ("torch", "F"), samples=(sample((4, 2)),))

# --- renorm -----------------------------------------------------------------------------------------------------


def _other_dims(ndim: int, dim: int) -> tuple[int, ...]:
    kept = wrap_dim(dim, ndim)
    return tuple(place for place in range(ndim) if place != kept)


def _renorm(self: Array, p: int, dim: int, maxnorm: float) -> Array:
    if p <= 0:
        raise fail("value", "renorm: non-positive-norm not supported")
    if self.dtype.kind != "f":
        title = of_numpy(self.dtype).title
        raise fail("dtype", f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {title}")
    if maxnorm < 0:
        raise fail("value", f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if self.ndim < 2:
        raise fail("shape", f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    norm = norm_array(self, float(p), _other_dims(self.ndim, dim), True)
    factor = np.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0).astype(self.dtype)
    return row_major(self) * factor


def _renorm_grad(grad: ArrayOrTensor, self: ArrayOrTensor, p: int, dim: int, maxnorm: float) -> ArrayOrTensor:
    """Norms and sums are taken in float64, as PyTorch does."""
    dims = _other_dims(len(self.shape), dim)
    norm = find("linalg_vector_norm")(self, p, dims, True, dtype=float64)
    upstream = find("sum")(self * grad, dims, True, dtype=float64)
    through = norm_backward(upstream, self, float(p), norm, dims, True)
    inverse = find("reciprocal")(plus(norm, 1e-7))
    shortened = times(inverse, maxnorm) * (grad - inverse * through)
    if array_of(shortened).dtype != array_of(grad).dtype:
        shortened = find("to")(shortened, of_numpy(array_of(grad).dtype))
    return find("where")(norm > maxnorm, shortened, grad)


op(
    "renorm(self, p: number, dim: int, maxnorm: number)", "RenormBackward0",
    "Slices along a dimension, those longer than maxnorm shortened to it.", forward=_renorm, inplace=True,
    grads={"self": _renorm_grad}, samples=(sample((2, 3), 2, 0, 0.5),),
)
