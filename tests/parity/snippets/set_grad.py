import torch
x = torch.ones(2, requires_grad=True)
x.grad = torch.ones(3)
x.grad = torch.ones(2, dtype=torch.double)
x.grad = 1
x.grad = torch.ones(2)
(x * 2).sum().backward()
print(x.grad)
y = x * 2
y.requires_grad = False
y.requires_grad_(False)
y.detach_()
print(y)
x.requires_grad_(False)
print(x)
