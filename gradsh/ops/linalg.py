"""Determinants, inverses, least squares, the matrix exponential."""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, int64
from gradsh.engine.values.named_result import named_result
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.lu import (
    PLAIN,
    check_float,
    check_matrix,
    check_square,
    column_major,
    factored,
    first_zero,
    is_vector,
    lu_factor,
    permutation_sign,
    singular,
    solve_array,
    tolerance,
    turned,
)
from gradsh.ops.linear_solve import BOTH, LINALG, linalg_solve, with_info
from gradsh.ops.matmul import matmul
from gradsh.ops.reduce import prod_without
from gradsh.ops.scalars import times
from gradsh.text.fault import fail

# --- determinants -----------------------------------------------------------------------------------------------


def _det(A: Array) -> tuple[Array, ...]:
    packed, pivots, diagonal = factored(A, "linalg.det")
    result = permutation_sign(pivots) * np.multiply.reduce(diagonal, axis=-1)
    return np.asarray(result).astype(A.dtype), packed, pivots


def _column(value: object) -> ArrayOrTensor:
    return find("unsqueeze")(find("unsqueeze")(value, -1), -1)


def _diagonal_of(value: Tensor, size: int) -> Tensor:
    """Return matrices with `value` all along the diagonal."""
    wide = find("expand")(find("unsqueeze")(value, -1), (*value.shape, size))
    return turned(find("diag_embed")(wide))


def _det_grad(grad: ArrayOrTensor, result: ArrayOrTensor, A: ArrayOrTensor) -> ArrayOrTensor:
    """Return det times the inverse transposed, so 0 where det is 0, as in PyTorch.

    Under create_graph a (nearly) singular matrix gets the right gradient, by its singular values.
    """
    array = array_of(A)
    if array.size == 0:
        return np.zeros_like(array)
    if array.shape[-1] == 1:
        return find("expand")(_column(grad), tuple(array.shape))
    if isinstance(grad, PLAIN):
        scale = np.asarray(grad * result)[..., None, None]
        safe = np.where(scale == 0, np.eye(array.shape[-1], dtype=array.dtype), array)
        return scale * np.swapaxes(np.linalg.inv(safe), -1, -2)
    if (np.abs(array_of(result)) < 100 * np.finfo(array.dtype).eps).any():
        U, S, Vh = find("linalg_svd")(A)
        scale = linalg_det(U) * linalg_det(Vh) * grad
        others = prod_without(find("unsqueeze")(scale, -1), S, S.ndim - 1)
        return matmul(U * find("unsqueeze")(others, -2), Vh)
    return linalg_solve(turned(A), _diagonal_of(grad * result, array.shape[-1]))


linalg_det = op(
    "linalg_det(A)", "LinalgDetBackward0", "Determinant.", forward=_det, returns=1, outputs=("result", "LU", "pivots"),
    saves=("LU", "pivots"), grads={"A": _det_grad}, spaces=LINALG, samples=(sample((3, 3)), sample((2, 2, 2))),
    note="Saves A, its LU decomposition, the int32 pivots and the result.", reduced="lu_cpu",
)
composite("det(self)", "Determinant.", lambda self: linalg_det(self), BOTH, samples=(sample((3, 3)),),
    note="Is LinalgDetBackward0, which saves A, its LU decomposition, the int32 pivots and the result.")


def _slogdet(A: Array) -> tuple[Array, ...]:
    packed, pivots, diagonal = factored(A, "linalg.slogdet")
    sign = permutation_sign(pivots) * np.multiply.reduce(np.sign(diagonal), axis=-1)
    size = np.add.reduce(np.log(np.abs(diagonal)), axis=-1)
    return np.asarray(sign).astype(A.dtype), np.asarray(size).astype(A.dtype), packed, pivots


def _slogdet_grad(grad1: ArrayOrTensor, A: ArrayOrTensor) -> ArrayOrTensor:
    if grad1 is None:
        return None
    array = array_of(A)
    if isinstance(grad1, PLAIN):
        eye = np.eye(array.shape[-1], dtype=array.dtype)
        return solve_array(np.swapaxes(array, -1, -2), np.asarray(grad1)[..., None, None] * eye)
    return linalg_solve(turned(A), _diagonal_of(grad1, array.shape[-1]))


linalg_slogdet = op(
    "linalg_slogdet(A)", "LinalgSlogdetBackward0", "Sign and logarithm of the absolute value of the determinant.",
    forward=_slogdet, returns=2, fields=("sign", "logabsdet"), outputs=("sign", "logabsdet", "LU", "pivots"),
    saves=("sign", "LU", "pivots"), grads={"A": _slogdet_grad}, spaces=LINALG, samples=(sample((3, 3)),),
    reduced="linalg.slogdet: Low precision dtypes not supported. Got {title}",
)
composite("slogdet(self)", "Sign and logarithm of the absolute value of the determinant.", lambda self: linalg_slogdet(self), BOTH)


def _logdet(self: Tensor) -> Tensor:
    sign, size = linalg_slogdet(self)
    return find("where")(find("eq")(sign, -1.0), math.nan, size)


composite("logdet(self)", "Logarithm of the determinant; nan where it is negative.", _logdet, BOTH)

# --- inverses ---------------------------------------------------------------------------------------------------

_NO_INVERSE = "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."


def _inv_array(A: Array, check_errors: bool) -> Array:
    name = "linalg.inv"
    check_float(A, name)
    check_square(A, name)
    try:
        return column_major(np.linalg.inv(A))
    except np.linalg.LinAlgError:
        if not check_errors:
            return column_major(solve_array(A, np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype), A.shape)))
        place = first_zero(np.diagonal(lu_factor(A)[0], axis1=-2, axis2=-1)) or A.shape[-1]
        raise singular(name, place, _NO_INVERSE, A.ndim > 2) from None


_inv_ex = op(
    "_linalg_inv_ex(A, check_errors: bool = True)", "LinalgInvExBackward0", "Inverse of square matrices.", forward=_inv_array,
    outputs=("inverse",), spaces=(),
    grads={"A": lambda grad, inverse: -matmul(turned(inverse), matmul(grad, turned(inverse)))},
    reduced="linalg.inv: Low precision dtypes not supported. Got {title}",
)
linalg_inv = composite("linalg_inv(A)", "Inverse of square matrices.", lambda A: _inv_ex(A), LINALG, samples=(sample((3, 3)),),
    note="Saves only its result.")
composite("inverse(self)", "Inverse of square matrices.", lambda self: _inv_ex(self), BOTH, samples=(sample((3, 3)),),
    note="Saves only its result.")


composite("linalg_inv_ex(A, *, check_errors: bool = False)", "Inverse, and a code that is 0 for success.",
          lambda A, check_errors: with_info(_inv_ex(A, check_errors), "linalg_inv_ex", "inverse", A), LINALG)


def _pinv_array(self: Array, atol: object, rtol: object, hermitian: bool) -> Array:
    check_float(self, "linalg.pinv")
    if self.ndim < 2:
        message = f"linalg.pinv(Float{{{list(self.shape)}}}): expected a tensor with 2 or more dimensions of floating types"
        raise fail("shape", message)
    if self.size == 0:
        return np.zeros((*self.shape[:-2], self.shape[-1], self.shape[-2]), self.dtype)
    if hermitian:
        check_square(self, "linalg.pinv")
        values, vectors = np.linalg.eigh(self)
        size = np.abs(values)
        limit = tolerance(self, atol, rtol, size.max(-1, keepdims=True))
        inverse = np.where(size > limit, 1 / np.where(size > limit, values, 1), 0)
        return np.ascontiguousarray((vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2)).astype(self.dtype)
    U, S, Vh = np.linalg.svd(self, full_matrices=False)
    limit = tolerance(self, atol, rtol, S.max(-1, keepdims=True))
    inverse = np.where(limit < S, 1 / np.where(limit < S, S, 1), 0)
    V = np.swapaxes(Vh, -1, -2)
    return np.ascontiguousarray((V * inverse[..., None, :]) @ np.swapaxes(U, -1, -2)).astype(self.dtype)


def pinv_backward(grad: ArrayOrTensor, pinv: ArrayOrTensor, A: ArrayOrTensor) -> ArrayOrTensor:
    """Return the gradient of a pseudo-inverse, by products as small as the shape allows."""
    rows, columns = A.shape[-2:]
    pinv_t, grad_t = turned(pinv), turned(grad)
    if rows <= columns:
        K = matmul(grad_t, pinv)
        K_pinv_t = matmul(K, pinv_t)
        return (
            -turned(matmul(pinv, K)) + K_pinv_t - matmul(matmul(A, pinv), K_pinv_t)
            + matmul(matmul(pinv_t, pinv), grad_t - matmul(K, A))
        )
    K = matmul(pinv, grad_t)
    pinv_t_K = matmul(pinv_t, K)
    return (
        -turned(matmul(K, pinv)) + matmul(matmul(grad_t - matmul(A, K), pinv), pinv_t) + pinv_t_K
        - matmul(matmul(pinv_t_K, pinv), A)
    )


def _pinv(self: Array, atol: object, rtol: object, hermitian: bool) -> Array:
    return _pinv_array(self, atol, rtol, hermitian)


linalg_pinv = op(
    "linalg_pinv(self, *, atol: Operand? = None, rtol: Operand? = None, hermitian: bool = False)", "LinalgPinvBackward0",
    "Pseudo-inverse, from the singular values above a limit.", forward=_pinv, spaces=LINALG,
    grads={"self": lambda grad, result, self: pinv_backward(grad, result, self)}, attributes=(),
    samples=(sample((3, 2)), sample((2, 3))),
)
composite("linalg_pinv(self, rcond: Operand, hermitian: bool = False)", "Pseudo-inverse.",
          lambda self, rcond, hermitian: linalg_pinv(self, atol=0.0, rtol=rcond, hermitian=hermitian), LINALG)
composite("pinverse(self, rcond: float = 1e-15)", "Pseudo-inverse.",
          lambda self, rcond: linalg_pinv(self, atol=0.0, rtol=rcond), BOTH)

# --- least squares ----------------------------------------------------------------------------------------------


def _lstsq(self: Array, b: Array, rcond: Any, driver: object) -> tuple[Array, ...]:
    check_matrix(self, "torch.linalg.lstsq", "input")
    vector = is_vector(self.shape, b.shape)
    other = b[..., None] if vector else b
    if other.shape[-2] != self.shape[-2]:
        raise fail("shape", "torch.linalg.lstsq: input.size(-2) should match other.size(-" + ("1)" if vector else "2)"))
    rows, columns = self.shape[-2:]
    limit = float(np.finfo(self.dtype).eps) * max(rows, columns) if rcond is None else float(rcond)
    U, S, Vh = np.linalg.svd(self, full_matrices=False)
    large = limit * S.max(-1, keepdims=True) < S
    inverse = np.where(large, 1 / np.where(large, S, 1), 0)
    solution = np.swapaxes(Vh, -1, -2) @ (inverse[..., None] * (np.swapaxes(U, -1, -2) @ other))
    rank = np.add.reduce(large, axis=-1, dtype=np.int64)
    residuals = np.zeros((0,), self.dtype)
    if rows > columns and driver != "gelsy" and bool((rank == columns).all()):
        residuals = np.add.reduce((self @ solution - other) ** 2, axis=-2).astype(self.dtype)
    return (solution[..., 0] if vector else column_major(solution)).astype(self.dtype), residuals


def _lstsq_grad(grad0: object, grad1: ArrayOrTensor, self: Any, b: Any, solution: object) -> tuple[object, object]:
    vector = is_vector(tuple(self.shape), tuple(b.shape))
    unsqueeze, squeeze = find("unsqueeze"), find("squeeze")

    def matrix(value: object) -> object:
        return unsqueeze(value, -1) if vector else value

    grad_a = grad_b = None
    if grad0 is not None:
        pinv = linalg_pinv(self)
        upstream = matrix(grad0)
        grad_a = pinv_backward(matmul(upstream, turned(matrix(b))), pinv, self)
        grad_b = matmul(turned(pinv), upstream)
    if grad1 is not None and 0 not in grad1.shape:
        left_over = matmul(self, matrix(solution)) - matrix(b)
        upstream = unsqueeze(grad1, -2)
        more_a = times(matmul(upstream * left_over, turned(matrix(solution))), 2)
        more_b = times(upstream, -2) * left_over
        grad_a = more_a if grad_a is None else grad_a + more_a
        grad_b = more_b if grad_b is None else grad_b + more_b
    return grad_a, squeeze(grad_b, -1) if vector and grad_b is not None else grad_b


_linalg_lstsq = op(
    "_linalg_lstsq(self, b, rcond: float?, driver: str?)", "LinalgLstsqBackward0", "Least squares.", forward=_lstsq,
    unguarded=True, outputs=("solution", "residuals"), grads={("self", "b"): _lstsq_grad}, spaces=(),
    reduced="This function doesn't handle types other than float and double",
)


def _lstsq_named(self: object, b: object, rcond: float | None, driver: str | None) -> object:
    solution, residuals = _linalg_lstsq(self, b, rcond, driver)
    array = array_of(self)
    S = np.linalg.svd(array, compute_uv=False)
    limit = float(np.finfo(array.dtype).eps) * max(array.shape[-2:]) if rcond is None else float(rcond)
    top = S.max(-1, keepdims=True, initial=0.0)
    rank = np.add.reduce(limit * top < S, axis=-1, dtype=np.int64) if driver != "gels" else np.zeros((0,), np.int64)
    values = S if driver in {"gelsd", "gelss"} else np.zeros((0,), array.dtype)
    fields = ("solution", "residuals", "rank", "singular_values")
    return named_result("linalg_lstsq", fields, [solution, residuals, make(np.asarray(rank)), make(np.asarray(values))])


composite(
    "linalg_lstsq(self, b, rcond: float? = None, *, driver: str? = None)", "The x that makes the norm of A @ x - b smallest.",
    _lstsq_named, LINALG,
)

# --- matrix exponential -----------------------------------------------------------------------------------------

_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
         10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)
"""Coefficients of the diagonal Padé approximant of degree 13 (Higham, 2005)."""


def _matrix_exp(self: Array) -> Array:
    """Scale until the norm is below 5.37, approximate, square back; in float64."""
    check_float(self, "linalg.matrix_exp")
    check_square(self, "linalg.matrix_exp")
    if self.size == 0:
        return self.copy()
    A = self.astype(np.float64)
    norm = float(np.abs(A).sum(-2).max())
    halvings = max(0, math.ceil(math.log2(norm / 5.371920351148152))) if norm > 0 and math.isfinite(norm) else 0
    A = A / 2.0**halvings
    eye = np.eye(A.shape[-1])
    A2 = A @ A
    A4 = A2 @ A2
    A6 = A4 @ A2
    c = _PADE
    odd = A @ (A6 @ (c[13] * A6 + c[11] * A4 + c[9] * A2) + c[7] * A6 + c[5] * A4 + c[3] * A2 + c[1] * eye)
    even = A6 @ (c[12] * A6 + c[10] * A4 + c[8] * A2) + c[6] * A6 + c[4] * A4 + c[2] * A2 + c[0] * eye
    result = solve_array(even - odd, even + odd)
    for _ in range(halvings):
        result = result @ result
    return np.ascontiguousarray(result).astype(self.dtype)


def _matrix_exp_grad(grad: ArrayOrTensor, self: ArrayOrTensor) -> ArrayOrTensor:
    """The exponential of [[A.T, grad], [0, A.T]] holds the gradient in its upper right block."""
    size = self.shape[-1]
    A = turned(self)
    shape = (*A.shape[:-2], 2 * size, 2 * size)
    if isinstance(grad, PLAIN):
        block = np.zeros(shape, grad.dtype)
        block[..., :size, :size] = block[..., size:, size:] = A
        block[..., :size, size:] = grad
        return _matrix_exp(block)[..., :size, size:]
    narrow, copy = find("narrow"), find("copy_")
    whole = make(np.zeros(shape, array_of(grad).dtype))
    for row, column, part in ((0, 0, A), (size, size, A), (0, size, grad)):
        copy(narrow(narrow(whole, -2, row, size), -1, column, size), part)
    return narrow(narrow(linalg_matrix_exp(whole), -2, 0, size), -1, size, size)


linalg_matrix_exp = op(
    "linalg_matrix_exp(self)", "LinalgMatrixExpBackward0", "Exponential of square matrices.", forward=_matrix_exp,
    grads={"self": _matrix_exp_grad}, spaces=LINALG, samples=(sample((3, 3)),),
)
composite("matrix_exp(self)", "Exponential of square matrices.", lambda self: linalg_matrix_exp(self), BOTH,
          samples=(sample((3, 3)),))

# --- by reshaping -----------------------------------------------------------------------------------------------


def _tensorinv(self: Any, ind: int) -> Tensor:
    if ind <= 0:
        raise fail("value", "Expected a strictly positive integer for 'ind'")
    before, behind = tuple(self.shape[:ind]), tuple(self.shape[ind:])
    if math.prod(before) != math.prod(behind):
        message = (
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(behind)} != {math.prod(before)}"
        )
        raise fail("shape", message)
    flat = find("reshape")(self, (math.prod(behind), math.prod(before)))
    return find("reshape")(linalg_inv(flat), behind + before)


composite("linalg_tensorinv(self, ind: int = 2)", "Inverse of the linear map that a tensor stands for.", _tensorinv, LINALG)


def _tensorsolve(self: Any, other: Any, dims: tuple[int, ...] | None) -> Tensor:
    if dims is not None:
        behind = tuple(range(self.ndim - len(dims), self.ndim))
        self = find("movedim")(self, dims, behind)
    rest = tuple(self.shape[other.ndim :])
    if math.prod(tuple(self.shape[: other.ndim])) != math.prod(rest):
        message = (
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{math.prod(rest)} != {math.prod(tuple(self.shape[: other.ndim]))}"
        )
        raise fail("shape", message)
    count = math.prod(rest)
    matrix, flat = find("reshape")(self, (count, count)), find("reshape")(other, (-1,))
    return find("reshape")(linalg_solve(matrix, flat), rest)


composite("linalg_tensorsolve(self, other, dims: tuple? = None)", "X with tensordot(self, X) = other.", _tensorsolve, LINALG)
composite(
    "linalg_diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1)", "View of the diagonals.",
    lambda A, offset, dim1, dim2: find("diagonal")(A, offset, dim1, dim2), LINALG,
)


def _vander(x: Tensor, N: int | None) -> Tensor:
    count = N if N is not None else x.shape[-1] if x.ndim else 1
    if count <= 1:
        raise fail("value", "N must be greater than 1.")
    if x.ndim == 0:
        x = find("unsqueeze")(x, -1)
    wide = find("expand")(find("unsqueeze")(x, -1), (*x.shape, count - 1))
    powers = find("cumprod")(wide, -1)
    ones = find("ones")((*x.shape, 1), dtype=powers.dtype)
    return find("cat")([ones, powers], -1)


def _vander_rows(x: Tensor, N: int | None, increasing: bool) -> Tensor:
    """Write the powers into one matrix, as PyTorch does: its graph, and its refusal to go back through more than two, follow."""
    if x.ndim != 1:
        raise fail("shape", "x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise fail("value", "N must be non-negative.")
    found: Any = find("zeros")((x.shape[0], count), dtype=x.dtype if x.is_floating_point() else int64)
    if count > 0:
        found.select(1, 0).fill_(1)
    if count > 1:
        found[:, 1:].copy_(x.unsqueeze(1))
        found[:, 1:].copy_(found[:, 1:].cumprod(1))
    return found if increasing else found.flip(1)


composite(
    "vander(x, N: int? = None, increasing: bool = False)", "Powers of each element, the highest first unless `increasing`.",
    _vander_rows, ("torch",),
)
composite("linalg_vander(x, *, N: int? = None)", "Powers 0, 1, … of each element.", _vander, LINALG)
