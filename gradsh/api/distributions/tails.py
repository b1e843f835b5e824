"""Distributions with heavy or long tails: Cauchy's and Gumbel's."""

import math
from typing import Any

from gradsh.api.distributions import constraints
from gradsh.api.distributions.continuous import Uniform
from gradsh.api.distributions.distribution import NUMBERS, Constraints, Distribution, broadcast_all, shape_of
from gradsh.api.distributions.transformed import MadeAnew
from gradsh.api.distributions.transforms import AffineTransform, ExpTransform
from gradsh.api.settings import finfo
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find

EULER = 0.57721566490153286060
"""Euler's constant."""


class Cauchy(Distribution):
    """Cauchy's distribution around `loc`, which has no mean."""

    arg_constraints = Constraints(loc=constraints.real, scale=constraints.positive)
    support = constraints.real
    has_rsample = True
    _parameters = ("loc", "scale")

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(self.loc, loc, scale), validate_args=validate_args)

    mean = property(lambda self: find("full")(self._extended_shape(), math.nan, dtype=self.loc.dtype))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: find("full")(self._extended_shape(), math.inf, dtype=self.loc.dtype))

    def rsample(self, sample_shape: object = ()) -> Tensor:
        eps = find("empty")(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_()
        return self.loc + eps * self.scale

    def log_prob(self, value: object) -> Tensor:
        self._checked(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: object) -> Tensor:
        return find("atan")((self._checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Tensor:
        return find("tan")(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(MadeAnew):
    """Gumbel's distribution of largest values."""

    arg_constraints = Constraints(loc=constraints.real, scale=constraints.positive)
    support = constraints.real
    _parameters = ("loc", "scale")

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits, full = finfo(self.loc.dtype), find("full_like")
        numbers = isinstance(loc, NUMBERS) and isinstance(scale, NUMBERS)
        low, high = (limits.tiny, 1 - limits.eps) if numbers else (full(self.loc, limits.tiny), full(self.loc, 1 - limits.eps))
        base = Uniform(low, high, validate_args=validate_args)
        ones = find("ones_like")(self.scale)
        steps = [ExpTransform().inv, AffineTransform(0, -ones), ExpTransform().inv, AffineTransform(loc, -self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    mean = property(lambda self: self.loc + self.scale * EULER)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def log_prob(self, value: object) -> Tensor:
        y = (self.loc - self._checked(value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)
