"""Distributions made of gamma numbers: Gamma, Dirichlet, Beta, Chi2, Student's t."""

import math
from typing import Any, Self

import numpy as np

from gradsh.api.distributions import constraints
from gradsh.api.distributions.distribution import Constraints, Distribution, broadcast_all, shape_of
from gradsh.api.function import Function
from gradsh.api.settings import finfo
from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


class _Dirichlet(Function):
    """Dirichlet numbers, which move with their concentrations."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        """Draw."""
        array = concentration.detach().array
        found = np.maximum(current().generator.gamma(array), np.finfo(np.float64).tiny)
        found = np.minimum(found / found.sum(-1, keepdims=True), 1 - np.finfo(array.dtype).eps / 2).astype(array.dtype)
        drawn = make(np.maximum(found, np.finfo(array.dtype).tiny))
        ctx.save_for_backward(drawn, concentration)
        return drawn

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        """Return the gradient of the concentrations: what each number gains the others lose."""
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        return find("_dirichlet_grad")(x, concentration, total) * (grad_output - (x * grad_output).sum(-1, True))


class Gamma(Distribution):
    """The gamma distribution with shape `concentration` and the given `rate`."""

    arg_constraints = Constraints(concentration=constraints.positive, rate=constraints.positive)
    support = constraints.nonnegative
    has_rsample = True
    _parameters = ("concentration", "rate")

    def __init__(self, concentration: object, rate: object, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(shape_of(self.concentration, concentration, rate), validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate, doc="The mean.")
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0), doc="The most probable value.")
    variance = property(lambda self: self.concentration / self.rate.pow(2), doc="The variance.")

    def rsample(self, sample_shape: object = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        found = find("_standard_gamma")(self.concentration.expand(shape)) / self.rate.expand(shape)
        found.detach().clamp_(min=finfo(found.dtype).tiny)
        return found

    def log_prob(self, value: object) -> Tensor:
        self._checked(value)
        power = find("xlogy")(self.concentration - 1, value)
        return find("xlogy")(self.concentration, self.rate) + power - self.rate * value - self.concentration.lgamma()

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1.0 - shape) * shape.digamma()

    def cdf(self, value: object) -> Tensor:
        return find("igamma")(self.concentration, self.rate * self._checked(value))


class Dirichlet(Distribution):
    """The Dirichlet distribution of probabilities, with the given `concentration` of each."""

    arg_constraints = Constraints(concentration=constraints.independent(constraints.positive, 1))
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise fail("value", "`concentration` parameter must be at least one-dimensional.", ValueError)
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any) -> Self:
        shape = Size(batch_shape)
        return self._expanded(shape, {"concentration": shape + self.event_shape})

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True), doc="The mean.")

    @property
    def mode(self) -> Tensor:
        """The most probable values: where all concentrations are below 1, a corner."""
        above = (self.concentration - 1).clamp(min=0.0)
        found = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        found[corner] = find("one_hot")(found[corner].argmax(dim=-1), self.concentration.shape[-1]).to(found)
        return found

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample through which gradients reach the concentrations."""
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        self._checked(value)
        powers = find("xlogy")(self.concentration - 1.0, value).sum(-1)
        return powers + self.concentration.sum(-1).lgamma() - self.concentration.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        count, total = self.concentration.size(-1), self.concentration.sum(-1)
        rest = ((self.concentration - 1.0) * self.concentration.digamma()).sum(-1)
        return self.concentration.lgamma().sum(-1) - total.lgamma() - (count - total) * total.digamma() - rest


class Beta(Distribution):
    """The beta distribution: the first of two probabilities that a Dirichlet distribution gives."""

    arg_constraints = Constraints(concentration1=constraints.positive, concentration0=constraints.positive)
    support = constraints.unit_interval
    has_rsample = True
    _parts = ("_dirichlet",)

    def __init__(self, concentration1: object, concentration0: object, validate_args: bool | None = None) -> None:
        both = broadcast_all(concentration1, concentration0)
        self._dirichlet = Dirichlet(find("stack")(list(both), -1))
        super().__init__(shape_of(both[0], concentration1, concentration0), validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0], doc="The weight of 1.")
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1], doc="The weight of 0.")
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0), doc="The mean.")
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample through which gradients reach the concentrations."""
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Tensor:
        self._checked(value)
        return self._dirichlet.log_prob(find("stack")([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()


class Chi2(Gamma):
    """The distribution of the sum of `df` squares of normal numbers."""

    arg_constraints = Constraints(df=constraints.positive)

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2)


class StudentT(Distribution):
    """Student's distribution with `df` degrees of freedom, moved to `loc` and stretched by `scale`."""

    arg_constraints = Constraints(df=constraints.positive, loc=constraints.real, scale=constraints.positive)
    support = constraints.real
    has_rsample = True
    _parameters = ("df", "loc", "scale")
    _parts = ("_chi2",)

    def __init__(self, df: object, loc: object = 0.0, scale: object = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    mode = property(lambda self: self.loc)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN where there is none."""
        found = self.loc.clone()
        found[self.df <= 1] = math.nan
        return found

    @property
    def variance(self) -> Tensor:
        """The variance; NaN where there is none."""
        df, found = self.df, self.df.clone()
        found[df > 2] = self.scale[df > 2].pow(2) * df[df > 2] / (df[df > 2] - 2)
        found[(df <= 2) & (df > 1)] = math.inf
        found[df <= 1] = math.nan
        return found

    def rsample(self, sample_shape: object = ()) -> Tensor:
        normal = find("empty")(self._extended_shape(sample_shape), dtype=self.df.dtype).normal_()
        drawn = normal * find("rsqrt")(self._chi2.rsample(sample_shape) / self.df)
        return self.loc + self.scale * drawn

    def log_prob(self, value: object) -> Tensor:
        y = (self._checked(value) - self.loc) / self.scale
        half = 0.5 * self.df
        whole = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma() - (0.5 * (self.df + 1.0)).lgamma()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - whole

    def entropy(self) -> Tensor:
        df = self.df
        beta = (0.5 * df).lgamma() + math.lgamma(0.5) - (0.5 * (df + 1)).lgamma()
        return self.scale.log() + 0.5 * (df + 1) * ((0.5 * (df + 1)).digamma() - (0.5 * df).digamma()) + 0.5 * df.log() + beta
