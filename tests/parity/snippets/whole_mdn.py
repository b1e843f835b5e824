import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical, Normal, MixtureSameFamily, Independent
import math
torch.manual_seed(11)

class MDN(nn.Module):
    def __init__(self, in_features, out_features, num_gaussians):
        super().__init__()
        self.in_features, self.out_features, self.num_gaussians = in_features, out_features, num_gaussians
        self.hidden = nn.Sequential(nn.Linear(in_features, 16), nn.Tanh())
        self.pi = nn.Sequential(nn.Linear(16, num_gaussians), nn.Softmax(dim=1))
        self.sigma = nn.Linear(16, out_features * num_gaussians)
        self.mu = nn.Linear(16, out_features * num_gaussians)

    def forward(self, minibatch):
        h = self.hidden(minibatch)
        pi = self.pi(h)
        sigma = torch.exp(self.sigma(h)).view(-1, self.num_gaussians, self.out_features)
        mu = self.mu(h).view(-1, self.num_gaussians, self.out_features)
        return pi, sigma, mu

ONEOVERSQRT2PI = 1.0 / math.sqrt(2 * math.pi)

def gaussian_probability(sigma, mu, target):
    target = target.unsqueeze(1).expand_as(sigma)
    ret = ONEOVERSQRT2PI * torch.exp(-0.5 * ((target - mu) / sigma)**2) / sigma
    return torch.prod(ret, 2)

def mdn_loss(pi, sigma, mu, target):
    prob = pi * gaussian_probability(sigma, mu, target)
    nll = -torch.log(torch.sum(prob, dim=1))
    return torch.mean(nll)

def sample(pi, sigma, mu):
    pis = torch.multinomial(pi, 1).view(pi.size(0), 1, 1)
    gaussian_noise = torch.randn((sigma.size(2), sigma.size(0)), requires_grad=False)
    variance_samples = sigma.gather(1, pis.expand(-1, 1, sigma.size(2))).detach().squeeze(1)
    mean_samples = mu.detach().gather(1, pis.expand(-1, 1, mu.size(2))).squeeze(1)
    return (gaussian_noise.transpose(0, 1) * variance_samples + mean_samples)

n = 128
x = torch.linspace(-10, 10, n).unsqueeze(1)
noise = torch.randn(n, 1)
y = 7 * torch.sin(0.75 * x) + 0.5 * x + noise
x, y = y, x
model = MDN(1, 1, 4)
optimizer = optim.Adam(model.parameters(), lr=0.01)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
for epoch in range(60):
    model.zero_grad()
    pi, sigma, mu = model(x)
    loss = mdn_loss(pi, sigma, mu, y)
    loss.backward()
    optimizer.step()
    scheduler.step()
    if epoch % 15 == 0:
        print(f"{epoch:3d} {loss.item():.5f} {scheduler.get_last_lr()}")
pi, sigma, mu = model(x)
mix = MixtureSameFamily(Categorical(probs=pi), Independent(Normal(mu, sigma), 1))
print("same:", torch.allclose(-mix.log_prob(y).mean(), mdn_loss(pi, sigma, mu, y), atol=1e-5))
print(mix.mean[:3].squeeze(), mix.variance[0])
s = sample(pi, sigma, mu)
print(s.shape, s.mean())
print(mix)
