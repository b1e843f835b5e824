import torch
x = torch.randn(3, requires_grad=True)
y = x.sigmoid()
y += 1
y.sum().backward()
