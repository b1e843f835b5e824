import torch
x = torch.randn(3, requires_grad=True)
y = x * x
z = y.sum()
z.backward()
print(x.grad)
try:
    z.backward()
except RuntimeError as e:
    print(type(e).__name__, e)
print(z)
z.backward()
