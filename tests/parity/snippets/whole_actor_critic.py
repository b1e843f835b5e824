import gc
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(3)


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(obs, 16), nn.Tanh())
        self.mu = nn.Linear(16, act)
        self.log_std = nn.Parameter(torch.zeros(act))
        self.v = nn.Linear(16, 1)

    def forward(self, x):
        h = self.shared(x)
        return Normal(self.mu(h), self.log_std.exp().expand_as(self.mu(h))), self.v(h)


net = ActorCritic(3, 2)
actor_opt = torch.optim.Adam(list(net.mu.parameters()) + [net.log_std], lr=1e-3)
critic_opt = torch.optim.Adam(net.v.parameters(), lr=1e-3)
for step in range(3):
    obs = torch.randn(5, 3)
    dist, value = net(obs)
    action = dist.sample()
    log_prob = dist.log_prob(action).sum(-1)
    reward = torch.randn(5)
    advantage = reward - value.squeeze(-1)
    actor_loss = -(log_prob * advantage.detach()).mean() - 0.01 * dist.entropy().mean()
    critic_loss = advantage.pow(2).mean()
    print(f"step {step} actor {actor_loss.item():.4f} critic {critic_loss.item():.4f}")
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    gc.collect()
    torch.cuda.empty_cache()
