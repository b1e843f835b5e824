"""Distributions of whole numbers: categorical and Bernoulli, given by probabilities or by logits."""

import math
from typing import Any, Self

from gradsh.api.distributions import constraints
from gradsh.api.distributions.distribution import (
    Computed,
    Constraints,
    Distribution,
    broadcast_all,
    shape_of,
    to_logits,
)
from gradsh.api.modes import no_grad
from gradsh.api.settings import finfo
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values import dtype as dtypes
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


def _given(probs: Any, logits: Any) -> tuple[str, Any]:
    """Return the name and the value of which of the two was given; it has to be one."""
    if (probs is None) == (logits is None):
        raise fail("value", "Either `probs` or `logits` must be specified, but not both.", ValueError)
    return ("logits", logits) if probs is None else ("probs", probs)


class _Discrete(Distribution):
    """What both have: a parameter given, in `_param`, the other computed from it; and a list of values."""

    probs: Any
    logits: Any
    _param: Any
    has_enumerate_support = True
    param_shape = property(lambda self: self._param.size())

    def _resized(self, batch_shape: Any, shape: Any) -> Self:
        """Return this distribution expanded; its parameter is the expanded one, too."""
        held = [name for name in ("probs", "logits") if name in self.__dict__]
        made = self._expanded(Size(batch_shape), {name: Size(shape) for name in held})
        made._param = made.__dict__[held[-1]]
        return made

    def _listed(self, values: Any, expand: bool) -> Tensor:
        found = values.view((-1, *(1 for _ in self._batch_shape)))
        return found.expand((-1, *self._batch_shape)) if expand else found


class Categorical(_Discrete):
    """The distribution of a class among several."""

    arg_constraints = Constraints(probs=constraints.simplex, logits=constraints.real_vector)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given, value = _given(probs, logits)
        if value.dim() < 1:
            raise fail("value", f"`{given}` parameter must be at least one-dimensional.", ValueError)
        if given == "probs":
            self._param = self.probs = value / value.sum(-1, keepdim=True)
        else:
            self._param = self.logits = value - value.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any) -> Self:
        return self._resized(batch_shape, (*Size(batch_shape), self._num_events))

    support = property(lambda self: constraints.integer_interval(0, self._num_events - 1))
    logits = Computed(lambda self: to_logits(self.probs))
    probs = Computed(lambda self: find("softmax")(self.logits, dim=-1))
    mean = property(lambda self: find("full")(self._extended_shape(), math.nan, dtype=self.probs.dtype))
    variance = mean
    mode = property(lambda self: self.probs.argmax(dim=-1))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return random classes."""
        rows = self.probs.reshape(-1, self._num_events)
        found = find("multinomial")(rows, math.prod(sample_shape), True)
        return found.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: object) -> Tensor:
        """Return the log of the probability of the classes in `value`."""
        index = self._checked(value).long().unsqueeze(-1)
        index, logits = find("broadcast_tensors")(index, self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all classes, along a new first axis."""
        return self._listed(find("arange")(self._num_events, dtype=dtypes.int64), expand)


class OneHotCategorical(Distribution):
    """The distribution of a class among several, each of which is a vector with one 1."""

    arg_constraints = Categorical.arg_constraints
    support = constraints.one_hot
    has_enumerate_support = True
    _parts = ("_categorical",)

    def __init__(self, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def _one_hot(self, index: object) -> Tensor:
        return find("one_hot")(index, self._categorical._num_events).to(self._categorical._param)

    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")
    logits = property(lambda self: self._categorical.logits, doc="The log of the probabilities.")
    mean = property(lambda self: self.probs, doc="The mean: the probabilities.")
    mode = property(lambda self: self._one_hot(self.probs.argmax(dim=-1)), doc="The most probable vector.")
    variance = property(lambda self: self.probs * (1 - self.probs), doc="The variance.")

    def sample(self, sample_shape: object = ()) -> Tensor:
        """Return random vectors."""
        with no_grad():
            return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: object) -> Tensor:
        """Return the log of the probability of the vectors in `value`."""
        return self._categorical.log_prob(self._checked(value).max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all vectors, along a new first axis."""
        return self._one_hot(self._categorical.enumerate_support(expand))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with samples whose gradients reach the probabilities as if they were these."""

    has_rsample = True

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample through which gradients reach the probabilities."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class _Binary(_Discrete):
    """A distribution over the outcomes of trials that succeed with a probability."""

    logits = Computed(lambda self: to_logits(self.probs, binary=True))
    probs = Computed(lambda self: self.logits.sigmoid())

    def _take(self, probs: object, logits: object, *more: object) -> Any:
        """Take the parameter that was given, broadcast with `more`; return these, as tensors, and the batch shape."""
        given, value = _given(probs, logits)
        *others, self._param = broadcast_all(*more, value)
        setattr(self, given, self._param)
        return *others, shape_of(self._param, *more, value)

    def expand(self, batch_shape: object) -> Self:
        return self._resized(batch_shape, batch_shape)


class Bernoulli(_Binary):
    """The distribution of 0 and 1."""

    arg_constraints = Constraints(probs=constraints.unit_interval, logits=constraints.real)
    support = constraints.boolean

    def __init__(self, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        (shape,) = self._take(probs, logits)
        super().__init__(shape, validate_args=validate_args)

    mean = property(lambda self: self.probs)

    @property
    def mode(self) -> Tensor:
        """The more probable value; NaN when both are equally probable."""
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: object = ()) -> Tensor:
        """Return random zeros and ones."""
        with no_grad():
            return find("bernoulli")(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: object) -> Tensor:
        """Return the log of the probability of `value`."""
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return -find("binary_cross_entropy_with_logits")(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return find("binary_cross_entropy_with_logits")(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 and 1, along a new first axis."""
        return self._listed(find("arange")(2, dtype=self._param.dtype), expand)


class Poisson(Distribution):
    """The distribution of counts with the given `rate`."""

    arg_constraints = Constraints(rate=constraints.nonnegative)
    support = constraints.nonnegative_integer
    _parameters = ("rate",)

    def __init__(self, rate: object, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(self.rate, rate), validate_args=validate_args)

    mean = property(lambda self: self.rate, doc="The mean.")
    variance = mean
    mode = property(lambda self: self.rate.floor(), doc="The most probable count.")

    def sample(self, sample_shape: object = ()) -> Tensor:
        """Return random counts."""
        with no_grad():
            return find("poisson")(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        """Return the log of the probability of the counts in `value`."""
        rate, value = broadcast_all(self.rate, self._checked(value))
        return value.xlogy(rate) - rate - (value + 1).lgamma()
