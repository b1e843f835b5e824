"""Products of Householder reflections: orthogonal matrices, as LAPACK and QR hold them."""

from typing import Any

import numpy as np

from gradsh.engine.dispatch.declare import alias, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Gradients, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.ops.arguments import underivable
from gradsh.ops.kernels.common import unsupported
from gradsh.ops.kernels.geometry import array_of
from gradsh.ops.kernels.lapack import columns_of, each
from gradsh.ops.kernels.lu import PLAIN, column_major
from gradsh.ops.linear_solve import BOTH, LINALG
from gradsh.process.lapack import routine
from gradsh.text.fault import fail


def _check(input: Array, tau: Array) -> None:
    message = ""
    if input.ndim < 2:
        message = "input must have at least 2 dimensions."
    elif input.shape[-2] < input.shape[-1]:
        message = "input.shape[-2] must be greater than or equal to input.shape[-1]"
    elif tau.ndim and input.shape[-1] < tau.shape[-1]:
        message = "input.shape[-1] must be greater than or equal to tau.shape[-1]"
    elif tau.ndim != input.ndim - 1:
        dims = f"tau.ndim equal to {tau.ndim} and input.ndim is equal to {input.ndim}"
        message = f"Expected tau to have one dimension less than input, but got {dims}"
    elif tau.shape[:-1] != input.shape[:-2]:
        message = f"Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
    elif tau.dtype != input.dtype:
        message = f"tau dtype {of_numpy(tau.dtype).title} does not match input dtype {of_numpy(input.dtype).title}"
    if message:
        raise fail("shape", f"torch.linalg.householder_product: {message}", RuntimeError)
    if input.dtype.kind != "f":
        raise unsupported("orgqr_cpu", input)


_BLOCK = 64
"""Columns for which LAPACK has room to work on them together."""


def _product(input: Array, tau: Array) -> Array:
    """Multiply the reflections I - τ v vᵀ, the last one first, with the first columns of I, as LAPACK does: zeros have its signs."""
    _check(input, tau)
    multiply = routine("dorgqr")
    if multiply is not None and tau.shape[-1]:
        turned = columns_of(input)
        count, (rows, columns) = tau.shape[-1], input.shape[-2:]
        work = np.empty(max(1, _BLOCK * columns))
        for one, factors in zip(each(turned), tau.astype(np.float64).reshape(-1, count), strict=True):
            multiply(rows, columns, count, one, rows, factors, work, work.size)
        return np.swapaxes(turned.astype(input.dtype), -1, -2)
    below = np.tril(input, -1)
    found = np.zeros_like(below)
    found[..., range(input.shape[-1]), range(input.shape[-1])] = 1
    for place in reversed(range(tau.shape[-1])):
        v, factor = below[..., place:, place].copy(), tau[..., place, None]
        v[..., 0] = 1
        rest = found[..., place:, place + 1 :]
        rest -= v[..., :, None] * (np.matmul(v[..., None, :], rest) * factor[..., None])
        v[..., 1:] *= -factor
        v[..., :1] -= factor
        found[..., place:, place] = v
    return column_major(found)


def _unit(input: Any, columns: int) -> ArrayOrTensor:
    """Return the first columns of I, as large as a matrix."""
    unit = np.eye(input.shape[-2], columns, dtype=array_of(input).dtype)
    return unit if isinstance(input, PLAIN) else make(unit)


def _gradients(
    grad: ArrayOrTensor, input: ArrayOrTensor, tau: Any, result: object, needs: tuple[bool, ...]
) -> Gradients:
    """Differentiate by each reflection, between the product of those on its left and of those on its right.

    Where the product is P (I - τ v vᵀ) S, the gradient of τ is -vᵀ M v and that of v is -τ (M v + Mᵀ v), with M = Pᵀ G Sᵀ.
    """
    del result  # saved by PyTorch, which takes S from it by the inverse reflections; those can be large
    matmul, stack, turned = find("matmul"), find("stack"), find("transpose")
    count = tau.shape[-1]
    if not count:
        return find("zeros_like")(input), find("zeros_like")(tau)
    vectors = find("tril")(input[..., :, :count], -1) + _unit(input, count)
    columns = [vectors[..., :, place : place + 1] for place in range(count)]
    factors = [tau[..., place : place + 1][..., None] for place in range(count)]

    def reflected(place: int, matrix: ArrayOrTensor) -> ArrayOrTensor:
        v = columns[place]
        return matrix - factors[place] * matmul(v, matmul(turned(v, -2, -1), matrix))

    right = [_unit(input, input.shape[-1])]
    for place in reversed(range(1, count)):
        right.append(reflected(place, right[-1]))
    left, of_vectors, of_tau = grad, [], []
    for place, (v, factor) in enumerate(zip(columns, factors, strict=True)):
        beside, row = right.pop(), turned(v, -2, -1)
        first, second = (matmul(one, turned(matmul(row, other), -2, -1)) for one, other in ((left, beside), (beside, left)))
        of_tau.append(-find("sum")(v * first, (-2, -1), keepdim=True))
        of_vectors.append((-factor * (first + second))[..., :, 0])
        left = reflected(place, left)
    whole = find("tril")(stack(of_vectors, -1), -1) if needs[0] else None
    if whole is not None and count < input.shape[-1]:
        whole = find("pad")(whole, (0, input.shape[-1] - count))
    return whole, find("cat")(of_tau, -1)[..., 0, :] if needs[1] else None


linalg_householder_product = op(
    "linalg_householder_product(input, tau)", "LinalgHouseholderProductBackward0",
    "First columns of a product of Householder reflections I - τ v vᵀ, whose vectors lie below the diagonal of `input`.",
    forward=_product, unguarded=True, grads={("input", "tau"): _gradients}, spaces=LINALG,
    samples=(sample((4, 3), (3,)), sample((3, 3), (2,)), sample((2, 3, 2), (2, 2))),
    note="Saves its result too, though its values are not used.",
    reduced="orgqr_cpu",
)
alias("orgqr", linalg_householder_product, BOTH)


def _geqrf(self: Array) -> tuple[Array, Array]:
    if self.ndim < 2:
        raise fail("shape", "torch.geqrf: input must have at least 2 dimensions.", RuntimeError)
    if self.dtype.kind != "f":
        raise unsupported("geqrf_cpu", self)
    raw: Any = np.linalg.qr
    turned, tau = raw(self, "raw")
    return np.swapaxes(np.ascontiguousarray(turned.astype(self.dtype)), -1, -2), tau.astype(self.dtype)


op(
    "geqrf(self)", "GeqrfBackward0", "QR decomposition as LAPACK holds it: R above the diagonal, reflections below, and their factors τ.",
    forward=_geqrf, fields=("a", "tau"), grads={"self": underivable("geqrf")},
    reduced="geqrf_cpu",
)
