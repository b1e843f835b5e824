"""Products built on the matrix product: with a summand, outer, inner, chains, powers, contractions; trace and cross."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import alias, composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, cpp_name
from gradsh.engine.values.shape import at_dim, broadcast_shapes, wrap_dim
from gradsh.ops.kernels.common import unsupported
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.lu import check_square
from gradsh.ops.matmul import batched, bmm, check_batches, dot, matmul, mm, mv, plus, scaled, transposed, vdot
from gradsh.text.fault import fail

PLAIN = (np.ndarray, np.generic)

# --- with a summand ---------------------------------------------------------------------------------------------


def _check_addmv(self: Array, mat: Array, vec: Array, _beta: int, _alpha: float) -> None:
    if mat.ndim != 2 or vec.ndim != 1 or self.ndim > 1:
        raise fail("shape", f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0] or (self.ndim and self.shape[0] not in {1, mat.shape[0]}):
        rows, columns = mat.shape
        got = self.shape[0] if self.ndim else rows
        raise fail("shape", f"size mismatch, got input ({got}), mat ({rows}x{columns}), vec ({vec.shape[0]})")


def _addmv(self: Array, mat: Array, vec: Array, beta: int, alpha: float) -> Array:
    return plus(self, mat.dot(vec), beta, alpha)


def _outer_of(a: ArrayOrTensor, b: ArrayOrTensor) -> ArrayOrTensor:
    return np.multiply.outer(a, b) if isinstance(a, PLAIN) else find("ger")(a, b)


op(
    "addmv(self, mat, vec, *, beta: number = 1, alpha: number = 1)", "AddmvBackward0", "beta * self + alpha * (mat @ vec).",
    forward=_addmv, dtypes="same", check=_check_addmv, inplace=True,
    grads={
        "self": lambda grad, beta: scaled(grad, beta),
        "mat": lambda grad, vec, alpha: scaled(_outer_of(grad, vec), alpha),
        "vec": lambda grad, mat, alpha: scaled(mv(transposed(mat), grad), alpha),
    },
    samples=(sample((2,), (2, 3), (3,)), sample((2,), (2, 3), (3,), beta=2, alpha=0.5)),
)


def _addr(self: Array, vec1: Array, vec2: Array, beta: int, alpha: int) -> Array:
    for name, each in (("vec1", vec1), ("vec2", vec2)):
        if each.ndim != 1:
            place = {"vec1": 1, "vec2": 2}[name]
            raise fail("shape", f"addr: Expected 1-D argument {name}, but got {each.ndim}-D", place=place)
    return plus(self, np.multiply.outer(vec1, vec2), beta, alpha)


op(
    "addr(self, vec1, vec2, *, beta: number = 1, alpha: number = 1)", "AddrBackward0",
    "beta * self + alpha * outer(vec1, vec2).", forward=_addr, dtypes="promote", inplace=True,
    grads={
        "self": lambda grad, beta: scaled(grad, beta),
        "vec1": lambda grad, vec2, alpha: scaled(mv(grad, vec2), alpha),
        "vec2": lambda grad, vec1, alpha: scaled(mv(transposed(grad), vec1), alpha),
    },
    samples=(sample((2, 3), (2,), (3,)), sample((2, 3), (2,), (3,), beta=2, alpha=3)),
)


def _turned(value: ArrayOrTensor) -> ArrayOrTensor:
    return np.swapaxes(value, 1, 2) if isinstance(value, PLAIN) else find("transpose")(value, 1, 2)


def _check_baddbmm(self: Array, batch1: Array, batch2: Array, beta: int, alpha: int) -> None:
    """Refuse batches that lack the dimensions whose sizes PyTorch asks for first."""
    del self, beta, alpha
    for one, dim in ((batch1, 0), (batch1, 1), (batch2, 2)):
        at_dim(one.shape, dim)


def _baddbmm(self: Array, batch1: Array, batch2: Array, beta: int, alpha: int) -> Array:
    check_batches(batch1, batch2)
    return plus(self, batched(batch1, batch2), beta, alpha)


op(
    "baddbmm(self, batch1, batch2, *, beta: number = 1, alpha: number = 1)", "BaddbmmBackward0",
    "beta * self + alpha * bmm(batch1, batch2).", forward=_baddbmm, check=_check_baddbmm, dtypes="same", inplace=True,
    grads={
        "self": lambda grad, beta: scaled(grad, beta),
        "batch1": lambda grad, batch2, alpha: scaled(bmm(grad, _turned(batch2)), alpha),
        "batch2": lambda grad, batch1, alpha: scaled(bmm(_turned(batch1), grad), alpha),
    },
    samples=(sample((2, 2, 2), (2, 2, 3), (2, 3, 2)), sample((2,), (2, 2, 3), (2, 3, 2), beta=2, alpha=3)),
)


def _addbmm(self: Array, batch1: Array, batch2: Array, beta: int, alpha: int) -> Array:
    check_batches(batch1, batch2)
    return plus(self, np.asarray(np.add.reduce(batched(batch1, batch2), axis=0)), beta, alpha)


def _for_each(grad: ArrayOrTensor, count: int, rows: int, columns: int) -> ArrayOrTensor:
    return find("expand")(find("unsqueeze")(grad, 0), (count, rows, columns))


op(
    "addbmm(self, batch1, batch2, *, beta: number = 1, alpha: number = 1)", "AddbmmBackward0",
    "beta * self + alpha * the sum of bmm(batch1, batch2) over the batch.", forward=_addbmm, dtypes="same", inplace=True,
    grads={
        "self": lambda grad, beta: scaled(grad, beta),
        "batch1": lambda grad, batch2, batch1_argsize0, batch1_argsize1, batch2_argsize2, alpha: scaled(
            bmm(_for_each(grad, batch1_argsize0, batch1_argsize1, batch2_argsize2), _turned(batch2)), alpha
        ),
        "batch2": lambda grad, batch1, batch1_argsize0, batch1_argsize1, batch2_argsize2, alpha: scaled(
            bmm(_turned(batch1), _for_each(grad, batch1_argsize0, batch1_argsize1, batch2_argsize2)), alpha
        ),
    },
    samples=(sample((2, 2), (2, 2, 3), (2, 3, 2)),),
)

# --- outer, inner, kron -----------------------------------------------------------------------------------------


def _outer(self: Tensor, vec2: Tensor) -> Tensor:
    for name, each in (("self", self), ("vec2", vec2)):
        if each.ndim != 1:
            raise fail("shape", f"outer: Expected 1-D argument {name}, but got {each.ndim}-D")
    return find("reshape")(self, (self.shape[0], 1)) * vec2


outer = composite("outer(self, vec2)", "All products of the elements of two vectors.", _outer, samples=(sample((2,), (3,)),),
    note="Has no node of its own: a product of views.")
alias("ger", outer)


def _inner(self: Tensor, other: Tensor) -> Tensor:
    if self.ndim == 0 or other.ndim == 0:
        return self * other
    if self.shape[-1] != other.shape[-1]:
        message = (
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
        raise fail("shape", message)
    return _tensordot(self, other, (-1,), (-1,))


composite("inner(self, other)", "Sums of products over the last dimension of both.", _inner,
          samples=(sample((2, 3), (4, 3)), sample((3,), (3,))))


def _kron(self: Tensor, other: Tensor) -> Tensor:
    ndim = max(self.ndim, other.ndim)
    a = (1,) * (ndim - self.ndim) + tuple(self.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = tuple(n for extent in a for n in (extent, 1))
    right = tuple(n for extent in b for n in (1, extent))
    view = find("_unsafe_view")
    return view(view(self, left) * view(other, right), tuple(x * y for x, y in zip(a, b, strict=True)))


composite("kron(self, other)", "Kronecker product: each element of self times all of other.", _kron,
          samples=(sample((2, 2), (2, 3)), sample((2,), (2, 3))),
    note="Has no node of its own: a product of views.")

# --- contractions -----------------------------------------------------------------------------------------------


def _tensordot(a: Tensor, b: Tensor, dims_a: Sequence[int], dims_b: Sequence[int]) -> Tensor:
    if len(dims_a) != len(dims_b):
        raise fail("value", "both dimension lists should have same length")
    if array_of(a).dtype != array_of(b).dtype:
        raise fail("dtype", "both inputs should have same dtype")
    first, second, contracted = a, b, 1
    for place_a, place_b in zip(dims_a, dims_b, strict=True):
        x, y = a.shape[place_a], b.shape[place_b]
        if y == 1:
            first = find("sum")(first, (place_a,), True)
        elif x == 1:
            second = find("sum")(second, (place_b,), True)
        elif x != y:
            message = (
                f"contracted dimensions need to match, but first has size {x} in dim {place_a} and second has size {y} in "
                f"dim {place_b}"
            )
            raise fail("shape", message)
        else:
            contracted *= x
    free_a = _free(a.ndim, dims_a)
    free_b = _free(b.ndim, dims_b)
    sizes_a, sizes_b = tuple(first.shape[dim] for dim in free_a), tuple(second.shape[dim] for dim in free_b)
    permute, reshape = find("permute"), find("reshape")
    left, right = permute(first, (*free_a, *dims_a)), permute(second, (*dims_b, *free_b))
    if math.prod(sizes_a) == math.prod(sizes_b) == 1:
        return reshape(_all_contracted(left, right), sizes_a + sizes_b)
    product = mm(reshape(left, (math.prod(sizes_a), contracted)), reshape(right, (contracted, math.prod(sizes_b))))
    return reshape(product, sizes_a + sizes_b)


def _all_contracted(left: Tensor, right: Tensor) -> Tensor:
    """Return the sum of all products of two tensors that differ by dimensions of extent 1."""
    if left.is_contiguous() and right.is_contiguous():
        flatten = find("flatten")
        return dot(flatten(left), flatten(right))
    squeeze = find("squeeze")
    return find("sum")(squeeze(left) * squeeze(right))


def _free(ndim: int, dims: Sequence[int]) -> list[int]:
    taken: set[int] = set()
    for dim in dims:
        place = wrap_dim(dim, ndim)
        if place in taken:
            raise fail("value", f"dim {place} appears multiple times in the list of dims")
        taken.add(place)
    return [dim for dim in range(ndim) if dim not in taken]


def _tensordot_dims(a: Tensor, b: Tensor, dims: Any) -> Tensor:
    if isinstance(dims, (tuple, list)) and len(dims) == 2 and all(isinstance(one, (tuple, list)) for one in dims):
        return _tensordot(a, b, tuple(dims[0]), tuple(dims[1]))
    if hasattr(dims, "tolist"):
        return _tensordot_dims(a, b, dims.tolist())
    if isinstance(dims, (tuple, list)) and len(dims) == 2:
        return _tensordot(a, b, (int(dims[0]),), (int(dims[1]),))
    if dims < 0:
        raise fail("value", f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.ndim, b.ndim):
        raise fail("value", f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return _tensordot(a, b, tuple(range(-dims, 0)), tuple(range(dims)))


composite(
    "tensordot(a, b, dims: any = 2)", "Sum of products over chosen dimensions: a number of them, or two lists.",
    _tensordot_dims, ("torch",), samples=(sample((2, 3, 4), (4, 3, 2), ([1, 2], [1, 0])), sample((2, 3), (3, 2), 1)),
)

# --- chains and powers ------------------------------------------------------------------------------------------


def _chain_order(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Return where to split each stretch of a chain of matrices so that multiplying is cheapest."""
    count = len(sizes) - 1
    cost = {(place, place): 0 for place in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for start in range(count - length):
            end = start + length
            best = -1
            for middle in range(start, end):
                total = cost[start, middle] + cost[middle + 1, end] + sizes[start] * sizes[middle + 1] * sizes[end + 1]
                if best < 0 or total < best:
                    best, split[start, end] = total, middle
            cost[start, end] = best
    return split


def _multiply(tensors: list[Tensor], split: dict[tuple[int, int], int], start: int, end: int) -> Tensor:
    if start == end:
        return tensors[start]
    middle = split[start, end]
    return mm(_multiply(tensors, split, start, middle), _multiply(tensors, split, middle + 1, end))


def _as_matrices(tensors: list[Tensor]) -> tuple[list[Tensor], tuple[int, ...]]:
    """Return the factors as matrices and the shape of the product; a vector may stand at either end."""
    last = len(tensors) - 1
    matrices, shape = list(tensors), []
    for place, word in ((0, "first"), (last, "last")):
        ndim = tensors[place].ndim
        if ndim not in {1, 2}:
            raise fail("shape", f"multi_dot(): the {word} tensor must be 1D or 2D but got {ndim}D")
        if ndim == 1:
            matrices[place] = find("unsqueeze")(tensors[place], 0 if place == 0 else -1)
        else:
            shape.append(tensors[place].shape[0 if place == 0 else 1])
    for place in range(1, last):
        if tensors[place].ndim != 2:
            raise fail("shape", f"multi_dot(): tensor {place} must be 2D but got {tensors[place].ndim}D")
    for place in range(1, last + 1):
        _check_link(tensors, matrices, place)
    return matrices, tuple(shape)


def _check_link(tensors: list[Tensor], matrices: list[Tensor], place: int) -> None:
    before, here = array_of(tensors[0]).dtype, array_of(tensors[place]).dtype
    if before != here:
        words = [cpp_name(one) for one in (before, here)]
        message = (
            f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {words[0]} and tensor {place} {words[1]}"
        )
        raise fail("dtype", message)
    if matrices[place - 1].shape[-1] != matrices[place].shape[0]:
        message = (
            f"multi_dot(): tensors {place - 1} and {place} with shapes {list(tensors[place - 1].shape)} and "
            f"{list(tensors[place].shape)} cannot be multiplied"
        )
        raise fail("shape", message)


def _multi_dot(tensors: list[Tensor]) -> Tensor:
    if len(tensors) < 2:
        raise fail("value", f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    matrices, shape = _as_matrices(tensors)
    sizes = [matrices[0].shape[0], *(matrix.shape[1] for matrix in matrices)]
    if len(matrices) == 3:
        a, b, c, d = sizes
        split = {(0, 2): 0, (1, 2): 1} if a * c * (b + d) > b * d * (a + c) else {(0, 2): 1, (0, 1): 0}
    else:
        split = _chain_order(sizes)
    return find("view")(_multiply(matrices, split, 0, len(matrices) - 1), shape)


composite("linalg_multi_dot(tensors: Tensors)", "Product of several matrices in the cheapest order.", _multi_dot, ("linalg",))


def _chain_matmul(*matrices: Any) -> Tensor:
    tensors = list(matrices[0]) if len(matrices) == 1 else list(matrices)
    for place, each in enumerate(tensors):
        if each.ndim != 2:
            raise fail("shape", f"Tensor dimension is {each.ndim}, expected 2 instead." if place >= 0 else "")
    return tensors[0] if len(tensors) == 1 else _multi_dot(tensors)


composite("chain_matmul(*matrices: any)", "Product of several matrices in the cheapest order.",
          lambda matrices: _chain_matmul(*matrices), ("torch",))


def _matrix_power(self: Tensor, n: int) -> object:
    if self.ndim < 2 or self.shape[-1] != self.shape[-2]:
        check_square(array_of(self), "linalg.matrix_power", "A")
    if n == 0:
        eye = find("eye")(self.shape[-1], dtype=self.dtype)
        return find("copy_")(find("clone")(self), find("expand")(eye, tuple(self.shape)))
    if n == 1:
        return find("clone")(self)
    if n < 0:
        self, n = find("linalg_inv")(self), -n
        if n == 1:
            return self
    if n == 3:
        return matmul(matmul(self, self), self)
    square = result = None
    while n > 0:
        square = self if square is None else matmul(square, square)
        if n % 2:
            result = square if result is None else matmul(result, square)
        n //= 2
    return result


for _name, _spaces in (("linalg_matrix_power", ("linalg",)), ("matrix_power", ("torch", "Tensor"))):
    composite(f"{_name}(self, n: int)", "A square matrix multiplied by itself n times; negative n inverts.", _matrix_power, _spaces,
              samples=(sample((3, 3), 3), sample((3, 3), 5), sample((3, 3), 0)))

# --- trace, cross, vecdot ---------------------------------------------------------------------------------------


def _trace(self: Array) -> Array:
    if self.ndim != 2:
        raise fail("shape", "trace: expected a matrix, but got tensor with dim " + str(self.ndim))
    if self.dtype == np.bool_:
        raise unsupported("trace", self)
    dtype = self.dtype if self.dtype.kind == "f" else np.int64
    return np.trace(self, dtype=dtype)


@writes(2)
def _trace_grad(grad: ArrayOrTensor, self_sizes: tuple[int, ...]) -> ArrayOrTensor:
    rows, columns = self_sizes
    if isinstance(grad, PLAIN):
        flat = np.zeros(rows * columns, grad.dtype)
        flat[: min(rows, columns) * columns : columns + 1] = grad
        return flat.reshape(self_sizes)  # a view, as PyTorch's is: nothing is added to it in place
    places = make(np.arange(0, rows * columns, columns + 1)[: min(rows, columns)])
    places.counter.version = 1  # PyTorch writes it
    flat = find("zeros")((rows * columns,), dtype=grad.dtype)
    return find("view")(find("index_fill")(flat, 0, places, grad), self_sizes)


op("trace(self)", "TraceBackward0", "Sum of the diagonal.", forward=_trace, grads={"self": _trace_grad}, samples=(sample((3, 3)),))


def _cross(self: Array, other: Array, dim: int) -> Array:
    if self.ndim != other.ndim:
        raise fail("shape", "linalg.cross: inputs must have the same number of dimensions.")
    at_dim(self.shape, dim)
    axis = wrap_dim(dim, self.ndim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        message = (
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and {other.shape[axis]}"
        )
        raise fail("shape", message)
    broadcast_shapes(self.shape, other.shape)
    a, b = np.moveaxis(self, axis, 0), np.moveaxis(other, axis, 0)
    return np.stack([_difference(a[i], b[j], a[j], b[i]) for i, j in ((1, 2), (2, 0), (0, 1))], axis)


def _difference(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return a*b - c*d. PyTorch's float32 kernel rounds a*b and the difference only once (a fused operation)."""
    if a.dtype != np.float32 or b.dtype != np.float32:
        return a * b - c * d
    return (np.multiply(a, b, dtype=np.float64) - c * d).astype(np.float32)


linalg_cross: Any = op(
    "linalg_cross(self, other, *, dim: int = -1)", "LinalgCrossBackward0", "Cross product of vectors of length 3.",
    layout="contiguous", forward=_cross, dtypes="same", spaces=("linalg",),
    grads={
        "self": lambda grad, other, dim: linalg_cross(other, grad, dim=dim),
        "other": lambda grad, self, dim: linalg_cross(grad, self, dim=dim),
    },
    samples=(sample((2, 3), (2, 3)),),
)


def _old_cross(self: Tensor, other: Tensor, dim: int | None) -> Tensor:
    if dim is None:
        dim = next((place for place, n in enumerate(self.shape) if n == 3), None)
        if dim is None:
            raise fail("shape", "no dimension of size 3 in input")
    return linalg_cross(self, other, dim=dim)


composite("cross(self, other, dim: int? = None)", "Cross product of vectors of length 3, along the first dimension of 3 by default.",
          _old_cross, samples=(sample((2, 3), (2, 3)),))


def _vecdot(x: Tensor, y: Tensor, dim: int) -> Tensor:
    return vdot(x, y) if x.ndim == y.ndim == 1 else find("sum")(x * y, (dim,))


composite("linalg_vecdot(x, y, *, dim: int = -1)", "Sums of products along a dimension.", _vecdot, ("linalg",),
          samples=(sample((2, 3), (2, 3)),))
