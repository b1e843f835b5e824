import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
w = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
x = w * 1
y = torch.ones(2, 2)
out = x + y
y += 1
try:
    out.sum().backward()
except RuntimeError as e:
    print(e)
print(w.grad, x._version, y._version)
out.sum().backward()
