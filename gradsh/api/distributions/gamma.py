"""Distributions made of gamma numbers: Gamma, Dirichlet, Beta. Their samples carry no gradient of a concentration."""

from typing import Any

import numpy as np

from gradsh.api.distributions import constraints
from gradsh.api.distributions.distribution import Constraints, Distribution, broadcast_all, shape_of
from gradsh.api.modes import is_grad_enabled
from gradsh.api.settings import finfo
from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import make
from gradsh.engine.registry import find
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


def _drawn(concentration: Any, normalized: bool) -> Any:
    """Return gamma numbers for each concentration, each row divided by its sum where `normalized`."""
    if concentration.requires_grad and is_grad_enabled():
        way = "use `sample()` with `log_prob`, or run the program on PyTorch: `gradsh trace FILE`"
        message = "gradsh has no gradient of a gamma number by its concentration"
        raise fail("type", message, NotImplementedError, way=way)
    array = concentration.detach().array
    limits = np.finfo(array.dtype)
    found = current().generator.gamma(array)
    if normalized:
        found = np.maximum(found, np.finfo(np.float64).tiny)
        found = np.minimum(found / found.sum(-1, keepdims=True), 1 - limits.eps / 2)
    return make(np.maximum(found.astype(array.dtype), limits.tiny))


class Gamma(Distribution):
    """The gamma distribution with shape `concentration` and the given `rate`."""

    arg_constraints = Constraints(concentration=constraints.positive, rate=constraints.positive)
    support = constraints.nonnegative
    has_rsample = True
    _parameters = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(shape_of(self.concentration, concentration, rate), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """The most probable value."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return a sample through which gradients reach the rate."""
        shape = self._extended_shape(sample_shape)
        found = _drawn(self.concentration.expand(shape), normalized=False) / self.rate.expand(shape)
        found.detach().clamp_(min=finfo(found.dtype).tiny)
        return found

    def log_prob(self, value: Any) -> Any:
        """Return the log of the density at `value`."""
        self._checked(value)
        power = find("xlogy")(self.concentration - 1, value)
        return find("xlogy")(self.concentration, self.rate) + power - self.rate * value - self.concentration.lgamma()

    def entropy(self) -> Any:
        """Return the entropy."""
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1.0 - shape) * shape.digamma()


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

    def expand(self, batch_shape: Any) -> Any:
        """Return this distribution with its parameters expanded to `batch_shape`, as views."""
        shape = Size(batch_shape)
        return self._expanded(shape, {"concentration": shape + self.event_shape})

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self) -> Any:
        """The variance."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return a sample; it carries no gradient."""
        return _drawn(self.concentration.expand(self._extended_shape(sample_shape)), normalized=True)

    def log_prob(self, value: Any) -> Any:
        """Return the log of the density at `value`."""
        self._checked(value)
        powers = find("xlogy")(self.concentration - 1.0, value).sum(-1)
        return powers + self.concentration.sum(-1).lgamma() - self.concentration.lgamma().sum(-1)

    def entropy(self) -> Any:
        """Return the entropy."""
        count, total = self.concentration.size(-1), self.concentration.sum(-1)
        rest = ((self.concentration - 1.0) * self.concentration.digamma()).sum(-1)
        return self.concentration.lgamma().sum(-1) - total.lgamma() - (count - total) * total.digamma() - rest


class Beta(Distribution):
    """The beta distribution: the first of two probabilities that a Dirichlet distribution gives."""

    arg_constraints = Constraints(concentration1=constraints.positive, concentration0=constraints.positive)
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        both = broadcast_all(concentration1, concentration0)
        self._dirichlet = Dirichlet(find("stack")(list(both), -1))
        super().__init__(shape_of(both[0], concentration1, concentration0), validate_args=validate_args)

    def expand(self, batch_shape: Any) -> Any:
        """Return this distribution with its parameters expanded to `batch_shape`, as views."""
        made = self._expanded(Size(batch_shape), {})
        made._dirichlet = self._dirichlet.expand(batch_shape)
        return made

    @property
    def concentration1(self) -> Any:
        """The weight of 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        """The weight of 0."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Any:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return a sample; it carries no gradient."""
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        """Return the log of the density at `value`."""
        self._checked(value)
        return self._dirichlet.log_prob(find("stack")([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        """Return the entropy."""
        return self._dirichlet.entropy()
