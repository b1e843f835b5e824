"""Products of matrices and vectors, matmul's choice among them, and linear.

Gradients of products keep the memory order of the factor they belong to, as PyTorch's do.
"""

import math
from typing import Any

import numpy as np

from gradsh.engine.codegen.specialize import quicken
from gradsh.engine.dispatch.declare import alias, composite, implements, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor
from gradsh.engine.registry import find
from gradsh.engine.schema.overload import FALLBACK
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.shape import broadcast_shapes, expandable
from gradsh.ops.fused import linear_at_once
from gradsh.ops.kernels.common import unsupported
from gradsh.ops.scalars import times
from gradsh.text.fault import fail

# --- kernels and what formulas share ----------------------------------------------------------------------------


def transposed(value: ArrayOrTensor) -> ArrayOrTensor:
    """Return the transpose of a matrix (array or Tensor)."""
    return value.T if isinstance(value, np.ndarray) else find("t")(value)


def product(a: ArrayOrTensor, b: ArrayOrTensor) -> ArrayOrTensor:
    """Return the product of two matrices (arrays or Tensors). `dot` beats `@` for small ones and takes any strides."""
    return a.dot(b) if isinstance(a, np.ndarray) else mm(a, b)


def _swapped(value: ArrayOrTensor) -> ArrayOrTensor:
    return value.swapaxes(1, 2) if isinstance(value, np.ndarray) else find("transpose")(value, 1, 2)


def batched(a: Array, b: Array) -> Array:
    """Return the products of two batches; a factor that the batch repeats (stride 0) takes part in one product of matrices."""
    (count, rows, _), (_, inner, columns) = a.shape, b.shape
    if count > 1 and b.strides[0] == 0:
        return a.reshape(count * rows, inner).dot(b[0]).reshape(count, rows, columns)
    if count > 1 and a.strides[0] == 0:
        side_by_side = b.swapaxes(0, 1).reshape(inner, count * columns)
        return a[0].dot(side_by_side).reshape(rows, count, columns).swapaxes(0, 1).copy(order="C")
    if 0 in a.strides:  # numpy is slow on them
        a = np.ascontiguousarray(a)
    if 0 in b.strides:
        b = np.ascontiguousarray(b)
    return np.matmul(a, b)


def _batched(a: ArrayOrTensor, b: Any) -> ArrayOrTensor:
    return batched(a, b) if isinstance(a, np.ndarray) else bmm(a, b)


def grad_of_first(
    grad: ArrayOrTensor, mat2: ArrayOrTensor, sizes: tuple[int, ...], strides: tuple[int, ...], alpha: int = 1
) -> ArrayOrTensor:
    """Return the gradient of the left factor of a product."""
    if strides and strides[0] == 1 and strides[1] == sizes[0]:  # column by column, as the gradient is to be
        found = transposed(product(mat2, transposed(grad)))
    else:
        found = product(grad, transposed(mat2))
    return found if alpha == 1 else times(found, alpha)


def grad_of_second(
    grad: ArrayOrTensor, mat1: ArrayOrTensor, sizes: tuple[int, ...], strides: tuple[int, ...], alpha: int = 1
) -> ArrayOrTensor:
    """Return the gradient of the right factor of a product."""
    if strides and strides[0] == 1 and strides[1] == sizes[0]:
        found = transposed(product(transposed(grad), mat1))
    else:
        found = product(transposed(mat1), grad)
    return found if alpha == 1 else times(found, alpha)


def scaled(value: ArrayOrTensor, number: float) -> Any:
    """Return value * number, the value itself for 1."""
    return value if number == 1 else times(value, number)


def _outer(a: ArrayOrTensor, b: ArrayOrTensor) -> ArrayOrTensor:
    return np.multiply.outer(a, b) if isinstance(a, np.ndarray) else find("outer")(a, b)


def _times_vector(matrix: ArrayOrTensor, vector: ArrayOrTensor) -> ArrayOrTensor:
    return matrix.dot(vector) if isinstance(matrix, np.ndarray) else mv(matrix, vector)


def _title(array: Array) -> str:
    return of_numpy(array.dtype).title


# --- two matrices -----------------------------------------------------------------------------------------------


def check_product(a: Array, b: Array) -> None:
    """Refuse matrices that cannot be multiplied, with PyTorch's sentence."""
    if a.shape[1] != b.shape[0]:
        message = f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        raise fail("shape", message, shapes=(a.shape, b.shape))


def _check_mm(self: Array, mat2: Array) -> None:
    for each, name in ((self, "self"), (mat2, "mat2")):
        if each.ndim != 2:
            raise fail("shape", f"{name} must be a matrix", shape=each.shape)
    check_product(self, mat2)


def _mm(self: Array, mat2: Array) -> Array:
    if self.dtype == np.bool_:
        raise unsupported("addmm_impl_cpu_", self)
    return self.dot(mat2)


mm = op(
    "mm(self, mat2)", "MmBackward0", "Product of two matrices.", forward=_mm, dtypes="same", check=_check_mm,
    grads={
        "self": lambda grad, mat2, self_sizes, self_strides: grad_of_first(grad, mat2, self_sizes, self_strides),
        "mat2": lambda grad, self, mat2_sizes, mat2_strides: grad_of_second(grad, self, mat2_sizes, mat2_strides),
    },
    samples=(sample((2, 3), (3, 4)), sample((2, 3), (4, 5), rejects="shape"), sample((2, 0), (0, 3))),
)
alias("spmm", mm, ("torch",))
quicken(mm, mm.records[0])


def _bmm(self: Array, mat2: Array) -> Array:
    return batched(self, mat2)


def check_batches(batch1: Array, batch2: Array) -> None:
    """Refuse batches of matrices that cannot be multiplied, with PyTorch's sentences."""
    for each, name in ((batch1, "batch1"), (batch2, "batch2")):
        if each.ndim != 3:
            raise fail("shape", f"{name} must be a 3D tensor", shape=each.shape)
    if batch1.shape[0] != batch2.shape[0] or batch1.shape[2] != batch2.shape[1]:
        wanted, got = [batch1.shape[0], batch1.shape[2]], list(batch2.shape[:2])
        message = f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {got}."
        raise fail("shape", message, shapes=(batch1.shape, batch2.shape))


bmm = op(
    "bmm(self, mat2)", "BmmBackward0", "Products of two batches of matrices.", forward=_bmm, dtypes="same",
    check=check_batches,
    grads={
        "self": lambda grad, mat2: _batched(grad, _swapped(mat2)),
        "mat2": lambda grad, self: _batched(_swapped(self), grad),
    },
    samples=(sample((2, 2, 3), (2, 3, 2)), sample((2, 2, 3), (2, 2, 2), rejects="shape")),
)

# --- vectors ----------------------------------------------------------------------------------------------------


def _check_mv(self: Array, vec: Array) -> None:
    if self.ndim == 0:
        raise fail("index", "Dimension specified as 0 but tensor has no dimensions", IndexError)
    if self.ndim != 2 or vec.ndim != 1:
        message = f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}"
        raise fail("shape", message, shapes=(self.shape, vec.shape))
    if self.shape[1] != vec.shape[0]:
        message = f"size mismatch, got input ({self.shape[0]}), mat ({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})"
        raise fail("shape", message, shapes=(self.shape, vec.shape))


def _mv(self: Array, vec: Array) -> Array:
    return self.dot(vec)


mv = op(
    "mv(self, vec)", "MvBackward0", "Product of a matrix and a vector.", forward=_mv, dtypes="same", check=_check_mv,
    grads={"self": lambda grad, vec: _outer(grad, vec), "vec": lambda grad, self: _times_vector(transposed(self), grad)},
    samples=(sample((2, 3), (3,)), sample((2, 3), (2,), rejects="shape")),
)


def _dot(self: Array, tensor: Array) -> Array:
    if self.ndim != 1 or tensor.ndim != 1:
        message = f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors"
        raise fail("shape", message, shapes=(self.shape, tensor.shape))
    if self.dtype != tensor.dtype:
        message = f"dot : expected both vectors to have same dtype, but found {_title(self)} and {_title(tensor)}"
        raise fail("dtype", message)
    if self.shape != tensor.shape:
        a, b = self.shape[0], tensor.shape[0]
        message = (
            f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of elements, "
            f"but got {a} and {b} elements respectively"
        )
        raise fail("shape", message, shapes=(self.shape, tensor.shape))
    return self.dot(tensor)


dot = op(
    "dot(self, tensor)", "DotBackward0", "Sum of the products of two vectors' elements.", forward=_dot,
    grads={"self": lambda grad, tensor: grad * tensor, "tensor": lambda grad, self: grad * self},
    samples=(sample((3,), (3,)), sample((3,), (4,), rejects="shape")),
)
vdot = op(
    "vdot(self, other)", "VdotBackward0", "The dot product (of real vectors).", forward=_dot,
    grads={"self": lambda grad, other: grad * other, "other": lambda grad, self: grad * self},
    samples=(sample((3,), (3,)),), spaces=("torch", "Tensor"),
)

# --- addmm ------------------------------------------------------------------------------------------------------


def plus(self: Array, product: Array, beta: int, alpha: float) -> Array:
    """Return beta * self + alpha * product, written into the fresh product; beta 0 ignores self and its nans."""
    if not expandable(self.shape, product.shape):
        dim = next(
            place for place in range(-1, -product.ndim - 1, -1)
            if -place > self.ndim or self.shape[place] not in (1, product.shape[place])
        ) if self.ndim <= product.ndim else 0
        raise _cannot_expand(self.shape, product.shape, dim, _title(self))
    if alpha != 1:
        product *= product.dtype.type(alpha)
    if beta == 1:
        product += self
    elif beta != 0:
        product += self * self.dtype.type(beta)
    return product


def _cannot_expand(shape: tuple[int, ...], target: tuple[int, ...], dim: int, title: str) -> Exception:
    if len(shape) > len(target):
        message = (
            f"expand(torch.{title}Tensor{{{list(shape)}}}, size={list(target)}): the number of sizes provided "
            f"({len(target)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    else:
        message = (
            f"The expanded size of the tensor ({target[dim]}) must match the existing size ({shape[dim]}) at non-singleton "
            f"dimension {len(target) + dim}.  Target sizes: {list(target)}.  Tensor sizes: {list(shape)}"
        )
    return fail("shape", message, shapes=(shape, target))


def _check_addmm(self: Array, mat1: Array, mat2: Array, beta: int, alpha: int) -> None:
    del beta, alpha
    for first, name, second, other in ((self, "self", mat2, "mat2"), (mat1, "mat1", mat2, "mat2")):
        if first.dtype != second.dtype:
            message = f"{name} and {other} must have the same dtype, but got {_title(first)} and {_title(second)}"
            raise fail("dtype", message)
    for each, name in ((mat1, "mat1"), (mat2, "mat2")):
        if each.ndim != 2:
            raise fail("shape", f"{name} must be a matrix, got {each.ndim}-D tensor", shape=each.shape)
    check_product(mat1, mat2)


def _check_addmm_in_place(self: Array, mat1: Array, mat2: Array, beta: int, alpha: int) -> None:
    _check_addmm(self, mat1, mat2, beta, alpha)
    size = [mat1.shape[0], mat2.shape[1]]
    if list(self.shape) != size:
        message = f"Bad in-place call: input tensor size {list(self.shape)} and output tensor size {size} should match"
        raise fail("shape", message, shapes=(self.shape, tuple(size)))


def _addmm(self: Array, mat1: Array, mat2: Array, beta: int, alpha: int) -> Array:
    return plus(self, mat1.dot(mat2), beta, alpha)


addmm = op(
    "addmm(self, mat1, mat2, *, beta: number = 1, alpha: number = 1)", "AddmmBackward0",
    "beta * self + alpha * (mat1 @ mat2).", forward=_addmm, dtypes="same", check=_check_addmm,
    inplace={"check": _check_addmm_in_place},
    grads={
        "self": lambda grad, beta: scaled(grad, beta),
        "mat1": lambda grad, mat2, mat1_sizes, mat1_strides, alpha: grad_of_first(grad, mat2, mat1_sizes, mat1_strides, alpha),
        "mat2": lambda grad, mat1, mat2_sizes, mat2_strides, alpha: grad_of_second(grad, mat1, mat2_sizes, mat2_strides, alpha),
    },
    samples=(
        sample((2, 4), (2, 3), (3, 4)), sample((4,), (2, 3), (3, 4), beta=2, alpha=3),
        sample((5,), (2, 3), (3, 4), rejects="shape"),
    ),
    note="With only `self` needing a gradient nothing is saved.",
)

# --- matmul -----------------------------------------------------------------------------------------------------


def _folds(tensor1: Tensor, tensor2: Tensor) -> bool:
    """Whether the batch of the larger factor becomes rows of one matrix product.

    It does so whenever the smaller factor needs a gradient (a copy now is cheaper than a batch of gradients later), else
    where the fold is free of copies.
    """
    first_larger = tensor1.ndim >= tensor2.ndim
    larger, smaller = (tensor1, tensor2) if first_larger else (tensor2, tensor1)
    if larger.ndim < 3 or smaller.ndim > 2:
        return False
    if smaller.requires_grad:
        return True
    if tensor1.ndim == 2:
        return False
    array = larger.array if first_larger else larger.array.swapaxes(-1, -2)
    if array.size == 0:
        return True
    shape, steps = array.shape, array.strides
    return all(steps[dim] == steps[dim + 1] * shape[dim + 1] for dim in range(array.ndim - 2))


def _folded(tensor1: Tensor, tensor2: Tensor) -> Tensor:
    swapped = tensor2.ndim > tensor1.ndim
    larger, smaller = (find("transpose")(tensor2, -2, -1), tensor1) if swapped else (tensor1, tensor2)
    if swapped and smaller.ndim == 2:
        smaller = find("t")(smaller)
    *batch, last = larger.shape
    flat = find("reshape")(larger, (math.prod(batch), last))
    if smaller.ndim == 1:
        return find("_unsafe_view")(mv(flat, smaller), tuple(batch))
    result = find("_unsafe_view")(mm(flat, smaller), (*batch, smaller.shape[1]))
    return find("contiguous")(find("transpose")(result, -2, -1)) if swapped else result


def _by_batches(tensor1: Tensor, tensor2: Tensor) -> object:
    shape1, shape2 = tuple(tensor1.shape), tuple(tensor2.shape)
    n, m1 = (shape1[-2] if len(shape1) > 1 else 1), shape1[-1]
    m2, p = (shape2[-2], shape2[-1]) if len(shape2) > 1 else (shape2[0], 1)
    if len(shape1) == len(shape2) == 3 and shape1[0] != shape2[0]:
        if shape1[0] == 1 and tensor1.requires_grad:
            return _matmul(find("squeeze")(tensor1, 0), tensor2)
        if shape2[0] == 1 and tensor2.requires_grad:
            return _matmul(tensor1, find("squeeze")(tensor2, 0))
    batch = broadcast_shapes(shape1[:-2], shape2[:-2])
    count = math.prod(batch)
    expand, reshape, unsafe_view = find("expand"), find("reshape"), find("_unsafe_view")
    first = reshape(expand(tensor1, (*batch, n, m1)), (count, n, m1))
    if len(shape2) == 1:
        vectors = reshape(expand(tensor2, (*batch, m2)), (count, m2))
        result = find("squeeze")(bmm(first, find("unsqueeze")(vectors, 2)), -1)
        return unsafe_view(result, (*batch, n))
    second = reshape(expand(tensor2, (*batch, m2, p)), (count, m2, p))
    shape = (*batch, *((n,) if len(shape1) > 1 else ()), p)
    return unsafe_view(bmm(first, second), shape)


def _matmul(self: Any, other: Any) -> object:
    dims = self.ndim, other.ndim
    if dims == (2, 2):
        found = mm.fast_elementwise(self, other) if mm.fast_elementwise is not None else FALLBACK
        return mm.run(mm.records[0], [self, other]) if found is FALLBACK else found  # no overloads to choose from
    if 0 in dims:
        message = f"both arguments to matmul need to be at least 1D, but they are {dims[0]}D and {dims[1]}D"
        raise fail("shape", message, shapes=(self.shape, other.shape))
    if dims == (1, 1):
        return dot(self, other)
    if dims == (2, 1):
        return mv(self, other)
    if isinstance(self, np.ndarray) and isinstance(other, np.ndarray):
        return np.matmul(self, other)
    if dims == (1, 2):
        return find("squeeze_")(mm(find("unsqueeze")(self, 0), other), 0)
    return _folded(self, other) if _folds(self, other) else _by_batches(self, other)


matmul = composite(
    "matmul(self, other)", "Matrix product; leading dimensions are batches and broadcast.", _matmul,
    samples=(
        sample((3,), (3,)), sample((2, 3), (3,)), sample((3,), (3, 2)), sample((2, 3), (3, 2)), sample((2, 2, 3), (3, 2)),
        sample((2, 2, 3), (2, 3, 2)), sample((3,), (2, 3, 2)), sample((2, 3), (4, 2), rejects="shape"),
    ),
    note="Which nodes it makes depends on the dimensions and on which factor needs a gradient.",
    spaces=("torch", "Tensor", "linalg"),
)


@implements("matmul")
def _operator(self: Tensor, other: object) -> object:
    return _matmul(self, other) if isinstance(other, Tensor) else NotImplemented


@implements("matmul", reflected=True)
def _reflected(self: Tensor, other: object) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


implements("imatmul")(_operator)


# --- linear -----------------------------------------------------------------------------------------------------


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> object:
    if input.ndim == 0 or weight.ndim == 0:
        message = f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        raise fail("shape", message, shapes=(input.shape, weight.shape))
    found = linear_at_once(find("t").records[0], addmm.records[0], input, weight, bias)
    if found is not None:
        return found
    turned = find("t")(weight)
    if bias is None:
        return _matmul(input, turned)
    if input.ndim == 2:
        return addmm.run(addmm.records[0], [bias, input, turned, 1, 1])
    if bias.ndim == 1 and input.is_contiguous():
        *batch, last = input.shape
        flat = find("reshape")(input, (math.prod(batch), last))
        result = addmm(bias, flat, turned)
        return find("view")(result, (*batch, result.shape[1]))
    return find("add_")(_matmul(input, turned), bias)


linear = composite(
    "linear(input, weight, bias: Tensor? = None)", "input @ weight.T + bias.", _linear, ("F",),
    samples=(sample((2, 3), (4, 3), (4,)), sample((2, 3), (4, 3)), sample((3,), (4, 3), (4,)), sample((2, 2, 3), (4, 3), (4,))),
    note="Is AddmmBackward0 over TBackward0 of the weight (Mm without a bias); without a trainable weight there is "
         "no T, and with only the bias trainable nothing is saved. More than two dims add views.",
)
