import random, torch
from collections import deque
from torch import nn
random.seed(0); torch.manual_seed(5)
class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    def forward(self, s):
        return self.net(s)
policy, target = QNet(), QNet()
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
memory = deque(maxlen=200)
def remember(state, steps=20):
    for _ in range(steps):
        q = policy(state)
        action = int(q.argmax())
        nxt = torch.randn(4)
        reward = q[action] * 0 + random.random()
        memory.append((state, action, reward, nxt))
        state = nxt
remember(torch.randn(4))
def optimize(batch=8, gamma=0.99):
    states, actions, rewards, nexts = zip(*random.sample(list(memory), batch))
    states, nexts = torch.stack(states), torch.stack(nexts)
    actions, rewards = torch.tensor(actions), torch.stack(rewards)
    q = policy(states).gather(1, actions[:, None]).squeeze(1)
    with torch.no_grad():
        best = target(nexts).max(1).values
    loss = nn.functional.smooth_l1_loss(q, rewards + gamma * best)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
for step in range(6):
    print(step, optimize())
