"""Distributions of transformed values: any distribution and transforms; the log-normal one; and Laplace's."""

from typing import Any, Self

from gradsh.api.distributions import constraints
from gradsh.api.distributions.constraints import Constraint
from gradsh.api.distributions.continuous import Normal
from gradsh.api.distributions.distribution import Constraints, Distribution, broadcast_all, shape_of, sum_rightmost
from gradsh.api.distributions.transforms import ExpTransform, Transform
from gradsh.api.modes import no_grad
from gradsh.api.settings import finfo
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


class TransformedDistribution(Distribution):
    """The distribution of what transforms make of another distribution's values."""

    arg_constraints = Constraints()

    def __init__(self, base_distribution: Any, transforms: object, validate_args: bool | None = None) -> None:
        found = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(found, list) or not all(isinstance(one, Transform) for one in found):
            raise fail("value", f"transforms must be a Transform or list, but was {transforms}", ValueError)
        self.base_dist = base_distribution
        self.transforms = found
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        together = max([len(event), *(one.codomain.event_dim for one in found)])
        whole = batch + event
        cut = len(whole) - together
        super().__init__(whole[:cut], whole[cut:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether gradients reach the parameters through samples."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        found = self.transforms[-1].codomain if self.transforms else self.base_dist.support
        missing = len(self._event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    def expand(self, batch_shape: Any) -> Self:
        made = self._expanded(Size(batch_shape), {})
        whole = (*made.batch_shape, *self._event_shape)
        made.base_dist = self.base_dist.expand(whole[: len(whole) - len(self.base_dist.event_shape)])
        return made

    def _transformed(self, x: object) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: object = ()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: object = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: object) -> Tensor:
        """Return the log of the density at `value`: that of the base, less the logs of how much volumes grow."""
        axes = len(self._event_shape)
        y = self._checked(value)
        found: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inverse(y)
            axes += transform.domain.event_dim - transform.codomain.event_dim
            found = found - sum_rightmost(transform.log_abs_det_jacobian(x, y), axes - transform.domain.event_dim)
            y = x
        return found + sum_rightmost(self.base_dist.log_prob(y), axes - len(self.base_dist.event_shape))

    def _monotone(self, share: Tensor) -> Tensor:
        """Return a share of the base as one of this distribution, or back: turned round where the transforms fall."""
        sign: object = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return share if isinstance(sign, int) and sign == 1 else sign * (share - 0.5) + 0.5

    def cdf(self, value: Any) -> Tensor:
        self._checked(value)
        for transform in reversed(self.transforms):
            value = transform.inverse(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotone(value)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MadeAnew(TransformedDistribution):
    """A distribution that is made anew of its parameters where they are expanded."""

    def expand(self, batch_shape: object) -> Self:
        """Return this distribution with its parameters expanded to `batch_shape`."""
        kind: Any = type(self)
        return kind(*(getattr(self, name).expand(batch_shape) for name in self._parameters), validate_args=False)

    __repr__ = Distribution.__repr__


class LogNormal(TransformedDistribution):
    """The distribution of exp(x) where x is normal."""

    arg_constraints = Constraints(loc=constraints.real, scale=constraints.positive)
    support = constraints.positive

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class Laplace(Distribution):
    """Laplace's distribution with mean `loc`: two exponential ones, back to back."""

    arg_constraints = Constraints(loc=constraints.real, scale=constraints.positive)
    support = constraints.real
    has_rsample = True
    _parameters = ("loc", "scale")

    def __init__(self, loc: object, scale: object, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(self.loc, loc, scale), validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = mean
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape: object = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        share = find("empty")(shape, dtype=self.loc.dtype).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * share.sign() * (-share.abs()).log1p()

    def log_prob(self, value: object) -> Tensor:
        self._checked(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: object) -> Tensor:
        away = self._checked(value) - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
