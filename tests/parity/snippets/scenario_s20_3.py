import torch
a = torch.ones(2, requires_grad=True)
b = a ** 2
c = b * 2
d = c.mean()
e = c.sum()
e.backward(retain_graph=True)
print(a.grad)
d.backward(retain_graph=True)
print(a.grad)
e.backward()
print(a.grad)
d.backward()
print(a.grad)
