"""The normal distribution of vectors, given by its covariance, its precision or a factor of the covariance."""

import math
from typing import Any, Self

from gradsh.api.distributions import constraints
from gradsh.api.distributions.distribution import Computed, Constraints, Distribution
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail

_MATRICES = ("covariance_matrix", "scale_tril", "precision_matrix")


def _factor_of_inverse(precision: Any) -> Tensor:
    """Return the lower factor of a precision matrix's inverse, from the factor of the matrix turned upside down."""
    turned = find("linalg_cholesky")(precision.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).transpose(-2, -1)
    identity = find("eye")(precision.shape[-1], dtype=precision.dtype)
    return find("linalg_solve_triangular")(inverse, identity, upper=False)


def distance(factor: Tensor, vector: Tensor) -> Tensor:
    """Return the squared length of `vector` where `factor` (lower triangular) is the unit."""
    return find("linalg_solve_triangular")(factor, vector.unsqueeze(-1), upper=False).pow(2).sum((-2, -1))


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc`."""

    loc: Any
    arg_constraints = Constraints(
        loc=constraints.real_vector, covariance_matrix=constraints.positive_definite,
        precision_matrix=constraints.positive_definite, scale_tril=constraints.lower_cholesky,
    )
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise fail("value", "loc must be at least one-dimensional.", ValueError)
        every = {"covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix}
        given = {name: matrix for name, matrix in every.items() if matrix is not None}
        if len(given) != 1:
            message = "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            raise fail("value", message, ValueError)
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            message = f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            raise fail("value", message, ValueError)
        batch = find("broadcast_shapes")(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(Size(batch), self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._factor = matrix
        elif name == "covariance_matrix":
            self._factor = find("linalg_cholesky")(matrix)
        else:
            self._factor = _factor_of_inverse(matrix)

    def expand(self, batch_shape: Any) -> Self:
        batch, event = Size(batch_shape), self._event_shape
        return self._expanded(batch, {"loc": Size((*batch, *event))} | dict.fromkeys(_MATRICES, Size((*batch, *event, *event))))

    scale_tril = Computed(lambda self: self._factor.expand(self._batch_shape + self._event_shape + self._event_shape))

    @Computed
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return (self._factor @ self._factor.mT).expand(self._batch_shape + self._event_shape + self._event_shape)

    @Computed
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return find("cholesky_inverse")(self._factor).expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = property(lambda self: self.loc)
    mode = mean
    variance = property(lambda self: self._factor.pow(2).sum(-1).expand(self._batch_shape + self._event_shape))

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return `loc` plus the factor times standard normal numbers."""
        eps = find("empty")(self._extended_shape(sample_shape), dtype=self.loc.dtype).normal_()
        return self.loc + (self._factor @ eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: object) -> Tensor:
        squared = distance(self._factor, self._checked(value) - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + squared) - self._half_log_det()

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape) if self._batch_shape else found


def divergence(p: Any, q: Any) -> Tensor:
    """Return the divergence KL(p || q) of two normal distributions of vectors."""
    if p.event_shape != q.event_shape:
        message = "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        raise fail("value", message, ValueError)
    ratio = find("linalg_solve_triangular")(q.scale_tril, p.scale_tril, upper=False)
    size = p.event_shape[0]
    squares = ratio.pow(2).sum((-2, -1)) + distance(q.scale_tril, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (squares - size)
