"""Distributions of counts: of trials before the first success, of successes, of classes."""

from typing import Any, Self

from gradsh.api.distributions import constraints
from gradsh.api.distributions.constraints import Constraint
from gradsh.api.distributions.discrete import Categorical, _Binary
from gradsh.api.distributions.distribution import Constraints, Distribution, broadcast_all
from gradsh.api.distributions.gamma import Gamma
from gradsh.api.modes import no_grad
from gradsh.api.settings import finfo
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


class Geometric(_Binary):
    """The number of failures before the first success."""

    arg_constraints = Constraints(probs=constraints.unit_interval, logits=constraints.real)
    support = constraints.nonnegative_integer
    has_enumerate_support = False

    def __init__(self, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        (shape,) = self._take(probs, logits)
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            shape = tuple(self.probs.shape)
            message = (
                f"Expected parameter probs ({type(self.probs).__name__} of shape {shape}) of distribution {self!r} to be positive but "
                f"found invalid values:\n{self.probs.detach()[~(self.probs > 0)]}"
            )
            raise fail("value", message, ValueError)

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: find("zeros_like")(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape: object = ()) -> Tensor:
        """Return random counts."""
        with no_grad():
            low = finfo(self.probs.dtype).tiny
            share = find("empty")(self._extended_shape(sample_shape), dtype=self.probs.dtype).uniform_(low, 1)
            return (share.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: object) -> Tensor:
        """Return the log of the probability of the counts in `value`."""
        value, probs = broadcast_all(self._checked(value), self.probs)
        probs = probs.clone()
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return find("binary_cross_entropy_with_logits")(self.logits, self.probs, reduction="none") / self.probs


class _Counted(_Binary):
    """What both have: a `total_count` beside the parameter."""

    def _count(self, total_count: object, probs: object, logits: object) -> Size:
        """Take the count and the parameter, in one dtype; return the batch shape."""
        count, shape = self._take(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        return shape

    def expand(self, batch_shape: object) -> Self:
        made = super().expand(batch_shape)
        made.total_count = self.total_count.expand(batch_shape)
        return made


class Binomial(_Counted):
    """The number of successes in `total_count` trials."""

    arg_constraints = Constraints(
        total_count=constraints.nonnegative_integer, probs=constraints.unit_interval, logits=constraints.real,
    )

    def __init__(self, total_count: object = 1, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        super().__init__(self._count(total_count, probs, logits), validate_args=validate_args)

    support = property(lambda self: constraints.integer_interval(0, self.total_count))
    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: object = ()) -> Tensor:
        """Return random counts."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return find("binomial")(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Tensor:
        """Return the log of the probability of the counts in `value`."""
        self._checked(value)
        ways = [(count + 1).lgamma() for count in (self.total_count, value, self.total_count - value)]
        positive = (self.logits.clamp(min=0) + self.logits - self.logits.clamp(max=0)) / 2
        rest = self.total_count * positive + self.total_count * (-self.logits.abs()).exp().log1p() - ways[0]
        return value * self.logits - ways[1] - ways[2] - rest

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all counts, along a new first axis."""
        largest = int(self.total_count.max())
        if not self.total_count.min() == largest:
            raise _inhomogeneous("enumerate_support")
        return self._listed(find("arange")(1 + largest, dtype=self._param.dtype), expand)

    def entropy(self) -> Tensor:
        """Return the entropy, over all counts."""
        if not self.total_count.min() == self.total_count.max():
            raise _inhomogeneous("entropy")
        logs = self.log_prob(self.enumerate_support(False))
        return -(logs.exp() * logs).sum(0)


def _inhomogeneous(name: str) -> Exception:
    return fail("type", f"Inhomogeneous total count not supported by `{name}`.", NotImplementedError)


class Multinomial(Distribution):
    """How often each class comes in `total_count` draws."""

    arg_constraints = Constraints(probs=constraints.simplex, logits=constraints.real_vector)
    _parts = ("_categorical",)

    def __init__(self, total_count: int = 1, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise fail("type", "inhomogeneous total_count is not supported", NotImplementedError)
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @property
    def support(self) -> Constraint:
        """The constraint on values: counts that sum to the number of draws."""
        def holds(x: Tensor) -> Any:
            return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.total_count)

        found = constraints.Constraint("Multinomial", holds)
        setattr(found, "upper_bound", self.total_count)  # noqa: B010  (shown by no repr, as in PyTorch)
        found.event_dim = 1
        return found

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return random counts."""
        with no_grad():
            classes = self._categorical.sample((self.total_count, *Size(sample_shape))).movedim(0, -1)
            counts = find("zeros")(self._extended_shape(sample_shape), dtype=classes.dtype)
            return counts.scatter_add_(-1, classes, find("ones_like")(classes)).type_as(self.probs)

    def log_prob(self, value: Any) -> Tensor:
        """Return the log of the probability of the counts in `value`."""
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = logits.clone()
        ways = (value.sum(-1) + 1).lgamma()
        orders = (value + 1).lgamma().sum(-1)
        logits[(value == 0) & (logits == -float("inf"))] = 0
        return ways - orders + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """Return the entropy: that of the draws, less what their order tells."""
        count = find("tensor")(self.total_count)
        binomial = Binomial(total_count=self.total_count, probs=self.probs)
        chances = binomial.log_prob(binomial.enumerate_support(expand=False)[1:]).exp()
        orders = (binomial.enumerate_support(expand=False)[1:] + 1).lgamma()
        return count * self._categorical.entropy() - (count + 1).lgamma() + (chances * orders).sum([0, -1])


class NegativeBinomial(_Counted):
    """The number of successes before `total_count` failures."""

    arg_constraints = Constraints(
        total_count=constraints.greater_than_eq(0), probs=constraints.half_open_interval(0.0, 1.0), logits=constraints.real,
    )
    support = constraints.nonnegative_integer
    has_enumerate_support = False

    def __init__(self, total_count: object, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        self._count(total_count, probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def sample(self, sample_shape: object = ()) -> Tensor:
        """Return random counts: Poisson's, of gamma distributed rates."""
        with no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape)
            return find("poisson")(rates)

    def log_prob(self, value: Any) -> Tensor:
        """Return the log of the probability of the counts in `value`."""
        self._checked(value)
        log_sigmoid = find("logsigmoid")
        shares = self.total_count * log_sigmoid(-self.logits) + value * log_sigmoid(self.logits)
        ways = -(self.total_count + value).lgamma() + (1.0 + value).lgamma() + self.total_count.lgamma()
        return shares - ways.masked_fill(self.total_count + value == 0.0, 0.0)
