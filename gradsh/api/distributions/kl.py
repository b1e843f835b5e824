"""torch.distributions.kl: the Kullback-Leibler divergence of two distributions."""

import math
from collections.abc import Callable

from gradsh.api.distributions.continuous import Exponential, Independent, Normal, Uniform
from gradsh.api.distributions.counts import Binomial, Geometric
from gradsh.api.distributions.discrete import Bernoulli, Categorical, OneHotCategorical, Poisson
from gradsh.api.distributions.distribution import Distribution, abstract, sum_rightmost
from gradsh.api.distributions.gamma import Beta, Dirichlet, Gamma
from gradsh.api.distributions.halves import HalfNormal
from gradsh.api.distributions.kl_pairs import PAIRS, Formula
from gradsh.api.distributions.multivariate import MultivariateNormal, divergence
from gradsh.api.distributions.powers import Pareto
from gradsh.api.distributions.tails import EULER, Cauchy, Gumbel
from gradsh.api.distributions.transformed import Laplace, TransformedDistribution
from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail


def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = math.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    softplus = find("softplus")
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones[q.probs == 0] = math.inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros[q.probs == 1] = math.inf
    zeros[p.probs == 1] = 0
    return ones + zeros


def _uniform(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    found[(q.low > p.low) | (q.high < p.high)] = math.inf
    return found


def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


def _beta(p: Beta, q: Beta) -> Tensor:
    whole_p, whole_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    over = q.concentration1.lgamma() + q.concentration0.lgamma() + whole_p.lgamma()
    under = p.concentration1.lgamma() + p.concentration0.lgamma() + whole_q.lgamma()
    first = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    second = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return over - under + first + second + (whole_q - whole_p) * whole_p.digamma()


def _gamma(p: Gamma, q: Gamma) -> Tensor:
    rates = q.concentration * (p.rate / q.rate).log()
    levels = q.concentration.lgamma() - p.concentration.lgamma()
    shapes = (p.concentration - q.concentration) * p.concentration.digamma()
    return rates + levels + shapes + (q.rate - p.rate) * (p.concentration / p.rate)


def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    whole_p, whole_q = p.concentration.sum(-1), q.concentration.sum(-1)
    levels = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    shapes = p.concentration - q.concentration
    slopes = p.concentration.digamma() - whole_p.digamma().unsqueeze(-1)
    return whole_p.lgamma() - whole_q.lgamma() - levels + (shapes * slopes).sum(-1)


def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    both = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return both.log() - (4 * p.scale * q.scale).log()


def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, there, here = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    tail = (there + (1 + ratio).lgamma() - here).exp()
    return -ratio.log() - there + here + ratio * EULER + tail - (1 + EULER)


def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        message = "KL between Binomials where q.total_count > p.total_count is not implemented"
        raise fail("value", message, NotImplementedError)
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    found[p.total_count > q.total_count] = math.inf
    return found


def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise abstract()
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    found[p.scale < q.scale] = math.inf
    return found


def _of_base(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise abstract()
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), len(p.event_shape) - len(p.base_dist.event_shape))


_FORMULAS: dict[type, Formula] = {
    Normal: _normal, Categorical: _categorical, Bernoulli: _bernoulli, Uniform: _uniform, Exponential: _exponential,
    Independent: _independent, MultivariateNormal: divergence, Beta: _beta, Gamma: _gamma, Dirichlet: _dirichlet, Laplace: _laplace,
    Cauchy: _cauchy, Gumbel: _gumbel, Poisson: _poisson, Geometric: _geometric, Binomial: _binomial, Pareto: _pareto,
    OneHotCategorical: lambda p, q: _categorical(p._categorical, q._categorical),
    HalfNormal: lambda p, q: _normal(p.base_dist, q.base_dist), TransformedDistribution: _of_base,
}
_PAIRS = {(kind, kind): formula for kind, formula in _FORMULAS.items()} | PAIRS
_EXPONENTIAL = (Bernoulli, Beta, Categorical, Dirichlet, Exponential, Gamma, Normal, Poisson)
_FAMILIES = f"The cross KL-divergence between different exponential families cannot{' ' * 29}be computed using Bregman divergences"
_REGISTERED = "kl_divergences"


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Return a decorator of a function of two distributions of these classes, which gives their divergence in this session."""
    def decorator(fun: Formula) -> Formula:
        flags = current().flags
        flags[_REGISTERED] = {**flags.get(_REGISTERED, {}), (type_p, type_q): fun}
        return fun

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the divergence KL(p || q) of each distribution of the batch."""
    pairs = {**_PAIRS, **current().flags.get(_REGISTERED, {})}
    fitting = [pair for pair in pairs if isinstance(p, pair[0]) and isinstance(q, pair[1])]
    if not fitting:
        families = isinstance(p, _EXPONENTIAL) and isinstance(q, _EXPONENTIAL)
        named = f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        raise fail("type", _FAMILIES if families else named, NotImplementedError)
    nearest = min(fitting, key=lambda pair: [type(one).__mro__.index(kind) for one, kind in zip((p, q), pair, strict=True)])
    return pairs[nearest](p, q)
