import torch
from torch import nn, optim
torch.manual_seed(1)
G = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
D = nn.Sequential(nn.Linear(3, 3), nn.LeakyReLU(0.2), nn.Linear(3, 1), nn.Sigmoid())
z = torch.randn(4, 2)
fake = G(z).detach().requires_grad_()
loss = nn.BCELoss()(D(fake), torch.zeros(4, 1))
loss.backward()
print(loss.item(), [p.grad is None for p in G.parameters()], fake.grad)
print(D[0].weight.grad)
loss.backward()
