import torch
from torch import distributions as d
from torch.distributions import transforms as t

torch.manual_seed(0)
made = [
    d.HalfNormal(torch.tensor([1., 2.])), d.HalfCauchy(torch.tensor([1., 0.5])), d.HalfNormal(2.), d.Pareto(torch.tensor([1., 2.]), 3.),
    d.Pareto(1., 0.5), d.Weibull(torch.tensor([1., 2.]), torch.tensor([0.5, 3.])), d.InverseGamma(torch.tensor([1.5, 3.]), 2.),
    d.NegativeBinomial(torch.tensor([3., 5.]), probs=torch.tensor([0.2, 0.7])), d.NegativeBinomial(4, logits=torch.tensor(0.3)),
]
for one in made:
    x = one.sample((2,))
    print(one, one.batch_shape, one.event_shape, one.support, one.has_rsample)
    print(x, one.log_prob(x), one.mean, one.variance, one.stddev, one.mode)
    wide = one.expand((3, *one.batch_shape))
    print(wide.batch_shape, wide.sample().shape, wide.log_prob(x[0]).shape, wide)
    if not isinstance(one, d.NegativeBinomial):
        print(one.entropy(), one.cdf(x), one.icdf(torch.tensor(0.25)))
scale = torch.tensor([1., 2.], requires_grad=True)
for one in (d.HalfNormal(scale), d.HalfCauchy(scale), d.Weibull(scale, 2.), d.Pareto(scale, 2.), d.InverseGamma(3., scale)):
    y = one.rsample()
    (y.sum() + one.log_prob(y.detach()).sum()).backward()
    print(y, scale.grad)
    scale.grad = None
print(d.HalfNormal(1.).log_prob(torch.tensor([0.5, 1.])), d.HalfNormal(1., validate_args=False).log_prob(torch.tensor(-1.)))
d.HalfNormal(1.).log_prob(torch.tensor(-1.))
d.HalfNormal(torch.tensor(-1.))
d.NegativeBinomial(3., probs=torch.tensor(1.))
logits = torch.tensor([[1., 2., 0.]], requires_grad=True)
through = d.OneHotCategoricalStraightThrough(logits=logits)
z = through.rsample()
(z * torch.arange(3.)).sum().backward()
print(through, z, logits.grad, through.has_rsample, isinstance(through, d.OneHotCategorical))
power = t.PowerTransform(torch.tensor(2.))
x = torch.tensor([1., 3.])
print(power(x), power.inv(x), power.log_abs_det_jacobian(x, power(x)), power, power.sign, t.AbsTransform()(-x), t.AbsTransform().inv(x))
print(d.constraints.half_open_interval(0., 1.), d.constraints.half_open_interval(0., 1.).check(torch.tensor([0., 1.])))
