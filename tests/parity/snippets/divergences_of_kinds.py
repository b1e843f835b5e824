import torch
from torch.distributions import *
from torch.distributions.kl import kl_divergence, register_kl
one, two = torch.tensor([0.4, 2.3]), torch.tensor([1.7, 0.9])
made = [
    Bernoulli(torch.tensor([0.3, 0.8])), Beta(one, two), Binomial(3, torch.tensor([0.3, 0.8])), Exponential(one), Gamma(one, two),
    Gumbel(one, two), HalfNormal(two), Laplace(one, two), Normal(one, two), Pareto(one, two), Poisson(two), Uniform(one, one + two),
    Uniform(torch.tensor([0.1, 0.2]), torch.tensor([0.5, 1.0])), Pareto(two, one + 2), LogNormal(one, two), Normal(two, one), Pareto(one, one),
    OneHotCategorical(torch.tensor([0.2, 0.8])), OneHotCategorical(torch.tensor([0.5, 0.5])), Uniform(-two, two), HalfNormal(one),
]
for p in made:
    for q in made:
        try:
            print(type(p).__name__, type(q).__name__, (kl_divergence(p, q) + 0.0).mul(1e4).round().div(1e4))
        except NotImplementedError as error:
            print(error)
base = Independent(Normal(torch.zeros(2, 3), torch.ones(2, 3)), 1)
p = TransformedDistribution(base, [AffineTransform(0.0, 2.0), ExpTransform()])
q = TransformedDistribution(Independent(Normal(torch.ones(2, 3), torch.ones(2, 3)), 1), [AffineTransform(0.0, 2.0), ExpTransform()])
print(kl_divergence(p, q), kl_divergence(p, p), AffineTransform(0.0, 2.0) == AffineTransform(0.0, 3.0), ExpTransform() == ExpTransform())
kl_divergence(p, TransformedDistribution(base, [AffineTransform(0.0, 3.0), ExpTransform()]))
@register_kl(Normal, Poisson)
def of_program(p, q):
    return p.loc * q.rate
print(kl_divergence(Normal(2.0, 1.0), Poisson(torch.tensor(3.0))))
