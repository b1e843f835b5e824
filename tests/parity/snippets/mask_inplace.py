import torch
x = torch.randn(4, generator=torch.Generator().manual_seed(0), requires_grad=True)
y = x.clone()
y[y < 0] = 0
y.sum().backward()
print(x.grad)
z = x * 2
z[z < 0] *= 0.1
print(z)
z.sum().backward()
print(x.grad)
u = torch.relu(x)
u[0] = 1
u.sum().backward()
