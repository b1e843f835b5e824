import torch, torch.nn as nn
torch.manual_seed(0)
class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 8)
        self.actor = nn.Linear(8, 2)
        self.critic = nn.Linear(8, 1)
    def forward(self, s):
        h = torch.tanh(self.shared(s))
        return torch.softmax(self.actor(h), -1), self.critic(h)
net = ActorCritic()
s = torch.randn(4)
probs, value = net(s)
a = probs.argmax()
logp = torch.log(probs[a])
adv = 1.0 - value
actor_loss = -logp * adv
critic_loss = adv.pow(2)
actor_loss.backward()
critic_loss.backward()
