import torch
from torch.func import grad, jacrev, vmap
y = (torch.ones(2, requires_grad=True) * 3).sum()
def f(v):
    (v * 2).sum().backward()
    return v.sum()
vmap(f)(torch.ones(2, 2, requires_grad=True) * 2)
grad(f)(torch.ones(2))
def g(v):
    torch.autograd.backward([y])
    return v
jacrev(g)(torch.ones(2))
z = torch.randn(4, requires_grad=True)
out = z.exp()
print(vmap(lambda v: torch.autograd.grad(out, z, v, retain_graph=True)[0])(torch.eye(4)).shape)
y.backward()
