"""Distributions of powers: Pareto's, Weibull's, and that of the reciprocal of gamma distributed values."""

import math

from gradsh.api.distributions import constraints
from gradsh.api.distributions.continuous import Exponential
from gradsh.api.distributions.distribution import Constraints, broadcast_all
from gradsh.api.distributions.gamma import Gamma
from gradsh.api.distributions.tails import EULER
from gradsh.api.distributions.transformed import MadeAnew
from gradsh.api.distributions.transforms import AffineTransform, ExpTransform, PowerTransform
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find


class Pareto(MadeAnew):
    """Pareto's distribution of values from `scale` on: their density falls with the power `alpha + 1`."""

    arg_constraints = Constraints(alpha=constraints.positive, scale=constraints.positive)

    def __init__(self, scale: object, alpha: object, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    _parameters = ("scale", "alpha")
    support = property(lambda self: constraints.greater_than_eq(self.scale))
    mode = property(lambda self: self.scale)

    @property
    def mean(self) -> Tensor:
        """The mean, infinite up to alpha 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        """The variance, infinite up to alpha 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(MadeAnew):
    """Weibull's distribution."""

    arg_constraints = Constraints(scale=constraints.positive, concentration=constraints.positive)
    support = constraints.positive
    _parameters = ("scale", "concentration")

    def __init__(self, scale: object, concentration: object, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(find("ones_like")(self.scale), validate_args=validate_args)
        steps = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    mean = property(lambda self: self.scale * (1 + self.concentration_reciprocal).lgamma().exp())

    @property
    def mode(self) -> Tensor:
        """The most probable value where the concentration is above 1; PyTorch's formula elsewhere, too."""
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        twice, once = (1 + 2 * self.concentration_reciprocal).lgamma(), (1 + self.concentration_reciprocal).lgamma()
        return self.scale.pow(2) * (twice.exp() - (2 * once).exp())

    def entropy(self) -> Tensor:
        return EULER * (1 - self.concentration_reciprocal) + (self.scale * self.concentration_reciprocal).log() + 1


class InverseGamma(MadeAnew):
    """The distribution of 1 / x, where x is gamma distributed."""

    arg_constraints = Constraints(concentration=constraints.positive, rate=constraints.positive)
    support = constraints.positive
    has_rsample = True
    _parameters = ("concentration", "rate")

    def __init__(self, concentration: object, rate: object, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def mean(self) -> Tensor:
        """The mean, infinite up to concentration 1."""
        return find("where")(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def variance(self) -> Tensor:
        """The variance, infinite up to concentration 2."""
        finite = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return find("where")(self.concentration > 2, finite, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
