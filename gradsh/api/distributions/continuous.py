"""Distributions of real numbers: normal, uniform, exponential; and any of them with axes taken together."""

import math
from typing import Any, Self

from gradsh.api.distributions import constraints
from gradsh.api.distributions.constraints import Constraint
from gradsh.api.distributions.distribution import Constraints, Distribution, broadcast_all, shape_of, sum_rightmost
from gradsh.api.modes import no_grad
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


class Normal(Distribution):
    """The normal distribution with mean `loc` and standard deviation `scale`."""

    arg_constraints = Constraints(loc=constraints.real, scale=constraints.positive)
    support = constraints.real
    has_rsample = True
    _parameters = ("loc", "scale")

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(self.loc, loc, scale), validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = mean
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def sample(self, sample_shape: object = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return find("normal")(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return `loc + eps * scale` for standard normal `eps`."""
        eps = find("empty")(self._extended_shape(sample_shape), dtype=self.loc.dtype).normal_()
        return self.loc + eps * self.scale

    def log_prob(self, value: object) -> Tensor:
        self._checked(value)
        variance = self.scale**2
        log_scale = self.scale.log()
        return -((value - self.loc) ** 2) / (2 * variance) - log_scale - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: object) -> Tensor:
        distance = (self._checked(value) - self.loc) * self.scale.reciprocal()
        return 0.5 * (1 + (distance / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """The uniform distribution from `low` up to `high`."""

    has_rsample = True
    _parameters = ("low", "high")

    def __init__(self, low: object, high: object, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(shape_of(self.low, low, high), validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The parameters' constraints by name: each bounds the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    support = property(lambda self: constraints.interval(self.low, self.high))
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample through which gradients reach the bounds."""
        share = find("rand")(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: object) -> Tensor:
        """Return the log of the density at `value`: -inf at the upper bound."""
        self._checked(value)
        above = self.low.le(value).type_as(self.low)
        below = self.high.gt(value).type_as(self.low)
        return above.mul(below).log() - (self.high - self.low).log()

    def cdf(self, value: object) -> Tensor:
        share = (self._checked(value) - self.low) / (self.high - self.low)
        return share.clamp(min=0, max=1)

    def icdf(self, value: object) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Exponential(Distribution):
    """The exponential distribution with the given `rate`."""

    arg_constraints = Constraints(rate=constraints.positive)
    support = constraints.nonnegative
    has_rsample = True
    _parameters = ("rate",)

    def __init__(self, rate: object, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(self.rate, rate), validate_args=validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    stddev = mean
    mode = property(lambda self: find("zeros_like")(self.rate))
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample through which gradients reach the rate."""
        return find("empty")(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_() / self.rate

    def log_prob(self, value: object) -> Tensor:
        self._checked(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: object) -> Tensor:
        return 1 - (-self.rate * self._checked(value)).exp()

    def icdf(self, value: Any) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()


class Independent(Distribution):
    """A distribution whose last batch axes belong to the event."""

    arg_constraints = Constraints()

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        if reinterpreted_batch_ndims > len(batch):
            message = (
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
            raise fail("value", message, ValueError)
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        kept = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:kept], batch[kept:] + event, validate_args=validate_args)

    def expand(self, batch_shape: Any) -> Self:
        made = self._expanded(Size(batch_shape), {})
        made.base_dist = self.base_dist.expand((*made.batch_shape, *self.event_shape[: self.reinterpreted_batch_ndims]))
        return made

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether gradients reach the parameters through samples."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """Whether all values can be listed."""
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @property
    def support(self) -> Constraint:
        base = self.base_dist.support
        axes = self.reinterpreted_batch_ndims
        return constraints.independent(base, axes) if axes else base

    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def sample(self, sample_shape: object = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: object = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: object) -> Tensor:
        """Return the log of the density at `value`, summed over the event."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """Return the entropy, summed over the event."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise fail("type", "Enumeration over cartesian product is not implemented", NotImplementedError)
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
