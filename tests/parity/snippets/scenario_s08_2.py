import torch
from torch import nn, optim
torch.manual_seed(1)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
z = torch.randn(4, 2)
for p in D.parameters(): p.requires_grad = False
out = D(G(z))
out.mean().backward()
print(G.weight.grad, D.weight.grad)
