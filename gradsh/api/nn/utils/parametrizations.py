"""torch.nn.utils.parametrizations: weights with a norm of their own, a spectral norm of 1, or orthogonal rows."""

from typing import Any

import numpy as np

from gradsh.api.nn.module import Module
from gradsh.api.nn.utils.norms import norm_except_dim
from gradsh.api.nn.utils.parametrize import register_parametrization
from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.graph.tensor import Tensor, make, written
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


class _WeightNorm(Module):
    """g · v / ‖v‖, from length and direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: object, weight_v: Tensor) -> Tensor:
        """Return the weight."""
        if self.dim in {0, weight_v.ndim - 1}:
            return find("_weight_norm_interface")(weight_v, weight_g, self.dim)
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: object) -> Any:
        """Return length and direction of a weight."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into length and direction: `parametrizations.NAME.original0` and `original1`."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration follows."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            message = f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            raise fail("index", message, IndexError)
        if n_power_iterations <= 0:
            message = f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            raise fail("value", message, ValueError)
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight.detach()).array
            stream = current().generator
            for side, count in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
                drawn = stream.normal((count,), dtype=matrix.dtype)
                self.register_buffer(side, make(np.asarray(self._unit(drawn), matrix.dtype)))
            self._iterate(matrix, 15)

    def _unit(self, vector: Array) -> Array:
        return vector / max(np.sqrt((vector * vector).sum()), vector.dtype.type(self.eps))

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.ndim) if d != self.dim])
        return weight.flatten(1)

    def _iterate(self, matrix: Array, times: int) -> None:
        for _ in range(times):
            for side, other, turned in ((self._u, self._v, matrix), (self._v, self._u, matrix.T)):
                side.array[...] = self._unit(turned @ other.array)
                written(side)

    def forward(self, weight: Tensor) -> Tensor:
        """Return the weight divided by its largest singular value; while training, iterate first."""
        if weight.ndim == 1:
            return find("normalize")(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            with grad_mode(False):
                self._iterate(matrix.array, self.n_power_iterations)
        u, v = find("clone")(self._u), find("clone")(self._v)
        return weight / find("vdot")(u, find("mv")(matrix, v))

    def right_inverse(self, value: object) -> Any:
        """Return the value: it is assumed to have a spectral norm of 1 already."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value whenever it is read."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise fail("value", f"Module '{module}' has no parameter or buffer with name '{name}'", ValueError)
    if dim is None:
        dim = int(type(module).__name__.startswith("ConvTranspose"))
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    """An orthogonal matrix made of a free one: by the exponential or Cayley's map of its antisymmetric part, or by reflections."""

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Tensor:
        """Return the orthogonal matrix."""
        rows, columns = X.shape[-2:]
        turned = rows < columns
        if turned:
            X = X.mT
        Q = self._reflected(X) if self.orthogonal_map == "householder" else self._mapped(X)
        base = getattr(self, "base", None)
        if base is not None:
            Q = base @ Q
        return Q.mT if turned else Q

    def _mapped(self, X: Any) -> Tensor:
        rows, columns = X.shape[-2:]
        X = X.tril()
        if rows != columns:
            X = find("cat")([X, X.new_zeros(rows, rows - columns).expand(*X.shape[:-2], -1, -1)], -1)
        A = X - X.mT
        if self.orthogonal_map == "matrix_exp":
            Q = find("matrix_exp")(A)
        else:
            one = find("eye")(rows, dtype=A.dtype)
            Q = find("linalg_solve")(find("add")(one, A, alpha=-0.5), find("add")(one, A, alpha=0.5))
        return Q[..., :columns] if rows != columns else Q

    def _reflected(self, X: Any) -> Tensor:
        A = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        signs = X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)  # integers: no gradient moves the diagonal
        return find("linalg_householder_product")(A, tau) * signs

    def right_inverse(self, Q: Any) -> Any:
        """Keep a matrix as the base from which the map starts, and return the free matrix that stands for it."""
        if tuple(Q.shape) != tuple(self.shape):
            message = f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            raise fail("value", message, ValueError)
        if "base" not in self._buffers and self.orthogonal_map == "householder":
            return _reflections(Q)
        if "base" not in self._buffers:
            message = (
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
            raise fail("other", message, NotImplementedError)
        tall = Q.mT if Q.shape[-2] < Q.shape[-1] else Q
        rows, columns = tall.shape[-2:]
        start = tall.array
        if rows != columns:
            extra = current().generator.normal((*start.shape[:-2], rows, rows - columns), dtype=start.dtype)
            start = np.concatenate([start, extra], axis=-1)
        self.base = _made_orthogonal(start)
        negative = np.zeros_like(Q.array)
        diagonal = np.arange(min(Q.shape[-2:]))
        negative[..., diagonal, diagonal] = -1
        return make(negative)


def _reflections(matrix: Tensor) -> Tensor:
    """Return the reflections whose product is the matrix's orthogonal factor, and the signs of the other one's diagonal."""
    rows, columns = matrix.shape[-2:]
    with grad_mode(False):
        found, tau = find("geqrf")(matrix.mT if rows < columns else matrix)
    diagonal = np.arange(min(rows, columns))
    signs = np.sign(found.array[..., diagonal, diagonal])
    found.array[..., diagonal, diagonal] = np.where(tau.array == 0, -signs, signs)
    found.counter.version = 2  # PyTorch writes the signs in two steps
    return found.mT if rows < columns else found


def _made_orthogonal(matrix: Any) -> Tensor:
    """Return the orthogonal factor whose triangular one has a positive diagonal; a copy of what is orthogonal already."""
    count = matrix.shape[-1]
    product = matrix.swapaxes(-2, -1) @ matrix
    if matrix.shape[-2] == count and np.allclose(product, np.eye(count), atol=10 * count * np.finfo(matrix.dtype).eps):
        return make(matrix.copy())
    q, r = np.linalg.qr(matrix)
    signed = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    found = make(np.ascontiguousarray(signed.swapaxes(-2, -1)).swapaxes(-2, -1))  # column by column, as LAPACK has it
    found.counter.version = 1  # PyTorch sets the signs in place
    return found


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix orthogonal (with orthonormal rows or columns) whenever it is read."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise fail("value", f"Module '{module}' has no parameter or buffer with name '{name}'", ValueError)
    if weight.ndim < 2:
        raise fail("value", f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.", ValueError)
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in {"matrix_exp", "cayley", "householder"}:
        message = f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        raise fail("value", message, ValueError)
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
