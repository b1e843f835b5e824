"""torch.distributions.kl: the Kullback-Leibler divergence of two distributions of one kind."""

import math
from collections.abc import Callable
from typing import Any

from gradsh.api.distributions.continuous import Exponential, Independent, Normal, Uniform
from gradsh.api.distributions.discrete import Bernoulli, Categorical
from gradsh.api.distributions.distribution import abstract, sum_rightmost
from gradsh.api.distributions.multivariate import MultivariateNormal, divergence
from gradsh.engine.registry import find
from gradsh.text.fault import fail


def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = math.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


def _bernoulli(p: Any, q: Any) -> Any:
    softplus = find("softplus")
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones[q.probs == 0] = math.inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros[q.probs == 1] = math.inf
    zeros[p.probs == 1] = 0
    return ones + zeros


def _uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    found[(q.low > p.low) | (q.high < p.high)] = math.inf
    return found


def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise abstract()
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


_FORMULAS: dict[type, Callable[[Any, Any], Any]] = {
    Normal: _normal, Categorical: _categorical, Bernoulli: _bernoulli, Uniform: _uniform, Exponential: _exponential,
    Independent: _independent, MultivariateNormal: divergence,
}


def kl_divergence(p: object, q: object) -> Any:
    """Return the divergence KL(p || q) of each distribution of the batch."""
    for kind, formula in _FORMULAS.items():
        if isinstance(p, kind) and isinstance(q, kind):
            return formula(p, q)
    message = f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    raise fail("type", message, NotImplementedError)
