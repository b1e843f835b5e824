import torch
a = torch.tensor(1., requires_grad=True)
b = torch.tensor(2., requires_grad=True)
c = a * 3
torch.autograd.grad(c, [a, b])
print(torch.autograd.grad(a * 3, [a, b], allow_unused=True))
print(torch.autograd.grad(a * 3, [a, b], materialize_grads=True))
d = torch.tensor(4.)
torch.autograd.grad(a * 2, d)
torch.autograd.grad(c, a)
torch.autograd.grad(c.detach(), a)
torch.autograd.grad(a * torch.ones(2), a)
