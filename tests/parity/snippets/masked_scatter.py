import torch
x = torch.randn(2, 3)
m = x > -10
try:
    x.masked_scatter_(m, torch.ones(2))
except RuntimeError as e:
    print(e)
y = torch.randn(3, requires_grad=True)
z = y * 1
z.masked_scatter_(z > 0, y * 2)
z.sum().backward()
w = torch.zeros(3)
w.masked_scatter_(torch.ones(2, 3) > 0, torch.ones(6))
w.masked_scatter_(torch.tensor([True, False, True]), torch.ones(6).double())
w.masked_scatter_(torch.tensor([1, 0, 1]), torch.ones(6))
