import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.ReLU(inplace=True), nn.Linear(4, 1))
x = torch.randn(2, 4)
out = m(x)
print(out)
out.mean().backward()
for n, p in m.named_parameters():
    print(n, p.grad)
print(m)
