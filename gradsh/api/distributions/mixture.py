"""A mixture of distributions of one family, chosen by a categorical distribution."""

from typing import Any, Self

from gradsh.api.distributions.discrete import Categorical
from gradsh.api.distributions.distribution import Constraints, Distribution
from gradsh.api.modes import no_grad
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


class MixtureSameFamily(Distribution):
    """The mixture whose components are the last axis of a batch of distributions."""

    arg_constraints = Constraints()

    def __init__(self, mixture_distribution: object, component_distribution: object, validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            message = " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            raise fail("value", message, ValueError)
        if not isinstance(component_distribution, Distribution):
            message = "The Component distribution need to be an instance of torch.distributions.Distribution"
            raise fail("value", message, ValueError)
        chosen, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(1 not in (one, other) and one != other for one, other in zip(reversed(chosen), reversed(batch), strict=False)):
            message = (
                f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})"
            )
            raise fail("value", message, ValueError)
        count, held = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != held:
            message = (
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` ({held})"
            )
            raise fail("value", message, ValueError)
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    support = property(lambda self: self.component_distribution.support)

    def _weighted(self, values: Tensor) -> Tensor:
        """Sum values of the components (an axis left of the event) by the components' probabilities."""
        probs = self.mixture_distribution.probs
        missing = len(self._batch_shape) - (probs.dim() - 1) if probs.dim() != 2 else 0
        event = (1,) * len(self._event_shape)
        weights = probs.reshape((*probs.shape[:-1], *(1,) * missing, probs.shape[-1], *event))
        return (weights * values).sum(-1 - len(event))

    def _beside(self, value: Any) -> Tensor:
        """Return a value with an axis for the components."""
        return value.unsqueeze(-1 - len(self._event_shape))

    mean = property(lambda self: self._weighted(self.component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        """The variance: that of the components, and that of their means."""
        component = self.component_distribution
        within = self._weighted(component.variance)
        return within + self._weighted((component.mean - self._beside(self.mean)).pow(2.0))

    def cdf(self, x: object) -> Tensor:
        """Return the cumulative probability up to `x`."""
        return (self.component_distribution.cdf(self._beside(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: object) -> Tensor:
        """Return the log of the density at `x`."""
        each = self.component_distribution.log_prob(self._beside(self._checked(x)))
        return (each + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return a sample, without a gradient: all components are drawn, and one is taken."""
        with no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            axis = len(Size(sample_shape)) + len(self._batch_shape)
            index = chosen.reshape((*chosen.shape, *(1,) * (len(self._event_shape) + 1)))
            index = index.repeat((*(1,) * len(chosen.shape), 1, *self._event_shape))
            return drawn.gather(axis, index).squeeze(axis)

    def expand(self, batch_shape: Any) -> Self:
        made = self._expanded(Size(batch_shape), {})
        made.mixture_distribution = self.mixture_distribution.expand(made.batch_shape)
        held = self.component_distribution.batch_shape[-1]
        made.component_distribution = self.component_distribution.expand((*made.batch_shape, held))
        return made

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
