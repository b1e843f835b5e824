import torch
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
z = y.detach() * x
z.backward()
print(x.grad, y.detach(), y)
print(y.detach().requires_grad)
y2 = y.detach()
y2.zero_()
print(y)
y.backward()
print(x.grad)
