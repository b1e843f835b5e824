"""The mistake: `total += loss` keeps the graph of every step alive. `gradsh trace --summary` names it."""

import math

import torch
from torch import nn

torch.manual_seed(0)


def spirals(number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points on two spirals, and which spiral each lies on."""
    turn = torch.linspace(0.2, 1, number) * 2 * math.pi
    one = torch.stack((turn * turn.cos(), turn * turn.sin()), 1) / 6
    points = torch.cat((one, -one)) + 0.02 * torch.randn(2 * number, 2)
    return points, torch.cat((torch.zeros(number), torch.ones(number))).long()


points, labels = spirals(128)
net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

for epoch in range(5):
    order = torch.randperm(len(points))
    total = torch.zeros(())
    for batch in order.split(32):
        loss = nn.functional.cross_entropy(net(points[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + loss
    print(f"epoch {epoch}: mean loss {total / 8:.3f}")
