"""Sums, means, products, counts and tests over dimensions, and how their gradients spread back."""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.parallel import BLOCK
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, NumpyDType, of_numpy
from gradsh.engine.values.shape import wrap_dim, wrap_dims
from gradsh.ops.kernels.accurate_sum import LARGE, long_sum, narrow_sum, sum_all
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.scalars import over
from gradsh.text.fault import fail

Dims = tuple[int, ...] | None
PLAIN = (np.ndarray, np.generic)
add_reduce: Any = np.add.reduce
mul_reduce: Any = np.multiply.reduce

# --- what formulas share ----------------------------------------------------------------------------------------


def unsqueezed(value: ArrayOrTensor, dim: Dims, ndim: int) -> ArrayOrTensor:
    """Put reduced dimensions back with extent 1 (for None all `ndim` of them, for () none); of an array or a Tensor."""
    if dim is not None and not dim:
        return value
    if isinstance(value, PLAIN):
        if dim is not None and len(dim) == 1 and value.ndim == ndim - 1:
            place = wrap_dim(dim[0], ndim)
            return value.reshape((*value.shape[:place], 1, *value.shape[place:]))
        reduced = range(ndim) if dim is None else {wrap_dim(one, ndim) for one in dim}
        extents = iter(value.shape)
        return value.reshape(tuple(1 if place in reduced else next(extents) for place in range(ndim)))
    if dim is not None and len(dim) == 1:
        return find("unsqueeze")(value, dim[0])
    for place in sorted(wrap_dims(dim, ndim)):
        value = find("unsqueeze")(value, place)
    return value


def repeated(value: ArrayOrTensor, sizes: tuple[int, ...]) -> ArrayOrTensor:
    """Expand an array or a Tensor to `sizes` without copying."""
    if not isinstance(value, PLAIN):
        return find("expand")(value, sizes)
    if value.shape == sizes:
        return value.view()  # a tensor of its own, which a leaf may take over
    if value.ndim == 0 or 0 in sizes:  # np.broadcast_to costs ten times as much
        return np.ndarray(sizes, value.dtype, np.empty(1, value.dtype) if value.ndim else np.asarray(value), 0, (0,) * len(sizes))
    return np.broadcast_to(value, sizes)


def spread(grad: ArrayOrTensor, sizes: tuple[int, ...], dim: Dims = None, keepdim: bool = False) -> ArrayOrTensor:
    """Give every summed element its sum's gradient."""
    if not keepdim and sizes and dim:
        grad = unsqueezed(grad, dim, len(sizes))
    return repeated(grad, sizes)


def restored(value: ArrayOrTensor, dim: Dims, keepdim: bool) -> ArrayOrTensor:
    """Put reduced dimensions back in one step (`reshape`), as PyTorch's amax does."""
    if keepdim or (not dim and isinstance(value, PLAIN)):
        return value
    dim = dim or ()
    ndim = len(value.shape) + len(dim)
    reduced = {wrap_dim(one, ndim) for one in dim} if value.shape or len(dim) > 1 else {0}
    extents = iter(value.shape)
    return find("reshape")(value, tuple(1 if place in reduced else next(extents) for place in range(ndim)))


def row_major(self: Array) -> Array:
    """Return the array in row-major order, in which PyTorch's scans and softmax write their results."""
    return self if self.flags.c_contiguous else np.ascontiguousarray(self)


def widened(self: Array, dtype: NumpyDType | None) -> Array:
    """Return the array at the dtype in which it is summed: `dtype` if asked for, int64 for integers and bool."""
    if dtype is None:
        dtype = self.dtype if self.dtype.kind == "f" else np.dtype(np.int64)
    return self if self.dtype == dtype else self.astype(dtype)


def require_float(self: Array, dtype: Any) -> Array:
    """Return the array at `dtype`; refuses integers with the sentence of mean."""
    kind = "Input" if dtype is None else "Optional"
    asked = self.dtype if dtype is None else dtype
    if asked.kind != "f":
        message = (
            f"mean(): could not infer output dtype. {kind} dtype must be either a floating point or complex dtype. "
            f"Got: {of_numpy(asked).title}"
        )
        raise fail("dtype", message)
    return self if self.dtype == asked else self.astype(asked)


# --- sum --------------------------------------------------------------------------------------------------------


def _sum(self: Array, dtype: NumpyDType | None) -> Array:
    wide = widened(self, dtype)
    return add_reduce(wide, axis=None) if wide.size < LARGE else sum_all(wide)


def sum_over(self: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
    """Sum over axes; long float32 columns are accumulated in float64, which numpy does not do pairwise."""
    if self.dtype == np.float32 and axes and self.ndim - 1 not in axes and self.shape[axes[0]] > 512:
        return add_reduce(self, axis=axes, keepdims=keepdim, dtype=np.float64).astype(np.float32)
    found = narrow_sum(self, axes, keepdim)
    if found is None and self.size >= LARGE:
        found = long_sum(self, axes, keepdim)
    return add_reduce(self, axis=axes, keepdims=keepdim) if found is None else found


def _sum_dim(self: Array, dim: Dims, keepdim: bool, dtype: NumpyDType | None) -> Array:
    return sum_over(widened(self, dtype), wrap_dims(dim, self.ndim), keepdim)


sum = op(
    "sum(self, *, dtype: dtype? = None)", "SumBackward0", "Sum of all elements; of integers and bool an int64.",
    forward=_sum, grads={"self": lambda grad, self_sizes: repeated(grad, self_sizes)}, samples=(sample((2, 3)), sample(())),
)
op(
    "sum(self, dim: ints?, keepdim: bool = False, *, dtype: dtype? = None)", "SumBackward1",
    "Sum over one or several dimensions.", layout="contiguous", forward=_sum_dim,
    grads={"self": lambda grad, self_sizes, dim, keepdim: spread(grad, self_sizes, dim, keepdim)},
    samples=(sample((2, 3), 1), sample((2, 3, 2), (0, -1), True), sample((2, 3), 2, rejects="index")),
)


def _nansum(self: Array, dim: Dims, keepdim: bool, dtype: Any) -> Array:
    wide = widened(self, dtype)
    missing = np.isnan(wide)
    if missing.any():
        wide = np.where(missing, wide.dtype.type(0), wide)
    return sum_over(wide, wrap_dims(dim, self.ndim), keepdim)


nansum = op(
    "nansum(self, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None)", "NansumBackward0",
    "Sum that takes nan for 0.", layout="contiguous", forward=_nansum,
    grads={"self": lambda grad, self, dim, keepdim: spread(grad, _shape(self), dim, keepdim) * _is_number(self)},
    samples=(sample((2, 3)), sample((2, 3), 1)),
    note="Saves `self`, to know where it is nan; a plain sum keeps only its sizes.",
)


def _shape(value: ArrayOrTensor) -> tuple[int, ...]:
    return tuple(value.shape)


def _is_number(value: ArrayOrTensor) -> ArrayOrTensor:
    return ~np.isnan(value) if isinstance(value, PLAIN) else find("logical_not")(find("isnan")(value))


# --- mean -------------------------------------------------------------------------------------------------------


def mean_over(self: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
    """Return the mean over axes: the sum divided by the count, as PyTorch rounds it."""
    count = math.prod(self.shape[axis] for axis in axes)
    return np.true_divide(sum_over(self, axes, keepdim), self.dtype.type(count))


def _mean(self: Array, dtype: object) -> Array:
    wide = require_float(self, dtype)
    total = add_reduce(wide, axis=None) if wide.size < LARGE else sum_all(wide)
    return np.true_divide(total, wide.dtype.type(wide.size))


def _mean_dim(self: Array, dim: Dims, keepdim: bool, dtype: object) -> Array:
    return mean_over(require_float(self, dtype), wrap_dims(dim, self.ndim), keepdim)


def mean_backward(grad: ArrayOrTensor, sizes: tuple[int, ...], dim: Dims, count: int, keepdim: bool) -> ArrayOrTensor:
    """Give every element its mean's gradient divided by the number of elements of that mean."""
    if dim and sizes:
        count = math.prod(sizes[wrap_dim(one, len(sizes))] for one in dim)
    if isinstance(grad, PLAIN):
        each = spread(np.asarray(np.true_divide(grad, grad.dtype.type(count))), sizes, dim, keepdim)
        return np.array(each, order="C")  # PyTorch divides what it has spread: an array of its own
    return over(spread(grad, sizes, dim, keepdim), count)


mean = op(
    "mean(self, *, dtype: dtype? = None)", "MeanBackward0", "Mean of all elements.", forward=_mean,
    grads={"self": lambda grad, self_sizes, self_numel: mean_backward(grad, self_sizes, None, self_numel, False)},
    samples=(sample((2, 3)),),
)
op(
    "mean(self, dim: ints?, keepdim: bool = False, *, dtype: dtype? = None)", "MeanBackward1",
    "Mean over one or several dimensions.", layout="contiguous", forward=_mean_dim,
    grads={
        "self": lambda grad, self_sizes, dim, self_numel, keepdim: mean_backward(grad, self_sizes, dim, self_numel, keepdim)
    },
    samples=(sample((2, 3), 1), sample((2, 3, 2), (0, -1), True)),
)

def _nanmean(self: Tensor, dim: Dims, keepdim: bool, dtype: Any) -> Tensor:
    if array_of(self).dtype.kind != "f":
        title = of_numpy(array_of(self).dtype).title
        raise fail("dtype", f"nanmean(): expected input to have floating point or complex dtype but got {title}")
    counted = find("sum")(find("logical_not")(find("isnan")(self.detach())), dim or (), keepdim)
    return nansum(self, dim, keepdim, dtype=None if dtype is None else of_numpy(dtype)) / counted


composite(
    "nanmean(self, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None)", "Mean that leaves nan aside.", _nanmean,
    samples=(sample((2, 3)), sample((2, 3), 1)),
)

# --- tests and counts -------------------------------------------------------------------------------------------


def _truth(self: Array, axes: tuple[int, ...], keepdim: bool, function: Any) -> Array | bool:
    found = function.reduce(self, axis=axes, keepdims=keepdim, dtype=np.bool_)
    return found.astype(np.uint8) if self.dtype == np.uint8 else found


def _declare_truth(name: str, function: object, doc: str) -> None:
    def over_dims(self: Array, dim: Dims, keepdim: bool) -> Array | bool:
        return _truth(self, wrap_dims(dim, self.ndim), keepdim, function)

    op(f"{name}(self)", "", doc, forward=lambda self: over_dims(self, None, False))
    op(f"{name}(self, dim: ints?, keepdim: bool = False)", "", doc, layout="contiguous", forward=over_dims)


_declare_truth("any", np.logical_or, "Whether any element is true (not 0).")
_declare_truth("all", np.logical_and, "Whether all elements are true (not 0).")
op(
    "count_nonzero(self, dim: ints? = None)", "", "How many elements are not 0.",
    layout="contiguous", forward=lambda self, dim: add_reduce(self != 0, axis=wrap_dims(dim, self.ndim), dtype=np.int64),
)

# --- prod -------------------------------------------------------------------------------------------------------


def _prod(self: Array, dtype: Any) -> Array:
    wide = widened(self, dtype)
    if wide.nbytes < _FOUR_VECTORS or not wide.flags.c_contiguous:
        return mul_reduce(wide, axis=None)
    return _row_products(wide.reshape(1, -1))[0]


def _prod_dim(self: Array, dim: int, keepdim: bool, dtype: Any) -> Array:
    axis, wide = wrap_dims((dim,), self.ndim), widened(self, dtype)
    if wide.nbytes < _FOUR_VECTORS or axis != (wide.ndim - 1,) or not wide.flags.c_contiguous:
        return mul_reduce(wide, axis=axis, keepdims=keepdim)
    found = _row_products(wide.reshape(-1, wide.shape[-1]))
    return found.reshape(*wide.shape[:-1], 1) if keepdim else found.reshape(wide.shape[:-1])


_FOUR_VECTORS = 128
"""Bytes that PyTorch's kernels multiply at once: four vectors of eight float32."""


def _row_products(rows: Array) -> Array:
    """Return the product of each row in PyTorch's order, for floats: four vectors run along it."""
    lanes = _FOUR_VECTORS // rows.itemsize // 4
    whole = rows.shape[1] - rows.shape[1] % (4 * lanes)
    if rows.dtype.kind != "f" or not whole:
        return mul_reduce(rows, axis=1)
    four = np.ascontiguousarray(_along(rows[:, :whole]).T).reshape(4, lanes, -1)
    vector = (four[0] * four[1]) * (four[2] * four[3])
    return mul_reduce(np.concatenate([vector, rows[:, whole:].T]), axis=0)


_FIRST, _BESIDE = 512, 8
"""Steps after which products of many numbers are mostly 0; rows that are faster when their steps lie beside each other."""


def _along(rows: Array) -> Array:
    """Multiply what four vectors meet as they run along each row."""
    count, size = rows.shape
    if count >= _BESIDE and rows.size >= BLOCK:
        vectors, found = rows.view(f"V{_FOUR_VECTORS}"), np.empty((count, _FOUR_VECTORS // rows.itemsize), rows.dtype)
        step = max(1, BLOCK // size)
        for start in range(0, count, step):
            beside = np.ascontiguousarray(vectors[start : start + step].T).view(rows.dtype)
            mul_reduce(beside, axis=0, out=found[start : start + step].reshape(-1))
        return found
    steps = rows.reshape(count, -1, _FOUR_VECTORS // rows.itemsize)
    if steps.shape[1] <= _FIRST:
        return mul_reduce(steps, axis=1)
    found = mul_reduce(steps[:, :_FIRST], axis=1)
    if found.any() or not np.isfinite([rows.min(), rows.max()]).all():
        return mul_reduce(steps, axis=1)
    found[...] = 0  # that it stays whatever comes, but for the sign
    found[:, 0] = np.copysign(0, np.bitwise_xor.reduce(rows.view(f"i{rows.itemsize}"), axis=1))
    return found
def prod_without(grad: ArrayOrTensor, self: ArrayOrTensor, dim: int) -> ArrayOrTensor:
    """Return grad times the product of the other elements, which needs no division (there may be zeros)."""
    count = self.shape[dim]
    if 0 in self.shape:
        return find("expand")(grad, tuple(self.shape))
    if count == 1:
        return grad
    ones = find("ones")(tuple(1 if place == dim else n for place, n in enumerate(self.shape)), dtype=_dtype(self))
    narrow, cat, flip, cumprod = find("narrow"), find("cat"), find("flip"), find("cumprod")
    if isinstance(self, PLAIN):
        ones = ones.array
    before = cumprod(cat([ones, narrow(self, dim, 0, count - 1)], dim), dim)
    after = flip(cumprod(cat([ones, flip(narrow(self, dim, 1, count - 1), (dim,))], dim), dim), (dim,))
    return grad * (before * after)


def _dtype(value: Any) -> object:
    return of_numpy(value.dtype) if isinstance(value, PLAIN) else value.dtype


def _prod_grad(grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor) -> ArrayOrTensor:
    if not self.shape:
        return grad
    if not (array_of(self) == 0).any():
        return grad * (result / self)
    if isinstance(self, PLAIN):
        return prod_without(grad, self.reshape(-1), 0).reshape(self.shape)
    view = find("view")
    return view(prod_without(grad, view(find("contiguous")(self), (-1,)), 0), tuple(self.shape))


def _prod_dim_grad(
    grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor, dim: int, keepdim: bool
) -> ArrayOrTensor:
    if not self.shape:
        return grad
    ndim = len(self.shape)
    dim = wrap_dim(dim, ndim)
    if not keepdim:
        grad, result = unsqueezed(grad, (dim,), ndim), unsqueezed(result, (dim,), ndim)
    if not (array_of(self) == 0).any():
        return grad * (result / self)
    return prod_without(grad, self, dim)


op(
    "prod(self, *, dtype: dtype? = None)", "ProdBackward0", "Product of all elements.", forward=_prod,
    grads={"self": _prod_grad}, samples=(sample((2, 3)),),
    note="Saves self and result; where elements are 0 the gradient is computed without division.",
)
op(
    "prod(self, dim: int, keepdim: bool = False, *, dtype: dtype? = None)", "ProdBackward1",
    "Product over one dimension.", layout="contiguous", forward=_prod_dim, grads={"self": _prod_dim_grad},
    samples=(sample((2, 3), 1), sample((2, 3), -2, True)),
    note="Saves self and result; where elements are 0 the gradient is computed without division.",
)
