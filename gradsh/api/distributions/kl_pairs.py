"""Divergences of distributions of two kinds: the cross entropy, which moments of the one give, less its own entropy."""

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from gradsh.api.distributions.continuous import Exponential, Normal, Uniform
from gradsh.api.distributions.counts import Binomial
from gradsh.api.distributions.discrete import Bernoulli, Poisson
from gradsh.api.distributions.distribution import Distribution
from gradsh.api.distributions.gamma import Beta, Gamma
from gradsh.api.distributions.powers import Pareto
from gradsh.api.distributions.tails import EULER, Gumbel
from gradsh.api.distributions.transformed import Laplace
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find

Formula = Callable[..., Tensor]


class Moments(Protocol):
    """A distribution with a mean and a variance."""

    mean: Tensor
    variance: Tensor


def _log(x: Tensor) -> Tensor:
    return find("xlogy")(x, x)


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    """Return the mean of log x between two places, of 0 from outside on."""
    return (_log(high) - _log(low)) / (high - low) - 1


_MEAN_LOG: dict[type, Callable[..., Tensor]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -EULER - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_between(p.low, p.high),
}
"""Distribution -> the mean of log x."""


_MEAN_DECAY: dict[type, Formula] = {
    Exponential: lambda p, scale: p.rate * scale / (p.rate * scale + 1),
    Gamma: lambda p, scale: (1 + (p.rate * scale).reciprocal()).pow(-p.concentration),
    Normal: lambda p, scale: (0.5 * (p.scale / scale).pow(2) - p.loc / scale).exp(),
    Uniform: lambda p, scale: scale / (p.high - p.low) * ((-p.low / scale).exp() - (-p.high / scale).exp()),
}
"""Distribution -> the mean of exp(-x / scale)."""


def _to_normal(p: Moments, q: Normal) -> Tensor:
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))


def _to_exponential(p: Moments, q: Exponential) -> Tensor:
    return q.rate * p.mean - q.rate.log()


def _to_gamma(p: Moments, q: Gamma) -> Tensor:
    level = q.concentration.lgamma() - q.concentration * q.rate.log()
    return level - (q.concentration - 1) * _MEAN_LOG[_kind(p, _MEAN_LOG)](p) + q.rate * p.mean


def _to_gumbel(p: Moments, q: Gumbel) -> Tensor:
    decay = (q.loc / q.scale).exp() * _MEAN_DECAY[_kind(p, _MEAN_DECAY)](p, q.scale)
    return q.scale.log() + (p.mean - q.loc) / q.scale + decay


def _normal_to_laplace(p: Normal, q: Laplace) -> Tensor:
    away = p.loc - q.loc
    tail = math.sqrt(2 / math.pi) * p.scale * (-0.5 * (away / p.scale).pow(2)).exp()
    return (2 * q.scale).log() + (tail + away * (math.sqrt(0.5) * away / p.scale).erf()) / q.scale


def _uniform_to_beta(p: Uniform, q: Beta) -> Tensor:
    level = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    first = (q.concentration1 - 1) * _mean_log_between(p.low, p.high)
    return level - first - (q.concentration0 - 1) * _mean_log_between(1 - p.high, 1 - p.low)


def _uniform_to_pareto(p: Uniform, q: Pareto) -> Tensor:
    return (q.alpha + 1) * _mean_log_between(p.low, p.high) - q.alpha.log() - q.alpha * q.scale.log()


def _kind(p: object, table: Iterable[type]) -> type:
    return next(kind for kind in table if isinstance(p, kind))


def _divergence(cross: Formula, outside: Formula | None = None) -> Formula:
    """Return the formula of a divergence; infinite where p is `outside` of what q gives a density."""

    def formula(p: Distribution, q: Distribution) -> Tensor:
        found = cross(p, q) - p.entropy()
        if outside is not None:
            found[outside(p, q)] = math.inf
        return found

    return formula


def _infinite(p: Moments, _: object) -> Tensor:
    return find("full_like")(p.mean, math.inf)


def _below_zero(p: Uniform, _: object) -> Tensor:
    return p.low < 0


PAIRS: dict[tuple[type, type], Formula] = {
    **{(kind, Normal): _divergence(_to_normal) for kind in (Beta, Exponential, Gamma, Gumbel, Laplace, Uniform)},
    (Pareto, Normal): _divergence(_to_normal, lambda p, _: p.alpha <= 2),
    **{(kind, Exponential): _divergence(_to_exponential) for kind in (Beta, Gamma)},
    (Pareto, Exponential): _divergence(_to_exponential, lambda p, _: p.alpha <= 1),
    (Uniform, Exponential): _divergence(_to_exponential, _below_zero),
    **{(kind, Gamma): _divergence(_to_gamma) for kind in (Beta, Exponential)},
    (Pareto, Gamma): _divergence(_to_gamma, lambda p, _: p.alpha <= 1),
    (Uniform, Gamma): _divergence(_to_gamma, _below_zero),
    **{(kind, Gumbel): _divergence(_to_gumbel) for kind in (Exponential, Gamma, Normal, Uniform)},
    (Normal, Laplace): _divergence(_normal_to_laplace),
    (Beta, Uniform): _divergence(lambda _, q: (q.high - q.low).log(), lambda _, q: (q.low > 0) | (q.high < 1)),
    (Uniform, Beta): _divergence(_uniform_to_beta, lambda p, _: (p.high > 1) | (p.low < 0)),
    (Uniform, Pareto): _divergence(_uniform_to_pareto, lambda p, q: p.low < q.scale),
    (Bernoulli, Poisson): _divergence(lambda p, q: q.rate - p.probs * q.rate.log()),
    (Beta, Pareto): _infinite,
    **{(kind, other): _infinite for kind in (Exponential, Gamma) for other in (Beta, Pareto, Uniform)},
    **{(kind, other): _infinite for kind in (Gumbel, Laplace, Normal) for other in (Beta, Exponential, Gamma, Pareto, Uniform)},
    **{(Pareto, other): _infinite for other in (Beta, Uniform)},
    **{(Poisson, other): _infinite for other in (Bernoulli, Binomial)},
}
