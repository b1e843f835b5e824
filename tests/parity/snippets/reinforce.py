import torch
import torch.nn as nn
import torch.optim as optim
import torch.nn.functional as F
torch.manual_seed(7)
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 8)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(8, 2)
        self.saved_log_probs = []
        self.rewards = []
    def forward(self, x):
        x = self.affine1(x)
        x = self.dropout(x)
        x = F.relu(x)
        return F.softmax(self.affine2(x), dim=1)
policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
for ep in range(2):
    state = torch.randn(4)
    for t in range(3):
        probs = policy(state.unsqueeze(0))
        action = torch.multinomial(probs, 1)
        policy.saved_log_probs.append(torch.log(probs[0, action]))
        policy.rewards.append(float(action.item()))
        state = torch.randn(4)
    R = 0
    returns = []
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-5)
    policy_loss = []
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    print(policy_loss)
    del policy.rewards[:]
    del policy.saved_log_probs[:]
