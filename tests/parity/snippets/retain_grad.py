import torch
x = torch.tensor([1., 2., 3.], requires_grad=True)
y = x * 2
print(y.grad)
y.retain_grad()
z = y.mean()
z.backward()
print(y.grad, x.grad, z.grad)
t = torch.zeros(2)
t.retain_grad()
