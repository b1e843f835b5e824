import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(6)
class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 32); self.pi = nn.Linear(32, 2); self.v = nn.Linear(32, 1)
    def forward(self, s):
        h = torch.tanh(self.body(s))
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)
model = ActorCritic()
opt_actor = torch.optim.Adam([*model.body.parameters(), *model.pi.parameters()], lr=1e-2)
opt_critic = torch.optim.Adam(model.v.parameters(), lr=1e-2)
for episode in range(3):
    state, log_probs, values, rewards = torch.randn(4), [], [], []
    for t in range(10):
        dist, value = model(state)
        action = dist.sample()
        log_probs.append(dist.log_prob(action)); values.append(value); rewards.append(float(action))
        state = torch.randn(4)
    returns, R = [], 0.0
    for r in reversed(rewards):
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    advantage = returns - torch.stack(values)
    actor_loss = -(torch.stack(log_probs) * advantage).mean()
    critic_loss = advantage.pow(2).mean()
    opt_actor.zero_grad()
    actor_loss.backward()
    opt_actor.step()
    opt_critic.zero_grad()
    critic_loss.backward()
    opt_critic.step()
    print(episode, actor_loss.item(), critic_loss.item())
