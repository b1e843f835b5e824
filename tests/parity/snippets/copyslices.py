import torch
a = torch.zeros(3, 3)
b = torch.ones(3, requires_grad=True)
a[0] = b * 2
a[1] = b
print(a.grad_fn, a)
a.sum().backward()
print(b.grad)
a.sum().backward()
a[2] = b ** 2
print(a.requires_grad)
a.sum().backward()
