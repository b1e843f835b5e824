"""Relaxed distributions: continuous ones near to those of zeros and ones, through which gradients pass."""

from typing import Any

from gradsh.api.distributions import constraints
from gradsh.api.distributions.discrete import Bernoulli, Categorical
from gradsh.api.distributions.distribution import Constraints, Distribution, broadcast_all
from gradsh.api.distributions.transformed import TransformedDistribution
from gradsh.api.distributions.transforms import ExpTransform, SigmoidTransform
from gradsh.api.settings import finfo
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find


def _inside(share: Any) -> Tensor:
    """Return probabilities that are kept away from 0 and 1."""
    eps = finfo(share.dtype).eps
    return share.clamp(min=eps, max=1 - eps)


class _OfDiscrete(Distribution):
    """What both have: the discrete distribution that they relax, in `_hard`, which holds the parameter."""

    has_rsample = True
    _hard: Any
    _parts = ("_hard",)

    probs = property(lambda self: self._hard.probs)
    logits = property(lambda self: self._hard.logits)
    param_shape = property(lambda self: self._hard.param_shape)


class LogitRelaxedBernoulli(_OfDiscrete):
    """The logits of relaxed zeros and ones."""

    arg_constraints = Constraints(probs=constraints.unit_interval, logits=constraints.real)
    support = constraints.real

    def __init__(self, temperature: Any, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        self.temperature = temperature
        self._hard = Bernoulli(probs, logits)
        super().__init__(self._hard.batch_shape, validate_args=validate_args)

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample through which gradients reach the parameter."""
        shape = self._extended_shape(sample_shape)
        probs = _inside(self.probs.expand(shape))
        share = _inside(find("rand")(shape, dtype=probs.dtype))
        return (share.log() - (-share).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, self._checked(value))
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class ExpRelaxedCategorical(_OfDiscrete):
    """The logs of relaxed vectors with one 1."""

    arg_constraints = Constraints(probs=constraints.simplex, logits=constraints.real_vector)
    support = constraints.real_vector

    def __init__(self, temperature: Any, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        self.temperature = temperature
        self._hard = Categorical(probs, logits)
        super().__init__(self._hard.batch_shape, self._hard.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample through which gradients reach the parameter."""
        share = _inside(find("rand")(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits + -(-share.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Tensor:
        count = self._event_shape[0]
        logits, value = broadcast_all(self.logits, self._checked(value))
        scale = find("full_like")(self.temperature, float(count)).lgamma() - self.temperature.log().mul(-(count - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class _Relaxed(TransformedDistribution):
    """A relaxed distribution: its base has the parameters."""

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)


class RelaxedBernoulli(_Relaxed):
    """Numbers between 0 and 1 that are nearer to the ends the lower the temperature."""

    arg_constraints = LogitRelaxedBernoulli.arg_constraints
    support = constraints.unit_interval

    def __init__(self, temperature: object, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    """Probabilities that are nearer to vectors with one 1 the lower the temperature."""

    arg_constraints = ExpRelaxedCategorical.arg_constraints
    support = constraints.simplex

    def __init__(self, temperature: object, probs: object = None, logits: object = None, validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
