"""Distributions of vectors, mixtures and transformed ones: samples, densities, moments, mistakes."""

import torch
from torch.distributions import *
from torch.distributions.multivariate_normal import MultivariateNormal as M
from torch.distributions.transforms import AffineTransform


def main():
    torch.manual_seed(0)
    A = torch.tensor([[2., .3], [.3, 1.]], requires_grad=True)
    d = MultivariateNormal(torch.tensor([1., 2.]), A)
    print(d, d.sample((3,)), d.log_prob(torch.ones(3, 2)), d.entropy(), d.variance, d.precision_matrix, d.scale_tril)
    d.log_prob(torch.ones(3, 2)).sum().backward(); print(A.grad)
    e = M(torch.zeros(4, 2), scale_tril=torch.eye(2) * 2)
    print(e, e.batch_shape, e.rsample().shape, kl_divergence(d, e), e.covariance_matrix.shape, e.mean, e.expand((3, 4)).sample().shape)
    f = M(torch.zeros(2), precision_matrix=torch.tensor([[2., .5], [.5, 3.]]))
    print(f.covariance_matrix, f.log_prob(torch.ones(2)))
    for bad in (lambda: M(torch.zeros(2), -torch.eye(2)), lambda: M(torch.zeros(2)), lambda: M(torch.zeros(()), torch.eye(2))):
        try: bad()
        except ValueError as err: print(err)
    t = TransformedDistribution(Normal(torch.zeros(2), torch.ones(2)), [TanhTransform(cache_size=1), AffineTransform(1., 2.)])
    s = t.rsample(); print(s, t.log_prob(s), t.support, t.cdf(s), t.icdf(torch.tensor(.3)), t)
    u = TransformedDistribution(Independent(Normal(torch.zeros(2), torch.ones(2)), 1), [SigmoidTransform(), ExpTransform()])
    s = u.sample((2,)); print(s, u.log_prob(s), u.event_shape, u.support)
    c = ComposeTransform([ExpTransform(), AffineTransform(torch.tensor(1.), torch.tensor(-2.))])
    x = torch.tensor([.1, .2]); print(c(x), c.inv(c(x)), c.log_abs_det_jacobian(x, c(x)), c, c.inv, c.sign)
    l = LogNormal(torch.tensor(0.5), torch.tensor(.4)); print(l.sample((2,)), l.mean, l.variance, l.mode, l.entropy(), l.log_prob(torch.tensor(2.)), l)
    l = Laplace(torch.tensor(0.5), torch.tensor(.4)); print(l.sample((2,)), l.mean, l.variance, l.entropy(), l.log_prob(torch.tensor(2.)), l.cdf(torch.tensor(.2)), l.icdf(torch.tensor(.2)), l)
    m = MixtureSameFamily(Categorical(torch.tensor([.3, .7])), Independent(Normal(torch.randn(2, 3), torch.rand(2, 3)), 1))
    print(m, m.mean, m.variance, m.sample((2,)).shape, m.log_prob(torch.zeros(3)), m.batch_shape, m.sample(), m.expand((5,)).batch_shape)
    m = MixtureSameFamily(Categorical(logits=torch.randn(4, 2)), Normal(torch.randn(4, 2), torch.rand(4, 2)))
    print(m.mean, m.variance, m.sample((2,)), m.log_prob(torch.zeros(4)), m.cdf(torch.zeros(4)))
    print(MultivariateNormal, TanhTransform, MixtureSameFamily, TransformedDistribution)
    class Clipped(torch.distributions.transforms.Transform):
        domain = torch.distributions.constraints.real
        codomain = torch.distributions.constraints.interval(-1.0, 1.0)
        bijective = True
        sign = +1
        def __init__(self, cache_size=1):
            super().__init__(cache_size=cache_size)
        def __eq__(self, other):
            return isinstance(other, Clipped)
        def _call(self, x):
            return x.tanh()
        def _inverse(self, y):
            return 0.5 * (y.log1p() - (-y).log1p())
        def log_abs_det_jacobian(self, x, y):
            return 2. * (0.6931 - x - torch.nn.functional.softplus(-2. * x))
    t = TransformedDistribution(Normal(torch.zeros(2), torch.ones(2)), [Clipped()])
    s = t.rsample(); print(s, t.log_prob(s))


main()
