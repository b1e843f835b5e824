"""Linear systems: solve, with any matrix or a triangular one."""

from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.named_result import named_result
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.lu import (
    PLAIN,
    check_float,
    check_matrix,
    check_square,
    column_major,
    error_codes,
    factored,
    is_vector,
    singular,
    solve_triangular_array,
    turned,
)
from gradsh.ops.matmul import matmul
from gradsh.text.fault import fail

LINALG = ("linalg",)
BOTH = ("torch", "Tensor")


def with_info(result: object, name: str, field: str, A: object) -> Any:
    """Return a result together with LAPACK's code for each matrix, 0 for success."""
    info = error_codes(array_of(A))
    return named_result(name, (field, "info"), [result, make(np.asarray(info))])


# --- linear systems ---------------------------------------------------------------------------------------------


def _check_system(A: Array, B: Array, name: str, left: bool) -> bool:
    """Check the operands of a linear system; return whether the right-hand side is a vector."""
    check_float(A, name)
    _check_dtypes(A, B, name)
    check_square(A, name)
    vector = is_vector(A.shape, B.shape)
    if vector and not left:
        message = f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case {name} is "
        raise fail("shape", message + "equivalent to B / A.squeeze(-1)")
    _check_fit(A, B[..., None] if vector else B, name, left)
    return vector


def _check_dtypes(A: Array, B: Array, name: str) -> None:
    if A.dtype != B.dtype:
        titles = of_numpy(A.dtype).title, of_numpy(B.dtype).title
        message = f"{name}: Expected A and B to have the same dtype, but found A of type {titles[0]} and B of type {titles[1]} instead"
        raise fail("dtype", message)


def _check_fit(A: Array, B: Array, name: str, left: bool) -> None:
    if B.ndim < 2 or A.shape[-2] != B.shape[-2 if left else -1]:
        message = (
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
        raise fail("shape", message)


_NO_SOLUTION = "The solver failed because the input matrix is singular."


def _solution(A: Array, B: Array, left: bool) -> Array:
    if left:
        return column_major(np.linalg.solve(A, B))
    turned_result = np.linalg.solve(np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2))  # X @ A = B is A.T @ X.T = B.T
    return np.ascontiguousarray(np.swapaxes(turned_result, -1, -2))


def _solve(A: Array, B: Array, left: bool, name: str = "linalg.solve") -> tuple[Array, Array, Array]:
    vector = _check_system(A, B, name, left)
    other = B[..., None] if vector else B
    packed, pivots, diagonal = factored(A, name)
    if (diagonal == 0).any():
        raise singular("torch." + name, 0, _NO_SOLUTION, A.ndim > 2)
    result = _solution(A, other, left)
    if vector:  # a batch of vectors is laid out as one matrix
        result = column_major(result[..., 0]) if result.ndim > 2 else result[..., 0]
    return result, packed, pivots


def _solve_grad(
    grad: ArrayOrTensor, A: ArrayOrTensor, result: ArrayOrTensor, left: bool, needs: tuple[bool, ...]
) -> Gradients:
    vector = is_vector(tuple(A.shape), tuple(result.shape))
    unsqueeze = find("unsqueeze")
    right = unsqueeze(grad, -1) if vector else grad
    grad_b = _solution(turned(A), array_of(right), left) if isinstance(grad, PLAIN) else linalg_solve(turned(A), right, left=left)
    grad_a = None
    if needs[0]:
        X = turned(unsqueeze(result, -1) if vector else result)
        grad_a = -matmul(grad_b, X) if left else -matmul(X, grad_b)
    return grad_a, find("squeeze")(grad_b, -1) if vector else grad_b


_solve_ex = op(
    "_linalg_solve_ex(A, B, left: bool)", "LinalgSolveExBackward0", "Solution of a linear system.", forward=_solve, returns=1,
    outputs=("result", "LU", "pivots"), saves=("LU", "pivots"), unguarded=True, grads={("A", "B"): _solve_grad}, spaces=(),
    reduced="lu_cpu",
)
linalg_solve = composite(
    "linalg_solve(A, B, *, left: bool = True)", "X with A @ X = B (or X @ A = B).", lambda A, B, left: _solve_ex(A, B, left), LINALG,
    samples=(sample((3, 3), (3, 2)), sample((3, 3), (3,))),
    note="Saves A, its LU decomposition, the pivots and the result.",
)


composite(
    "linalg_solve_ex(A, B, *, left: bool = True, check_errors: bool = False)", "X with A @ X = B, and a code that is 0 for success.",
    lambda A, B, left, check_errors: with_info(_solve_ex(A, B, left), "linalg_solve_ex", "result", A), LINALG,
)


def _solve_triangular(self: Array, B: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    name = "linalg.solve_triangular"
    _check_dtypes(self, B, name)
    check_square(self, name)
    check_matrix(B, name, "B")
    _check_fit(self, B, name, left)
    return column_major(solve_triangular_array(self, B, upper, left, unitriangular))


def _triangle(value: ArrayOrTensor, upper: bool, unit: bool) -> ArrayOrTensor:
    return find("triu")(value, 1 if unit else 0) if upper else find("tril")(value, -1 if unit else 0)


def _solve_triangular_grad(
    grad: ArrayOrTensor, self: ArrayOrTensor, result: ArrayOrTensor, upper: bool, left: bool, unitriangular: bool,
    needs: tuple[bool, ...],
) -> Gradients:
    grad_b = linalg_solve_triangular(turned(self), grad, upper=not upper, left=left, unitriangular=unitriangular)
    if not needs[0]:
        return None, grad_b
    X = turned(result)
    grad_a = -matmul(grad_b, X) if left else -matmul(X, grad_b)
    return _triangle(grad_a, upper, unitriangular), grad_b


linalg_solve_triangular = op(
    "linalg_solve_triangular(self, B, *, upper: bool, left: bool = True, unitriangular: bool = False)",
    "LinalgSolveTriangularBackward0", "Solution of a triangular system.", forward=_solve_triangular, unguarded=True,
    grads={("self", "B"): _solve_triangular_grad}, spaces=LINALG, samples=(sample((3, 3), (3, 2), upper=True),),
    reduced="triangular_solve_cpu",
)


def _triangular_solve(self: Array, A: Array, upper: bool, transpose: bool, unitriangular: bool) -> tuple[Array, Array]:
    check_square(A, "triangular_solve")
    matrix = np.swapaxes(A, -1, -2) if transpose else A
    solution = solve_triangular_array(matrix, self, upper != transpose, True, unitriangular)
    return column_major(solution), column_major(A)


def _triangular_solve_grad(
    grad0: ArrayOrTensor, grad1: ArrayOrTensor | None, A: ArrayOrTensor, solution: ArrayOrTensor, upper: bool,
    transpose: bool, unitriangular: bool, needs: tuple[bool, ...],
) -> Gradients:
    grad_b = grad_a = None
    if grad0 is not None:
        grad_b = find("triangular_solve")(grad0, A, upper, not transpose, unitriangular)[0]
        if needs[1]:
            grad_a = -matmul(solution, turned(grad_b)) if transpose else -matmul(grad_b, turned(solution))
            grad_a = _triangle(grad_a, upper, unitriangular)
    if grad1 is not None and needs[1]:
        grad_a = grad1 if grad_a is None else grad_a + grad1
    return grad_b, grad_a


op(
    "triangular_solve(self, A, upper: bool = True, transpose: bool = False, unitriangular: bool = False)",
    "TriangularSolveBackward0", "Solution of a triangular system, and a copy of the matrix.", forward=_triangular_solve,
    fields=("solution", "cloned_coefficient"), unguarded=True, saves=("self",), grads={("self", "A"): _triangular_solve_grad},
    samples=(sample((3, 2), (3, 3)),),
    reduced="triangular_solve_cpu",
)
