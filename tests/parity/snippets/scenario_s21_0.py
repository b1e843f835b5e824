import torch
from torch import nn, optim
torch.manual_seed(1)
l1, l2 = nn.Linear(2, 3), nn.Linear(3, 1)
opt = optim.SGD([*l1.parameters(), *l2.parameters()], lr=0.1)
x = torch.randn(4, 2)
h = torch.tanh(l1(x))
loss1 = h.pow(2).mean()
loss2 = l2(h).mean()
loss1.backward(retain_graph=True)
opt.step()
loss2.backward()
print(l1.weight, l1.weight.grad)
