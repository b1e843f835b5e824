import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
cell = nn.RNNCell(2, 3)
x = torch.randn(4, 1, 2)
h = torch.zeros(1, 3)
total = 0
for t in range(4):
    h = h.detach()
    h = cell(x[t], h)
    loss = h.pow(2).sum()
    loss.backward()
    print(t, loss)
print(cell.weight_ih.grad)
