import torch
a = torch.tensor([1., 2., 3.], requires_grad=True)
b = a ** 2
c = b * 3
d = b * c
b += 1
print(b._version)
try:
    d.sum().backward()
except RuntimeError as err:
    print(err)
d.sum().backward()
