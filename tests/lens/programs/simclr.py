import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(8)
encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9)
queue = torch.zeros(32, 8)
def nt_xent(a, b, t=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = (z @ z.T / t).exp()
    sim.fill_diagonal_(0)
    n = a.size(0)
    pos = torch.cat([sim.diagonal(n), sim.diagonal(-n)])
    return -(pos / sim.sum(1)).log().mean()
for step in range(4):
    x = torch.randn(16, 16)
    one, two = encoder(x + 0.1 * torch.randn_like(x)), encoder(x + 0.1 * torch.randn_like(x))
    loss = nt_xent(one, two)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
