"""Decompositions of matrices: Cholesky, QR, singular values, symmetric eigenvalues; and what is read off them."""

import math
from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.named_result import NamedResult, named_result
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.lapack import columns_of, each
from gradsh.ops.kernels.lu import (
    PLAIN,
    _LinAlgError,
    check_float,
    check_matrix,
    check_square,
    column_major,
    solve_triangular_array,
    tolerance,
    turned,
    with_diagonal,
    with_half_diagonal,
)
from gradsh.ops.linear_solve import BOTH, LINALG, linalg_solve_triangular, with_info
from gradsh.ops.matmul import matmul
from gradsh.ops.scalars import times
from gradsh.process.lapack import routine
from gradsh.text.fault import fail

# --- Cholesky ---------------------------------------------------------------------------------------------------


def _cholesky(self: Array, upper: bool, name: str = "linalg.cholesky") -> Array:
    check_float(self, name)
    check_square(self, name)
    lower = np.tril(self) if not upper else np.swapaxes(np.triu(self), -1, -2)
    try:
        factor = np.linalg.cholesky(lower)
    except np.linalg.LinAlgError:
        raise _not_positive(lower, name) from None
    return column_major(np.swapaxes(factor, -1, -2) if upper else factor)


def _not_positive(lower: Array, name: str) -> Exception:
    """Return the error that names the first leading minor which is not positive."""
    full = lower + np.swapaxes(np.tril(lower, -1), -1, -2)
    for place, matrix in enumerate(full.reshape(-1, *full.shape[-2:])):
        for order in range(1, matrix.shape[0] + 1):
            if np.linalg.eigvalsh(matrix[:order, :order]).min() <= 0:
                where = f"(Batch element {place}): " if full.ndim > 2 else ""
                message = (
                    f"{name}: {where}The factorization could not be completed because the input is not "
                    f"positive-definite (the leading minor of order {order} is not positive-definite)."
                )
                return fail("value", message, _LinAlgError)
    return fail("value", f"{name}: the input is not positive-definite", _LinAlgError)


def _cholesky_grad(grad: ArrayOrTensor, L: ArrayOrTensor, upper: bool) -> ArrayOrTensor:
    factor, upstream = (turned(L), turned(grad)) if upper else (L, grad)
    tril = find("tril")
    part = tril(matmul(turned(factor), upstream))
    part = times(part + turned(tril(part, -1)), 0.5)
    part = linalg_solve_triangular(turned(factor), part, upper=True)
    return linalg_solve_triangular(factor, part, upper=False, left=False)


_cholesky_ex = op(
    "_linalg_cholesky_ex(self, upper: bool)", "LinalgCholeskyExBackward0", "Cholesky factor.",
    forward=lambda self, upper: _cholesky(self, upper), outputs=("L",), spaces=(),
    grads={"self": lambda grad, L, upper: _cholesky_grad(grad, L, upper)},
    reduced="cholesky_cpu",
)
linalg_cholesky = composite(
    "linalg_cholesky(self, *, upper: bool = False)", "L with L @ L.T = A, for a symmetric positive definite A.",
    lambda self, upper: _cholesky_ex(self, upper), LINALG,
    note="Saves only its result.",
)
composite(
    "linalg_cholesky_ex(self, *, upper: bool = False, check_errors: bool = False)", "Cholesky factor, and a code that is 0 for success.",
    lambda self, upper, check_errors: with_info(_cholesky_ex(self, upper), "linalg_cholesky_ex", "L", self), LINALG,
)
op(
    "cholesky(self, upper: bool = False)", "CholeskyBackward0", "L with L @ L.T = A, for a symmetric positive definite A.",
    forward=lambda self, upper: _cholesky(self, upper, "cholesky"), forward_mode="refused",
    grads={"self": lambda grad, result, upper: _cholesky_grad(grad, result, upper)},
    reduced="cholesky_cpu",
)


def _cholesky_solve(self: Array, input2: Array, upper: bool) -> Array:
    check_square(input2, "cholesky_solve")
    first, second = (np.swapaxes(input2, -1, -2), input2) if upper else (input2, np.swapaxes(input2, -1, -2))
    half = solve_triangular_array(first, self, False, True, False)
    return column_major(solve_triangular_array(second, half, True, True, False))


def _cholesky_solve_grad(
    grad: ArrayOrTensor, self: ArrayOrTensor, input2: ArrayOrTensor, result: ArrayOrTensor, upper: bool,
    needs: tuple[bool, ...],
) -> tuple[ArrayOrTensor, ArrayOrTensor | None]:
    del self  # saved by PyTorch, though its values are not used
    grad_self = cholesky_solve(grad, input2, upper)
    if not needs[1]:
        return grad_self, None
    common = matmul(grad_self, turned(result))
    common = common + turned(common)
    return grad_self, -matmul(input2, common) if upper else -matmul(common, input2)


cholesky_solve = op(
    "cholesky_solve(self, input2, upper: bool = False)", "CholeskySolveBackward0",
    "Solution of A @ x = self, given the Cholesky factor of A.", forward=_cholesky_solve, unguarded=True,
    grads={("self", "input2"): _cholesky_solve_grad}, samples=(sample((3, 2), (3, 3)),),
    reduced="cholesky_solve_cpu",
)


def _cholesky_inverse(self: Array, upper: bool) -> Array:
    check_square(self, "cholesky_inverse")
    invert = routine("dpotri")
    if invert is not None and self.size and np.diagonal(self, axis1=-2, axis2=-1).all():
        columns, size = columns_of(self), self.shape[-1]
        for one in each(columns):
            invert("U" if upper else "L", size, one, size)
        half = np.tril(columns, -1) if upper else np.triu(columns, 1)
        diagonal = np.arange(size)
        whole = half + np.swapaxes(half, -1, -2)
        whole[..., diagonal, diagonal] = columns[..., diagonal, diagonal]
        return column_major(whole.astype(self.dtype))
    eye = np.broadcast_to(np.eye(self.shape[-1], dtype=self.dtype), self.shape)
    return _cholesky_solve(eye, self, upper)


def _cholesky_inverse_grad(grad: object, self: object, upper: bool, result: object) -> ArrayOrTensor:
    common = grad + turned(grad)
    common = matmul(result, matmul(common, result))
    return -matmul(self, common) if upper else -matmul(common, self)


op(
    "cholesky_inverse(self, upper: bool = False)", "CholeskyInverseBackward0", "Inverse of A, given its Cholesky factor.",
    forward=_cholesky_inverse, grads={"self": _cholesky_inverse_grad}, samples=(sample((3, 3)),),
    reduced="cholesky_inverse_out_cpu",
)

# --- QR ---------------------------------------------------------------------------------------------------------


def _qr(A: Array, mode: str) -> tuple[Array, Array]:
    check_float(A, "linalg.qr")
    check_matrix(A, "linalg.qr")
    if mode not in {"reduced", "complete", "r"}:
        message = f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        raise fail("value", message, RuntimeError)
    decompose: Any = np.linalg.qr
    if mode == "r":
        return np.zeros((0,), A.dtype), column_major(decompose(A, "r").astype(A.dtype))
    Q, R = decompose(A, mode)
    return column_major(Q.astype(A.dtype)), column_major(R.astype(A.dtype))


def _qr_grad(
    grad0: ArrayOrTensor, grad1: ArrayOrTensor, Q: ArrayOrTensor, R: ArrayOrTensor, mode: str
) -> ArrayOrTensor:
    if mode == "r":
        message = (
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
        raise fail("other", message, RuntimeError)
    rows, columns = Q.shape[-2], R.shape[-1]
    if mode == "complete" and rows > columns:
        message = "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        raise fail("other", message, RuntimeError)
    if grad0 is None:
        part = matmul(grad1, turned(R))
    elif grad1 is None:
        part = -matmul(turned(Q), grad0)
    else:
        part = matmul(grad1, turned(R)) - matmul(turned(Q), grad0)
    if rows >= columns:
        part = find("triu")(part)
        part = matmul(Q, with_half_diagonal(part + turned(part)))
        if grad0 is not None:
            part = part + grad0
        return linalg_solve_triangular(turned(R), part, upper=False, left=False)
    return _qr_wide_grad(part, grad1, Q, R)


def _qr_wide_grad(part: ArrayOrTensor, grad1: ArrayOrTensor, Q: ArrayOrTensor, R: ArrayOrTensor) -> ArrayOrTensor:
    rows, columns = Q.shape[-2], R.shape[-1]
    part = -part
    skew = find("tril")(part - turned(part))
    narrow = find("narrow")
    first = linalg_solve_triangular(turned(narrow(R, -1, 0, rows)), matmul(Q, skew), upper=False, left=False)
    rest: Any = np.zeros((*R.shape[:-1], columns - rows), array_of(R).dtype)
    if not isinstance(first, PLAIN):
        rest = make(rest)
    whole = find("cat")([first, rest], -1)
    return whole if grad1 is None else whole + matmul(Q, grad1)


linalg_qr = op(
    "linalg_qr(A, mode: str = 'reduced')", "LinalgQrBackward0", "Orthogonal Q and upper triangular R with Q @ R = A.",
    forward=_qr, fields=("Q", "R"), grads={"A": _qr_grad}, spaces=LINALG, samples=(sample((4, 3)), sample((2, 3))),
    reduced="geqrf_cpu",
)
composite(
    "qr(self, some: bool = True)", "Orthogonal Q and upper triangular R with Q @ R = A.",
    lambda self, some: linalg_qr(self, "reduced" if some else "complete"), BOTH,
)

# --- singular values --------------------------------------------------------------------------------------------


def _svd(A: Array, full_matrices: bool, S_sym_argsize_minus_1: int) -> tuple[Array, Array, Array]:
    del S_sym_argsize_minus_1  # kept for the derivative, as PyTorch keeps it
    check_float(A, "linalg.svd")
    check_matrix(A, "linalg.svd")
    if not np.isfinite(A).all():
        message = (
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
        )
        raise fail("value", message, RuntimeError)
    U, S, Vh = np.linalg.svd(A, full_matrices=full_matrices)
    return column_major(U), S, column_major(Vh)


def _svd_grad(
    grad0: Array | None, grad1: ArrayOrTensor | None, grad2: Array | None, U: ArrayOrTensor, S: ArrayOrTensor,
    Vh: ArrayOrTensor, full_matrices: bool, S_sym_argsize_minus_1: int,
) -> ArrayOrTensor:
    if full_matrices:
        narrow, count = find("narrow"), S_sym_argsize_minus_1
        U, Vh = narrow(U, -1, 0, count), narrow(Vh, -2, 0, count)
        grad0 = None if grad0 is None else narrow(grad0, -1, 0, count)
        grad2 = None if grad2 is None else narrow(grad2, -2, 0, count)
    rows, columns = U.shape[-2], Vh.shape[-1]
    unsqueeze = find("unsqueeze")
    if grad0 is None and grad2 is None:
        if rows >= columns:
            return matmul(U, unsqueeze(grad1, -1) * Vh)
        return matmul(U * unsqueeze(grad1, -2), Vh)
    core = _svd_core(grad0, grad2, U, S, Vh)
    if grad1 is not None:
        core = core + find("diag_embed")(grad1)
    if rows > columns and grad0 is not None:
        scaled = grad0 / unsqueeze(S, -2)
        core = matmul(U, core) + scaled - matmul(U, matmul(turned(U), scaled))
        return matmul(core, Vh)
    if rows < columns and grad2 is not None:
        scaled = grad2 / unsqueeze(S, -1)
        core = matmul(core, Vh) + scaled - matmul(matmul(scaled, turned(Vh)), Vh)
        return matmul(U, core)
    return matmul(U, matmul(core, Vh)) if rows >= columns else matmul(matmul(U, core), Vh)


def _svd_core(grad0: object, grad2: object, U: ArrayOrTensor, S: ArrayOrTensor, Vh: object) -> ArrayOrTensor:
    """Return the part of the gradient between U and Vh, apart from the singular values' own."""
    unsqueeze = find("unsqueeze")
    row, column = unsqueeze(S, -2), unsqueeze(S, -1)
    squares = S * S
    gaps = with_diagonal(unsqueeze(squares, -2) - unsqueeze(squares, -1), 1)

    def skew(value: Array) -> Array:
        return value - turned(value)

    left = None if grad0 is None else skew(matmul(turned(U), grad0))
    right = None if grad2 is None else skew(matmul(Vh, turned(grad2)))
    if left is None:
        return column * (right / gaps)
    if right is None:
        return left / gaps * row
    return (left * row + column * right) / gaps


_linalg_svd = op(
    "_linalg_svd(A, full_matrices: bool, S_sym_argsize_minus_1: int)", "LinalgSvdBackward0", "Singular values and vectors.",
    forward=_svd, outputs=("U", "S", "Vh"), grads={"A": _svd_grad}, spaces=(),
    note="The signs of singular vectors are the linear algebra library's choice: PyTorch's may differ for wide matrices.",
    reduced="linalg_svd_cpu",
)


def _svd_of(A: Tensor, full_matrices: bool, name: str, fields: tuple[str, ...]) -> NamedResult:
    parts = _linalg_svd(A, full_matrices, min(A.shape[-2:]) if A.ndim > 1 else 0)
    return parts if isinstance(parts[0], PLAIN) else named_result(name, fields, list(parts))


composite(
    "linalg_svd(A, full_matrices: bool = True, *, driver: str? = None)", "U, S and Vh with U @ diag(S) @ Vh = A.",
    lambda A, full_matrices, driver: _svd_of(A, full_matrices, "linalg_svd", ("U", "S", "Vh")), LINALG,
    note="The signs of the vectors depend on the linear algebra library and the processor, in PyTorch too; "
         "products of them do not.",
)
composite(
    "linalg_svdvals(A, *, driver: str? = None)", "Singular values, the largest first.",
    lambda A, driver: _linalg_svd(A, False, min(A.shape[-2:]) if A.ndim > 1 else 0)[1], LINALG, samples=(sample((3, 2)),),
)


def _old_svd(self: Any, some: bool, compute_uv: bool) -> object:
    del compute_uv
    U, S, Vh = _linalg_svd(self, not some, min(self.shape[-2:]))
    return named_result("svd", ("U", "S", "V"), [U, S, turned(Vh)])


composite("svd(self, some: bool = True, compute_uv: bool = True)", "U, S and V with U @ diag(S) @ V.T = A.", _old_svd, BOTH,
    note="The signs of the vectors depend on the linear algebra library and the processor, in PyTorch too; "
         "products of them do not.")

# --- symmetric eigenvalues --------------------------------------------------------------------------------------


def _eigh(A: Array, UPLO: str) -> tuple[Array, Array]:
    check_float(A, "linalg.eigh")
    check_square(A, "linalg.eigh")
    word = UPLO.upper()
    if word not in {"L", "U"}:
        raise fail("value", f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}", RuntimeError)
    decompose: Any = np.linalg.eigh
    values, vectors = decompose(A, word)
    return values, column_major(vectors)


def _eigh_grad(
    grad0: ArrayOrTensor, grad1: ArrayOrTensor | None, eigenvalues: ArrayOrTensor, eigenvectors: ArrayOrTensor
) -> ArrayOrTensor:
    V, unsqueeze = eigenvectors, find("unsqueeze")
    if grad1 is None:
        return matmul(V * unsqueeze(grad0, -2), turned(V))
    part = matmul(turned(V), grad1)
    part = times(part - turned(part), 0.5)
    part = part / with_diagonal(unsqueeze(eigenvalues, -2) - unsqueeze(eigenvalues, -1), 1)
    if grad0 is not None:
        part = with_diagonal(part, grad0)
    return matmul(V, matmul(part, turned(V)))


_linalg_eigh = op(
    "_linalg_eigh(A, UPLO: str)", "LinalgEighBackward0", "Eigenvalues and eigenvectors of a symmetric matrix.", forward=_eigh,
    outputs=("eigenvalues", "eigenvectors"), grads={"A": _eigh_grad}, spaces=(),
    note="The signs of eigenvectors are the linear algebra library's choice: PyTorch's may differ.",
    reduced="linalg_eigh_cpu",
)


def _eigh_named(self: Tensor, UPLO: str) -> NamedResult:
    return named_result("linalg_eigh", ("eigenvalues", "eigenvectors"), list(_linalg_eigh(self, UPLO)))


composite("linalg_eigh(self, UPLO: str = 'L')", "Eigenvalues (ascending) and eigenvectors of a symmetric matrix.", _eigh_named, LINALG,
    note="The signs of the vectors depend on the linear algebra library and the processor, in PyTorch too.")
composite("linalg_eigvalsh(self, UPLO: str = 'L')", "Eigenvalues of a symmetric matrix, ascending.",
          lambda self, UPLO: _linalg_eigh(self, UPLO)[0], LINALG)

# --- read off ---------------------------------------------------------------------------------------------------


def _cond(self: object, p: object) -> Tensor:
    norm = find("linalg_matrix_norm")
    if p is None or p in {2, -2}:
        values = find("linalg_svdvals")(self)
        narrow = find("narrow")
        largest, smallest = narrow(values, -1, 0, 1), narrow(values, -1, values.shape[-1] - 1, 1)
        return find("squeeze")(smallest / largest if p == -2 else largest / smallest, -1)
    check_square(array_of(self), "linalg.cond")
    inverse, info = find("linalg_inv_ex")(self)
    mask = find("unsqueeze")(find("unsqueeze")(info > 0, -1), -1)
    inverse = find("masked_fill_")(inverse, mask, math.inf)
    return find("nan_to_num")(norm(self, p) * norm(inverse, p), math.inf, math.inf, -math.inf)


composite("linalg_cond(self, p: any? = None)", "Condition number.", _cond, LINALG)


def _matrix_rank(self: Array, tol: object, hermitian: bool, atol: object, rtol: object) -> object:
    values = np.abs(np.linalg.eigvalsh(self)) if hermitian else np.linalg.svd(self, compute_uv=False)
    top = values.max(-1, keepdims=True, initial=0.0)
    limit = tolerance(self, atol, rtol, top) if tol is None else np.asarray(tol)[..., None]
    return np.add.reduce(values > limit, axis=-1, dtype=np.int64)


op(
    "linalg_matrix_rank(self, tol: Operand? = None, hermitian: bool = False, *, atol: Operand? = None, rtol: Operand? = None)", "",
    "Number of singular values above a limit.", forward=_matrix_rank, spaces=LINALG,
    reduced="This function doesn't handle types other than float and double",
)
