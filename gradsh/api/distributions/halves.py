"""The distributions of |x|, where x is normal or Cauchy's."""

import math
from typing import Any

from gradsh.api.distributions import constraints
from gradsh.api.distributions.continuous import Normal
from gradsh.api.distributions.distribution import Constraints, Distribution
from gradsh.api.distributions.tails import Cauchy
from gradsh.api.distributions.transformed import TransformedDistribution
from gradsh.api.distributions.transforms import AbsTransform
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find


class _Half(TransformedDistribution):
    """A distribution around 0 whose values lose their sign: each has twice the density."""

    arg_constraints = Constraints(scale=constraints.positive)
    support = constraints.nonnegative
    base: Any = None

    def __init__(self, scale: object, validate_args: bool | None = None) -> None:
        super().__init__(self.base(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: find("zeros_like")(self.scale))

    def log_prob(self, value: Any) -> Tensor:
        value = find("as_tensor")(self._checked(value), dtype=self.scale.dtype)
        return find("where")(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: object) -> Tensor:
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, value: Any) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)

    __repr__ = Distribution.__repr__


class HalfNormal(_Half):
    """The distribution of |x|, where x is normal with mean 0."""

    base = Normal
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The distribution of |x|, where x is Cauchy's around 0."""

    base = Cauchy
    mean = property(lambda self: find("full")(self._extended_shape(), math.inf, dtype=self.scale.dtype))
    variance = property(lambda self: self.base_dist.variance)
