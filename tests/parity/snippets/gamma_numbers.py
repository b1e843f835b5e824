import torch
from torch.distributions import Beta, Dirichlet, Gamma, kl_divergence

torch.manual_seed(3)
shape = torch.tensor([0.3, 1.0, 5.0], requires_grad=True)
rate = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
gamma = Gamma(shape, rate)
print(gamma, gamma.mean, gamma.mode, gamma.stddev)
draw = gamma.sample((2,))
print(draw, gamma.expand((2, 3)).batch_shape)
loss = -gamma.log_prob(draw).sum() - gamma.entropy().sum()
loss.backward()
print(loss, shape.grad, rate.grad)
through = Gamma(shape.detach(), rate).rsample()
rate.grad = None
through.sum().backward()
print(through, rate.grad)
parts = Dirichlet(torch.tensor([[0.5, 1.0, 2.0], [3.0, 0.1, 1.0]]))
print(parts.sample(), parts.mean, parts.variance, parts.entropy(), parts.log_prob(torch.tensor([0.2, 0.3, 0.5])))
mix = Beta(torch.tensor([0.5, 2.0]), 0.7)
print(mix, mix.sample((3,)), mix.mean, mix.variance, mix.entropy(), mix.log_prob(torch.tensor([0.2, 0.9])))
print(Beta(0.4, 0.4).sample().item(), torch.randn(2))
Gamma(torch.tensor(-1.0), 1.0)
